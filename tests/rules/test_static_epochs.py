"""Static members of KIP-848: rules X02-epoch, X03-epoch and X05-unreleased."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
NAME, NEW = "member-2", "member-4"


def parts(*numbers: int) -> list[dict[str, Any]]:
    return [{"topic": TOPIC, "partition": number} for number in numbers]


class Group(History):
    """member-2 is static and has partitions 2 and 3 in epoch 2."""

    def beat(
        self,
        member: str,
        ms: float,
        epoch: int = 2,
        gets: Sequence[int] | None = None,
        **row: Any,
    ) -> Group:
        """A heartbeat of a process with member-2's instance id, answered 1 ms later."""
        said = {
            # Later ones leave out what has not changed.
            "instance_id": NAME if epoch <= 0 else None,
            "assigned": None if gets is None else parts(*gets),
            "processed_at": at(ms + 1),
            "answered_at": at(ms + 1),
            "generation": epoch,
        }
        self.request("CONSUMER_GROUP_HEARTBEAT", member, ms, **{**said, **row})
        return self

    def member(self, member: str, **row: Any) -> Group:
        """A process that is to bear member-2's instance id."""
        super().member(member, instance_id=NAME, protocol="consumer", **row)
        return self

    def closes(self, ms: float = 10_000, epoch: int = -2) -> Group:
        """member-2 closes, and says so by a last heartbeat 5 ms later."""
        self.told(NAME, "closing", ms)
        return self.beat(NAME, ms + 5, epoch)

    def replaced(self, ms: float, old: str = NAME, new: str = NEW) -> Group:
        """The coordinator's line 0.5 ms into the heartbeat by which a process takes its place."""
        text = f"Created a new member {member_id(new)} to replace the existing member "
        return self.says(
            "member_added", ms + 0.5, new, instance_id=NAME, text=f"{text}{member_id(old)}."
        )

    def bumped(self, ms: float, group: str = "orders") -> Group:
        self.add("coordinator_events", event="epoch_bumped", at=at(ms), group=group, broker=1)
        return self


def static_group(**member: Any) -> Group:
    history = Group(group={"static": True, "protocol": "consumer"})
    history.member(NAME, **member)
    history.says("member_added", 0.5, NAME, instance_id=NAME)
    return history.beat(NAME, 0, 0, gets=(2, 3))


def back(ms: float = 12_000, gets: Sequence[int] | None = (3, 2)) -> Group:
    """member-2 closes at 10 s, and member-4 comes in its place."""
    history = static_group().closes().replaced(ms)
    return history.beat(NEW, ms, 0, gets=gets)


# X02-epoch


def test_a_process_in_the_place_of_one_that_left_for_now_holds(judge: Judge) -> None:
    verdict = judge(back(), "X02-epoch")
    assert ("HOLDS", 1, 1) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_partitions_that_come_by_a_later_heartbeat_count_from_the_join(judge: Judge) -> None:
    verdict = judge(back(gets=None).beat(NEW, 14_000, gets=(2, 3)), "X02-epoch")
    assert ("HOLDS", 2_001) == (verdict["verdict"], verdict["measured_max"])


def test_other_partitions_than_it_had_violate(judge: Judge) -> None:
    assert "given t-2, not t-2 t-3" in judge(back(gets=(2,)), "X02-epoch")["reason"]


