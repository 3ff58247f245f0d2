"""What can be read of an arm that runs: its state, its parameters and its log."""

from icir_control.app.measurement import Array
from icir_control.dynamics import Model
from icir_control.robot.log import Log
from icir_control.robot.session import Parameters, Session
from icir_control.robot.shown import page
from icir_control.spatial import SE3


class ArmState:
    """An arm behind a session, as it is now; over ROS 2, by the newest messages.

    Attributes:
        session: What it runs on; of a simulation, `session.loop` has `controller` and `world`.
    """

    def __init__(self, session: Session) -> None:
        """Look at the arm of a session."""
        self.session = session
        self._is_open = True

    @property
    def q(self) -> Array:
        """(nv,) position of the joints [rad or m]."""
        return self.session.state[0]

    @property
    def v(self) -> Array:
        """(nv,) velocity of the joints [rad/s or m/s]."""
        return self.session.state[1]

    @property
    def torque(self) -> Array:
        """(nv,) of the motors, within the limits [N m or N]."""
        return self.session.state[2]

    @property
    def pose(self) -> SE3:
        """T_base_tool of the end effector."""
        arm = self.session.arm
        return arm.T_world_base.inverse() @ arm.placement(self.q)

    @property
    def mode(self) -> str:
        """Name of the running mode."""
        return self.session.mode

    @property
    def time(self) -> float:
        """Time of the arm [s]."""
        return self.session.time

    @property
    def model(self) -> Model:
        """The arm's model, for `icir_control.dynamics`."""
        return self.session.arm.model

    @property
    def parameters(self) -> Parameters:
        """Parameters of the controller as attributes; printed, with units and meaning."""
        return Parameters(self.session)

    @property
    def log(self) -> Log:
        """Named series since the start."""
        return self.session.log

    def __repr__(self) -> str:
        """Return what runs where."""
        state = f'mode {self.mode}, {self.time:.3f} s' if self._is_open else 'closed'
        return f'<Robot {self.model.name} {self.session.words}: {state}>'

    def _repr_html_(self) -> str:
        """Return what runs where, with a picture of the arm."""
        return page(repr(self), self.session.world, self.q)
