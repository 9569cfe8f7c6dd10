from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.check.judge import examine
from harness.tables.engines.base import Engine
from tests.histories import History, at, tables_of
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]

RULES = (
    *("R03-wire", "R08-wire", "R13", "R17", "R27-shrink", "R28", "R28-dead", "R28-list"),
    *("R28-unknown", "R29-wire", "R30-wire", "R31", "R31-bytes", "R35-wire", "X05-wire", "X06"),
    *("X08-wire", "X09-wire", "X10", "X13", "X15", "X30", "X33"),
)


def test_without_a_probe_nothing_is_examined(engine: Engine) -> None:
    tables = tables_of(History().rebalance(0, 1, 1).heartbeats("member-1", 2_000), engine)
    outcome = examine(tables, RULES)
    tables.close()
    assert {} == outcome.unknown
    assert {rule: [] for rule in RULES} == outcome.rows


# R17


@pytest.mark.parametrize(
    ("inside", "outside", "violations"), [(79, 26, 0), (26, 79, 4), (0, 26, 0), (0, 0, 2)]
)
def test_session_timeouts_outside_the_range_are_refused(
    judge: Judge, inside: int, outside: int, violations: int
) -> None:
    history = Probed()
    for session_ms in (5_999, 6_000, 1_800_000, 1_800_001):
        error = inside if session_ms in (6_000, 1_800_000) else outside
        history.call(
            "JOIN_GROUP", 1_000, error, state="Dead", request={"sessionTimeoutMs": session_ms}
        )
    verdict = judge(history, "R17")
    assert (4, violations) == (verdict["examined"], verdict["violations"])


def test_the_range_of_session_timeouts_is_what_the_brokers_were_given(judge: Judge) -> None:
    given = {"group.min.session.timeout.ms": "1000", "group.max.session.timeout.ms": "2000"}
    history = Probed(cluster=given)
    for session_ms, error in ((999, 26), (1_000, 79), (2_000, 79), (2_001, 26)):
        history.call(
            "JOIN_GROUP", 1_000, error, state="Dead", request={"sessionTimeoutMs": session_ms}
        )
    assert (4, 0) == (judge(history, "R17")["examined"], judge(history, "R17")["violations"])


@pytest.mark.parametrize(
    ("session_ms", "verdict"),
    [(6_000, "HOLDS"), (5_999, "VIOLATED"), (1_800_000, "HOLDS"), (1_800_001, "VIOLATED")],
)
def test_nobody_is_let_in_with_a_session_timeout_out_of_range(
    judge: Judge, session_ms: int, verdict: str
) -> None:
    history = History().join("member-1", 10, session_timeout_ms=session_ms)
    history.join("member-2", 10, session_timeout_ms=1, error_code=26)
    judged = judge(history, "R17")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


# X08-wire


def given_id(error: int = 79, **row: Any) -> Probed:
    """A first step at 1 s with a session of 6 s, answered with the id "a"."""
    history = Probed().call(
        "JOIN_GROUP", 1_000, error, state="Dead", request={"sessionTimeoutMs": 6_000},
        answer={"memberId": "a"}, **row,
    )  # fmt: skip
    history.request("JOIN_GROUP", "probe", 1_000, group=OWN, member_id="a", error_code=79)
    return history


def test_an_id_that_nobody_uses_is_dropped_after_a_session(judge: Judge) -> None:
    verdict = judge(given_id().logged("pending_evicted", 7_003, "a").tick(7_000), "X08-wire")
    assert ("HOLDS", 6_003) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize("dropped_ms", [6_900, 7_100, None])
def test_an_unused_id_dropped_early_late_or_never_violates(
    judge: Judge, dropped_ms: int | None
) -> None:
    history = given_id().tick(7_000)
    if dropped_ms is not None:
        history.logged("pending_evicted", dropped_ms, "a")
    assert "VIOLATED" == judge(history, "X08-wire")["verdict"]


@pytest.mark.parametrize(
    ("back_ms", "error", "verdict"),
    [(4_000, 0, "HOLDS"), (4_000, 25, "VIOLATED"), (8_000, 25, "HOLDS"), (8_000, 0, "VIOLATED")],
)
def test_an_id_is_good_for_one_session(
    judge: Judge, back_ms: int, error: int, verdict: str
) -> None:
    history = given_id().call("JOIN_GROUP", back_ms, error, member="a", state="Empty").tick(7_000)
    if back_ms > 7_000:
        history.logged("pending_evicted", 7_001, "a")
    assert verdict == judge(history, "X08-wire")["verdict"]