def test_nothing_given_violates(judge: Judge) -> None:
    assert "never given partitions" in judge(back(gets=None), "X02-epoch")["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(10_004, "HOLDS"), (10_005, "VIOLATED"), (12_001, "VIOLATED"), (12_001.5, "HOLDS")],
)
def test_no_epoch_is_bumped_from_its_leaving_until_the_new_one_has_its_partitions(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = back().bumped(ms).bumped(11_000, group="payments")
    assert verdict == judge(history, "X02-epoch")["verdict"]


@pytest.mark.parametrize(("reason", "verdict"), [("other", "HOLDS"), ("hash", "VIOLATED")])
def test_an_epoch_because_of_the_topics_is_not_because_of_the_two(
    judge: Judge, reason: str, verdict: str
) -> None:
    history = back().says("epoch_bumped", 5_000, generation=3, reason="hash")
    history.says("target_computed", 5_000, generation=3, reason="uniform")
    history.says("target_computed", 10_010, generation=3, reason="uniform")
    history.says("epoch_bumped", 10_011, generation=4, reason=reason)
    assert verdict == judge(history, "X02-epoch")["verdict"]


def test_what_it_had_last_is_compared(judge: Judge) -> None:
    history = back(gets=(1,)).beat(NAME, 5_000, gets=(1,)).beat(NAME, 7_000)
    history.beat(NAME, 8_000, gets=(5,), error_code=110).beat(NEW, 14_000, 3, gets=(4,))
    assert "HOLDS" == judge(history, "X02-epoch")["verdict"]


def test_what_it_had_and_nobody_recorded_cannot_be_told(judge: Judge) -> None:
    history = back()
    history.rows["requests"][0]["assigned"] = None
    verdict = judge(history, "X02-epoch")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    "row", [{"epoch": 2}, {"instance_id": "member-3"}, {"group": "payments"}, {"api": "JOIN_GROUP"}]
)
def test_only_a_join_under_its_instance_id_is_in_its_place(
    judge: Judge, row: dict[str, Any]
) -> None:
    history = static_group().closes().replaced(12_000)
    api = row.pop("api", "CONSUMER_GROUP_HEARTBEAT")
    history.beat(NEW, 12_000, **{"epoch": 0, "gets": (2, 3), "instance_id": NAME, **row})
    history.rows["requests"][-1]["api"] = api
    assert 0 == judge(history, "X02-epoch")["examined"]


@pytest.mark.parametrize(("late_ms", "examined"), [(1, 1), (50, 1), (51, 0)])
def test_the_join_in_its_place_may_seem_to_come_after_it(
    judge: Judge, late_ms: float, examined: int
) -> None:
    """The line of a request is stamped late, and its arrival counts back from there."""
    history = static_group().closes().replaced(12_000)
    history.beat(NEW, 12_000.4 + late_ms, 0, gets=(2, 3))
    verdict = judge(history, "X02-epoch")
    assert ("HOLDS" if examined else "UNKNOWN", examined) == (
        verdict["verdict"], verdict["examined"],
    )  # fmt: skip


def test_a_refusal_of_who_comes_back_violates(judge: Judge) -> None:
    history = static_group().closes().beat(NEW, 12_000, 0, error_code=111)
    assert "refused with error 111" in judge(history, "X02-epoch")["reason"]
    back_later = history.replaced(13_000, new="member-5").beat("member-5", 13_000, 0, gets=(2, 3))
    assert "refused with error 111" in judge(back_later, "X02-epoch")["reason"]


@pytest.mark.parametrize("error", [14, 15, 16])
def test_what_a_coordinator_cannot_answer_yet_is_asked_again(judge: Judge, error: int) -> None:
    history = back().beat(NEW, 11_000, 0, error_code=error)
    assert "HOLDS" == judge(history, "X02-epoch")["verdict"]


def test_a_join_that_takes_nobodys_place_violates(judge: Judge) -> None:
    history = static_group().closes().says("member_added", 12_000.5, NEW, instance_id=NAME)
    verdict = judge(history.beat(NEW, 12_000, 0, gets=(2, 3)), "X02-epoch")
    assert "did not take the place of the other" in verdict["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(11_999, None), (12_000, None), (12_001, "UNKNOWN"), (12_001.5, "VIOLATED")]
)
def test_a_session_that_ends_while_another_joins_cannot_be_told(
    judge: Judge, ms: float, verdict: str | None
) -> None:
    history = static_group().closes().says("evicted", ms, NAME)
    history.says("member_added", 12_000.6, NEW, instance_id=NAME)
    found = judge(history.beat(NEW, 12_000, 0, gets=(2, 3)), "X02-epoch")
    assert (verdict or "UNKNOWN", 1 if verdict else 0) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("named", "gets", "verdict"),
    [
        ("member-3", (3, 2), "HOLDS"),
        ("member-3", (3,), "UNKNOWN"),
        (NAME, (3, 2), "VIOLATED"),
        (NEW, (3, 2), "VIOLATED"),
    ],
)
def test_what_others_change_meanwhile_is_not_because_of_it(
    judge: Judge, named: str, gets: Sequence[int], verdict: str
) -> None:
    history = back(gets=gets).says("evicted" if named == "member-3" else "fenced", 11_000, named)
    if named != "member-3":  # the line names it, whatever it tells
        history.rows["coordinator_events"][-1]["event"] = "replacing_failed"
    assert verdict == judge(history.bumped(11_000.1), "X02-epoch")["verdict"]


