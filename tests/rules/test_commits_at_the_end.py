from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, beat, in_another_group

Judge = Callable[[History, str], dict[str, Any]]
T_ZERO: dict[str, Any] = {"topic": TOPIC, "partition": 0, "committed": 20, "error_code": 0}


def working(client: str = "librdkafka", protocol: str = "eager", **group: Any) -> History:
    """member-1 has t-0 from 500 ms on; 10 records of it at 1 s and at 20 s, the first committed."""
    group = {"client": client, "protocol": protocol, "commit": "auto", **group}
    history = History(group={"auto_commit_interval_ms": 5_000, **group})
    history.member("member-1", client=client, commit="auto").told("member-1", "assigned", 500, [0])
    history.delivered("member-1", 0, 0, 9, 1_000).delivered("member-1", 0, 10, 19, 20_000)
    return history.commit_request("member-1", 5_000, 0, 10)


def closed(history: History | None = None, ms: float = 30_000, **group: Any) -> History:
    """It closes, and gives up what it has."""
    history = history or working(**group)
    return history.told("member-1", "closing", ms).told("member-1", "revoked", ms, [0])


# X102


def test_what_was_given_and_is_not_committed_at_the_end_violates(judge: Judge) -> None:
    (row,) = judge(closed(), "X102")["rows"]
    assert ("member-1 (gives up)", 1, at(30_000)) == (row["subject"], row["measured"], row["at"])
    assert "t-0 was given up to 20, and committed up to 10" in row["why"]


@pytest.mark.parametrize(
    ("commit", "verdict"),
    [
        ({}, "HOLDS"),
        ({"ms": 20_500}, "HOLDS"),  # the last one of its timer
        ({"ms": 36_000}, "HOLDS"),  # librdkafka sends it when it can
        ({"ms": 36_001}, "VIOLATED"),
        ({"committed": 19}, "VIOLATED"),
        ({"committed": 21}, "HOLDS"),
        ({"partition": 1}, "VIOLATED"),
        ({"member": "member-2"}, "VIOLATED"),
        ({"error": 22}, "HOLDS"),  # it has been asked for
        ({"positions": [{**T_ZERO, "topic": "u"}]}, "VIOLATED"),
    ],
)
def test_a_commit_that_covers_all_is_sent(
    judge: Judge, commit: dict[str, Any], verdict: str
) -> None:
    call = {"member": "member-1", "ms": 30_001, "partition": 0, "committed": 20, **commit}
    assert verdict == judge(closed().commit_request(**call), "X102")["verdict"]


def test_positions_of_other_requests_are_no_commits(judge: Judge) -> None:
    history = closed().told_position("member-1", 0, 20, 30_001)
    assert "VIOLATED" == judge(history, "X102")["verdict"]


def test_nothing_new_since_the_last_commit_need_not_be_committed(judge: Judge) -> None:
    history = working()
    history.rows["deliveries"].pop()
    verdict = judge(closed(history), "X102")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("polled_ms", "examined"), [(499, 0), (500, 1), (30_000, 1), (30_001, 0)])
def test_what_a_poll_brings_while_it_has_the_partition_counts(
    judge: Judge, polled_ms: float, examined: int
) -> None:
    history = working()
    history.rows["deliveries"].clear()
    closed(history.delivered("member-1", 0, 10, 19, polled_ms))
    assert examined == judge(history, "X102")["examined"]


def test_the_last_that_it_was_given_counts(judge: Judge) -> None:
    """Its position went back, so this is what it commits."""
    history = closed(working().delivered("member-1", 0, 5, 9, 25_000))
    assert "HOLDS" == judge(history, "X102")["verdict"]


def test_of_two_ranges_of_one_poll_the_later_one_counts(judge: Judge) -> None:
    history = closed(working().delivered("member-1", 0, 30, 39, 25_000))
    history.delivered("member-1", 0, 20, 24, 25_000).commit_request("member-1", 30_001, 0, 25)
    assert "VIOLATED" == judge(history, "X102")["verdict"]