def test_a_dynamic_member_that_joins_at_once_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(given_id(error=0), "X08-wire")["verdict"]
    assert "HOLDS" == judge(given_id(error=0, instance_id="A"), "X08-wire")["verdict"]


def test_only_joins_without_an_id_are_first_steps(judge: Judge) -> None:
    history = given_id().logged("pending_evicted", 7_003, "a").tick(7_000)
    for error in (26, 81):
        history.call("JOIN_GROUP", 2_000, error, answer={"memberId": ""})
    history.call("JOIN_GROUP", 2_100, 25, member="b").call("LIST_GROUPS", 2_200)
    verdict = judge(history, "X08-wire")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("answer", [{}, {"memberId": ""}])
def test_an_answer_79_without_an_id_violates(judge: Judge, answer: dict[str, Any]) -> None:
    history = Probed(end_ms=5_000).call("JOIN_GROUP", 1_000, 79, answer=answer)
    verdict = judge(history, "X08-wire")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["examined"])


def test_a_static_member_that_is_sent_back_for_an_id_violates(judge: Judge) -> None:
    history = given_id(instance_id="A").logged("pending_evicted", 7_003, "a").tick(7_000)
    assert 1 == judge(history, "X08-wire")["violations"]


@pytest.mark.parametrize(
    ("back_ms", "verdict"),
    [(6_950, "VIOLATED"), (6_951, "UNKNOWN"), (7_051, "UNKNOWN"), (7_052, "HOLDS")],
)
def test_within_slack_of_its_end_an_id_may_be_good_or_not(
    judge: Judge, back_ms: float, verdict: str
) -> None:
    """It was given at 1,001 ms; what comes later than that end finds it dropped."""
    history = given_id().call("JOIN_GROUP", back_ms, 25, member="a", state="Empty").tick(7_000)
    history.call("JOIN_GROUP", back_ms + 1, 0, member="a").call("HEARTBEAT", 6_000, member="b")
    history.call("JOIN_GROUP", 6_000, 0, member="a", group="else")
    judged = judge(history.logged("pending_evicted", 7_001, "a"), "X08-wire")
    assert (verdict, 2 if back_ms < 7_052 else 3) == (judged["verdict"], judged["examined"])


def test_what_else_is_said_with_an_id_is_no_second_step(judge: Judge) -> None:
    history = given_id().call("HEARTBEAT", 4_000, 25, member="a", generation=1)
    assert 1 == judge(history, "X08-wire")["examined"]


@pytest.mark.parametrize(
    ("dropped_ms", "answering_ms", "verdict"),
    [
        (6_949, 0, "VIOLATED"),
        (6_950, 0, "HOLDS"),
        (7_050, 0, "HOLDS"),
        (7_051, 0, "VIOLATED"),
        (7_070, 20, "HOLDS"),
        (7_071, 20, "VIOLATED"),
    ],
)
def test_an_unused_id_is_dropped_a_session_after_its_request_or_answer(
    judge: Judge, dropped_ms: float, answering_ms: float, verdict: str
) -> None:
    history = given_id()
    history.rows["requests"][0]["processed_at"] = at(1_000 + answering_ms)
    # Nothing of this is the request or the end of that id.
    own: dict[str, Any] = {"group": OWN, "member_id": "a"}
    history.request("JOIN_GROUP", "probe", 3_000, **own)
    history.request("HEARTBEAT", "probe", 3_000, **own, error_code=79)
    history.request("JOIN_GROUP", "probe", 3_000, **{**own, "group": "else"}, error_code=79)
    history.request("JOIN_GROUP", "probe", 3_000, **{**own, "member_id": "b"}, error_code=79)
    history.logged("pending_evicted", 4_000, "b").logged("evicted", 4_000, "a")
    history.says("pending_evicted", 4_000)
    history.rows["coordinator_events"][-1]["member_id"] = "a"
    history.logged("pending_evicted", dropped_ms, "a").tick(7_000)
    judged = judge(history, "X08-wire")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])
    why = "was dropped too early" if dropped_ms < 7_000 else "was dropped too late"
    assert verdict == "HOLDS" or why in [row["why"] for row in judged["rows"]]


