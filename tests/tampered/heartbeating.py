"""Changes of heartbeats, of who answers them, and of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.tampered.history import Change, Kept, NotThere, Row, ms

RUNS: Final = (
    "baseline.",
    "consumer-crash.",
    "consumer-freeze.",
    "network-bandwidth.",
    "cooperative-join.",
    "java-poll.",
    "static-day.",
)
MODERN: Final = ("consumer-join.librdkafka.consumer", "consumer-leave.", "coordinator-isolated.")


def _beats(kept: Kept) -> Iterator[list[Row]]:
    """Accepted heartbeats of each member id and generation, the longest first."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT"):
        if row["member_id"] and (row["generation"] or 0) > 0:
            found.setdefault((row["member_id"], row["generation"]), []).append(row)
    yield from sorted(found.values(), key=len, reverse=True)


def _moved(row: Row, by: float) -> None:
    for name in ("arrived_at", "processed_at", "answered_at"):
        row[name] += ms(by)


def _undisturbed(kept: Kept, count: int) -> list[Row]:
    """So many heartbeats of one member and generation that nothing stretches or calls for."""
    hit = {row["resolved"] for row in kept["faults"]}
    for rows in _beats(kept):
        plain = [row for row in rows if row["owned"] is None and row["assigned"] is None]
        if len(plain) >= count and plain[0]["client_id"] not in hit:
            return plain
    raise NotThere(f"{count} undisturbed heartbeats in a generation")


def half_of_its_heartbeats(kept: Kept) -> None:
    rows = _undisturbed(kept, 5)
    for row in rows[1::2]:
        kept["requests"].remove(row)


def half_of_three_intervals_of_heartbeats(kept: Kept) -> None:
    """Every second of six: two gaps of twice the interval are left."""
    rows = _undisturbed(kept, 6)
    for row in [*rows[-5:-1:2], *rows[:-6]]:
        kept["requests"].remove(row)


def twice_as_many_heartbeats(kept: Kept) -> None:
    rows = _undisturbed(kept, 5)
    for row in rows[:-1]:
        made = dict(row, evidence="")
        _moved(made, 1_000)
        kept["requests"].append(made)


def a_heartbeat_of_the_generation_before(kept: Kept) -> None:
    for rows in _beats(kept):
        late = [row for row in rows if row["api"] == "HEARTBEAT" and row["generation"] > 1]
        if len(late) > 1:
            late[-1]["generation"] -= 1
            return
    raise NotThere("a second generation with heartbeats")


