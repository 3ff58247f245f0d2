"""What the page draws beside an arm."""

import numpy as np
import pytest

from icir_control.dynamics import load_urdf
from icir_control.share import share_directory


@pytest.fixture
def draw():
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    from icir_control.nodes.panel.scene import Scene
    from icir_control.nodes.panel.server import open_server
    from icir_control.nodes.panel.shapes import shapes_of

    server, _ = open_server('127.0.0.1', 0)

    def scene(robot, base, tool):
        server.scene.reset()
        path = share_directory() / 'urdf' / f'{robot}.urdf'
        model = load_urdf(path)
        shapes = shapes_of(path.read_text(), path.parent, model)
        return Scene(server, model, shapes, base, tool), server.scene, model

    yield scene
    server.stop()


def test_what_is_drawn_beside_an_arm_is_sized_by_its_reach(draw):
    shares = []
    for robot in (
        ('gen3_6dof', 'base_link', 'end_effector_link'),
        ('hand', 'world', 'fingertip3'),
    ):
        scene, nodes, _ = draw(*robot)
        handles = nodes._handle_from_node_name
        sizes = [
            handles['/base'].axes_length,
            handles['/trail'].thickness,
            handles['/force'].thickness,
        ]
        scene.show_force(robot[2], np.array([10.0, 0.0, 0.0]))
        (line,) = handles['/force'].points
        shares.append(np.array([*sizes, np.linalg.norm(line[1] - line[0])]) / scene.reach)
    assert shares[0] == pytest.approx(shares[1], rel=1e-4)


def test_the_share_of_the_limit_stands_beside_its_link(draw):
    scene, nodes, model = draw('gen3_6dof', 'base_link', 'end_effector_link')
    shares = np.zeros(model.nv)
    shares[1], shares[2], shares[3] = 0.8, -1.2, 0.3
    scene.show(model.neutral(), shares)
    shown = {
        name.split('/')[2]: handle.text
        for name, handle in nodes._handle_from_node_name.items()
        if name.endswith('/share') and handle.visible
    }
    assert shown == {'bicep_link': '80 %', 'forearm_link': '100 %'}
