"""Flip one sign in each compiled kernel of the library: some test must fail. Run by hand.

    python test/mutations.py [seed]

Kernels run as plain Python here, so that a mutant is a copy of this process in which one function
has other code. Which sign of a kernel is flipped depends on the seed; where a kernel has none, its
result or the last argument of its last call gets one.
"""

import ast
import contextlib
import importlib
import multiprocessing
import os
import random
import sys
from pathlib import Path

os.environ['NUMBA_DISABLE_JIT'] = '1'

import pytest
from hypothesis import Phase, settings

import icir_control

TESTS = Path(__file__).parent
PACKAGE = Path(icir_control.__file__).parent
LIBRARIES = 'spatial/kernels', 'dynamics/kernels'
DECORATORS = {'kernel', 'inlined', 'part', 'CheckedKernel'}
SPATIAL = [f'spatial_{name}' for name in ('kernels', 'coefficients', 'jacobians', 'se3', 'so3')]
DYNAMICS = [
    *('dynamics_kernels', 'dynamics_trees', 'dynamics_model', 'dynamics_values', 'dynamics_far'),
    *('dynamics_derivatives', 'dynamics_inverse_kinematics'),
]
FIRST = {
    'derivatives': 'dynamics_derivatives',
    'inverse_kinematics': 'dynamics_inverse_kinematics',
    'manifold': 'dynamics_model',
}
"""The tests that look at a module's kernels themselves."""
LARGE = [
    *(f'test_every_quantity_agrees_with_mujoco[tree{seed}]' for seed in range(7, 20)),
    *(f'with_forces[{seed}]' for seed in range(8, 20, 2)),
    *('test_plain_python_gives', 'test_solutions_come', 'test_a_pose_that_is_too'),
]
"""What takes long without the compiler, or starts processes that have no mutation."""
Kernel = tuple[str, str]
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
    results = [node for node in nodes if isinstance(node, ast.Return)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if results and not isinstance(results[-1].value, ast.Constant):
        result = results[-1]
        if isinstance(result.value, ast.Tuple):
            result.value.elts[0] = ast.UnaryOp(ast.USub(), result.value.elts[0])
        else:
            result.value = ast.UnaryOp(ast.USub(), result.value)
        return result.lineno
    call = [call for call in calls if call.args][-1]
    call.args[-1] = ast.UnaryOp(ast.USub(), call.args[-1])
    return call.lineno


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
    return line


class FirstFailure:
    """Remembers which test failed, or that none did."""

    name = ''

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def run_tests(files: list[str], *options: str) -> str:
    """Run tests until one fails, and return its name."""
    first = FirstFailure()
    with open(os.devnull, 'w') as nothing, contextlib.redirect_stdout(nothing):
        status = pytest.main(
            [
                *(str(TESTS / f'test_{name}.py') for name in files),
                *('-xq', '--tb=no', '-pno:xdist', '-pno:cacheprovider', '--timeout=300'),
                f'-knot ({" or ".join(LARGE)})',
                *options,
            ],
            plugins=[first],
        )
    return first.name or ('' if status == 0 else f'pytest: {status}')


def try_one(task: tuple[Kernel, int]) -> tuple[str, str]:
    """Flip a sign of a kernel, and return where, and the test that failed."""
    (module, name), seed = task
    line = mutate(module, name, seed)
    files = SPATIAL if '.spatial.' in module else DYNAMICS
    own = FIRST.get(module.rpartition('.')[2], files[0])
    return f'{module}.{name}, line {line}', run_tests(sorted(files, key=lambda x: x != own))


def main(seed: int) -> int:
    """Try all kernels; return how many flips no test noticed."""
    run_tests(SPATIAL + DYNAMICS, '--collect-only')  # so that all is imported once
    quick = [Phase.explicit, Phase.generate]
    settings.register_profile('until the first', max_examples=20, deadline=None, phases=quick)
    settings.load_profile('until the first')
    survivors, tasks = 0, [(kernel, seed) for kernel in kernels()]
    with multiprocessing.get_context('fork').Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        unchanged = pool.apply_async(run_tests, (SPATIAL + DYNAMICS,))
        for place, test in pool.imap(try_one, tasks, chunksize=1):
            print(f'{place}: {test or "NOT NOTICED"}', flush=True)
            survivors += not test
        if failed := unchanged.get():
            sys.exit(f'fails without any change: {failed}')
    print(f'{len(tasks)} kernels, {survivors} flips that no test noticed')
    return survivors


if __name__ == '__main__':
    sys.exit(bool(main(int(sys.argv[1]) if sys.argv[1:] else 0)))
