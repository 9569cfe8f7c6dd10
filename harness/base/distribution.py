"""What many measurements of one thing come to: order statistics, nothing assumed of their shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Distribution:
    """Smallest, median, 99th percentile and largest of `n` measurements; nulls where n is 0."""

    n: int
    min: float | None = None
    p50: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Interval:
    """Where the median of what was drawn from lies, with this confidence (0 to 1)."""

    low: float
    high: float
    confidence: float


def distribution(values: Sequence[float]) -> Distribution:
    """The distribution of these values; quantiles are interpolated between the two next to them."""
    if not values:
        return Distribution(0)
    array = pa.array(values, pa.float64())
    found = [float(pc.quantile(array, q=q)[0].as_py()) for q in (0.0, 0.5, 0.99, 1.0)]
    return Distribution(len(values), *found)


def median_interval(values: Sequence[float]) -> Interval | None:
    """The exact interval of the median by order statistics; null for fewer than two values.

    The interval from the k-th smallest to the k-th largest of n independent values misses the
    median only if fewer than k of them fell on one side of it, and each falls there with 1/2: the
    binomial distribution says how often that is. The narrowest interval that reaches `CONFIDENCE`
    is taken. Five values or fewer cannot reach 95 %: then it is from the smallest to the largest,
    and its own, lower confidence is given.
    """
    n = len(values)
    if n < 2:
        return None
    ordered = sorted(values)
    k, missed = 1, 2  # 2 ** n times the probability that the k-th interval misses
    while k < n // 2 and 1 - (wider := missed + 2 * comb(n, k)) / 2**n >= CONFIDENCE:
        k, missed = k + 1, wider
    return Interval(ordered[k - 1], ordered[n - k], 1 - missed / 2**n)