def test_a_goodbye_that_is_said_twice_is_one(judge: Judge) -> None:
    verdict = judge(back().beat(NAME, 10_100, -2), "X02-epoch")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_the_place_of_one_that_did_not_leave_is_not_examined(judge: Judge) -> None:
    history = static_group().replaced(12_000).beat(NEW, 12_000, 0, gets=(2, 3))
    assert "UNKNOWN" == judge(history, "X02-epoch")["verdict"]


def test_a_refused_goodbye_is_none(judge: Judge) -> None:
    history = static_group().replaced(12_000).beat(NEW, 12_000, 0, gets=(2, 3))
    assert "UNKNOWN" == judge(history.beat(NAME, 10_000, -2, error_code=25), "X02-epoch")["verdict"]


def test_who_joins_when_its_session_has_ended_is_a_new_member(judge: Judge) -> None:
    history = static_group().closes().says("evicted", 16_000, NAME)
    history.says("member_added", 18_000.5, NEW, instance_id=NAME)
    assert "UNKNOWN" == judge(history.beat(NEW, 18_000, 0, gets=(1,)), "X02-epoch")["verdict"]


def test_each_return_is_judged_by_the_one_before(judge: Judge) -> None:
    history = back().told(NEW, "closing", 20_000).beat(NEW, 20_005, -2)
    history.replaced(21_000, NEW, "member-5").beat("member-5", 21_000, 0, gets=(3,))
    verdict = judge(history, "X02-epoch")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])


# X03-epoch


def closed(evicted_ms: float | None = 15_001, epoch: int = -2) -> Group:
    """It closes at 10 s; its last heartbeat before was at 9 s."""
    history = static_group()
    for ms in (3_000, 5_000, 7_000, 9_000):
        history.beat(NAME, ms)
    history.closes(epoch=epoch)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, NAME)
    return history


def test_a_goodbye_for_now_and_an_eviction_at_the_end_of_the_session_hold(judge: Judge) -> None:
    verdict = judge(closed(), "X03-epoch")
    assert ("HOLDS", 1, 6_001, 5_950, 6_050) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"], verdict["bound_low"],
        verdict["bound_high"],
    )  # fmt: skip


def test_a_goodbye_for_good_violates(judge: Judge) -> None:
    assert (
        "sent a last heartbeat with epoch -1"
        in judge(closed(None, epoch=-1), "X03-epoch")["reason"]
    )


def test_a_close_without_a_word_violates(judge: Judge) -> None:
    history = static_group().beat(NAME, 9_999).told(NAME, "closing", 10_000)
    assert "sent no last heartbeat" in judge(history, "X03-epoch")["reason"]


@pytest.mark.parametrize(
    ("beat_ms", "goodbye_ms"),
    [
        (10_001, 10_003),  # one of its epoch was under way
        (9_000, 10_000),  # in the moment in which it closes
    ],
)
def test_its_last_heartbeat_is_what_counts(judge: Judge, beat_ms: float, goodbye_ms: float) -> None:
    history = static_group().told(NAME, "closing", 10_000)
    history.beat(NAME, beat_ms).beat(NAME, goodbye_ms, -2)
    history.says("evicted", beat_ms + 6_001, NAME)
    assert "HOLDS" == judge(history, "X03-epoch")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(14_949, "VIOLATED"), (14_950, "HOLDS"), (15_050, "HOLDS"), (15_051, "VIOLATED")],
)
def test_the_session_counts_from_the_last_heartbeat_before(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    assert verdict == judge(closed(evicted_ms), "X03-epoch")["verdict"]


@pytest.mark.parametrize("error", [16, 25])
def test_a_goodbye_that_was_not_accepted_cannot_be_told(judge: Judge, error: int) -> None:
    history = static_group().told(NAME, "closing", 10_000)
    history.beat(NAME, 10_005, -2, error_code=error).says("evicted", 10_003, NAME)
    verdict = judge(history, "X03-epoch")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])
    assert f"answered with error {error}" in verdict["reason"]


def test_an_earlier_stay_of_its_id_is_another(judge: Judge) -> None:
    """It was evicted once before and came back under its own id."""
    history = static_group().beat(NAME, 1_000).says("evicted", 7_001, NAME)
    history.says("member_added", 8_000.5, NAME, instance_id=NAME).beat(NAME, 8_000, 0, gets=(2, 3))
    history.closes(10_000).says("evicted", 14_001, NAME)
    verdict = judge(history, "X03-epoch")
    assert ("HOLDS", 1, 6_001) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(("named", "verdict"), [("member-3", "HOLDS"), (NAME, "VIOLATED")])
