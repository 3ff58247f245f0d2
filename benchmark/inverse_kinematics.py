"""How long inverse kinematics take from Python, beside the same on Pinocchio and numpy.

Both sides get the same poses, which random postures have, and the same random first starts, and
take turns. Theirs is Levenberg and Marquardt's iteration as one writes it with Pinocchio's
bindings, with the same damping, started again at random where it does not arrive.
"""

import time

import numpy as np
import pinocchio as pin

from icir_control.app.robot import RobotFiles
from icir_control.dynamics import (
    forward_kinematics,
    frame_placement,
    inverse_kinematics,
    load_urdf,
)

POSES, STEPS, STARTS = 1000, 100, 50
TOOL = 'end_effector_link'
ASKED = 10.0
"""Times that ours must be faster, by the medians."""


class Theirs:
    """Pinocchio's model of an arm, and the iteration on it."""

    def __init__(self, urdf: str, lower: np.ndarray, upper: np.ndarray) -> None:
        # One coordinate for each joint, as on our side.
        self.model = pin.buildModelFromXML(urdf.replace('"continuous"', '"revolute"'))
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(TOOL)
        self.lower, self.upper = lower, upper

    def solve(self, goal: pin.SE3, q: np.ndarray, rng: np.random.Generator) -> bool:
        """Tell whether a posture was found."""
        model, data, frame = self.model, self.data, self.frame
        for _ in range(STARTS):
            for _ in range(STEPS):
                pin.computeJointJacobians(model, data, q)
                pose = pin.updateFramePlacement(model, data, frame)
                error = pin.log6(pose.actInv(goal)).vector
                square = error @ error
                if square < 1e-18:
                    return True
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
                A = J @ J.T + (0.5 * square + 1e-14) * np.eye(6)
                q = np.clip(q + J.T @ np.linalg.solve(A, error), self.lower, self.upper)
            q = rng.uniform(self.lower, self.upper)
        return False


def compare(robot: str) -> None:
    """Print one row."""
    urdf = RobotFiles.of(robot).description()
    model, rng = load_urdf(urdf), np.random.default_rng(0)
    data = model.create_data()
    lower = np.maximum(model.lower_position_limit, -np.pi)
    upper = np.minimum(model.upper_position_limit, np.pi)
    theirs = Theirs(urdf, lower, upper)
    forward_kinematics(model, data, model.neutral())
    # Compiled before it is timed.
    inverse_kinematics(
        model, data, TOOL, frame_placement(model, data, TOOL), np.full(model.nq, 0.1)
    )
    times, found = np.empty((POSES, 2)), 0
    for row in times:
        forward_kinematics(model, data, rng.uniform(lower, upper))
        goal, q0 = frame_placement(model, data, TOOL), rng.uniform(lower, upper)
        same = pin.SE3(np.array(goal.rotation), np.array(goal.translation))
        begin = time.perf_counter()
        inverse_kinematics(model, data, TOOL, goal, q0)
        middle = time.perf_counter()
        found += theirs.solve(same, q0, rng)
        row[:] = middle - begin, time.perf_counter() - middle
    ours, other = 1e6 * np.median(times, axis=0)
    print(
        f'{robot}: median {ours:.1f} us of {POSES} poses found; Pinocchio and numpy '
        f'{other:.0f} us, {found} found; {other / ours:.1f} times faster (asked: {ASKED:g})'
    )


if __name__ == '__main__':
    for name in ('gen3_6dof', 'gen3_7dof'):
        compare(name)
