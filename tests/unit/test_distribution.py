"""Order statistics against numbers that tables of them give."""

import pytest

from harness.base.distribution import Distribution, Interval, distribution, median_interval


def upto(n: int) -> list[float]:
    return [float(value) for value in range(1, n + 1)]


# Ranks of the 95 % interval of a median and its exact confidence, as published tables have them.
@pytest.mark.parametrize(
    ("n", "low", "high", "confidence"),
    [
        (6, 1, 6, 0.9688),
        (8, 1, 8, 0.9922),
        (9, 2, 8, 0.9609),
        (10, 2, 9, 0.9785),
        (15, 4, 12, 0.9648),
        (20, 6, 15, 0.9586),
        (25, 8, 18, 0.9567),
        (50, 18, 33, 0.9672),
        (100, 40, 61, 0.9648),
    ],
)
def test_the_interval_of_the_median_has_the_ranks_of_the_tables(
    n: int, low: int, high: int, confidence: float
) -> None:
    found = median_interval(upto(n))

    assert found is not None
    assert (low, high) == (found.low, found.high)
    assert confidence == pytest.approx(found.confidence, abs=5e-5)


def test_few_values_give_their_own_lower_confidence() -> None:
    assert Interval(1, 5, 0.9375) == median_interval(upto(5)[::-1])  # order does not matter
    assert Interval(1, 2, 0.5) == median_interval(upto(2))
    assert median_interval([7.0]) is median_interval([]) is None


def test_quantiles_are_interpolated() -> None:
    found = distribution([4.0, 2.0, 1.0, 3.0])

    assert (4, 1.0, 2.5, 4.0) == (found.n, found.min, found.p50, found.max)
    assert 3.97 == pytest.approx(found.p99)
    assert Distribution(1, 7.0, 7.0, 7.0, 7.0) == distribution([7.0])
    assert Distribution(0) == distribution([])
