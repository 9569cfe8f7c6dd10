"""Changes of how members come, stay and go, and of what a whole group does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.tampered.answering import CRASH, LEAVE
from tests.tampered.history import Change, Kept, NotThere, later, ms
from tests.tampered.naming import CLASSIC, MODERN, steady_beat

SILENT: Final = ("coordinator-silent.librdkafka",)
SILENT_JAVA: Final = ("coordinator-silent.java",)


def _shift_eviction(kept: Kept, by_ms: float) -> None:
    at = kept.lines("evicted")[0]["at"]
    for row in kept.lines("evicted", "rebalance_started"):
        if abs(row["at"] - at) < ms(20):
            row["at"] += ms(by_ms)


def evicted_too_early(kept: Kept) -> None:
    _shift_eviction(kept, -800)


def evicted_too_late(kept: Kept) -> None:
    _shift_eviction(kept, 1_200)


def a_dead_member_is_never_evicted(kept: Kept) -> None:
    kept["coordinator_events"].remove(kept.lines("evicted")[0])


def a_living_member_is_evicted(kept: Kept) -> None:
    beat = steady_beat(kept)
    line = {"at": beat["answered_at"] + ms(700), "member_id": beat["member_id"], "reason": None}
    kept["coordinator_events"].append({**kept.lines("member_added")[0], **line, "event": "evicted"})


def heartbeats_ten_times_as_often(kept: Kept) -> None:
    kept["requests"].extend([later(steady_beat(kept), 100 * each) for each in range(1, 12)])


def a_heartbeat_to_another_broker(kept: Kept) -> None:
    beat = steady_beat(kept)
    beat["broker"] = beat["broker"] % 3 + 1


def a_heartbeat_in_a_generation_to_come(kept: Kept) -> None:
    steady_beat(kept)["generation"] += 1


def a_member_joins_in_one_step(kept: Kept) -> None:
    line = kept.lines("member_id_given")[-1]
    kept["coordinator_events"].remove(line)
    kept.files["requests"] = [
        row
        for row in kept["requests"]
        if row["error_code"] != 79 or row["member_id"] != line["member_id"]
    ]


def a_static_member_joins_in_two_steps(kept: Kept) -> None:
    row = later(kept.own("JOIN_GROUP")[0], -20)
    kept["requests"].append({**row, "error_code": 79, "generation": -1, "leader": None})


def a_group_with_members_is_empty(kept: Kept) -> None:
    line = {"at": kept.quiet(500), "event": "emptied", "members": None}
    kept["coordinator_events"].append({**kept.lines("stabilized")[-1], **line})


def a_goodbye_bumps_no_epoch(kept: Kept) -> None:
    left = kept.lines("left")[0]["at"]
    bump = next(row for row in kept.lines("epoch_bumped") if left <= row["at"] < left + ms(50))
    kept["coordinator_events"].remove(bump)


def a_member_joins_with_an_epoch(kept: Kept) -> None:
    joins = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["generation"] == 0]
    joins[-1]["generation"] = 5


def a_member_of_kip_848_sends_join_group(kept: Kept) -> None:
    row = later(steady_beat(kept), 200)
    kept["requests"].append({**row, "api": "JOIN_GROUP", "member_epoch": None})


def a_commit_in_nobodys_name(kept: Kept) -> None:
    rows = kept.own("OFFSET_COMMIT")
    rows[len(rows) // 2] |= {"generation": -1, "member_id": ""}


def the_end_is_below_what_was_acknowledged(kept: Kept) -> None:
    for row in kept["topology"]:
        if row["what"] == "end_offset" and row["partition"] == 3:
            row["end_offset"] -= 20


def a_session_times_out_early(kept: Kept) -> None:
    kept.told("session_timed_out")[0]["event_at"] -= ms(1_500)


def nothing_is_lost_with_the_session(kept: Kept) -> None:
    ended = kept.told("session_timed_out")[0]
    for row in kept.told("lost", "revoked"):
        if row["member"] == ended["member"] and row["event_at"] >= ended["event_at"]:
            kept["client_events"].remove(row)
            return
    raise NotThere("a member that lost its partitions")


def a_heartbeat_without_a_coordinator(kept: Kept) -> None:
    lost = kept.told("coordinator_lost")[0]
    of_it = [row for row in kept["client_events"] if row["member"] == lost["member"]]
    found = min(
        row["event_at"]
        for row in of_it
        if row["event"] == "coordinator_found" and row["event_at"] > lost["event_at"]
    )
    at = lost["event_at"] + (found - lost["event_at"]) / 2
    sent = next(row for row in of_it if row["event"] == "heartbeat_sent")
    kept["client_events"].append({**sent, "event_at": at, "observed_at": at})


def two_leaders_of_a_generation(kept: Kept) -> None:
    row = next(row for row in kept.own("JOIN_GROUP") if row["member_id"] != row["leader"])
    row["leader"] = row["member_id"]


def only_some_partitions_are_given_up(kept: Kept) -> None:
    row = next(row for row in kept.told("revoked") if len(row["partitions"]) > 1)
    row["partitions"].pop()


def a_member_hears_of_its_partitions_too_soon(kept: Kept) -> None:
    row = next(row for row in kept.told("assigned") if row["partitions"])
    row |= {name: row[name] - ms(900) for name in ("event_at", "observed_at")}


def the_first_rebalance_does_not_wait(kept: Kept) -> None:
    line = kept.lines("stabilized")[0]
    joins = [r for r in kept.own("JOIN_GROUP") if r["generation"] == line["generation"]]
    at = max(row["arrived_at"] for row in joins) + ms(3)
    line["at"] = at
    for row in joins:
        row |= {"processed_at": at, "answered_at": at + ms(1)}


def _change(
    edit: Callable[[Kept], None], notices: tuple[str, ...], runs: tuple[str, ...]
) -> Change:
    return Change(edit.__name__.replace("_", " "), edit, notices, runs)


CHANGES: Final = (
    _change(evicted_too_early, ("R02",), CRASH),
    _change(evicted_too_late, ("R01",), CRASH),
    _change(a_dead_member_is_never_evicted, ("R01",), ("consumer-crash.librdkafka",)),
    _change(a_living_member_is_evicted, ("R02",), CLASSIC),
    _change(heartbeats_ten_times_as_often, ("R14",), CLASSIC),
    _change(a_heartbeat_to_another_broker, ("R35",), CLASSIC),
    _change(a_heartbeat_in_a_generation_to_come, ("R35",), CLASSIC),
    _change(a_member_joins_in_one_step, ("X08-members",), CRASH),
    _change(a_static_member_joins_in_two_steps, ("X08-members",), ("static-day.",)),
    _change(a_group_with_members_is_empty, ("R33",), CLASSIC),
    _change(a_goodbye_bumps_no_epoch, ("R20b",), LEAVE),
    _change(a_member_joins_with_an_epoch, ("R20f",), MODERN),
    _change(a_member_of_kip_848_sends_join_group, ("X20-alone",), MODERN),
    _change(a_commit_in_nobodys_name, ("X41-asked",), CLASSIC),
    _change(the_end_is_below_what_was_acknowledged, ("X32a",), CLASSIC),
    _change(a_session_times_out_early, ("R06-librdkafka",), SILENT),
    _change(nothing_is_lost_with_the_session, ("R06-librdkafka",), SILENT),
    _change(a_heartbeat_without_a_coordinator, ("R05",), SILENT_JAVA),
    _change(two_leaders_of_a_generation, ("R12",), CLASSIC),
    _change(only_some_partitions_are_given_up, ("R15-all", "R21"), CRASH),
    _change(a_member_hears_of_its_partitions_too_soon, ("R15-all", "R15-assigned"), CLASSIC),
    _change(the_first_rebalance_does_not_wait, ("X07",), CLASSIC),
)
