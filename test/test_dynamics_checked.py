"""How Python's values reach a compiled kernel, read as they are or refused, and its own Python."""

import gc
import os
import subprocess
import sys
import tracemalloc
import weakref
from enum import IntEnum

import numpy as np
import pytest

from icir_control.compiled import JIT_DISABLED
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.dynamics.kernels.checked import fresh_matrix, new_motion
from icir_control.spatial import Motion


class Level(IntEnum):
    HIGH = 7


@CheckedKernel
def weigh(vector, table, number, out):
    for i in range(table.shape[0]):
        out[i] = 0.0
        for j in range(table.shape[1]):
            out[i] += table[i, j] * vector[j]
    return number + vector.size


@pytest.fixture(scope='module')
def call():
    """The kernel as Python calls it, compiled."""
    weigh.run(np.zeros(1), np.zeros((1, 1)), 0, np.zeros(1))
    return weigh.call


@pytest.mark.parametrize('shape', [(0, 0), (0, 3), (3, 0), (1, 1), (1, 4), (4, 1), (2, 3)])
def test_arrays_are_read_where_they_lie(call, shape):
    rng = np.random.default_rng(0)
    for whole in (rng.normal(size=shape), rng.normal(size=(3, *shape))[1], np.zeros(shape)[...]):
        vector, out = rng.normal(size=shape[1] + 4)[2:-2], np.full(shape[0] + 2, np.nan)
        assert call(vector, whole, 5, out[1:-1]) == 5 + shape[1]
        assert np.isnan(out[[0, -1]]).all()
        assert np.allclose(out[1:-1], whole @ vector, rtol=0.0, atol=1e-14)


def test_strides_of_length_one_do_not_count(call):
    out, column = np.zeros(2), np.array([[3.0, 4.0], [9.0, 9.0]])[:1].T
    assert column.strides == (8, 16)
    assert call(np.full(1, 2.0), column, 0, out) == 1
    assert out.tolist() == [6.0, 8.0]


def misaligned(size):
    return np.zeros(8 * size + 1, dtype=np.uint8)[1:].view(float)


def read_only(size):
    array = np.zeros(size)
    array.flags.writeable = False
    return array


NO_VECTORS = {
    'list': [0.0, 0.0],
    'number': 0.0,
    'nothing': None,
    'text': 'no array at all, but as long as one is in memory: ' * 9,
    'memory': memoryview(np.zeros(2)),
    'scalar': np.float64(0.0),
    'without dimensions': np.zeros(()),
    'table': np.zeros((2, 2)),
    'cube': np.zeros((2, 2, 2)),
    'integers': np.zeros(2, dtype=np.int64),
    'single precision': np.zeros(2, dtype=np.float32),
    'complex': np.zeros(2, dtype=complex),
    'record': np.zeros(2, dtype=[('x', float)]),
    'other byte order': np.zeros(2, dtype=np.dtype(float).newbyteorder()),
    'strided': np.zeros(4)[::2],
    'backwards': np.zeros(2)[::-1],
    'read-only': read_only(2),
    'misaligned': misaligned(2),
    'subclass': np.zeros(2).view(np.recarray),
}


@pytest.mark.parametrize('bad', NO_VECTORS.values(), ids=NO_VECTORS)
def test_what_is_no_plain_vector_is_refused(call, bad):
    vector, table, out = np.ones(2), np.ones((2, 2)), np.full(2, 8.0)
    for arguments in ((bad, table, 1, out), (vector, table, 1, bad)):
        with pytest.raises(TypeError):
            call(*arguments)
    assert out.tolist() == [8.0, 8.0]
    assert call(vector, table, 1, out) == 3


@pytest.mark.parametrize('bad', [np.zeros(4), np.zeros((3, 2)).T, np.zeros((2, 2, 1))])
def test_what_is_no_plain_table_is_refused(call, bad):
    with pytest.raises(TypeError):
        call(np.ones(2), bad, 1, np.ones(2))


