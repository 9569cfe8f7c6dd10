from __future__ import annotations

from harness.tables.engines.base import Engine
from tests.histories import History, at
from tests.tables.rows import by_time, rows


def test_commits_are_judged_by_what_the_coordinator_knew(engine: Engine) -> None:
    history = History().join("member-1", 0).rebalance(0, 1, 1)
    history.commit_request("member-1", 100, 0, 10).rebalance(5_000, 2, 1)
    history.says("evicted", 6_000, "member-1").commit_request("member-1", 7_000, 0, 20, error=25)
    first, second = by_time(rows(history, engine, "commits_judged"))
    assert (1, None, None) == (
        first["group_generation"], first["previous_committed"], first["removed_at"]
    )  # fmt: skip
    assert (2, 10, at(6_000)) == (
        second["group_generation"], second["previous_committed"], second["removed_at"]
    )  # fmt: skip


def test_a_member_that_came_back_under_its_id_is_no_zombie(engine: Engine) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1")
    history.says("member_added", 0, "member-1").says("evicted", 6_000, "member-1")
    history.says("member_added", 8_000, "member-1")
    for ms in (5_000, 7_000, 9_000):
        history.commit_request("member-1", ms, 0, ms)

    removed = [row["removed_at"] for row in by_time(rows(history, engine, "commits_judged"))]

    assert [None, at(6_000), None] == removed