@pytest.mark.parametrize("event", ["lost", "assigned"])
def test_what_is_lost_is_not_committed(judge: Judge, event: str) -> None:
    history = working().told("member-1", event, 30_000, [0])
    assert "UNKNOWN" == judge(history, "X102")["verdict"]


def test_where_the_application_commits_nothing_is_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(closed(commit="sync"), "X102")["verdict"]


@pytest.mark.parametrize("client", ["librdkafka", "java"])
@pytest.mark.parametrize("protocol", ["eager", "cooperative", "consumer"])
@pytest.mark.parametrize("closes", [True, False])
def test_only_a_cooperative_java_member_commits_nothing_as_a_rebalance_takes_a_partition(
    judge: Judge, client: str, protocol: str, closes: bool
) -> None:
    history = working(client, protocol).told("member-1", "revoked", 30_000, [0])
    history.told("member-2", "closing", 29_000).told("member-1", "stall_started", 29_000)
    history.told("member-1", "closing", 30_000 if closes else 30_001)
    unexamined = client == "java" and protocol == "cooperative" and not closes
    assert ("UNKNOWN" if unexamined else "VIOLATED") == judge(history, "X102")["verdict"]


def test_each_partition_that_is_left_out_counts(judge: Judge) -> None:
    history = working().told("member-1", "assigned", 600, [1, 2])
    history.delivered("member-1", 1, 0, 9, 2_000).delivered("member-1", 2, 0, 9, 2_000)
    history.commit_request("member-1", 5_001, 2, 10)
    history.told("member-1", "revoked", 30_000, [0, 1, 2])
    (row,) = judge(history, "X102")["rows"]
    assert 2 == row["measured"]
    history.commit_request("member-1", 30_001, 1, 10).commit_request("member-1", 30_001, 0, 20)
    (row,) = judge(history, "X102")["rows"]
    assert ("3 partitions", True) == (row["why"], row["ok"])


@pytest.mark.parametrize(
    ("event", "member", "ms", "verdict"),
    [
        ("error", "member-1", 23_999, "VIOLATED"),
        ("error", "member-1", 24_000, "UNKNOWN"),
        ("error", "member-1", 36_000, "UNKNOWN"),
        ("error", "member-1", 36_001, "VIOLATED"),
        ("error", "member-2", 30_000, "VIOLATED"),
        ("coordinator_lost", "member-1", 30_000, "UNKNOWN"),
        ("session_timed_out", "member-1", 30_000, "UNKNOWN"),
        ("max_poll_exceeded", "member-1", 30_000, "UNKNOWN"),
        ("coordinator_found", "member-1", 30_000, "VIOLATED"),
    ],
)
def test_a_member_that_something_keeps_from_it_is_not_examined(
    judge: Judge, event: str, member: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(closed().told(member, event, ms), "X102")["verdict"]


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ({"kind": "isolate", "resolved": "member-1"}, "UNKNOWN"),
        ({"kind": "isolate", "resolved": "member-2"}, "VIOLATED"),
        ({"kind": "isolate", "resolved": "member-1", "healed_ms": 24_000}, "UNKNOWN"),
        ({"kind": "isolate", "resolved": "member-1", "healed_ms": 23_999}, "VIOLATED"),
        ({"kind": "isolate", "resolved": "member-1", "injecting_ms": 36_000}, "UNKNOWN"),
        ({"kind": "isolate", "resolved": "member-1", "injecting_ms": 36_001}, "VIOLATED"),
        ({"kind": "pause-broker", "resolved": "broker-2", "healed_ms": 18_000}, "UNKNOWN"),
        ({"kind": "pause-broker", "resolved": "broker-2", "healed_ms": 17_999}, "VIOLATED"),
        ({"kind": "kill-consumer", "resolved": "member-1", "injecting_ms": 30_001}, "UNKNOWN"),
        ({"kind": "kill-consumer", "resolved": "member-2", "injecting_ms": 30_001}, "VIOLATED"),
        ({"kind": "stall-consumer", "resolved": "member-1", "injecting_ms": 30_000}, "VIOLATED"),
    ],
)
def test_a_fault_may_keep_it_from_it(judge: Judge, fault: dict[str, Any], verdict: str) -> None:
    history = closed().member("member-2")
    begin = fault.get("injecting_ms", 10_000)
    call = {"ms": begin + 1, "injecting_ms": begin, "healed_ms": begin + 15_000, **fault}
    assert verdict == judge(history.fault(**call), "X102")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(23_999, "VIOLATED"), (24_000, "UNKNOWN"), (36_000, "UNKNOWN"), (36_001, "VIOLATED")],
)
def test_a_new_coordinator_may_keep_it_from_it(judge: Judge, ms: float, verdict: str) -> None:
    history = closed().says("member_added", 400, "member-1").says("loaded", ms, broker=2)
    in_another_group(history, "loaded", 30_000)
    assert verdict == judge(history, "X102")["verdict"]


