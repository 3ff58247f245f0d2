"""What keeps the package running where rclpy is that of ROS 2 Jazzy, the oldest one supported."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROS_FILES = sorted(
    path
    for path in [*ROOT.glob('icir_control/**/*.py'), *ROOT.glob('launch/*.py')]
    if 'rclpy' in path.read_text()
)


def evaluated_subscripts(tree: ast.Module) -> list[ast.Subscript]:
    """Return the subscripts that Python evaluates: not those of variables inside functions."""
    found: list[ast.Subscript] = []

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.AnnAssign) and inside:
            if node.value:
                visit(node.value, inside)
            return
        if isinstance(node, ast.Subscript):
            found.append(node)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(tree, False)
    return found


@pytest.mark.parametrize('path', ROS_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_class_of_rclpy_is_subscripted(path):
    """The classes of rclpy take types in brackets from Kilted on; in Jazzy that raises."""
    tree = ast.parse(path.read_text())
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or '').split('.')[0] == 'rclpy'
        for alias in node.names
    }
    lines = [
        f'line {node.lineno}: {ast.unparse(node)}'
        for node in evaluated_subscripts(tree)
        if isinstance(node.value, ast.Name) and node.value.id in names
    ]
    assert not lines, 'put the annotation in quotes: ' + '; '.join(lines)