@pytest.mark.parametrize(("dropped", "verdict"), [(True, "UNKNOWN"), (False, "VIOLATED")])
def test_without_its_request_on_record_only_an_id_that_is_never_dropped_can_be_told(
    judge: Judge, dropped: bool, verdict: str
) -> None:
    history = given_id().tick(7_000)
    history.rows["requests"].clear()
    if dropped:
        history.logged("pending_evicted", 7_001, "a")
    judged = judge(history, "X08-wire")
    assert (verdict, 6_050 if dropped else None) == (judged["verdict"], judged["bound_high"])
    why = [row["why"] for row in judged["rows"] if row["ok"] is not True]
    assert ["its request was not recorded" if dropped else "was never dropped"] == why


@pytest.mark.parametrize(("end_ms", "examined"), [(8_002, 1), (8_003, 2)])
def test_an_id_that_is_due_as_the_run_is_stopped_is_not_examined(
    judge: Judge, end_ms: float, examined: int
) -> None:
    history = given_id()
    history.end_ms = end_ms
    assert examined == judge(history, "X08-wire")["examined"]


# R35-wire

HEARTBEATS: Any = (
    ({"member": "a"}, 0),
    ({"member": "a", "state": "CompletingRebalance"}, 0),
    ({"member": "a", "state": "PreparingRebalance"}, 27),
    ({"member": "a", "generation": 0}, 22),
    ({"member": "a", "generation": 2, "state": "PreparingRebalance"}, 22),
    ({"member": "nobody"}, 25),
    ({"member": "a", "state": "Dead"}, 25),
    ({"member": "s", "instance_id": "S"}, 0),
    ({"member": "nobody", "instance_id": "S"}, 82),
    ({"member": "s", "instance_id": "stranger"}, 25),
)


@pytest.mark.parametrize(("wrong", "verdict"), [(False, "HOLDS"), (True, "VIOLATED")])
def test_what_each_heartbeat_must_be_answered(judge: Judge, wrong: bool, verdict: str) -> None:
    history = Probed().formed("a", "s", static=("s",))
    for number, (asked, error) in enumerate(HEARTBEATS):
        answered = (0 if error else 25) if wrong else error
        history.call("HEARTBEAT", 3_000 + 10 * number, answered, **{"generation": 1, **asked})
    judged = judge(history, "R35-wire")
    assert (verdict, 10 if wrong else 0) == (judged["verdict"], judged["violations"])


def test_a_heartbeat_of_a_removed_member_is_one_of_a_stranger(judge: Judge) -> None:
    history = Probed().formed("a", "b").logged("evicted", 2_500, "b")
    history.call("HEARTBEAT", 3_000, 25, member="b", generation=1)
    assert "HOLDS" == judge(history, "R35-wire")["verdict"]


def test_a_heartbeat_during_which_the_group_changed_cannot_be_judged(judge: Judge) -> None:
    history = Probed().formed("a")
    history.call("HEARTBEAT", 3_000, 27, member="a", generation=1, after="PreparingRebalance")
    assert "UNKNOWN" == judge(history, "R35-wire")["verdict"]


# X05-wire


def twins() -> Probed:
    """At 3 s "t" joins with the instance id of "s"."""
    history = Probed().formed("s", static=("s",))
    return history.joined("t", 3_000, instance_id="S", state="Stable")


def test_the_older_of_two_with_one_instance_id_is_fenced(judge: Judge) -> None:
    history = twins().call("HEARTBEAT", 3_500, 82, member="s", instance_id="S", generation=1)
    history.call("HEARTBEAT", 3_600, 0, member="t", instance_id="S", generation=1)
    verdict = judge(history, "X05-wire")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("member", "error"), [("s", 0), ("s", 25), ("t", 82)])
def test_the_older_one_accepted_or_the_newer_one_fenced_violates(
    judge: Judge, member: str, error: int
) -> None:
    history = twins()
    history.call("OFFSET_COMMIT", 3_500, error, member=member, instance_id="S", generation=1)
    assert "VIOLATED" == judge(history, "X05-wire")["verdict"]