def test_an_epoch_that_another_has_bumped_is_not_because_of_it(
    judge: Judge, named: str, verdict: str
) -> None:
    history = closed().says("left", 12_000, "member-3").bumped(12_000.1)
    history.rows["coordinator_events"][-2] |= {
        "member_id": member_id(named),
        "event": "replacing_failed",
    }
    assert verdict == judge(history, "X03-epoch")["verdict"]


def test_never_removed_violates(judge: Judge) -> None:
    assert "still a member" in judge(closed(None), "X03-epoch")["reason"]


def test_removed_otherwise_violates(judge: Judge) -> None:
    history = closed(None).says("left", 12_000, NAME)
    assert "removed otherwise: left" in judge(history, "X03-epoch")["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(10_004, "HOLDS"), (10_005, "VIOLATED"), (15_000, "VIOLATED"), (15_001, "HOLDS")],
)
def test_no_epoch_is_bumped_while_its_session_runs(judge: Judge, ms: float, verdict: str) -> None:
    history = closed().bumped(ms).bumped(12_000, group="payments")
    assert verdict == judge(history, "X03-epoch")["verdict"]


def test_an_epoch_bumped_for_no_member_that_is_named_may_be_because_of_it(judge: Judge) -> None:
    history = closed().says("target_computed", 11_000, generation=2).bumped(12_000)
    assert "followed by a new group epoch" in judge(history, "X03-epoch")["reason"]


def test_an_epoch_bumped_before_the_end_of_a_run_violates_too(judge: Judge) -> None:
    history = static_group().beat(NAME, 55_000).closes(56_000).bumped(56_500)
    assert "VIOLATED" == judge(history, "X03-epoch")["verdict"]


def test_another_process_in_its_place_holds(judge: Judge) -> None:
    verdict = judge(back(), "X03-epoch")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("ms", "verdict"), [(53_949, "UNKNOWN"), (53_948, "VIOLATED")])
