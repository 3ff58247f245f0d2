"""A robot that is not ours: plain MuJoCo and plain rclpy, with the topics of ros2_control.

States as joint_state_broadcaster publishes them: another joint among ours, in another order, with
a clock of the robot's own that jitters, noise, and an empty frame_id. Commands as
forward_command_controller takes them. Each side loses messages; commands take 2 ms of the robot's
time. It holds itself until the first command. Its time slows down while the machine is too busy to
bring a command, which is no fault of the controller's.

Usage: robot_stand_in.py URDF COMMAND_JOINT...
"""

import sys
import time

import mujoco
import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

PERIOD_NS = 1_000_000
PACE = 1e-3  # s of wall time in a period, at least
PATIENCE = 1.0  # s of wall time that a period lasts at most on a busy machine
LATENCY = 2  # periods from a command to its effect
LOST = 0.01
POSITION_NOISE, VELOCITY_NOISE = 1e-4, 1e-2
JITTER = 0.2e-3  # s
MASS_SCALE = 1.05
HOME = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
NAMES = ('joint_4', 'gripper', 'joint_1', 'joint_6', 'joint_2', 'joint_3', 'joint_5')


def main():
    model = mujoco.MjModel.from_xml_path(sys.argv[1])
    model.opt.timestep = 0.5e-9 * PERIOD_NS  # finer than the control period, as the world is
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.body_mass *= MASS_SCALE
    model.body_inertia *= MASS_SCALE
    model.geom_contype[:] = model.geom_conaffinity[:] = 0
    mujoco.mj_setConst(model, mujoco.MjData(model))
    data = mujoco.MjData(model)
    data.qpos[:] = HOME
    order = [model.joint(name).id for name in sys.argv[2:]]
    places = [model.joint(name).id if name != 'gripper' else -1 for name in NAMES]

    rclpy.init()
    node = rclpy.create_node('robot')
    states = node.create_publisher(JointState, 'robot/joint_states', 10)
    rng = np.random.default_rng(0)
    received, underway = [], []
    node.create_subscription(Float64MultiArray, 'effort_controller/commands', received.append, 10)
    stamp_ns = time.time_ns()
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(node)
    torque = None  # holds itself
    print('up', flush=True)
    while rclpy.ok():
        mujoco.mj_forward(model, data)
        stamp_ns += PERIOD_NS
        values = [
            data.qpos + POSITION_NOISE * rng.standard_normal(6),
            data.qvel + VELOCITY_NOISE * rng.standard_normal(6),
            data.qfrc_bias if torque is None else torque,
        ]
        message = JointState(name=list(NAMES))
        stamp = stamp_ns + round(1e9 * JITTER * rng.uniform(-1.0, 1.0))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        message.position, message.velocity, message.effort = (
            [*np.append(value, 0.5)[places].tolist()] for value in values
        )
        is_sent = rng.uniform() > LOST
        if is_sent:
            states.publish(message)
        begin = time.monotonic()
        longest = PATIENCE if is_sent and torque is not None else PACE
        while not received and (left := begin + longest - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)
        time.sleep(max(begin + PACE - time.monotonic(), 0.0))
        for command in received:
            if rng.uniform() > LOST:
                underway.append((stamp_ns + LATENCY * PERIOD_NS, np.array(command.data)))
        received.clear()
        while underway and underway[0][0] <= stamp_ns:
            command = np.zeros(6)
            command[order] = underway.pop(0)[1]
            if torque is None:
                print(
                    'taken over with a step of', np.abs(command - data.qfrc_bias).max(), flush=True
                )
            torque = command
        for _ in range(2):
            mujoco.mj_forward(model, data)
            data.qfrc_applied[:] = data.qfrc_bias if torque is None else torque
            mujoco.mj_step(model, data)
        if not np.isfinite(data.qpos).all() or np.abs(data.qvel).max() > 5.0:
            sys.exit(f'the arm is unstable: {data.qvel}')


if __name__ == '__main__':
    main()