def test_coming_back_after_leaving_is_no_duplicate(judge: Judge) -> None:
    history = Probed().formed("s", static=("s",)).logged("left", 2_500, "s")
    history.joined("t", 3_000, instance_id="S")
    history.call("HEARTBEAT", 3_500, 25, member="s", instance_id="S", generation=1)
    assert "UNKNOWN" == judge(history, "X05-wire")["verdict"]


def test_only_what_the_two_say_with_the_instance_id_after_the_change_is_examined(
    judge: Judge,
) -> None:
    history = twins().call("HEARTBEAT", 3_500, 82, member="s", instance_id="S", generation=1)
    history.call("HEARTBEAT", 3_001, 0, member="s", instance_id="S", generation=1)
    history.call("HEARTBEAT", 3_500, 0, member="x", instance_id="S", generation=1)
    history.call("HEARTBEAT", 3_500, 0, member="s", instance_id="X", generation=1)
    history.call("HEARTBEAT", 3_500, 0, member="s", instance_id="S", group="else")
    verdict = judge(history, "X05-wire")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("error", "verdict"), [(22, "HOLDS"), (25, "VIOLATED")])
def test_the_newer_one_may_be_wrong_in_another_way_and_is_no_stranger(
    judge: Judge, error: int, verdict: str
) -> None:
    history = twins().call("HEARTBEAT", 3_500, error, member="t", instance_id="S", generation=7)
    assert verdict == judge(history, "X05-wire")["verdict"]


# R29-wire


def leave(state: str, *, error: int = 0, after: str | None = None, left: bool = True) -> Probed:
    """Of "a", "b" and "c", "b" leaves at 5 s."""
    history = Probed().formed("a", "b", "c")
    if state == "PreparingRebalance":
        history.logged("rebalance_started", 4_000, generation=1, reason="because")
    history.call("LEAVE_GROUP", 5_000, error, member="b", state=state, after=after, lasts_ms=3)
    return history.logged("left", 5_001, "b") if left else history


@pytest.mark.parametrize("state", ["Stable", "CompletingRebalance"])
def test_a_leave_starts_a_rebalance_at_once(judge: Judge, state: str) -> None:
    history = leave(state).logged("rebalance_started", 5_002, generation=1, reason="leave")
    assert "HOLDS" == judge(history.tick(5_000), "R29-wire")["verdict"]


@pytest.mark.parametrize("started_ms", [5_200, None])
def test_a_leave_that_starts_none_or_late_violates(judge: Judge, started_ms: int | None) -> None:
    history = leave("Stable").tick(5_000)
    if started_ms is not None:
        history.logged("rebalance_started", started_ms, generation=1, reason="leave")
    assert "VIOLATED" == judge(history, "R29-wire")["verdict"]


def test_the_last_one_missing_completes_the_join_by_leaving(judge: Judge) -> None:
    def left(completed: bool, rejoined: tuple[str, ...]) -> str:
        history = leave("PreparingRebalance").tick(5_000)
        for member in rejoined:
            history.joined(member, 4_500, 2, lasts_ms=2_000, state="PreparingRebalance")
        if completed:
            history.logged("stabilized", 5_002, generation=2, members=2)
        return str(judge(history, "R29-wire")["verdict"])

    assert "HOLDS" == left(completed=True, rejoined=("a", "c"))
    assert "VIOLATED" == left(completed=False, rejoined=("a", "c"))
    assert "HOLDS" == left(completed=False, rejoined=("a",))
    assert "VIOLATED" == left(completed=True, rejoined=("a",))


def test_a_newcomer_that_was_only_given_its_id_is_waited_for(judge: Judge) -> None:
    history = leave("PreparingRebalance").tick(5_000)
    for member in ("a", "c"):
        history.joined(member, 4_500, 2, lasts_ms=2_000, state="PreparingRebalance")
    history.call("JOIN_GROUP", 4_600, 79, answer={"memberId": "d"}, state="PreparingRebalance")
    assert "HOLDS" == judge(history, "R29-wire")["verdict"]


def test_a_second_rebalance_while_one_goes_on_violates(judge: Judge) -> None:
    history = leave("PreparingRebalance").tick(5_000)
    history.logged("rebalance_started", 5_002, generation=1, reason="leave")
    assert "VIOLATED" == judge(history, "R29-wire")["verdict"]


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_leaving_an_empty_group_does_nothing(judge: Judge, state: str) -> None:
    history = Probed().call("LEAVE_GROUP", 5_000, 25, member="b", state=state)
    assert "HOLDS" == judge(history, "R29-wire")["verdict"]
    history.logged("rebalance_started", 5_001, generation=1, reason="leave")
    assert "VIOLATED" == judge(history, "R29-wire")["verdict"]


