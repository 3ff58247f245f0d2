"""How results are compared with those of another library."""

from spatial_samples import assert_close


def assert_equal(ours, theirs, tolerance: float = 1e-10) -> None:
    """Compare relative to the largest entry, or to 1 if all are smaller."""
    assert_close(ours, theirs, tolerance)
