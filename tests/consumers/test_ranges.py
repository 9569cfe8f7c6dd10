from hypothesis import given
from hypothesis import strategies as st

from consumers.client import Range
from consumers.ranges import gaps, ranges_of

record = st.tuples(st.integers(0, 3), st.integers(0, 12))


def ranges(records: list[tuple[int, int]]) -> list[Range]:
    return ranges_of("t", [p for p, _ in records], [o for _, o in records])


@given(st.lists(record, max_size=60))
def test_every_record_is_in_a_range_as_often_as_it_came_and_in_its_partitions_order(
    records: list[tuple[int, int]],
) -> None:
    found = ranges(records)
    for partition in range(4):
        came = [offset for p, offset in records if p == partition]
        told = [o for r in found if r.partition == partition for o in range(r.first, r.last + 1)]
        assert came == told
    assert all(r.records == r.last - r.first + 1 >= 1 for r in found)


@given(st.lists(record, max_size=60))
def test_a_range_ends_only_where_its_partition_skips_or_goes_back(
    records: list[tuple[int, int]],
) -> None:
    found = ranges(records)
    for partition in range(4):
        mine = [r for r in found if r.partition == partition]
        assert all(a.last + 1 != b.first for a, b in zip(mine, mine[1:], strict=False))


def test_one_run_of_one_partition_is_one_range() -> None:
    assert [Range("t", 3, 100, 599, 500)] == ranges_of("t", [3] * 500, list(range(100, 600)))


def test_alternating_partitions_give_one_range_each() -> None:
    assert [Range("t", 0, 5, 7, 3), Range("t", 1, 9, 10, 2)] == ranges(
        [(0, 5), (1, 9), (0, 6), (1, 10), (0, 7)]
    )


def test_a_gap_starts_a_new_range() -> None:
    assert [Range("t", 0, 5, 6, 2), Range("t", 0, 8, 8, 1)] == ranges([(0, 5), (0, 6), (0, 8)])


def test_records_read_again_in_one_poll_are_told_again() -> None:
    assert [Range("t", 0, 5, 6, 2), Range("t", 0, 5, 7, 3)] == ranges(
        [(0, 5), (0, 6), (0, 5), (0, 6), (0, 7)]
    )


def test_no_records_no_ranges() -> None:
    assert ranges_of("t", [], []) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=10), st.integers(0, 40))
def test_gaps_are_exactly_the_numbers_in_no_range(spans: list[tuple[int, int]], until: int) -> None:
    covered = [(first, first + more) for first, more in spans]
    missing = [n for first, last in gaps(covered, until) for n in range(first, last + 1)]
    expected = [n for n in range(until) if not any(a <= n <= b for a, b in covered)]
    # Ranges never reach beyond what was sent.
    if all(last < until for _, last in covered):
        assert expected == missing
