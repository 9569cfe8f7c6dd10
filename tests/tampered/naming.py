"""Changes of what members call themselves, their generation, and what they are handed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.tampered.history import Change, Kept, Row, ms

STATIC: Final = ("static-day.",)
CLASSIC: Final = ("baseline.",)
MODERN: Final = ("consumer-join.librdkafka",)


def steady_beat(kept: Kept) -> Row:
    """A heartbeat that was accepted while nothing went on for 0.9 s."""
    quiet = kept.quiet(500)
    beats = kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")
    found = [row for row in beats if row["generation"] > 0]
    return min(found, key=lambda row: abs(row["arrived_at"] - quiet))


def _given(kept: Kept) -> list[Row]:
    """Callbacks that handed partitions over, in order."""
    return [row for row in kept.told("assigned") if row["partitions"]]


def _last_syncs(kept: Kept) -> list[Row]:
    """SyncGroups of the last generation, its leader's first."""
    found = kept.own("SYNC_GROUP")
    last = [row for row in found if row["generation"] == found[-1]["generation"]]
    return sorted(last, key=lambda row: not row["assignments"])


# Who asks.
def a_heartbeat_names_no_instance(kept: Kept) -> None:
    steady_beat(kept)["instance_id"] = None


def a_commit_names_the_instance_of_another(kept: Kept) -> None:
    rows = kept.own("OFFSET_COMMIT")
    names = sorted({row["instance_id"] for row in rows})
    rows[len(rows) // 2]["instance_id"] = next(
        name for name in names if name != rows[len(rows) // 2]["instance_id"]
    )


def a_heartbeat_names_the_member_id_of_another(kept: Kept) -> None:
    beat = steady_beat(kept)
    others = [row for row in kept.own("HEARTBEAT") if row["client_id"] != beat["client_id"]]
    beat["member_id"] = others[0]["member_id"]


def a_dynamic_member_names_an_instance(kept: Kept) -> None:
    kept.own("JOIN_GROUP")[0]["instance_id"] = "somebody"


def a_member_is_given_two_ids(kept: Kept) -> None:
    row = kept.own("JOIN_GROUP", error=79)[0]
    other = f"{row['client_id']}-11111111-0000-4000-8000-000000000000"
    later = {name: row[name] + ms(25) for name in ("arrived_at", "processed_at", "answered_at")}
    kept["requests"].append({**row, **later, "member_id": other})


# What it says of itself.
def a_callback_names_a_generation_to_come(kept: Kept) -> None:
    _given(kept)[-1]["generation"] += 1


def records_name_the_generation_before(kept: Kept) -> None:
    max(kept["deliveries"], key=lambda row: row["polled_at"])["generation"] -= 1


def records_name_the_member_id_of_another(kept: Kept) -> None:
    first, *rest = kept["deliveries"]
    first["member_id"] = next(row["member_id"] for row in rest if row["member"] != first["member"])


# What it is handed.
def handed_over_twice(kept: Kept) -> None:
    row = _given(kept)[0]
    later = {name: row[name] + ms(2_500) for name in ("event_at", "observed_at")}
    kept["client_events"].append({**row, **later})


def gave_up_what_another_has(kept: Kept) -> None:
    first, *_, last = _given(kept)
    quiet = kept.quiet(500)
    others = [each for each in last["partitions"] if each not in first["partitions"]]
    kept["client_events"].append(
        {**first, "event": "revoked", "event_at": quiet, "observed_at": quiet,
         "partitions": others[:1]}
    )  # fmt: skip


def heard_before_it_was_so(kept: Kept) -> None:
    row = _given(kept)[-1]
    row["observed_at"] = row["event_at"] - ms(400)


# What is decided.
def an_assignor_that_nobody_offered(kept: Kept) -> None:
    for row in kept.own("JOIN_GROUP"):
        row["protocol_name"] = "sticky"


def members_are_told_different_assignors(kept: Kept) -> None:
    kept.own("JOIN_GROUP")[-1]["protocol_name"] = "roundrobin"


def _give_more(kept: Kept, part: dict[str, object]) -> None:
    leader, other = _last_syncs(kept)[:2]
    other["assigned"].append(part)
    leader["assignments"].append({"member_id": other["member_id"], **part})
    for row in kept.told("assigned"):
        if row["member_id"] == other["member_id"] and row["generation"] == other["generation"]:
            row["partitions"].append(part)


def a_partition_that_does_not_exist_is_given(kept: Kept) -> None:
    _give_more(kept, {"topic": "t", "partition": 17})


def a_topic_that_nobody_subscribed_to_is_given(kept: Kept) -> None:
    _give_more(kept, {"topic": "u", "partition": 0})


def the_assignment_of_a_follower_is_taken(kept: Kept) -> None:
    line = kept.lines("assignment_received")[-1]
    line["member_id"] = _last_syncs(kept)[1]["member_id"]


def a_follower_sends_an_assignment(kept: Kept) -> None:
    leader, other = _last_syncs(kept)[:2]
    other["assignments"] = [dict(each) for each in leader["assignments"]]


def a_member_of_the_generation_never_joined(kept: Kept) -> None:
    rows = kept.own("JOIN_GROUP")
    last = [row for row in rows if row["generation"] == rows[-1]["generation"]]
    kept["requests"].remove(next(row for row in last if row["member_id"] != row["leader"]))


def a_leader_from_nowhere(kept: Kept) -> None:
    for row in kept.own("JOIN_GROUP"):
        row["leader"] = "member-7-00000000-0000-4000-8000-000000000000"


def range_gives_members_each_others(kept: Kept) -> None:
    first, second = _last_syncs(kept)[:2]
    swapped = {first["member_id"]: second["member_id"], second["member_id"]: first["member_id"]}
    first["assigned"], second["assigned"] = second["assigned"], first["assigned"]
    for part in first["assignments"]:
        part["member_id"] = swapped.get(part["member_id"], part["member_id"])


# What members ask for.
def a_session_of_its_own(kept: Kept) -> None:
    for row in kept.own("JOIN_GROUP", error=None):
        if row["client_id"] == kept.members()[0]:
            row["session_timeout_ms"] = 10_000


def a_rebalance_timeout_of_its_own(kept: Kept) -> None:
    for row in kept.own("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", error=None):
        if row["client_id"] == kept.members()[1] and row["rebalance_timeout_ms"]:
            row["rebalance_timeout_ms"] = 5_000


def a_session_below_the_least(kept: Kept) -> None:
    for row in (*kept.own("JOIN_GROUP", error=None), *kept["members"]):
        row["session_timeout_ms"] = row["session_timeout_ms"] and 3_000


def _change(
    edit: Callable[[Kept], None], notices: tuple[str, ...], runs: tuple[str, ...]
) -> Change:
    return Change(edit.__name__.replace("_", " "), edit, notices, runs)


CHANGES: Final = (
    *(
        _change(edit, ("X52",), runs)
        for edit, runs in (
            (a_heartbeat_names_no_instance, STATIC),
            (a_commit_names_the_instance_of_another, STATIC),
            (a_heartbeat_names_the_member_id_of_another, CLASSIC),
            (a_dynamic_member_names_an_instance, CLASSIC),
        )
    ),
    _change(a_member_is_given_two_ids, ("X08-members",), CLASSIC),
    *(
        _change(edit, ("X51",), runs)
        for edit, runs in (
            (a_callback_names_a_generation_to_come, CLASSIC),
            (records_name_the_generation_before, ("consumer-crash.java",)),
            (records_name_the_member_id_of_another, CLASSIC),
        )
    ),
    *(
        _change(edit, ("X50",), CLASSIC)
        for edit in (handed_over_twice, gave_up_what_another_has, heard_before_it_was_so)
    ),
    _change(an_assignor_that_nobody_offered, ("X53",), CLASSIC),
    _change(members_are_told_different_assignors, ("X53",), CLASSIC),
    _change(a_partition_that_does_not_exist_is_given, ("X54",), CLASSIC),
    _change(a_topic_that_nobody_subscribed_to_is_given, ("X54",), CLASSIC),
    _change(the_assignment_of_a_follower_is_taken, ("R12", "R13"), CLASSIC),
    _change(a_follower_sends_an_assignment, ("R13-members",), CLASSIC),
    _change(a_member_of_the_generation_never_joined, ("R12-all",), CLASSIC),
    _change(a_leader_from_nowhere, ("R12",), CLASSIC),
    _change(range_gives_members_each_others, ("R22-assignor",), ("consumer-crash.java",)),
    _change(a_session_of_its_own, ("R04",), CLASSIC),
    _change(a_rebalance_timeout_of_its_own, ("R04",), (*CLASSIC, *MODERN)),
    _change(a_session_below_the_least, ("R17",), CLASSIC),
)
