"""A whole session of real processes: bridge, controller, keyboard, and somebody who watches."""

from pathlib import Path

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_processes import Newest, Process, RosGraph
from sensor_msgs.msg import JointState
from state_record import States, kept_states
from state_source import stamp_of

from icir_control.dynamics import compute_all_terms, frame_placement, load_urdf
from icir_control.share import share_directory
from icir_control.spatial import SE3

TOOL = 'end_effector_link'
NANOSECONDS = 10**9
PAUSE = 0.005  # s between two looks at the newest state


class Session:
    """Bridge and controller, by default in lockstep as fast as possible, and an onlooker.

    Composed, both are the same process. Recorded, the bridge keeps each of its states, where an
    onlooker loses some on a busy machine.

    Attributes:
        record: Where a bridge that starts keeps its states; None where it does not.
    """

    def __init__(
        self,
        graph: RosGraph,
        *controller_parameters: str,
        bridge_parameters: tuple[str, ...] = ('real_time_factor:=0.0',),
        composed: bool = False,
        recorded: bool = False,
        fresh: bool = False,
        robot: str = 'gen3_6dof',
    ) -> None:
        self._graph, self._fresh = graph, fresh
        self._config = str(share_directory() / 'config' / f'{robot}.yaml')
        self._controller_parameters = controller_parameters
        self._bridge_parameters = ('viewer:=none', *bridge_parameters)
        self.observer = graph.observer()
        self.record = graph.logs.with_name(f'{graph.logs.name}_states') if recorded else None
        self.observer.pause = PAUSE
        self._newest = Newest(self.observer, JointState, 'joint_states')
        self._wrenches = self.observer.create_publisher(
            WrenchStamped, 'mujoco_bridge/external_wrench', 10
        )
        self._model = load_urdf(share_directory() / 'urdf' / f'{robot}.urdf')
        self._data = self._model.create_data()
        if composed:
            self.bridge = self.controller = self._start(
                'composed',
                *(f'mujoco_bridge:{parameter}' for parameter in self._bridge_parameters),
                *(f'controller:{parameter}' for parameter in controller_parameters),
                record=self.record,
            )
        else:
            self.controller = self.start_controller()
            # The bridge comes last: time begins with the first command.
            self.bridge = self.start_bridge()
        self.observer.spin_until(self._newest.has_arrived, what='the first state')

    def start_controller(self) -> Process:
        self.controller = self._start('controller', *self._controller_parameters)
        self.controller.wait_for('ready; waiting for')
        return self.controller

    def start_bridge(self) -> Process:
        self.bridge = self._start('bridge', *self._bridge_parameters, record=self.record)
        return self.bridge

    def start_keyboard(self) -> Process:
        keyboard = self._graph.start('keyboard', terminal=True)
        keyboard.wait_for('quit')
        self.controller.wait_for('new start at')  # before the first state it refuses every mode
        return keyboard

    def _start(self, node: str, *parameters: str, record: Path | None = None) -> Process:
        arguments = [word for parameter in parameters for word in ('-p', parameter)]
        return self._graph.start(
            node,
            '--ros-args',
            '--params-file',
            self._config,
            *arguments,
            record=record,
            fresh=self._fresh,
        )

    @property
    def state(self) -> JointState:
        """The newest state."""
        return self._newest.message

    @property
    def time(self) -> float:
        """Simulation time of the newest state [s]."""
        return stamp_of(self.state) / NANOSECONDS

    @property
    def position(self) -> np.ndarray:
        state = self.state
        by_name = dict(zip(state.name, state.position, strict=True))
        return np.array([by_name[name] for name in self._model.joint_names])

    @property
    def tool(self) -> SE3:
        """Where the end effector is, from the newest joint positions."""
        return self.tool_at(self.position)

    def tool_at(self, position: np.ndarray) -> SE3:
        """Where the end effector is at joint positions."""
        compute_all_terms(self._model, self._data, position, np.zeros(self._model.nv))
        return frame_placement(self._model, self._data, self._model.frame_id(TOOL))

    def wait(self, seconds: float) -> None:
        """Watch for a while of simulation time, from now on."""
        self._newest.forget()
        self.observer.spin_until(self._newest.has_arrived, what='a state')
        until = self.time + seconds
        self.observer.spin_until(lambda: self.time >= until, what=f'{seconds} s of simulation')

    def states(self) -> States:
        """Each state of a recorded session so far."""
        assert self.record, 'the session is not recorded'
        return kept_states(self.record, self._model.nv)

    def states_until(self, end: float) -> States:
        """Each state up to a simulation time [s], once that has come."""
        self.observer.spin_until(lambda: self.time >= end, what=f'{end} s of simulation')
        # What is published is kept already.
        return self.states().until(end)

    def push(self, force: tuple[float, float, float], hold: float) -> None:
        """Push at the end effector, in its axes [N], for a while of simulation time [s]."""
        self.set_bridge('external_wrench_hold', hold)
        message = WrenchStamped()
        message.header.frame_id = TOOL
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self.observer.spin_until(self._wrenches.get_subscription_count)
        self._wrenches.publish(message)

    def set_bridge(self, parameter: str, value: float) -> None:
        """Set a parameter of the bridge."""
        self._set('mujoco_bridge', parameter, value)

    def set_controller(self, parameter: str, value: float) -> None:
        """Set a parameter of the controller."""
        self._set('controller', parameter, value)

    def _set(self, node: str, parameter: str, value: float) -> None:
        request = SetParameters.Request()
        request.parameters = [Parameter(parameter, value=value).to_parameter_msg()]
        answer = self.observer.call(SetParameters, f'{node}/set_parameters', request)
        assert answer.results[0].successful, answer.results[0].reason