def test_whole_numbers_are_what_python_takes_for_an_index(call):
    rest = np.ones(2), np.ones((2, 2))
    for number in (0, -3, 2**40, np.int64(4), np.int8(-5), np.uint16(6), Level.HIGH, True):
        assert call(*rest, number, np.ones(2)) == int(number) + 2
    for bad in (1.0, '1', None, np.float64(1.0), np.ones(1), [1]):
        with pytest.raises(TypeError):
            call(*rest, bad, np.ones(2))


@pytest.mark.skipif(JIT_DISABLED, reason='Python has numbers of any size')
def test_numbers_beyond_64_bits_are_refused(call):
    for bad in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            call(np.ones(2), np.ones((2, 2)), bad, np.ones(2))


def test_a_wrong_number_of_arguments_is_refused(call):
    for count in (0, 3, 5):
        with pytest.raises(TypeError):
            call(*[np.ones(2)] * count)


def test_names_of_arguments_are_refused(call):
    with pytest.raises(TypeError):
        call(np.ones(2), np.ones((2, 2)), 1, output=np.ones(2))


@pytest.mark.skipif(JIT_DISABLED, reason='Python knows what a function needs')
def test_code_is_kept_as_long_as_it_may_be_called():
    entry = CheckedKernel(count._function.py_func)
    entry.run(1, 1)
    call = entry.call
    kept = weakref.ref(entry._function)
    del entry
    gc.collect()
    assert kept() is None
    assert np.array_equal(call(6, 7), expected(6, 7))


def test_arguments_are_borrowed(call):
    arguments = np.ones(2), np.ones((2, 2)), 12345678, np.ones(2)
    refused = *arguments[:3], [1.0]
    before = [sys.getrefcount(argument) for argument in (*arguments, *refused, np.ndarray)]
    for _ in range(1000):
        call(*arguments)
        with pytest.raises(TypeError):
            call(*refused)
    after = [sys.getrefcount(argument) for argument in (*arguments, *refused, np.ndarray)]
    # What pytest keeps of the last error may hold a few.
    assert max(np.subtract(after, before)) < 10


@CheckedKernel
def count(height, width):
    if height < 0:
        raise TypeError('no table has less than no rows')
    out = fresh_matrix(height, width)
    for i in range(height):
        for j in range(width):
            out[i, j] = i * width + j
    return out


@CheckedKernel
def screw(pitch):
    if pitch[0] < 0.0:
        raise TypeError('no pitch is below zero')
    return new_motion((pitch[0], 0.0, 0.25), (0.0, 0.5, -1.0))


def expected(height, width):
    return np.arange(float(height * width)).reshape(height, width)


@pytest.mark.parametrize('shape', [(0, 3), (1, 1), (1, 4), (4, 1), (6, 7)])
def test_an_array_that_a_kernel_makes_is_the_callers_alone(shape):
    made = [count.run(*shape) for _ in range(20)]
    for i, one in enumerate(made):
        assert type(one) is np.ndarray
        assert one.flags.owndata
        assert one.flags.carray
        assert np.array_equal(one, expected(*shape))
        one[:] = -i
    assert [one.sum() for one in made] == [-i * one.size for i, one in enumerate(made)]


def test_a_motion_that_a_kernel_makes_is_the_callers_alone():
    made = [screw.run(np.full(1, float(i))) for i in range(20)]
    for i, one in enumerate(made):
        assert type(one) is Motion
        assert one == Motion((i, 0.0, 0.25), (0.0, 0.5, -1.0))
        with pytest.raises(ValueError, match='read-only'):
            one.vector[0] = 0.0


HOLDS = {
    'the result': lambda one: one,
    'a view': lambda one: one[2:, 1],
    'its memory': memoryview,
    'an element of a list': lambda one: [one],
    'a weak reference': weakref.ref,
}


@pytest.mark.parametrize('hold', HOLDS.values(), ids=HOLDS)
def test_what_is_held_of_an_array_is_never_written_to_again(hold):
    held = []
    for i in range(10):
        one = count.run(6, 7)
        one[:] = i
        held.append((hold(one), i))
        del one
        count.run(6, 7)
    for one, i in held:
        one = one() if isinstance(one, weakref.ref) else one
        if one is not None:
            assert np.all(np.asarray(one) == i)