@pytest.mark.parametrize(
    ("ms", "leader", "verdict"),
    [
        (23_999, 2, "VIOLATED"),
        (24_000, 2, "UNKNOWN"),
        (36_000, 2, "UNKNOWN"),
        (36_001, 2, "VIOLATED"),
        (30_000, 1, "VIOLATED"),  # the same one: its replicas changed
    ],
)
def test_a_new_leader_may_keep_it_from_it(
    judge: Judge, ms: float, leader: int, verdict: str
) -> None:
    history = closed()
    seen = {"what": "partition", "topic": TOPIC, "partition": 0}
    history.add("topology", at=at(100), leader=1, **seen)
    history.add("topology", at=at(ms), leader=leader, **seen)
    history.add("topology", at=at(29_000), leader=3, what="partition", topic=TOPIC, partition=1)
    history.add("topology", at=at(29_500), leader=4, **{**seen, "what": "broker"})
    assert verdict == judge(history, "X102")["verdict"]


def test_a_member_that_was_removed_is_not_examined(judge: Judge) -> None:
    history = closed(working().says("member_added", 400, "member-1"))
    assert "VIOLATED" == judge(history, "X102")["verdict"]
    assert "UNKNOWN" == judge(history.says("evicted", 29_000, "member-1"), "X102")["verdict"]


@pytest.mark.parametrize(
    ("error", "ms", "verdict"),
    [
        (22, 30_000, "UNKNOWN"),
        (25, 29_000, "UNKNOWN"),
        (82, 29_000, "UNKNOWN"),
        (110, 29_000, "UNKNOWN"),
        (25, 30_001, "VIOLATED"),
        (27, 29_000, "VIOLATED"),
    ],
)
def test_a_member_that_is_out_does_not_commit(
    judge: Judge, error: int, ms: float, verdict: str
) -> None:
    history = closed().heartbeats("member-1", ms, error_code=error)
    assert verdict == judge(history, "X102")["verdict"]


def test_a_member_that_is_in_again_commits(judge: Judge) -> None:
    history = closed(protocol="consumer")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 28_000, error_code=110)
    beat(history, "member-1", 28_500, 3, 3)
    assert "UNKNOWN" == judge(history, "X102")["verdict"]
    beat(history, "member-1", 29_000, 0, 4)
    assert "VIOLATED" == judge(history, "X102")["verdict"]


@pytest.mark.parametrize(
    ("client", "api", "error", "verdict"),
    [
        ("java", "JOIN_GROUP", 0, "UNKNOWN"),
        ("java", "SYNC_GROUP", 27, "UNKNOWN"),
        ("java", "SYNC_GROUP", 0, "VIOLATED"),
        ("librdkafka", "JOIN_GROUP", 0, "VIOLATED"),
        ("librdkafka", "SYNC_GROUP", 27, "VIOLATED"),
    ],
)
def test_java_commits_nothing_between_join_and_assignment(
    judge: Judge, client: str, api: str, error: int, verdict: str
) -> None:
    history = closed(client=client).request(api, "member-1", 29_000, error_code=error)
    assert verdict == judge(history, "X102")["verdict"]


