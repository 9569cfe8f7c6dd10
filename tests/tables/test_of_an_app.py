"""What stands in for the journals of members that are programs of somebody else's."""

from __future__ import annotations

import pytest

from tests.histories import TOPIC, History, an_app, at
from tests.tables.table_rows import Rows, in_order


def fetched(history: History, rows: Rows) -> list[tuple[object, ...]]:
    names = ("member", "partition", "first_offset", "last_offset", "exact")
    found = in_order(rows(history, "fetched"), "arrived_at")
    return [tuple(row[name] for name in names) for row in found]


def test_a_member_got_what_is_before_its_next_fetch(rows: Rows) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 100, upto=50)
    history.fetch("member-1", 0, 20, 200, upto=50).fetch("member-1", 1, 7, 150, upto=9)
    assert [
        ("member-1", 0, 0, 19, True),
        ("member-1", 1, 7, 8, False),
        ("member-1", 0, 20, 49, False),
    ] == fetched(history, rows)


@pytest.mark.parametrize(
    ("following", "found"),
    [
        # What there was not it cannot have got.
        (60, [(0, 49, True)]),
        (50, [(0, 49, True)]),
        # The same again: the answer brought it nothing.
        (0, []),
    ],
)
def test_what_the_next_fetch_says_of_one(
    rows: Rows, following: int, found: list[tuple[object, ...]]
) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 100, upto=50)
    history.fetch("member-1", 0, following, 200)
    assert found == [row[2:] for row in fetched(history, rows)]


def test_a_member_that_goes_back_got_at_most_what_there_was(rows: Rows) -> None:
    history = an_app("member-1").fetch("member-1", 0, 30, 100, upto=50)
    history.fetch("member-1", 0, 10, 200, upto=11).fetch("member-2", 0, 31, 150)
    assert [("member-1", 0, 30, 49, False), ("member-1", 0, 10, 10, False)] == fetched(
        history, rows
    )


@pytest.mark.parametrize(
    "row", [{"bytes": 0}, {"end_offset": 0}, {"member": None}, {"partition": None}]
)
def test_an_answer_without_records_or_of_nobody_brought_none(
    rows: Rows, row: dict[str, object]
) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 100, upto=50)
    history.rows["fetches"][0].update(row)
    assert [] == fetched(history, rows)


@pytest.mark.parametrize(("topic", "read"), [("t", 1), ("counts-changelog", 0)])
def test_only_the_topic_that_it_is_fed_is_read(rows: Rows, topic: str, read: int) -> None:
    """Whoever restores a state reads a changelog again, and no record of it comes twice."""
    history = an_app("member-1")
    for ms in (100, 300):
        history.fetch("member-1", 0, 0, ms, upto=50, topic=topic)
        history.fetch("member-1", 0, 50, ms + 100, topic=topic)
    assert 2 * read == len(rows(history, "reads"))
    assert read == len(rows(history, "redeliveries"))


def test_one_byte_is_a_record(rows: Rows) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 100, upto=50)
    history.rows["fetches"][0]["bytes"] = 1
    assert [("member-1", 0, 0, 49, False)] == fetched(history, rows)


def test_a_partition_that_is_named_again_goes_on_where_it_was(rows: Rows) -> None:
    """In a fetch session a client names it only where its position has changed."""
    history = an_app("member-1").fetch("member-1", 0, 10, 100).fetch("member-1", 0, None, 200)
    history.rows["fetches"][1].update(bytes=100, end_offset=30)
    assert [("member-1", 0, 10, 29, False)] == fetched(history, rows)


def test_what_a_program_shows_counts_before_what_it_fetched(rows: Rows) -> None:
    history = an_app("member-1").holds("member-1", 0).fetch("member-1", 0, 0, 100, upto=50)
    history.commit_request("member-1", 300, 0, 50)
    names = ("member", "poll", "partition", "first_offset", "last_offset", "count", "generation")
    (read,) = rows(history, "reads")
    assert ("member-1", 1, 0, 0, 49, 50, 1) == tuple(read[name] for name in names)
    assert at(101) == read["polled_at"] == read["processed_at"]
    (advance,) = rows(history, "advances")
    assert (50, at(300), "committed") == (advance["position"], advance["at"], advance["how"])

    history.shows("member-1", 0, 3, 4, 200).shows("member-1", 0, 5, 9, 250)
    reads = in_order(rows(history, "reads"), "poll")
    assert [("member-1", 1, 0, 3, 4, 2, 1), ("member-1", 2, 0, 5, 9, 5, 1)] == [
        tuple(row[name] for name in names) for row in reads
    ]
    advances = in_order(rows(history, "advances"), "at")
    assert [(5, at(200), "processed"), (10, at(250), "processed")] == [
        (row["position"], row["at"], row["how"]) for row in advances
    ]


def test_a_record_was_read_in_the_last_generation_that_began_before(rows: Rows) -> None:
    """That of another partition or another member is none of it."""
    history = an_app("member-1", "member-2").holds("member-1", 0, ms=10, generation=1)
    history.join("member-1", 900, 2)
    history.holds("member-1", 0, ms=1_000, generation=2).holds("member-2", 1, ms=20, generation=7)
    for ms in (9, 10, 999, 1_000):
        history.shows("member-1", 0, ms, ms, ms)
    found = in_order(rows(history, "reads"), "polled_at")
    assert [None, 1, 1, 2] == [row["generation"] for row in found]


def test_what_its_members_callbacks_would_tell(rows: Rows) -> None:
    """A process that was killed, or failed, heard of nothing."""
    history = an_app("member-1", "member-2", "member-3", "member-4")
    for number, (member, end) in enumerate(
        (("member-1", "closed"), ("member-2", "killed"), ("member-3", "failed"))
    ):
        history.holds(member, number, ms=10)
        history.rows["members"][number].update(end=end, ended_at=at(9_000))
    history.holds("member-4", 3, ms=10)
    history.rows["members"][3].update(end=None, ended_at=None)
    found = {(row["member"], row["event"]): row["at"] for row in rows(history, "callbacks")}
    assert {
        **{(f"member-{number}", "assigned"): at(10) for number in (1, 2, 3, 4)},
        ("member-1", "revoked"): at(9_000),
    } == found


def test_a_process_halts_when_it_is_asked_to_end(rows: Rows) -> None:
    history = an_app("member-1", "member-2")
    history.rows["members"][0].update(told_at=at(5_000))
    assert [("member-1", at(5_000), "close")] == [
        (row["member"], row["at"], row["what"]) for row in rows(history, "halts")
    ]


@pytest.mark.parametrize("table", ["awaited_commits", "unheard_commits"])
def test_nobody_knows_of_a_programs_own_commits(rows: Rows, table: str) -> None:
    history = an_app("member-1").commit_request("member-1", 100, 0, 5)
    assert [] == rows(history.fetch("member-1", 0, 0, 100, topic=TOPIC), table)