def heartbeats_of_a_generation_to_come(kept: Kept) -> None:
    for rows in _beats(kept):
        if rows[0]["api"] == "HEARTBEAT":
            rows[len(rows) // 2]["generation"] += 1
            return
    raise NotThere("classic heartbeats")


def a_heartbeat_without_a_member(kept: Kept) -> None:
    for rows in _beats(kept):
        if rows[0]["api"] == "HEARTBEAT":
            rows[len(rows) // 2] |= {"member_id": None}
            return
    raise NotThere("classic heartbeats")


def _elsewhere(kept: Kept, rows: list[Row]) -> None:
    brokers = {row["broker"] for row in kept["requests"]}
    others = sorted(brokers - {rows[0]["broker"]})
    if not others:
        raise NotThere("a second broker")
    for row in rows:
        row["broker"] = others[0]


def heartbeats_to_another_broker(kept: Kept) -> None:
    """Accepted there, as if there were two coordinators."""
    _elsewhere(kept, next(_beats(kept))[-2:])


def one_heartbeat_to_another_broker(kept: Kept) -> None:
    rows = next(_beats(kept))
    _elsewhere(kept, [rows[len(rows) // 2]])


def commits_accepted_by_another_broker(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_COMMIT") if row["member_id"]]
    if len(rows) < 4:
        raise NotThere("commits")
    _elsewhere(kept, rows[len(rows) // 2 : len(rows) // 2 + 1])


def two_coordinators_take_turns(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_COMMIT") if row["member_id"]]
    if len(rows) < 8:
        raise NotThere("commits")
    _elsewhere(kept, rows[len(rows) // 2 :: 2])


def _evictions(kept: Kept) -> list[Row]:
    found = kept.lines("evicted")
    if not found:
        raise NotThere("an eviction")
    return found


def evicted_too_early(kept: Kept) -> None:
    _evictions(kept)[0]["at"] -= ms(500)


def evicted_too_late(kept: Kept) -> None:
    line = _evictions(kept)[0]
    _later(kept, line, 700)


def _later(kept: Kept, line: Row, by: float) -> None:
    for row in kept["coordinator_events"]:
        if line["at"] <= row["at"] < line["at"] + ms(3):
            row["at"] += ms(by)


def never_evicted(kept: Kept) -> None:
    line = _evictions(kept)[0]
    kept["coordinator_events"].remove(line)


def unknown_to_the_next_coordinator(kept: Kept) -> None:
    loads = [line for line in kept.lines("loaded") if line["members"]]
    for load in loads:
        for row in kept.own("HEARTBEAT"):
            if row["broker"] == load["broker"] and row["arrived_at"] > load["at"]:
                row["error_code"] = 25
                return
    raise NotThere("a group that another broker loaded")


def loaded_without_one_of_its_members(kept: Kept) -> None:
    loads = [line for line in kept.lines("loaded") if line["members"]]
    if not loads:
        raise NotThere("a group that another broker loaded")
    loads[0]["members"] -= 1


def answered_by_a_dead_broker(kept: Kept) -> None:
    """The last request that it processed comes later, while its process is killed."""
    for fault in kept["faults"]:
        if fault["phase"] == "injected" and fault["kind"] == "kill-broker":
            own = [
                row for row in kept["requests"] if f"broker-{row['broker']}" == fault["resolved"]
            ]
            before = [row for row in own if row["arrived_at"] < fault["at"]]
            if before:
                before[-1]["arrived_at"] = fault["at"] + ms(1_500)
                for step in ("processed_at", "answered_at"):
                    before[-1][step] = fault["at"] + ms(1_501)
                return
    raise NotThere("a broker that was killed")


def unknown_to_the_same_coordinator_again(kept: Kept) -> None:
    """The coordinator itself comes back, and does not know its members."""
    moment = kept.quiet(1_500)
    lines = [line for line in kept.lines("stabilized", "emptied") if line["at"] < moment]
    if not lines:
        raise NotThere("a classic generation")
    blank = dict.fromkeys(lines[-1])
    broker, group = lines[-1]["broker"], lines[-1]["group"]
    for event, late in (("unloaded", 0), ("loaded", 20)):
        about = {"event": event, "broker": broker, "group": group, "at": moment + ms(late)}
        members = lines[-1]["members"] if event == "loaded" else None
        kept["coordinator_events"].append({**blank, **about, "members": members, "evidence": "x:1"})
    for row in kept.own("HEARTBEAT"):
        if row["arrived_at"] > moment + ms(20):
            row["error_code"] = 25
            return
    raise NotThere("a heartbeat after the quiet time")


def told_too_late_of_a_rebalance(kept: Kept) -> None:
    refused = kept.own("HEARTBEAT", error=27)
    if not refused:
        raise NotThere("a member that was told")
    refused[0]["error_code"] = 0


CHANGES: Final = (
    *(
        Change(edit.__name__, edit, ("R14",), (*RUNS, *MODERN))
        for edit in (
            half_of_its_heartbeats,
            half_of_three_intervals_of_heartbeats,
            twice_as_many_heartbeats,
        )
    ),
    *(
        Change(edit.__name__, edit, ("R35",), RUNS)
        for edit in (
            a_heartbeat_of_the_generation_before,
            heartbeats_of_a_generation_to_come,
            a_heartbeat_without_a_member,
        )
    ),
    *(
        Change(edit.__name__, edit, ("X39",), (*RUNS, *MODERN))
        for edit in (
            heartbeats_to_another_broker,
            one_heartbeat_to_another_broker,
            commits_accepted_by_another_broker,
            two_coordinators_take_turns,
        )
    ),
    *(
        Change(
            edit.__name__,
            edit,
            ("R01", "R02", "R20e", "R20f", "X19"),
            ("consumer-crash.", "consumer-freeze.", "static-epochs.", "coordinator-isolated."),
            or_withholds=True,
        )
        for edit in (evicted_too_early, evicted_too_late, never_evicted)
    ),
    Change(
        "unknown to the next coordinator",
        unknown_to_the_next_coordinator,
        ("X12",),
        ("coordinator-kill.", "rolling-restart."),
    ),
    Change(
        "loaded without one of its members",
        loaded_without_one_of_its_members,
        ("X12",),
        ("coordinator-kill.", "rolling-restart."),
    ),
    Change(
        "answered by a dead broker",
        answered_by_a_dead_broker,
        ("E01",),
        ("coordinator-kill.", "broker-kill."),
    ),
    Change(
        "unknown to the same coordinator again",
        unknown_to_the_same_coordinator_again,
        ("X12",),
        RUNS,
    ),
    Change(
        "told too late of a rebalance",
        told_too_late_of_a_rebalance,
        ("R32",),
        ("consumer-crash.", "consumer-freeze.", "consumer-join.java"),
    ),
)