@pytest.mark.parametrize(("polled_ms", "verdict"), [(29_600, "VIOLATED"), (29_601, "HOLDS")])
def test_java_may_be_given_records_after_its_last_commit(
    judge: Judge, polled_ms: float, verdict: str
) -> None:
    """What came until 20 s is committed; its slowest commit takes 100 ms, and 300 are left out."""
    history = closed(working("java")).delivered("member-1", 0, 20, 29, polled_ms)
    history.commit_request("member-1", 29_990, 0, 20, answered_at=at(30_090))
    history.commit_request("member-2", 29_990, 0, 20, answered_at=at(30_290))
    assert verdict == judge(history, "X102")["verdict"]


def joined(protocol: str = "cooperative", client: str = "java", **join: Any) -> History:
    """It has its part of generation 1, and joins for generation 2 at 30 s."""
    history = working(client, protocol).join("member-1", 400).sync("member-1", 450)
    return history.request(**{"api": "JOIN_GROUP", "member": "member-1", "ms": 30_000, **join})


def test_a_java_member_that_joins_again_without_a_commit_violates(judge: Judge) -> None:
    (row,) = judge(joined(), "X102")["rows"]
    assert ("member-1 (joins again)", 1, at(30_000)) == (
        row["subject"],
        row["measured"],
        row["at"],
    )


@pytest.mark.parametrize(
    ("ms", "verdict"), [(29_900, "HOLDS"), (30_300, "HOLDS"), (30_301, "VIOLATED")]
)
def test_it_commits_before_it_joins_again(judge: Judge, ms: float, verdict: str) -> None:
    """Lines of requests may be stamped late."""
    history = joined().commit_request("member-1", ms, 0, 20)
    assert verdict == judge(history, "X102")["verdict"]


@pytest.mark.parametrize(
    "history",
    [
        joined(client="librdkafka"),
        joined(error_code=27),
        joined(life=2),  # as another one
        joined(member="member-2"),
        joined().request("HEARTBEAT", "member-1", 29_000, error_code=22),
        joined().request("SYNC_GROUP", "member-1", 29_000, error_code=27),
        joined().join("member-1", 29_000, error_code=16),
        joined().told("member-1", "lost", 30_000, [0]),
        joined().told("member-1", "revoked", 30_001, [1]).told("member-1", "lost", 29_999, [0]),
    ],
)
def test_other_joins_are_not_examined(judge: Judge, history: History) -> None:
    assert "UNKNOWN" == judge(history, "X102")["verdict"]


def test_an_eager_java_member_gives_up_as_it_joins(judge: Judge) -> None:
    history = joined("eager").told("member-1", "revoked", 29_990, [0])
    (row,) = judge(history, "X102")["rows"]
    assert "member-1 (gives up)" == row["subject"]


# X103


def committing(client: str = "librdkafka", ms: float = 25_000, **row: Any) -> History:
    """It commits t-1, and nothing of t-0, for the second time."""
    history = working(client)
    call = {"member": "member-1", "partition": 1, "committed": 5, **row}
    return history.commit_request(ms=ms, **call)


def test_a_partition_that_a_commit_leaves_out_violates(judge: Judge) -> None:
    (row,) = judge(committing(evidence="the second"), "X103")["rows"]
    assert ("t-0 of member-1", 10, at(25_000), "the second") == (
        row["subject"],
        row["measured"],
        row["at"],
        row["evidence"],
    )
    assert "1 of 2 commits left some out" in row["why"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"partition": 0, "committed": 20}, "HOLDS"),
        ({"partition": 0, "committed": 19}, "VIOLATED"),
        ({"partition": 0, "committed": 21}, "HOLDS"),
        ({"partition": 0, "committed": 20, "error": 27}, "HOLDS"),
        ({"partition": 0, "committed": 20, "member": "member-2"}, "HOLDS"),  # no commit of its own
        ({"generation": -1}, "HOLDS"),  # by an admin client
    ],
)
def test_a_commit_covers_what_was_given(judge: Judge, row: dict[str, Any], verdict: str) -> None:
    assert verdict == judge(committing(**row), "X103")["verdict"]


@pytest.mark.parametrize("row", [{"api": "OFFSET_FETCH"}, {"group": "payments"}])
def test_other_requests_are_no_commits(judge: Judge, row: dict[str, Any]) -> None:
    history = committing()
    history.rows["requests"][-1].update(row)
    assert "HOLDS" == judge(history, "X103")["verdict"]


