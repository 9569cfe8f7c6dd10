from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.client import Range
from consumers.ranges import ErrorAmongRecordsError, Ranger, Runs

Place = tuple[int, int]
SIZES = st.integers(1, 150)


class Record(NamedTuple):
    in_partition: int
    at_offset: int

    def partition(self) -> int:
        return self.in_partition

    def offset(self) -> int:
        return self.at_offset

    def error(self) -> str | None:
        return "an error" if self.in_partition < 0 else None


class EndOfPartition(Record):
    def error(self) -> str | None:
        return "the end"


def ranges(places: list[Place], ranger: Ranger | None = None) -> list[Range]:
    return (ranger or Ranger("t")).ranges([Record(*place) for place in places])


def distrustful() -> Ranger:
    """One that has seen a gap, so looks at every record."""
    ranger = Ranger("t")
    ranges([(9, 1), (9, 3)], ranger)
    ranger.moved()
    return ranger


@st.composite
def gapless(draw: st.DrawFn) -> list[Place]:
    """Records of a log without gaps, in runs long and short, read again from time to time."""
    places: list[Place] = []
    ahead = dict.fromkeys(range(3), 100)
    for partition, count, back in draw(
        st.lists(st.tuples(st.integers(0, 2), SIZES, st.sampled_from([0, 0, 0, 1, 7])), max_size=8)
    ):
        start = ahead[partition] - back
        places += [(partition, offset) for offset in range(start, start + count)]
        ahead[partition] = start + count
    return places


def assert_reported(places: list[Place], found: list[Range]) -> None:
    for partition in range(4):
        mine = [r for r in found if r.partition == partition]
        came = [offset for p, offset in places if p == partition]
        assert came == [o for r in mine for o in range(r.first, r.last + 1)]
        # A range ends only where its partition skips or goes back.
        assert all(a.last + 1 != b.first for a, b in pairwise(mine))
    assert all(r.records == r.last - r.first + 1 >= 1 for r in found)


@given(gapless())
def test_every_record_is_in_a_range_as_often_as_it_came_and_in_its_partitions_order(
    places: list[Place],
) -> None:
    assert_reported(places, ranges(places))
    assert ranges(places, distrustful()) == ranges(places)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=60))
def test_once_a_gap_was_seen_this_holds_for_any_log(places: list[Place]) -> None:
    assert_reported(places, ranges(places, distrustful()))


@given(gapless(), st.data(), st.booleans())
def test_an_error_in_the_place_of_a_record_is_seen_wherever_it_is(
    places: list[Place], data: st.DataObject, trusting: bool
) -> None:
    at = data.draw(st.integers(0, len(places)))
    offset = data.draw(st.sampled_from([-1001, *(offset for _, offset in places)]))
    ranger = Ranger("t") if trusting else distrustful()
    with pytest.raises(ErrorAmongRecordsError):
        ranges([*places[:at], (-1, offset), *places[at:]], ranger)
    assert_reported(places, ranges(places, ranger))


@given(gapless(), st.data())
def test_an_error_that_names_the_place_of_the_next_record_is_seen(
    places: list[Place], data: st.DataObject
) -> None:
    """As librdkafka's end of a partition does."""
    records = [Record(*place) for place in places]
    at = data.draw(st.integers(0, len(places)))
    partition, offset = places[at - 1] if at else (0, 0)
    with pytest.raises(ErrorAmongRecordsError):
        Ranger("t").ranges([*records[:at], EndOfPartition(partition, offset + 1), *records[at:]])


@given(st.lists(gapless(), max_size=4), st.booleans())
def test_it_holds_from_poll_to_poll(polls: list[list[Place]], moved: bool) -> None:
    ranger = Ranger("t")
    for places in polls:
        if moved:
            ranger.moved()
        assert_reported(places, ranges(places, ranger))


def test_a_gap_between_polls_is_a_reason_to_look_at_every_record() -> None:
    # Endpoints that deceive: a gap of 2 with 2 records of another partition in between.
    deceiving = [(0, 10), (1, 5), (1, 6), (0, 13)]
    ranger = Ranger("t")
    ranges([(0, 7)], ranger)
    assert_reported(deceiving, ranges([(0, 9)], ranger) and ranges(deceiving, ranger))


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ([], []),
        ([(3, offset) for offset in range(100, 600)], [Range("t", 3, 100, 599, 500)]),
        (
            [(n % 2, 5 + n // 2) for n in range(100)],
            [Range("t", 0, 5, 54, 50), Range("t", 1, 5, 54, 50)],
        ),
        ([(0, 5), (0, 6), (0, 8)], [Range("t", 0, 5, 6, 2), Range("t", 0, 8, 8, 1)]),
        (
            [(0, 5), (0, 6), (0, 5), (0, 6), (0, 7)],
            [Range("t", 0, 5, 6, 2), Range("t", 0, 5, 7, 3)],
        ),
    ],
    ids=["nothing", "one run", "partitions take turns", "a gap", "read again in one poll"],
)
def test_places_make_these_ranges(places: list[Place], found: list[Range]) -> None:
    assert found == ranges(places)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=10), st.integers(0, 40))
def test_gaps_are_exactly_the_numbers_in_no_range(spans: list[tuple[int, int]], until: int) -> None:
    covered = [(first, first + more) for first, more in spans]
    runs = Runs()
    for first, last in covered:
        runs.add(0, first, last)
    missing = [n for first, last in runs.gaps(0, until) for n in range(first, last + 1)]
    expected = [n for n in range(until) if not any(a <= n <= b for a, b in covered)]
    # Ranges never reach beyond what was sent.
    if all(last < until for _, last in covered):
        assert expected == missing
