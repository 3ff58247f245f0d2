"""The controller's node: a state comes in, the controller answers, everything else waits."""

import time

from icir_control.control import Controller, Event
from icir_control.dynamics import Model, load_urdf
from icir_control.nodes.controller.configuration import declare_config
from icir_control.nodes.controller.new_start import StartDetector
from icir_control.nodes.controller.requests import Requests
from icir_control.nodes.controller.state_watch import StateWatch
from icir_control.nodes.controller.telemetry import Telemetry
from icir_control.nodes.model_file import find_model_file
from icir_control.nodes.parameters import MODEL, Parameters
from icir_control.nodes.process import collector_off, join_graph
from icir_control.nodes.publishers import Publishers
from icir_control.nodes.stop_request import StopRequest
from icir_control.nodes.transport import JointStatePublisher, JointStateSubscription, Waiter

STATES = 'joint_states'
COMMANDS = 'joint_commands'

_WAIT = 0.1  # s, longest time until a request to stop is heard


class ControllerNode:
    """Answers every state of the arm with a torque that repeats its header.

    Everything is prepared and compiled when the constructor returns. A state that comes twice,
    because its answer was lost or because time stands still, is answered with what was stored.

    It has a node and is none, so that no name of its own hides one of the client library's.

    Attributes:
        states: The newest state.
        commands: Publishes the command.
        waiter: Waits for states, and serves the node meanwhile.
    """

    def __init__(self) -> None:
        """Read the configuration, build the model, compile, and join the graph.

        Raises:
            IcirError: The parameters or the model are not valid; the message says what is.
        """
        self._node = node = join_graph('controller')
        self._log = node.get_logger()
        parameters = Parameters(node)
        model = load_urdf(find_model_file(parameters.declare(MODEL)))
        config = declare_config(parameters, model)
        self._controller = Controller(model, config)
        self._introduce(model)
        self._warm_up()
        parameters.watch(self._controller.update)

        names = model.joint_names
        self.states = JointStateSubscription(node, STATES, names)
        self.commands = JointStatePublisher(node, COMMANDS, names)
        self._starts = StartDetector(model.velocity_limit)
        (self._effort,) = self.commands.open('', 'effort')
        self._answered_ns = 0
        self._answered_token: str | None = None
        self._telemetry = Telemetry(node, self._controller)
        self._requests = Requests(node, self._controller, self._settle)
        publishers = Publishers(node, self.commands.topic_name)
        self._watch = StateWatch(node, self.states, self._controller, publishers)
        self.waiter = Waiter(node, [self.states])

    def run(self, stop: StopRequest) -> None:
        """Answer states until a stop is requested.

        Args:
            stop: Looked at between two states.
        """
        stop.defer()
        self.announce()
        with collector_off():  # the watch collects once a second
            while not stop:
                now = time.monotonic()
                self.waiter.wait(now, now + _WAIT)
                self.turn()

    def announce(self) -> None:
        """Say that every state from now on is answered."""
        self._log.info(f'ready; waiting for {self._watch.topic}')

    def turn(self) -> bool:
        """Answer a state if one has come; return whether one had."""
        has_state = self.states.take()
        if has_state:
            self._answer()
        else:
            self._watch.look()
        self._tell()
        return has_state

    def close(self) -> None:
        """Leave the graph."""
        self.waiter.close()
        self._node.destroy_node()

    def _answer(self) -> None:
        """Send the command for the present state, before anything else is done with it."""
        states, controller = self.states, self._controller
        stamp_ns, token = states.stamp_ns, states.token
        if stamp_ns == self._answered_ns and token == self._answered_token:
            self.commands.send(stamp_ns)
            self._watch.hear()
            return
        position, velocity = states.position, states.velocity
        reason = self._starts.reason(stamp_ns, token, position, velocity)
        if reason:
            if not self._watch.accept(token):
                self._starts.forget()
                return
            controller.restart(stamp_ns * 1e-9, position, velocity)
            (self._effort,) = self.commands.open(token, 'effort')
        self._effort[:] = controller.tick(stamp_ns * 1e-9, position, velocity)
        self.commands.send(stamp_ns)
        self._answered_ns, self._answered_token = stamp_ns, token
        self._watch.hear()
        if reason:
            self._telemetry.restart()
            self._log.info(
                f'new start at {stamp_ns * 1e-9:.3f} s ({reason}), in mode {controller.mode}'
            )
        self._telemetry.publish(stamp_ns, token)

    def _introduce(self, model: Model) -> None:
        """Say what the model is, as the tutorial does."""
        log = self._log
        log.info(f'{model.name}: nq = {model.nq}, nv = {model.nv}, na = {model.na}')
        rows = [('id', 'frame', 'parent joint', 'type')]
        for i, frame in enumerate(model.frames):
            rows.append((str(i), frame.name, model.joints[frame.parent].name, frame.type.name))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ('  '.join(map(str.ljust, row, widths)).rstrip() for row in rows)
        log.info('frames:\n' + '\n'.join(lines))

    def _warm_up(self) -> None:
        begin = time.monotonic()
        self._log.info('compiling; the first start on a machine takes longest')
        self._controller.warm_up()
        self._log.info(f'compiled in {time.monotonic() - begin:.2f} s')

    def _settle(self) -> None:
        """Tell what a request has changed; the next tick may be far away."""
        self._tell()
        self._telemetry.publish_mode()

    def _tell(self) -> None:
        """Log what the controller has to say."""
        for event in self._controller.take_events():
            self._log_event(event)

    def _log_event(self, event: Event) -> None:
        # One line for each: rclpy ties a severity to the line that it comes from.
        log = self._log
        if event.level == 'error':
            log.error(event.text)
        elif event.level == 'warning':
            log.warning(event.text)
        else:
            log.info(event.text)