@pytest.mark.parametrize(
    ("left_ms", "verdict"),
    [(5_000, "HOLDS"), (5_003, "HOLDS"), (5_004, "VIOLATED")],
)
def test_a_leave_has_its_effect_before_it_is_answered(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    history = leave("Stable", left=False).logged("left", left_ms, "b").tick(5_000)
    history.logged("left", 5_001, "c").says("left", 5_001)
    history.rows["coordinator_events"][-1]["member_id"] = "b"
    history.logged("replaced", 5_001, "b")
    history.logged("rebalance_started", left_ms, generation=1, reason="leave")
    assert verdict == judge(history, "R29-wire")["verdict"]


@pytest.mark.parametrize(
    ("started_ms", "verdict"),
    [(5_000, "VIOLATED"), (5_001, "HOLDS"), (5_061, "HOLDS"), (5_062, "VIOLATED")],
)
def test_a_rebalance_of_a_leave_starts_within_10_ms_and_slack(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = leave("Stable").tick(5_000).logged("member_id_given", 5_002, "d")
    history.logged("rebalance_started", started_ms, generation=1, reason="leave")
    assert verdict == judge(history, "R29-wire")["verdict"]


def test_a_rebalance_of_another_group_is_none_of_the_leave(judge: Judge) -> None:
    history = leave("Stable").tick(5_000)
    assert "VIOLATED" == judge(history.says("rebalance_started", 5_002), "R29-wire")["verdict"]


@pytest.mark.parametrize("cause", ["left", "member_added", "JOIN_GROUP", "HEARTBEAT"])
@pytest.mark.parametrize("ms", [5_001, 5_010])
def test_what_follows_somebody_elses_leave_or_join_may_be_due_to_that(
    judge: Judge, cause: str, ms: float
) -> None:
    history = leave("Stable").tick(5_000)
    if cause in ("left", "member_added"):
        history.logged(cause, ms, "d")
    else:
        history.call(cause, ms, member="d")
    history.call("JOIN_GROUP", 5_005, member="d", group="else")
    history.logged("rebalance_started", 5_010, generation=1, reason="leave")
    own = cause == "HEARTBEAT" or ms == 5_001
    assert ("HOLDS" if own else "VIOLATED") == judge(history, "R29-wire")["verdict"]


def test_a_stranger_that_leaves_starts_nothing(judge: Judge) -> None:
    history = Probed().formed("a").call("LEAVE_GROUP", 5_000, 25, member="x", lasts_ms=3)
    assert "HOLDS" == judge(history, "R29-wire")["verdict"]
    history.logged("rebalance_started", 5_001, generation=1, reason="leave")
    assert "VIOLATED" == judge(history, "R29-wire")["verdict"]


@pytest.mark.parametrize(("state", "verdict"), [("Stable", "VIOLATED"), ("Empty", "HOLDS")])
def test_a_leave_without_effect_violates_where_it_must_have_one(
    judge: Judge, state: str, verdict: str
) -> None:
    assert verdict == judge(leave(state, left=False), "R29-wire")["verdict"]


def test_the_last_one_to_leave_empties_the_group(judge: Judge) -> None:
    history = Probed().formed("b").logged("rebalance_started", 4_000, generation=1)
    history.call("LEAVE_GROUP", 5_000, member="b", state="PreparingRebalance", after="Empty")
    history.logged("left", 5_001, "b").logged("emptied", 5_002, generation=2).tick(5_000)
    verdict = judge(history, "R29-wire")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["measured_max"])


def waits(**joins: tuple[float, float]) -> Probed:
    """ "b" leaves in the midst of a rebalance; when others sent their JoinGroup, for how long."""
    history = leave("PreparingRebalance").tick(5_000)
    for member, (ms, lasts_ms) in joins.items():
        history.joined(member, ms, 2, lasts_ms=lasts_ms, state="PreparingRebalance")
    return history


def test_a_leave_is_answered_by_who_asks(judge: Judge) -> None:
    def answered(error: int, **row: Any) -> str:
        history = Probed().formed("b", "s", "z", static=("s",))
        history.logged("rebalance_started", 4_000, generation=1, reason="because")
        state = {"state": "PreparingRebalance", "lasts_ms": 3, **row}
        history.call("LEAVE_GROUP", 5_000, error, **state)
        return str(judge(history.tick(5_000), "R29-wire")["verdict"])

    for row, due in (
        ({"member": "b"}, 0),
        ({"member": "x"}, 25),
        ({"member": "s", "instance_id": "S"}, 0),
        ({"member": None, "instance_id": "S"}, 0),  # as administrators remove it
        ({"member": "b", "instance_id": "S"}, 82),
        ({"member": "b", "instance_id": "T"}, 25),
    ):
        assert {error: "HOLDS" if error == due else "VIOLATED" for error in (0, 25, 82)} == {
            error: answered(error, **row) for error in (0, 25, 82)
        }, row


@pytest.mark.parametrize("error", [14, 15, 16])
def test_a_broker_that_is_not_the_coordinator_says_nothing_of_who_leaves(
    judge: Judge, error: int
) -> None:
    history = Probed().formed("b").call("LEAVE_GROUP", 5_000, error, member="x", lasts_ms=3)
    assert "HOLDS" == judge(history, "R29-wire")["verdict"]


def test_an_id_that_was_given_and_not_used_leaves_once(judge: Judge) -> None:
    def answered(error: int, *, used: str = "", dropped: bool = False) -> str:
        history = Probed().call("JOIN_GROUP", 1_000, 79, answer={"memberId": "d"}, state="Empty")
        if used:
            history.call(used, 2_000, member="d", state="Empty", lasts_ms=3)
        if dropped:
            history.logged("pending_evicted", 3_000, "d")
        history.call("LEAVE_GROUP", 5_000, error, member="d", state="Empty", lasts_ms=3)
        return str(judge(history, "R29-wire")["verdict"])

    assert ["HOLDS", "VIOLATED"] == [answered(0), answered(25)]
    assert ["VIOLATED", "HOLDS"] == [answered(error, used="LEAVE_GROUP") for error in (0, 25)]
    assert ["VIOLATED", "HOLDS"] == [answered(error, dropped=True) for error in (0, 25)]


@pytest.mark.parametrize(("evicted_ms", "verdict"), [(5_002, "HOLDS"), (5_500, "VIOLATED")])
def test_who_is_removed_in_the_moment_of_its_leave_may_be_told_either(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    history = Probed().formed("a", "b")
    history.logged("rebalance_started", 4_000, generation=1, reason="because")
    history.call("LEAVE_GROUP", 5_000, 25, member="b", state="PreparingRebalance", lasts_ms=3)
    history.logged("evicted", evicted_ms, "b")
    assert verdict == judge(history.tick(5_000), "R29-wire")["verdict"]


def leaver(member: str | None = "b", instance: str | None = None) -> dict[str, Any]:
    """One of those that a LeaveGroup names."""
    return {"memberId": member, "groupInstanceId": instance}


@pytest.mark.parametrize(
    ("named", "told", "top", "verdict"),
    [
        ([leaver()], [leaver()], 0, "HOLDS"),
        ([leaver()], [leaver("x")], 0, "VIOLATED"),
        ([leaver()], [], 0, "VIOLATED"),
        ([leaver()], [leaver(), leaver("x")], 0, "VIOLATED"),
        ([leaver()], [leaver(instance="B")], 0, "VIOLATED"),
        ([leaver("b", "B")], [leaver("b", "B")], 0, "HOLDS"),
        ([leaver("b", "B")], [leaver("b", "C")], 0, "VIOLATED"),
        ([leaver(None, "B")], [leaver("b", "B")], 0, "HOLDS"),  # by the instance id alone
        ([leaver()], [], 16, "HOLDS"),  # the whole request was refused
        ([leaver()], None, 0, "HOLDS"),  # an older version names nobody
    ],
)
def test_a_leave_is_answered_of_who_was_named(
    judge: Judge, named: Any, told: Any, top: int, verdict: str
) -> None:
    history = Probed().formed("a", "b", "c", static=("b",))
    who, instance = named[0].values()
    history.call(
        "LEAVE_GROUP", 5_000, 0, member=who, instance_id=instance, lasts_ms=3,
        request={"members": named}, answer={"errorCode": top, "members": told},
    )  # fmt: skip
    history.logged("left", 5_001, "b")
    history.logged("rebalance_started", 5_002, generation=1, reason="leave")
    assert verdict == judge(history.tick(5_000), "R29-wire")["verdict"]


PARKED = (4_500, 2_000)


@pytest.mark.parametrize(
    ("history", "completes"),
    [
        (waits(a=PARKED, c=PARKED), True),
        (waits(a=PARKED, c=(5_001, 2_000)), False),  # comes only as the other leaves
        (waits(a=PARKED, c=(5_000, 1)), False),  # was answered before
        (waits(a=PARKED, c=(5_000, 2)), True),
        (waits(a=PARKED).logged("evicted", 4_900, "c"), True),  # nobody waits for it any more
        (waits(a=PARKED).logged("evicted", 5_001, "c"), True),
        (waits(a=PARKED).logged("evicted", 5_003, "c"), False),
        (waits(a=PARKED, c=PARKED).joined("x", 1_000, group="else"), True),
        (waits(a=PARKED, c=PARKED).joined("d", 5_001), True),  # a newcomer, only then
    ],
)
def test_a_leave_completes_the_join_where_nobody_else_is_missing(
    judge: Judge, history: Probed, completes: bool
) -> None:
    assert ("VIOLATED" if completes else "HOLDS") == judge(history, "R29-wire")["verdict"]
    history.logged("stabilized", 5_002, generation=2, members=2)
    assert ("HOLDS" if completes else "VIOLATED") == judge(history, "R29-wire")["verdict"]


def newcomer(ms: float = 4_600, error: int = 79, api: str = "JOIN_GROUP", **row: Any) -> Probed:
    history = waits(a=PARKED, c=PARKED)
    state = "PreparingRebalance"
    return history.call(api, ms, error, answer={"memberId": "d"}, state=state, **row)


@pytest.mark.parametrize(
    ("history", "awaited"),
    [
        (newcomer(), True),
        (newcomer(5_001), False),
        (newcomer(error=26), False),
        (newcomer(api="SYNC_GROUP"), False),
        (newcomer(group="else"), False),
        (newcomer().joined("d", 4_700, 2, lasts_ms=2_000), False),  # it came back, and is parked
        (newcomer().call("HEARTBEAT", 4_700, 25, member="d"), False),
        (newcomer().joined("d", 5_001, 2, lasts_ms=2_000), True),
        (newcomer().joined("e", 4_700, 2, lasts_ms=2_000), True),
        (newcomer().joined("d", 4_700, 2, lasts_ms=2_000, group="else"), True),
        (newcomer().logged("pending_evicted", 4_900, "d"), False),
        (newcomer().logged("pending_evicted", 5_001, "d"), True),
        (newcomer().logged("pending_evicted", 4_900, "e"), True),
        (newcomer().logged("evicted", 4_900, "d"), True),
    ],
)
def test_a_newcomer_is_waited_for_from_its_id_to_its_join(
    judge: Judge, history: Probed, awaited: bool
) -> None:
    assert ("HOLDS" if awaited else "VIOLATED") == judge(history, "R29-wire")["verdict"]


# X15


def full(newcomer: int, member: int = 0) -> Probed:
    history = Probed(cluster={"group.max.size": "2"}).formed("a", "b")
    history.call("JOIN_GROUP", 3_000, newcomer)
    history.call("JOIN_GROUP", 3_100, member, member="a", state="Stable")
    return history


@pytest.mark.parametrize(
    ("newcomer", "member", "verdict"),
    [(81, 0, "HOLDS"), (79, 0, "VIOLATED"), (81, 81, "VIOLATED")],
)
def test_a_full_group_takes_nobody_and_turns_nobody_out(
    judge: Judge, newcomer: int, member: int, verdict: str
) -> None:
    assert verdict == judge(full(newcomer, member), "X15")["verdict"]


def test_a_group_that_never_was_full_says_nothing(judge: Judge) -> None:
    history = Probed(cluster={"group.max.size": "3"}).formed("a", "b")
    assert "UNKNOWN" == judge(history, "X15")["verdict"]


def test_before_a_group_is_full_nobody_is_turned_away(judge: Judge) -> None:
    history = Probed(cluster={"group.max.size": "2"}).joined("a", 1_000, lasts_ms=1_500)
    history.call("JOIN_GROUP", 1_500, 81).joined("b", 2_000)
    history.call("JOIN_GROUP", 3_000, 26).call("HEARTBEAT", 3_100, 81, member="x")
    verdict = judge(history, "X15")
    assert (3, 1) == (verdict["examined"], verdict["violations"])
    assert 2 == max(row["measured"] or 0 for row in verdict["rows"])


def test_a_join_that_makes_a_group_no_larger_is_excused_where_it_is_too_large(judge: Judge) -> None:
    history = Probed(cluster={"group.max.size": "1"}).formed("a", "b")
    history.call("JOIN_GROUP", 3_000, 81).call("JOIN_GROUP", 3_100, 0, member="a", state="Stable")
    verdict = judge(history, "X15")
    assert ("HOLDS", 4, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    excused = {row["at"]: row["excused"] for row in verdict["rows"] if row["excused"]}
    assert dict.fromkeys([at(3_000), at(3_100)], "made the group no larger") == excused


def prepared(*waiting: str) -> Probed:
    """A full group of a and b prepares from 3 s on; these have joined by 4 s and wait until 9 s."""
    history = Probed(cluster={"group.max.size": "2"}).formed("a", "b")
    for number, member in enumerate(waiting):
        history.joined(member, 3_000 + 100 * number, 2, lasts_ms=6_000)
    return history


@pytest.mark.parametrize(
    ("waiting", "member", "error", "verdict"),
    [
        (("a",), "c", 0, "HOLDS"),  # b has not joined again, and does not count
        (("a",), "c", 81, "VIOLATED"),
        (("a", "c"), "b", 81, "HOLDS"),  # who comes last is turned away, though a member
        (("a", "c"), "b", 0, "VIOLATED"),
        (("a", "c"), "d", 79, "VIOLATED"),
        (("a", "c"), "a", 0, "HOLDS"),  # it waits already
        (("a", "c"), "a", 81, "VIOLATED"),
        (("a",), "b", 81, "VIOLATED"),
        (("a",), "b", 0, "HOLDS"),
    ],
)
def test_while_members_are_waited_for_only_those_that_joined_again_count(
    judge: Judge, waiting: tuple[str, ...], member: str, error: int, verdict: str
) -> None:
    history = prepared(*waiting)
    history.call("JOIN_GROUP", 4_000, error, member=member, state="PreparingRebalance")
    assert verdict == judge(history, "X15")["verdict"]


def test_a_join_that_is_answered_or_comes_later_does_not_wait(judge: Judge) -> None:
    answered = prepared("a", "c").joined("b", 9_000, lasts_ms=6_000)
    assert "HOLDS" == judge(answered, "X15")["verdict"]
    refused_before = prepared("a", "c").call(
        "JOIN_GROUP", 2_900, 81, member="d", state="PreparingRebalance"
    )
    assert "VIOLATED" == judge(refused_before, "X15")["verdict"]


@pytest.mark.parametrize(
    ("error", "told", "verdict"),
    [(81, 25, "HOLDS"), (81, 0, "VIOLATED"), (0, 25, "VIOLATED"), (0, 27, "HOLDS")],
)
def test_a_member_that_was_turned_away_is_none_any_more(
    judge: Judge, error: int, told: int, verdict: str
) -> None:
    history = prepared("a").call("JOIN_GROUP", 4_000, error, member="b", state="PreparingRebalance")
    history.call("HEARTBEAT", 5_000, told, member="b", generation=1, state="PreparingRebalance")
    assert verdict == judge(history, "R35-wire")["verdict"]


def test_a_member_that_had_left_was_not_turned_away_before(judge: Judge) -> None:
    history = prepared("a").logged("left", 3_500, "b")
    history.call("JOIN_GROUP", 4_000, 81, member="b", state="PreparingRebalance")
    history.call("HEARTBEAT", 3_600, 25, member="b", generation=1, state="PreparingRebalance")
    assert "HOLDS" == judge(history, "R35-wire")["verdict"]


def test_times_are_those_of_the_call(judge: Judge) -> None:
    rows = judge(full(81), "X15")["rows"]
    assert at(3_000) in [row["at"] for row in rows]