def test_a_close_less_than_a_session_before_the_end_cannot_be_told(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(static_group().closes(ms), "X03-epoch")["verdict"]


def test_only_closes_of_static_members_before_the_stop_are_examined(judge: Judge) -> None:
    history = static_group().closes(59_999).told("member-3", "closing", 10_000)
    history.beat("member-3", 0, 0, instance_id=None).beat("member-3", 10_005, -1, instance_id=None)
    history.told(NAME, "closed", 9_000)
    assert 0 == judge(history, "X03-epoch")["examined"]


# X05-unreleased


def twin(ms: float = 10_000, error: int = 111, end: str | None = "failed") -> Group:
    """member-4 asks for the id of member-2, whose heartbeats go on."""
    history = static_group().member(NEW, end=end)
    for beat_ms in (3_000, 9_000, 11_000):
        history.beat(NAME, beat_ms)
    return history.beat(NEW, ms, 0, error_code=error)


def test_the_newer_of_two_is_refused(judge: Judge) -> None:
    verdict = judge(twin(), "X05-unreleased")
    assert ("HOLDS", 1, 999) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_who_comes_too_soon_after_a_crash_is_refused(judge: Judge) -> None:
    history = twin().says("evicted", 15_000, NAME)
    history.rows["requests"] = [
        row for row in history.rows["requests"] if row["arrived_at"] < at(10_500)
    ]
    assert "HOLDS" == judge(history, "X05-unreleased")["verdict"]


def test_another_answer_violates(judge: Judge) -> None:
    assert "answered with error 82" in judge(twin(error=82), "X05-unreleased")["reason"]


def test_letting_it_in_violates(judge: Judge) -> None:
    """As a classic coordinator does: it takes the place of the other."""
    verdict = judge(twin(error=0).replaced(10_000), "X05-unreleased")
    assert "was let in, while member-2 had the id" in verdict["reason"]


def test_letting_it_in_violates_where_its_line_is_stamped_late(judge: Judge) -> None:
    verdict = judge(twin(error=0).replaced(9_960), "X05-unreleased")
    assert "was let in, while member-2 had the id" in verdict["reason"]


@pytest.mark.parametrize("error", [14, 15, 16])
def test_what_an_unready_coordinator_answers_says_nothing(judge: Judge, error: int) -> None:
    verdict = judge(twin().beat(NEW, 9_500, 0, error_code=error), "X05-unreleased")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("error", [25, 82, 110, 111])
def test_an_owner_that_is_refused_as_well_violates(judge: Judge, error: int) -> None:
    history = twin().beat(NAME, 13_000, error_code=error)
    assert "was refused, and so was member-2" in judge(history, "X05-unreleased")["reason"]


def test_what_the_owner_hears_of_a_failover_or_after_its_session_is_no_refusal(
    judge: Judge,
) -> None:
    history = twin().beat(NAME, 13_000, error_code=16).says("evicted", 17_000, NAME)
    history.beat(NAME, 17_000, error_code=25)
    assert "HOLDS" == judge(history, "X05-unreleased")["verdict"]


def test_what_the_owner_was_refused_before_does_not_count(judge: Judge) -> None:
    history = twin().beat(NAME, 2_000, error_code=16)
    assert "HOLDS" == judge(history, "X05-unreleased")["verdict"]


@pytest.mark.parametrize("end", [None, "closed"])
def test_a_client_that_goes_on_violates(judge: Judge, end: str | None) -> None:
    assert "its client went on" in judge(twin(end=end), "X05-unreleased")["reason"]


@pytest.mark.parametrize(
    ("removed_ms", "verdict"),
    [(9_999, "UNKNOWN"), (10_000.5, "UNKNOWN"), (10_001, "UNKNOWN"), (10_001.5, "HOLDS")],
)
def test_whose_owner_is_removed_meanwhile_cannot_be_told(
    judge: Judge, removed_ms: float, verdict: str
) -> None:
    history = twin().says("evicted", removed_ms, NAME)
    assert verdict == judge(history, "X05-unreleased")["verdict"]


@pytest.mark.parametrize(("removed_ms", "examined"), [(10_000, 0), (10_000.5, 1)])
def test_an_id_is_free_in_the_moment_in_which_its_owner_is_removed(
    judge: Judge, removed_ms: float, examined: int
) -> None:
    history = twin().says("evicted", removed_ms, NAME)
    assert examined == judge(history, "X05-unreleased")["examined"]


@pytest.mark.parametrize(("added_ms", "examined"), [(10_000, 1), (10_000.5, 0)])
def test_an_id_is_in_use_from_the_moment_in_which_its_owner_joined(
    judge: Judge, added_ms: float, examined: int
) -> None:
    history = twin()
    history.rows["coordinator_events"][0]["at"] = at(added_ms)
    found = judge(history, "X05-unreleased")
    assert (examined, 0) == (found["examined"], found["violations"])


@pytest.mark.parametrize("error", [0, 25])
def test_what_the_owner_is_told_in_the_same_moment_is_a_sign_of_life_alone(
    judge: Judge, error: int
) -> None:
    history = twin().beat(NAME, 10_000, error_code=error, processed_at=at(10_000))
    verdict = judge(history, "X05-unreleased")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_a_process_that_is_not_on_record_must_not_be_let_in_either(judge: Judge) -> None:
    history = twin(error=0).replaced(10_000)
    history.rows["members"] = [row for row in history.rows["members"] if row["member"] != NEW]
    assert "was let in, while member-2 had" in judge(history, "X05-unreleased")["reason"]


def test_an_id_that_its_owner_let_go_is_free(judge: Judge) -> None:
    assert 0 == judge(back(), "X05-unreleased")["examined"]


@pytest.mark.parametrize(("ms", "examined"), [(10_001, 0), (10_002, 1)])
def test_a_goodbye_that_comes_before_the_answer_is_one(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(twin().beat(NAME, ms, -2), "X05-unreleased")["examined"]


@pytest.mark.parametrize(
    "row", [{"instance_id": "member-3"}, {"instance_id": None}, {"generation": 2}]
)
def test_only_joins_under_an_id_in_use_are_examined(judge: Judge, row: dict[str, Any]) -> None:
    history = twin()
    history.rows["requests"][-1] |= row
    assert 0 == judge(history, "X05-unreleased")["examined"]


def test_of_another_group_or_api_nothing_is_examined(judge: Judge) -> None:
    history = twin().beat(NEW, 10_000, 0, error_code=111, group="payments")
    history.request("JOIN_GROUP", NEW, 10_000, generation=0, error_code=82, instance_id=NAME)
    assert 1 == judge(history, "X05-unreleased")["examined"]


def test_without_a_second_process_it_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(static_group(), "X05-unreleased")["verdict"]