def test_what_is_held_of_a_motion_is_never_written_to_again():
    held = []
    for i in range(10):
        one = screw.run(np.full(1, float(i)))
        held += [(one.vector, i), (one.linear, i), (weakref.ref(one.vector), i)]
        del one
        screw.run(np.full(1, 99.0))
    for one, i in held:
        one = one() if isinstance(one, weakref.ref) else one
        assert one is None or (one[0] == i and not one.flags.writeable)


@pytest.mark.skipif(JIT_DISABLED, reason='Python makes a new one')
def test_a_result_that_nobody_holds_is_filled_anew():
    places = {count.run(6, 7).ctypes.data for _ in range(50)}
    assert len(places) <= 4
    assert len({screw.run(np.full(1, 1.0)).vector.ctypes.data for _ in range(50)}) <= 4


def reshape(one):
    one.shape = (7, 6)


def retype(one):
    one.dtype = np.int64


def lock(one):
    one.flags.writeable = False


def shrink(one):
    one.resize((2, 3), refcheck=False)


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
@pytest.mark.parametrize('change', [reshape, retype, lock, shrink])
def test_a_result_that_was_changed_is_not_given_again(change):
    for _ in range(10):
        change(count.run(6, 7))
        again = count.run(6, 7)
        assert (again.shape, again.dtype, again.flags.carray) == ((6, 7), np.float64, True)
        assert np.array_equal(again, expected(6, 7))


def test_sizes_that_take_turns_do_not_mix():
    for _ in range(10):
        for shape in ((6, 7), (6, 2), (7, 6), (3, 2), (6, 44)):
            assert np.array_equal(count.run(*shape), expected(*shape))


def test_a_result_may_be_freed_while_another_is_made():
    """A weak reference calls Python then, which calls the same kernel."""
    called, kept = [], []
    for i in range(30):
        one = count.run(6, 7)
        one[:] = i
        kept.append(weakref.ref(one, lambda _: called.append(count.run(6, 7))))
        del one
    assert called or JIT_DISABLED
    for one in called:
        assert np.array_equal(one, expected(6, 7))
        one[:] = -1.0
    assert np.array_equal(count.run(6, 7), expected(6, 7))


def test_what_a_kernel_made_is_freed():
    count.run(100, 100)
    tracemalloc.start()
    for _ in range(100):
        # More than a kernel keeps: some are allocated each time.
        kept = [(count.run(100, 100), screw.run(np.ones(1))) for _ in range(6)]
        with pytest.raises(TypeError):
            count.run(-1, 100)
        with pytest.raises(TypeError):
            screw.run(np.full(1, -1.0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == 6
    assert most < 20 * 80_000


def test_no_room_for_an_array_is_said():
    with pytest.raises(MemoryError):
        count.run(2**30, 2**20)
    assert count.run(1, 2).tolist() == [[0.0, 1.0]]


def test_nothing_is_compiled_by_the_way():
    entry = CheckedKernel(weigh._function if JIT_DISABLED else weigh._function.py_func)
    with pytest.raises(TypeError, match='not compiled'):
        entry.call(np.ones(2), np.ones((2, 2)), 1, np.ones(2))
    with pytest.raises(TypeError):
        entry.run([1.0], np.ones((2, 2)), 1, np.ones(2))


FIRST_RESULT = """
from icir_control.dynamics import ModelBuilder, forward_kinematics, frame_placement
from icir_control.spatial import Inertia
body = Inertia(1.0, (0.0, 0.0, 0.0), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
model = ModelBuilder().add_joint('wheel', 'continuous').add_body('tyre', 'wheel', body).build()
data = model.create_data()
forward_kinematics(model, data, [0.3])
print(frame_placement(model, data, 1).rotation.tolist())
"""


@pytest.mark.slow
@pytest.mark.skipif(JIT_DISABLED, reason='nothing is compiled')
def test_checked_kernels_are_kept_on_disk(tmp_path):
    environment = os.environ | {'NUMBA_CACHE_DIR': str(tmp_path)}

    def run():
        command = [sys.executable, '-c', FIRST_RESULT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert not done.stderr
        files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*.nb*')}
        return done.stdout, files

    first, again = run(), run()
    assert first == again
    names = {path.name.partition('-')[0] for path in again[1]}
    assert {'forward.placements', 'frames.frame_pose'} <= names
