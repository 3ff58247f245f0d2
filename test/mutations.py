"""Flip one sign in each compiled kernel of the library: some test must fail. Run by hand.

    python test/mutations.py [seed]

Kernels run as plain Python here, so that a mutant is a copy of this process in which one function
has other code. Which sign of a kernel is flipped depends on the seed; where a kernel has none, its
result, or what it passes or writes last, gets one, and a result that is a truth is reversed.
"""

import ast
import importlib
import multiprocessing
import os
import random
import sys
from pathlib import Path
from typing import Any

os.environ['NUMBA_DISABLE_JIT'] = '1'

import numpy as np
import pytest
from hypothesis import Phase, settings

import icir_control

TESTS = Path(__file__).parent
PACKAGE = Path(icir_control.__file__).parent
LIBRARIES = 'spatial/kernels', 'dynamics/kernels'
DECORATORS = {'kernel', 'inlined', 'part', 'CheckedKernel'}
FILES = [
    *('dynamics_kernels', 'dynamics_trees', 'dynamics_model', 'dynamics_values', 'dynamics_far'),
    *('dynamics_derivatives', 'dynamics_linear_maps', 'dynamics_inverse_kinematics'),
    *('dynamics_mimic', 'dynamics_armature'),
    *(f'spatial_{name}' for name in ('kernels', 'coefficients', 'jacobians', 'se3', 'so3')),
]
FIRST = {
    'derivatives': 'dynamics_derivatives',
    'inverse_kinematics': 'dynamics_inverse_kinematics',
    'manifold': 'dynamics_model',
    'mimic': 'dynamics_mimic',
}
"""The tests that look at a module's kernels themselves."""
LARGE = [
    *(f'test_every_quantity_agrees_with_mujoco[tree{seed}]' for seed in range(7, 20)),
    *(f'with_forces[{seed}]' for seed in range(8, 20, 2)),
    *('test_plain_python_gives', 'test_solutions_come', 'test_a_pose_that_is_too'),
    'test_an_arm_with_rotors_is_tracked',
]
"""What takes long without the compiler, or starts processes that have no mutation."""
Kernel = tuple[str, str]
UNCHANGED = 'all as it is'
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.USub: ast.UAdd}


def kernels() -> list[Kernel]:
    """Return the module and name of every kernel."""
    found = []
    for path in (path for folder in LIBRARIES for path in sorted((PACKAGE / folder).glob('*.py'))):
        module = '.'.join(path.relative_to(PACKAGE.parent).with_suffix('').parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and DECORATORS & {
                one.id for one in node.decorator_list if isinstance(one, ast.Name)
            }:
                found.append((module, node.name))
    return found


def flip(function: ast.FunctionDef, seed: int) -> int:
    """Flip a sign of a function, and return its line."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    signed = [node for node in nodes if type(getattr(node, 'op', None)) in SIGNS]
    if signed:
        chosen = random.Random(f'{seed} {function.name}').choice(signed)
        chosen.op = SIGNS[type(chosen.op)]()
        return chosen.lineno
    if ast.unparse(function.returns) not in ('None', 'int'):
        result = next(node for node in nodes if isinstance(node, ast.Return))
        result.value = negative(result.value)
        return result.lineno
    # Nothing is returned but what was wrong: what it passes on, or writes last, is its result.
    ends = [one for one in function.body if isinstance(one, ast.Expr | ast.Return)]
    calls = [end.value for end in ends if isinstance(end.value, ast.Call)]
    calls = [call for call in calls if 'ZERO' not in ast.unparse(call)]
    if not calls:
        change = [node for node in nodes if isinstance(node, ast.Assign)][-1]
        change.value = negative(change.value)
        return change.lineno
    call = calls[-1]
    names = [ast.unparse(argument) for argument in call.args]
    # The last argument is written to, if it is not what is stored. Of a factor the sign is free.
    is_stored = '.store' in ast.unparse(call.func) or names[-2] == 'buffer'
    place = -1 if is_stored else -2
    for name in ('q', 'links'):
        if name in names:
            place = names.index(name)
    call.args[place] = negative(call.args[place])
    return call.lineno


def negative(value: ast.expr) -> ast.expr:
    """Return the expression of `negated` for a value."""
    return ast.Call(ast.Name('negated', ast.Load()), [value], [])


def negated(value: Any) -> Any:
    """Return a number, an array or a tuple of them with the opposite sign; a truth reversed.

    Of a tuple of tuples the last part alone is negated, a view where it lies.
    """
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, tuple):
        if isinstance(value[0], tuple | np.ndarray):
            return *value[:-1], negated(value[-1])
        return tuple(map(negated, value))
    if isinstance(value, np.ndarray) and value.base is not None:
        return np.negative(value, out=value)
    return -value


def mutate(module_name: str, name: str, seed: int) -> int:
    """Flip a sign of a kernel of this process, and return its line."""
    module = importlib.import_module(module_name)
    tree = ast.parse(Path(module.__file__).read_text())
    node = next(one for one in tree.body if getattr(one, 'name', None) == name)
    line = flip(node, seed)
    code = compile(ast.fix_missing_locations(tree), module.__file__, 'exec')
    function = getattr(module, name)
    function = getattr(function, '_function', function)
    function.__code__ = next(
        one for one in code.co_consts if getattr(one, 'co_name', None) == name
    )
    function.__globals__['negated'] = negated
    return line


class Mutations:
    """Takes the place of the loop over tests."""

    def __init__(self, seed: int) -> None:
        self.seed, self.unnoticed = seed, 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        global _session
        _session = session
        quick = [Phase.explicit, Phase.generate]
        settings.register_profile('quick', max_examples=20, deadline=None, phases=quick)
        settings.load_profile('quick')
        tasks = [*((kernel, self.seed) for kernel in kernels()), (None, 0)]
        fork = multiprocessing.get_context('fork')
        with fork.Pool(os.cpu_count(), silence, maxtasksperchild=1) as pool:
            for place, test in pool.imap_unordered(try_one, tasks, chunksize=1):
                if (place == UNCHANGED) == bool(test):
                    self.unnoticed += 1
                print(f'{place}: {test or "no test fails"}', flush=True)
        print(f'{len(tasks) - 1} kernels, {self.unnoticed} flips that no test noticed')
        return True


def silence() -> None:
    """Let the tests of this process print nothing."""
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def try_one(task: tuple[Kernel | None, int]) -> tuple[str, str]:
    """Flip a sign of a kernel; return where, and the test that fails, the nearest tests first."""
    (module, name), seed = task[0] or ('', ''), task[1]
    place = f'{module}.{name}, line {mutate(module, name, seed)}' if name else UNCHANGED
    own = FIRST.get(module.rpartition('.')[2]) or ('spatial' if '.spatial.' in module else '')
    items = sorted(_session.items, key=lambda item: own not in item.nodeid)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if _session.testsfailed:
            return place, item.nodeid
    return place, ''


def main(seed: int) -> int:
    """Try all kernels; return how many flips no test noticed."""
    files = [str(TESTS / f'test_{name}.py') for name in FILES]
    options = ['-sq', '--tb=no', '-pno:xdist', '-pno:cacheprovider', '--timeout=300']
    mutations = Mutations(seed)
    pytest.main([*files, *options, f'-knot ({" or ".join(LARGE)})'], plugins=[mutations])
    return mutations.unnoticed


if __name__ == '__main__':
    sys.exit(bool(main(int(sys.argv[1]) if sys.argv[1:] else 0)))
