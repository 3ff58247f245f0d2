"""What the page draws of a URDF whose shapes are missing."""

import numpy as np
import pytest
from simulation_worlds import joint, link, robot

from icir_control.dynamics import load_urdf

LOST = '<geometry><mesh filename="package://nowhere/lost.dae"/></geometry>'
BALL = '<geometry><sphere radius="0.1"/></geometry>'


def shapes(folder, shape):
    pytest.importorskip('trimesh', reason='the extra `panel` is not installed')
    from icir_control.nodes.panel.shapes import shapes_of

    urdf = robot(
        link('arm', com='0.1 0 0', inertia=(0.004, 0.005, 0.006), shape=shape),
        '<link name="tip"/>',
        joint('turn', 'continuous', 'base', 'arm', '0 0 1'),
        joint('end', 'fixed', 'arm', 'tip', '0.2 0 0'),
    )
    return shapes_of(urdf, folder, load_urdf(urdf))


def test_a_lost_visual_is_drawn_as_what_may_collide(tmp_path):
    (shape,) = shapes(tmp_path, f'<visual>{LOST}</visual><collision>{BALL}</collision>')
    assert shape.link == 'arm'
    assert np.linalg.norm(shape.vertices, axis=1) == pytest.approx(0.1)


@pytest.mark.parametrize('shape', ['', f'<visual>{LOST}</visual>'])
def test_a_link_without_shapes_is_drawn_by_its_inertia(tmp_path, shape):
    """A uniform ellipsoid of mass 1 has the moments (b^2 + c^2) / 5, ... of the link."""
    (shape,) = shapes(tmp_path, shape)
    assert shape.link == 'arm'
    middle = 0.5 * (shape.vertices.max(axis=0) + shape.vertices.min(axis=0))
    assert middle == pytest.approx([0.1, 0.0, 0.0], abs=1e-3)
    a, b, c = 0.5 * np.ptp(shape.vertices, axis=0)
    moments = np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2]) / 5.0
    assert moments == pytest.approx([0.004, 0.005, 0.006], rel=0.02)
