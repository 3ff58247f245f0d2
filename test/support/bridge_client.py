"""A controller and an onlooker of the bridge, through the plain client library alone."""

from copy import deepcopy

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from rclpy.subscription import MessageInfo
from ros_processes import Process, RosGraph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

NAMES = [f'joint_{i}' for i in range(1, 7)]
HEADLESS = ('-p', 'viewer:=none')
NANOSECONDS = 1_000_000_000


def start_bridge(
    graph: RosGraph, *parameters: str, remap: tuple[str, ...] = (), fresh: bool = False
) -> Process:
    """Start the bridge with parameters such as `lockstep:=false`."""
    arguments = [word for parameter in parameters for word in ('-p', parameter)]
    return graph.start('bridge', '--ros-args', *HEADLESS, *arguments, *remap, fresh=fresh)


class BridgeClient:
    """Watches everything that a bridge publishes, and answers its states on demand.

    Attributes:
        states: All that have arrived since the list was cleared.
        published: When each state that has arrived was published, in wall time [ns].
        clocks: Simulation time of each clock message that has arrived [ns].
        clocks_published: When it was published, in wall time [ns].
    """

    def __init__(self, graph: RosGraph, namespace: str = '') -> None:
        self.namespace = namespace
        self.node = graph.observer(f'client{namespace.replace("/", "_")}', namespace)
        self.states: list[JointState] = []
        self.published: list[int] = []
        self.clocks: list[int] = []
        self.clocks_published: list[int] = []
        self.status: DiagnosticStatus | None = None
        many = QoSProfile(depth=10_000)
        self.node.create_subscription(JointState, 'joint_states', self._take, many)
        self.node.create_subscription(Clock, '/clock', self._take_clock, many)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, many)
        self.commands = self.node.create_publisher(JointState, 'joint_commands', 1)
        self.wrenches = self.node.create_publisher(
            WrenchStamped, 'mujoco_bridge/external_wrench', 10
        )

    def _take(self, state: JointState, info: MessageInfo) -> None:
        self.states.append(state)
        self.published.append(info['source_timestamp'])

    def _take_clock(self, message: Clock, info: MessageInfo) -> None:
        self.clocks.append(nanoseconds(message.clock))
        self.clocks_published.append(info['source_timestamp'])

    def _diagnose(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == f'{self.namespace}/mujoco_bridge: simulation':
                self.status = status

    @property
    def state(self) -> JointState:
        return self.states[-1]

    @property
    def stamp(self) -> int:
        """Simulation time of the newest state [ns]."""
        return nanoseconds(self.state.header.stamp)

    def connect(self, process: Process) -> 'BridgeClient':
        """Wait until states arrive, and the bridge listens."""

        def is_there() -> bool:
            assert process.running, process.output
            return bool(self.states) and self.commands.get_subscription_count() > 0

        self.node.spin_until(is_there, what='the bridge')
        return self

    def command(self, state: JointState, effort=(0.0,) * 6, **changes) -> JointState:
        """Return the command that answers a state."""
        message = JointState(header=deepcopy(state.header), name=NAMES)
        message.effort = [float(value) for value in effort]
        for name, value in changes.items():
            setattr(message, name, value)
        return message

    def send(self, message: JointState) -> None:
        self.commands.publish(message)

    def step(self, effort=(0.0,) * 6) -> JointState:
        """Answer the present state; the next one."""
        before = self.state
        self.send(self.command(before, effort))
        self.node.spin_until(
            lambda: self.state.header != before.header, what='a step after its command'
        )
        return self.state

    def expect_standstill(self, seconds: float = 0.35) -> None:
        """Check that the same state comes again and again for a while of wall time."""
        before, count, first = self.state.header, len(self.states), len(self.published)
        self.node.spin_for(seconds)
        self.node.spin_until(lambda: len(self.states) >= count + 2, what='repeats of the state')
        assert all(state.header == before for state in self.states[count:])
        # On a busy machine they come late, and several at once.
        times = self.published[first:]
        assert len(times) <= (times[-1] - times[0]) / (0.1 * NANOSECONDS) + 2

    def counts(self) -> dict[str, str]:
        """Return the values of the next diagnostics."""
        self.status = None
        self.node.spin_until(lambda: self.status is not None, what='diagnostics')
        return {value.key: value.value for value in self.status.values}

    def wait_for_status(self, words: str) -> DiagnosticStatus:
        """Wait for diagnostics whose message holds these words."""
        self.status = None
        self.node.spin_until(
            lambda: self.status is not None and words in self.status.message,
            what=f'diagnostics that say {words!r}',
        )
        return self.status

    def pause(self, data: bool) -> SetBool.Response:
        return self._call(SetBool, 'pause', SetBool.Request(data=data))

    def ask_step(self) -> Trigger.Response:
        return self._call(Trigger, 'step')

    def reset(self) -> Trigger.Response:
        return self._call(Trigger, 'reset')

    def _call(self, kind, name, request=None):
        return self.node.call(kind, f'mujoco_bridge/{name}', request)

    def push(self, link, force=(0.0, 0.0, 0.0), stamp_ns=0):
        """Publish a wrench without a moment."""
        self.node.spin_until(self.wrenches.get_subscription_count)
        message = WrenchStamped()
        message.header.frame_id = link
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
        vector = message.wrench.force
        vector.x, vector.y, vector.z = map(float, force)
        self.wrenches.publish(message)


def nanoseconds(stamp) -> int:
    return stamp.sec * NANOSECONDS + stamp.nanosec


def rows(states) -> np.ndarray:
    """Positions, velocities and efforts of states, one row each."""
    return np.array([[*state.position, *state.velocity, *state.effort] for state in states])
