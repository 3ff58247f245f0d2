"""The controller without its compiler: the same torques, from plain Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SESSION = """
import json, sys
import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop

loop = ClosedLoop(start=HOME, observer__gain=50.0)
torques = []
for mode in ('ready', 'down', 'float', 'impedance', 'gravity'):
    torques += [t.tolist() for t in loop.go(mode, 0.005)['torque_unsaturated']]
print(json.dumps({'torques': torques, 'numba': 'numba' in sys.modules}))
"""


def run(disable_jit: str) -> dict:
    here = Path(__file__).parent
    path = os.pathsep.join([str(here / 'support'), os.environ.get('PYTHONPATH', '')])
    environment = os.environ | {'NUMBA_DISABLE_JIT': disable_jit, 'PYTHONPATH': path}
    done = subprocess.run(
        [sys.executable, '-c', SESSION],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=here.parent,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_every_mode_gives_the_same_torque_with_and_without_the_compiler():
    plain, compiled = run('1'), run('0')
    assert compiled['numba']
    assert not plain['numba']
    np.testing.assert_allclose(plain['torques'], compiled['torques'], atol=1e-6)
