"""The web server of the page, and who may reach it: this machine, or whoever has the token."""

import errno
import hmac
import http
import io
import ipaddress
import math
import secrets
import socket
from collections.abc import Callable
from contextlib import redirect_stdout
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server as websocket_server
from viser import _messages as messages
from websockets.http11 import Request

from icir_control.errors import ConfigurationError
from icir_control.nodes.panel.scripts import add_script

PORTS = 100
"""How many ports are tried, one after the other."""

_LOCAL_NAMES = ('127.0.0.1', 'localhost', '::1')


def open_server(host: str, port: int) -> tuple[viser.ViserServer, str]:
    """Start to serve the page.

    Args:
        host: Address to listen at. Another than this machine's own brings a token, which is part
            of the page's address.
        port: The port, or where that is in use, one of the next; 0 for any.

    Returns:
        The server, and the address of the page.

    Raises:
        ConfigurationError: There is no such address, or no free port.
    """
    port = _free_port(host, port)
    gate = Gate(host, port)
    plain = websocket_server.serve
    websocket_server.serve = gate.in_front_of(plain)  # type: ignore[assignment, misc]
    try:
        with redirect_stdout(io.StringIO()):  # a table of addresses, without the token
            server = viser.ViserServer(host, port, verbose=False)
    finally:
        websocket_server.serve = plain  # type: ignore[misc]
    if not gate.is_in_front:
        server.stop()
        raise ConfigurationError(f'viser {viser.__version__} is not supported; expected 1.x')
    shown = socket.gethostname() if host in ('0.0.0.0', '::') else host
    query = f'?token={gate.token}' if gate.token else ''
    return server, f'http://{shown}:{server.get_port()}/{query}'


class Gate:
    """Decides on each request before viser sees it.

    A browser lets any page open a WebSocket to any address, but names the page's origin in the
    request: only our own page may. The name of the host is checked, too, because a foreign page
    can make its own name mean this machine (DNS rebinding).

    Attributes:
        token: What a request must have, in its address or as a cookie; empty for a page that only
            this machine can reach.
        is_in_front: Whether a server has been started behind it.
    """

    def __init__(self, host: str, port: int) -> None:
        """Make a token where one is needed.

        Args:
            host: Address at which the server will listen.
            port: Its port: cookies know hosts alone.
        """
        self.token = '' if _is_this_machine(host) else secrets.token_urlsafe(16)
        self.is_in_front = False
        self._cookie = f'icir_control_panel_{port}'

    def refusal(self, request: Request) -> str:
        """Return why a request is refused; empty where it is not."""
        hosts, origins = (request.headers.get_all(name) for name in ('Host', 'Origin'))
        name = urlsplit(f'//{hosts[0]}').hostname if len(hosts) == 1 else None
        if name is None or not (self.token or name in _LOCAL_NAMES or _is_this_machine(name)):
            return 'this host is not served'
        if (origins or 'Upgrade' in request.headers) and origins != [f'http://{hosts[0]}']:
            return 'a page of another origin may not reach the arm'
        if self.token and not any(map(self._is_token, self._tokens_of(request))):
            return 'the token is wrong or missing; open the address that the terminal shows'
        return ''

    def in_front_of(self, serve: Callable[..., Any]) -> Callable[..., Any]:
        """Return what starts a server, as `websockets.asyncio.server.serve`, behind this gate."""

        def start(handler: Any, *address: Any, process_request: Any, **options: Any) -> Any:
            def answer(connection: Any, request: Request) -> Any:
                reason = self.refusal(request)
                if reason:
                    return connection.respond(http.HTTPStatus.FORBIDDEN, f'{reason}\n')
                response = process_request(connection, request)
                if response is not None:
                    add_script(response)
                    # No page may show ours in a frame, where clicks could be stolen.
                    response.headers['Content-Security-Policy'] = "frame-ancestors 'none'"
                    if self.token:
                        response.headers['Set-Cookie'] = (
                            f'{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict'
                        )
                return response

            async def handle(connection: Any) -> None:
                receive = connection.recv

                async def receive_valid() -> Any:
                    while not is_of_page(raw := await receive()):
                        pass
                    return raw

                connection.recv = receive_valid
                await handler(connection)

            self.is_in_front = True
            return serve(handle, *address, process_request=answer, **options)

        return start

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())

    def _tokens_of(self, request: Request) -> list[str]:
        cookies = [SimpleCookie(text) for text in request.headers.get_all('Cookie')]
        kept = [cookie[self._cookie].value for cookie in cookies if self._cookie in cookie]
        return kept + parse_qs(urlsplit(request.path).query).get('token', [])


def is_of_page(raw: Any) -> bool:
    """Tell whether a message is one that the page sends: viser would trust any other, too."""
    try:
        message = messages.Message.deserialize(raw)
        if isinstance(message, messages.TransformControlsUpdateMessage):
            numbers = [*message.position, *message.wxyz]
            return len(numbers) == 7 and all(math.isfinite(number) for number in numbers)
        if isinstance(message, messages.GuiUpdateMessage):
            value = message.updates['value']
            return len(message.updates) == 1 and (
                isinstance(value, bool | str) or math.isfinite(value)
            )
    except Exception:  # whatever bytes from anywhere may lead to
        return False
    return isinstance(
        message,
        messages.ViewerCameraMessage
        | messages.TransformControlsDragStartMessage
        | messages.TransformControlsDragEndMessage
        | messages.GetRenderResponseMessage,
    )


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def _free_port(host: str, first: int) -> int:
    for port in range(first, min(first + PORTS, 2**16)):
        try:
            socket.create_server((host, port)).close()
            return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f'the page cannot be served at {host}, port {port}: {error.strerror}; expected'
                    ' an address of this machine and a port that you may open'
                ) from error
    raise ConfigurationError(f'each port of {first} to {first + PORTS - 1} of {host} is in use')
