"""Changes by which what is on record of a fault, a broker or a member proves something else."""

from __future__ import annotations

import json
from typing import Final

from tests.tampered.history import Change, Edit, Kept, NotThere, Row, change, copy, first, ms


def _of_kind(kept: Kept, *kinds: str) -> Row:
    found = [row for row in kept["faults"] if row["kind"] in kinds and row["phase"] == "injected"]
    return first(found, "such fault")


def a_fault_names_another_member(*kinds: str) -> Edit:
    """One of those that the run began with."""

    def edit(kept: Kept) -> None:
        fault = _of_kind(kept, *kinds)
        other = next((each for each in kept.members() if each != fault["resolved"]), None)
        if other is None:
            raise NotThere("no other member")
        for row in kept["faults"]:
            if row["fault"] == fault["fault"] and row["resolved"]:
                row["resolved"] = other

    return edit


def _former(kept: Kept, loaded: Row) -> int:
    """The coordinator before that one."""
    lines = [line for line in kept.lines("stabilized", "loaded") if line["at"] < loaded["at"]]
    before = [line for line in lines if line["broker"] != loaded["broker"]]
    return int(first(before[::-1], "coordinator before")["broker"])


def a_former_coordinator_accepts_a_heartbeat(after_ms: float) -> Edit:
    """So long after its successor has loaded the group, which the successor really was asked."""

    def edit(kept: Kept) -> None:
        loaded = first(kept.lines("loaded")[::-1], "change of the coordinator")
        former = _former(kept, loaded)
        late = loaded["at"] + ms(after_ms)
        later = [row for row in kept.own("HEARTBEAT") if row["arrived_at"] > late]
        row = first(later, "heartbeat so much later")
        row["broker"] = former
        row["evidence"] = f"broker-{former}-requests.log:0"

    return edit


def a_lookup_names_a_coordinator_that_is_gone(kept: Kept) -> None:
    """Seconds after another broker has loaded the group."""
    loaded = first(kept.lines("loaded"), "change of the coordinator")
    group = kept.run.settings["group"]
    lookups = [
        row
        for row in kept["requests"]
        if (row["api"], row["group"], row["error_code"]) == ("FIND_COORDINATOR", group, 0)
        and row["arrived_at"] > loaded["at"] + ms(4_000)
    ]
    named = {"coordinator": _former(kept, loaded)}
    lookups.sort(key=lambda row: row["arrived_at"])
    first(lookups, "lookup after it")["detail"] = json.dumps(named)


def _asks_once_more(kept: Kept, row: Row, *partitions: int) -> None:
    """Just before the same request, and is refused these of its partitions, by their places."""
    positions = [dict(each) for each in row["positions"]]
    for place in partitions:
        positions[place].update(error_code=3, committed=-1)
    kept["requests"].append(copy(row, -1, positions=positions))


def a_position_of_one_partition_is_refused(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_FETCH") if row["positions"]]
    _asks_once_more(kept, first(rows, "positions"), 0)


def positions_of_all_partitions_are_refused(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_FETCH") if row["positions"]]
    row = first(rows, "positions")
    _asks_once_more(kept, row, *range(len(row["positions"])))


def an_end_of_a_partition_is_refused(kept: Kept) -> None:
    asked = [row for row in kept["requests"] if row["api"] == "LIST_OFFSETS" and row["positions"]]
    asked = [row for row in asked if row["client_id"] in kept.members()]
    _asks_once_more(kept, first(asked, "lookup of an end"), 0)


def java_loses_its_coordinator_for_nothing(kept: Kept) -> None:
    """And finds it again at once, as it may after an error."""
    member = kept.members()[1]
    beats = [row for row in kept.own("HEARTBEAT") if row["client_id"] == member]
    at = first(beats[len(beats) // 2 :], "heartbeat")["answered_at"] + ms(600)
    told = [row for row in kept.told("coordinator_found") if row["member"] == member]
    found = first(told, "note of a coordinator")
    lookups = [row for row in kept.own("FIND_COORDINATOR") if row["client_id"] == member]
    lookup = first(lookups, "lookup")
    detail = "Group coordinator is unavailable or invalid due to cause: null. isDisconnected: true."
    lost = {"event": "coordinator_lost", "event_at": at, "observed_at": at, "detail": detail}
    again = {"event_at": at + ms(6), "observed_at": at + ms(6)}
    kept["client_events"].extend([{**found, **lost}, {**found, **again}])
    kept["requests"].append(copy(lookup, (at + ms(3) - lookup["arrived_at"]) / ms(1)))


def a_close_hangs_once_the_member_has_left(kept: Kept) -> None:
    closed = first(kept.told("closed")[::-1], "close")
    for name in ("event_at", "observed_at"):
        closed[name] += ms(8_000)
    for row in kept["members"]:
        if row["member"] == closed["member"]:
            row["ended_at"] = closed["event_at"]


def a_close_never_returns(kept: Kept) -> None:
    """Of a process that ended as closed."""
    kept["client_events"].remove(first(kept.told("closed"), "close"))


def nobody_hears_that_there_is_no_position(kept: Kept) -> None:
    for row in kept.told("error"):
        kept["client_events"].remove(row)


CHANGES: Final[tuple[Change, ...]] = (
    Change(
        "the fault that closes a member names another one",
        a_fault_names_another_member("close-consumer"),
        ("E01",), ("offset-reset.", "consumer-leave.", "bad-day.", "saboteur-members."),
    ),
    Change(
        "the fault that starts a member names another one",
        a_fault_names_another_member("start-consumer"),
        ("E01",), ("consumer-join.", "bad-day."),
    ),
    Change(
        "the fault of a link names another member",
        a_fault_names_another_member("latency", "bandwidth", "connections-reset", "isolate"),
        ("E01",), ("network-latency.", "network-bandwidth.", "connections-reset."),
    ),
    Change(
        "a coordinator that is shut down accepts a heartbeat after its successor",
        a_former_coordinator_accepts_a_heartbeat(1_000),
        ("X39",), ("rolling-restart.", "coordinator-kill."),
    ),
    Change(
        "a coordinator that was started again accepts a heartbeat",
        a_former_coordinator_accepts_a_heartbeat(10_000),
        ("X39",), ("rolling-restart.",),
    ),
    change(
        a_lookup_names_a_coordinator_that_is_gone, "X66", ("rolling-restart.", "coordinator-kill.")
    ),
    *(
        change(edit, "X106", ("baseline.", "consumer-crash.java", "consumer-join."))
        for edit in (
            a_position_of_one_partition_is_refused,
            positions_of_all_partitions_are_refused,
            an_end_of_a_partition_is_refused,
        )
    ),
    *(
        change(
            edit, "X107",
            ("baseline.", "consumer-crash.", "consumer-join.", "auto-commit-crash."),
        )
        for edit in (a_close_hangs_once_the_member_has_left, a_close_never_returns)
    ),
    change(nobody_hears_that_there_is_no_position, "X18", ("offset-reset.",)),
    change(
        java_loses_its_coordinator_for_nothing, "X86",
        ("consumer-join.java", "consumer-crash.java", "callback-stall-java."),
    ),
)  # fmt: skip
