"""Who may reach the panel's page: real requests and raw WebSockets, no ROS and no browser."""

import gzip
import http.client
import random
import time
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest
from wall_time import Stopwatch

LOCAL = '127.0.0.1'


@pytest.fixture
def opened():
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    from icir_control.nodes.panel.server import open_server

    with ExitStack() as servers:

        def start(host: str = LOCAL, port: int = 0):
            server, address = open_server(host, port)
            servers.callback(server.stop)
            return server, address

        yield start


def get(port: int, path: str = '/', **headers: str) -> tuple[int, dict[str, str], str]:
    """Ask for a page: status, headers and text of the answer."""
    with closing(http.client.HTTPConnection(LOCAL, port, timeout=60.0)) as connection:
        connection.request('GET', path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def connect(port: int, origin: str | None = None, **headers: str):
    """Open a WebSocket as our page does, but from another origin and with other headers."""
    import viser
    from websockets.sync.client import connect

    return connect(
        f'ws://{LOCAL}:{port}',
        origin=origin,
        subprotocols=[f'viser-v{viser.__version__}'],
        additional_headers=headers,
        open_timeout=60.0,
    )


def status_of(port: int, origin: str | None = None, **headers: str) -> int:
    """The answer to a WebSocket's request: 101 where it is opened."""
    from websockets.exceptions import InvalidStatus

    try:
        connect(port, origin, **headers).close()
    except InvalidStatus as error:
        return error.response.status_code
    return 101


def test_the_page_is_served_to_this_machine_and_shown_in_no_frame(opened):
    server, address = opened()
    assert address == f'http://{LOCAL}:{server.get_port()}/'
    status, headers, text = get(server.get_port())
    assert (status, headers['Content-Security-Policy']) == (200, "frame-ancestors 'none'")
    assert '<html' in text


def test_the_page_comes_with_a_script_that_saves_pictures(opened):
    server, _ = opened()
    for encoding, decode in (('identity', bytes), ('gzip', gzip.decompress)):
        with closing(http.client.HTTPConnection(LOCAL, server.get_port(), timeout=60.0)) as link:
            link.request('GET', '/', headers={'Accept-Encoding': encoding})
            answer = link.getresponse()
            page = decode(answer.read())  # as many bytes as the headers say
            assert answer.getheader('Content-Encoding') == encoding
            first, second = page.split(b'<script', 2)[1:]
            assert b'saves-pictures' in first
            assert b'saves-pictures' not in second


@pytest.mark.parametrize(
    'origin',
    [
        None,
        'null',
        'http://evil.example',
        'https://127.0.0.1:{port}',
        'http://127.0.0.1',
        'http://localhost:{port}',
        'http://127.0.0.1:{port}.evil.example',
        'http://127.0.0.1:{port}@evil.example',
    ],
)
def test_a_page_of_another_origin_opens_no_websocket(opened, origin):
    port = opened()[0].get_port()
    assert status_of(port, origin and origin.format(port=port)) == 403
    assert status_of(port, f'http://{LOCAL}:{port}') == 101


def test_a_name_that_a_foreign_page_gives_this_machine_is_refused(opened):
    port = opened()[0].get_port()
    foreign = f'evil.example:{port}'
    assert get(port, Host=foreign)[0] == 403
    assert get(port, Host=f'localhost:{port}')[0] == 200


def test_another_address_needs_the_token(opened):
    server, address = opened('0.0.0.0')
    port, path = server.get_port(), f'/?{urlsplit(address).query}'
    assert get(port)[0] == get(port, '/?token=wrong')[0] == get(port, '/?token=%C3%A4')[0] == 403
    status, headers, _ = get(port, path)
    assert status == 200
    cookie, origin = headers['Set-Cookie'].partition(';')[0], f'http://{LOCAL}:{port}'
    assert 'HttpOnly' in headers['Set-Cookie']
    assert status_of(port, origin) == status_of(port, origin, Cookie=f'{cookie}x') == 403
    assert status_of(port, origin, Cookie=cookie) == 101
    assert status_of(port, 'http://evil.example', Cookie=cookie) == 403


def test_a_port_in_use_is_passed_over(opened):
    first = opened()[0].get_port()
    assert opened(port=first)[0].get_port() > first


def test_an_address_of_another_machine_is_refused():
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    from icir_control.errors import ConfigurationError
    from icir_control.nodes.panel.server import open_server

    for host in ('192.0.2.1', 'no.such.host.example'):
        with pytest.raises(ConfigurationError, match=f'cannot be served at {host}'):
            open_server(host, 8080)


def test_malformed_messages_change_nothing(opened):
    msgspec = pytest.importorskip('msgspec', reason='the extra `panel` is not installed')

    server, _ = opened()
    number = server.gui.add_slider('number', 0.0, 1.0, 0.1, 0.5)
    handle = server.scene.add_transform_controls('/handle')
    heard = []
    number.on_update(heard.append)
    handle.on_update(heard.append)
    rng = random.Random(1)

    def update(value, name='value'):
        return {'type': 'GuiUpdateMessage', 'uuid': number._impl.uuid, 'updates': {name: value}}

    def drag(*position):
        kind = 'TransformControlsUpdateMessage'
        return {'type': kind, 'name': '/handle', 'wxyz': [1, 0, 0, 0], 'position': position}

    nan = float('nan')
    typed = [
        *(update(value) for value in (nan, float('inf'), None, [], {'a': 1})),
        *(update(0.2, name) for name in ('update_cb', 'props', 'is_button', 'no_such')),
        *(drag(*position) for position in ((), (1.0, 2.0), ('x', 'y', 'z'), (nan, nan, nan))),
        {'type': 'ShareUrlRequest'},
        {'type': 'NoSuchMessage'},
        {'uuid': 'x'},
    ]
    packed = [msgspec.msgpack.encode(one) for one in typed]
    raw = [*packed, b'', b'\xc1', 'text', msgspec.msgpack.encode([1, 2])]
    raw += [one[: rng.randrange(len(one))] for one in packed for _ in range(10)]
    raw += [rng.randbytes(rng.randrange(200)) for _ in range(1000)]
    port = server.get_port()
    with connect(port, f'http://{LOCAL}:{port}') as page:
        for one in raw:
            page.send(one)
        # The same connection still serves a message of the page.
        page.send(msgspec.msgpack.encode(update(0.7)))
        watch = Stopwatch()
        while number.value == 0.5:
            assert not watch.is_over(60.0)
            time.sleep(0.01)
    assert number.value == 0.7
    assert handle.position.tolist() == [0.0, 0.0, 0.0]
    assert len(number._impl.update_cb) == 1
    assert server._share_tunnel is None
