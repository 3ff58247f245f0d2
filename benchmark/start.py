"""How long a session takes to start: from `icir_control sim` to the first torque, warm cache.

The session runs as a user starts it, two nodes and the keyboard, with a terminal of its own.
Beside it, in turns: a process that only imports the libraries of both nodes, one after the other,
and joins a ROS graph.
"""

import argparse
import os
import pty
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from icir_control.nodes.process.run import init_ros

ASKED = 2.0
"""[s] Within which the first torque must be there."""

SIM = (str(Path(sys.executable).parent / 'icir_control'), 'sim', '--viewer', 'none')
LIBRARIES = (
    'import mujoco, numba, numpy, rclpy, yourdfpy; from sensor_msgs.msg import JointState;'
    " rclpy.init(); rclpy.create_node('bare')"
)
_DOMAIN = '89'
_PATIENCE = 120.0  # s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5, help='how often each is measured')
    rounds = parser.parse_args().rounds
    os.environ |= {'ROS_DOMAIN_ID': _DOMAIN, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    init_ros()
    to_first_torque()  # compiles, where that was not done yet
    sessions, bare = [], []
    for _ in range(rounds):
        sessions.append(to_first_torque())
        bare.append(to_a_bare_node())
    session, reference = statistics.median(sessions), statistics.median(bare)
    spread = f'{min(sessions):.2f} to {max(sessions):.2f}'
    print(f'libraries and a bare node              {reference:6.2f} s')
    print(f'icir_control sim to the first torque   {session:6.2f} s ({spread})')
    print(f'{session / reference:.1f} times the bare node; asked: less than {ASKED:g} s')


def to_a_bare_node() -> float:
    """Return how long a process takes that imports the libraries and joins a graph [s]."""
    begin = time.monotonic()
    subprocess.run([sys.executable, '-c', LIBRARIES], check=True)
    return time.monotonic() - begin


def to_first_torque() -> float:
    """Return how long it takes from the start of a session to a first command [s]."""
    node = rclpy.create_node('onlooker')
    commands: list[JointState] = []
    qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    node.create_subscription(JointState, 'joint_commands', commands.append, qos)
    ours, theirs = pty.openpty()
    begin = time.monotonic()
    session = subprocess.Popen(
        SIM, stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not commands:
            rclpy.spin_once(node, timeout_sec=0.1)
            if session.poll() is not None or time.monotonic() > begin + _PATIENCE:
                raise SystemExit('the session gives no torque')
        return time.monotonic() - begin
    finally:
        session.send_signal(signal.SIGTERM)
        session.wait()
        os.close(ours)
        os.close(theirs)
        node.destroy_node()


if __name__ == '__main__':
    main()