def test_what_was_committed_before_need_not_be_named_again(judge: Judge) -> None:
    history = committing().commit_request("member-1", 24_000, 0, 20)
    verdict = judge(history, "X103")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("client", "ms", "verdict"),
    [
        ("librdkafka", 20_379, "HOLDS"),
        ("librdkafka", 20_380, "VIOLATED"),
        ("java", 20_449, "HOLDS"),
        ("java", 20_450, "VIOLATED"),
    ],
)
def test_what_came_just_before_the_commit_may_be_left_out(
    judge: Judge, client: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(committing(client, ms), "X103")["verdict"]


@pytest.mark.parametrize(
    ("event", "member", "ms", "observed_ms", "verdict"),
    [
        ("revoked", "member-1", 23_999, 23_999, "VIOLATED"),
        ("revoked", "member-1", 24_000, 24_000, "UNKNOWN"),
        ("revoked", "member-1", 23_000, 24_000, "UNKNOWN"),
        ("lost", "member-1", 24_000, 24_000, "UNKNOWN"),
        ("closing", "member-1", 24_000, 24_000, "UNKNOWN"),
        ("closing", "member-1", 25_300, 25_300, "UNKNOWN"),
        ("closing", "member-1", 25_301, 25_301, "VIOLATED"),
        ("closing", "member-2", 25_000, 25_000, "VIOLATED"),
        ("assigned", "member-1", 25_000, 25_000, "VIOLATED"),
    ],
)
def test_a_commit_at_a_revocation_names_nothing_else(
    judge: Judge, event: str, member: str, ms: float, observed_ms: float, verdict: str
) -> None:
    """The first commit is not examined either, but by itself it would hold."""
    history = committing()
    history.rows["requests"].pop(0)
    history.told(member, event, ms, [3], observed_at=at(observed_ms))
    assert verdict == judge(history, "X103")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "verdict"),
    [
        ("revoked", 23_500, "HOLDS"),
        ("revoked", 26_000, "VIOLATED"),
        ("assigned", 20_001, "HOLDS"),  # anew, and nothing came of it since
        ("assigned", 20_000, "VIOLATED"),
    ],
)
def test_only_what_it_has_then_counts(judge: Judge, event: str, ms: float, verdict: str) -> None:
    history = committing().told("member-1", event, ms, [0])
    assert verdict == judge(history, "X103")["verdict"]


def test_a_member_that_was_removed_commits_nothing_more(judge: Judge) -> None:
    history = committing().says("member_added", 400, "member-1")
    assert "VIOLATED" == judge(history, "X103")["verdict"]
    assert "HOLDS" == judge(history.says("evicted", 25_000, "member-1"), "X103")["verdict"]


def test_the_last_that_was_given_counts(judge: Judge) -> None:
    history = committing().delivered("member-1", 0, 5, 9, 21_000)
    assert "HOLDS" == judge(history, "X103")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "verdict"),
    [
        ("error", 18_999, "VIOLATED"),
        ("error", 19_000, "HOLDS"),
        ("error", 25_000, "HOLDS"),
        ("error", 25_001, "VIOLATED"),
    ],
)
def test_a_commit_that_something_hinders_is_not_examined(
    judge: Judge, event: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(committing().told("member-1", event, ms), "X103")["verdict"]


def test_no_other_ones_commits_are_automatic(judge: Judge) -> None:
    history = committing()
    history.group["commit"] = "sync"
    assert "UNKNOWN" == judge(history, "X103")["verdict"]


def test_a_partition_of_which_nothing_came_is_not_examined(judge: Judge) -> None:
    history = working().told("member-1", "assigned", 600, [1])
    assert 1 == judge(history, "X103")["examined"]


def test_the_worst_of_a_partition_and_the_first_are_told(judge: Judge) -> None:
    history = committing(evidence="first").delivered("member-1", 0, 20, 29, 26_000)
    history.commit_request("member-1", 35_000, 1, 6, evidence="second")
    (row,) = judge(history, "X103")["rows"]
    assert (20, at(25_000), "first") == (row["measured"], row["at"], row["evidence"])
    assert "2 of 3 commits left some out" in row["why"]
