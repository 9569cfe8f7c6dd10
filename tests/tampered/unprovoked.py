"""Changes that nothing else in the run explains: of clients and brokers in quiet time, of faults,
of what the output holds, and of how groups are described."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.tampered.answering import CRASH, LEAVE, TRANSACTIONS
from tests.tampered.history import Change, Edit, Kept, NotThere, Row, change, first, later, ms
from tests.tampered.naming import CLASSIC

KILL: Final = ("coordinator-kill.",)
APIS: Final = ("group-apis.",)
EPOCHS: Final = ("member-epochs.",)


# Of clients and brokers in quiet time.
def another_broker_than_the_leader_tells_an_end(kept: Kept) -> None:
    asked = [row for row in kept["requests"] if row["api"] == "LIST_OFFSETS" and row["positions"]]
    row = first([row for row in asked if not kept.faulty(row["arrived_at"])], "question")
    row["broker"] = row["broker"] % 3 + 1


def is_asked_again_and_again(api: str, every_ms: float) -> Edit:
    """30 times, in quiet time."""

    def edit(kept: Kept) -> None:
        members = {row["member"] for row in kept["members"] if row["role"] == "consumer"}
        asked = [row for row in kept["requests"] if row["api"] == api]
        row = first([row for row in asked if row["client_id"] in members], "question")
        begun = kept.quiet(30 * every_ms)
        behind = (begun - row["arrived_at"]).total_seconds() * 1e3 - 15 * every_ms
        kept["requests"].extend(later(row, behind + each * every_ms) for each in range(30))

    return edit


def a_client_reports_an_error(detail: str) -> Edit:
    def edit(kept: Kept) -> None:
        row = first(kept.told("assigned"), "client that noticed something")
        at = kept.quiet(300)
        told = {"event": "error", "event_at": at, "observed_at": at, "detail": detail}
        kept["client_events"].append({**row, **told, "partitions": None})

    return edit


def a_replica_falls_out_of_sync(kept: Kept) -> None:
    rows = [row for row in kept["topology"] if row["what"] == "partition"]
    row = max(rows, key=lambda each: len(each["isr"]))
    left = [each for each in row["isr"] if each != row["leader"]][1:]
    kept["topology"].append({**row, "at": kept.quiet(), "isr": [row["leader"], *left]})


# Of records and their results.
def an_offset_is_left_out(kept: Kept) -> None:
    rows = [row for row in kept["sends"] if row["outcome"] == "acknowledged"]
    last = max(rows, key=lambda row: row["first_sent_at"])
    middle = last["first_offset"] // 2
    for row in rows:
        if row["partition"] == last["partition"] and row["first_offset"] >= middle:
            row["first_offset"] += 1
            row["last_offset"] += 1


def more_results_than_records(kept: Kept) -> None:
    row = first([row for row in kept["outputs"] if row["isolation"] == "read_committed"], "result")
    kept["outputs"].append(dict(row))


def a_result_of_a_record_that_never_was(kept: Kept) -> None:
    rows = [row for row in kept["outputs"] if row["isolation"] == "read_committed"]
    row = max(rows, key=lambda each: each["last_offset"], default=None)
    if row is None:
        raise NotThere("no result")
    row["last_offset"] += 3


# Of a fault.
def _fault(kept: Kept, *phases: str) -> list[Row]:
    """These phases of the first fault that has them all."""
    for fault in sorted({row["fault"] for row in kept["faults"]}):
        rows = [row for row in kept["faults"] if row["fault"] == fault]
        found = [row for phase in phases for row in rows if row["phase"] == phase]
        if len(found) == len(phases):
            return found
    raise NotThere(f"no fault with {phases}")


def phases_change_places(one: str, other: str) -> Edit:
    def edit(kept: Kept) -> None:
        a, b = _fault(kept, one, other)
        a["at"], b["at"] = b["at"], a["at"]

    return edit


def a_fault_is_injected_twice(kept: Kept) -> None:
    (row,) = _fault(kept, "injected")
    kept["faults"].append({**row, "at": row["at"] + ms(1_000)})


def a_fault_takes_effect_before_anybody_tried(kept: Kept) -> None:
    (row,) = _fault(kept, "injecting")
    kept["faults"].remove(row)


# Of how a group is described.
def described(api: str, alter: Callable[[dict[str, Any]], None]) -> Edit:
    """The last description that names more than one member."""

    def edit(kept: Kept) -> None:
        for row in reversed([row for row in kept["calls"] if row["api"] == api]):
            answer = json.loads(row["answer"] or "{}")
            group = answer["groups"][0]
            own = group["groupId"] != kept.run.settings["group"]
            if len(group["members"]) > 1 and group["groupState"] == "Stable" and own:
                alter(group)
                row["answer"] = json.dumps(answer)
                return
        raise NotThere("no description of several members")

    return edit


def _repeats(group: dict[str, Any]) -> None:
    group["members"][1] = group["members"][0]


def _has_another(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda group: group.update(changes)


def _aims_elsewhere(group: dict[str, Any]) -> None:
    one, other = group["members"][:2]
    one["targetAssignment"], other["targetAssignment"] = (
        other["targetAssignment"],
        one["targetAssignment"],
    )


def _names_a_partition_twice(group: dict[str, Any]) -> None:
    parts = group["members"][0]["assignment"]["topicPartitions"][0]["partitions"]
    parts.append(parts[0])


NEW: Final = "CONSUMER_GROUP_DESCRIBE"
CHANGES: Final = (
    change(another_broker_than_the_leader_tells_an_end, "X90", (*CLASSIC, *LEAVE)),
    *(
        Change(f"{api} again and again", is_asked_again_and_again(api, 50), (rule,), runs)
        for api, rule, runs in (
            ("FIND_COORDINATOR", "X91", (*CLASSIC, *LEAVE)),
            ("OFFSET_FETCH", "X98", (*CLASSIC, *LEAVE)),
            ("LIST_OFFSETS", "X98", (*CLASSIC, "baseline.")),
        )
    ),
    *(
        Change(f"{what} for nothing", a_client_reports_an_error(what), ("X92",), runs)
        for what, runs in (
            ("library: _ALL_BROKERS_DOWN (-187): 3/3 brokers are down", (*CLASSIC, *EPOCHS)),
            ("message: TOPIC_AUTHORIZATION_FAILED (29): Fetch failed", CLASSIC),
            ("process: ClientGaveUp: member-1 cannot go on", LEAVE),
        )
    ),
    change(a_replica_falls_out_of_sync, "X77", (*CLASSIC, *LEAVE)),
    change(an_offset_is_left_out, "X63", (*CLASSIC, "baseline.")),
    change(more_results_than_records, "X29", TRANSACTIONS),
    change(a_result_of_a_record_that_never_was, "X29", TRANSACTIONS),
    *(
        Change(
            f"{one} and {other} change places", phases_change_places(one, other), ("E01",), KILL,
            or_withholds=True,
        )
        for one, other in (
            ("injecting", "injected"),
            ("injected", "healing"),
            ("healing", "healed"),
        )
    ),
    change(a_fault_is_injected_twice, "E01", (*KILL, *CRASH)),
    Change(
        "a fault takes effect before anybody tried", a_fault_takes_effect_before_anybody_tried,
        ("E01",), (*KILL, *CRASH), or_withholds=True,
    ),
    Change("a member is described twice", described("DESCRIBE_GROUPS", _repeats), ("R28",), APIS),
    Change(
        "another assignor is described",
        described("DESCRIBE_GROUPS", _has_another(protocolData="sticky")), ("R28",), APIS,
    ),
    Change(
        "a group of another type is described",
        described("DESCRIBE_GROUPS", _has_another(protocolType="connect")), ("R28",), APIS,
    ),
    *(
        Change(f"{name}, by the new call", described(NEW, alter), ("R28-epoch",), EPOCHS)
        for name, alter in (
            ("another assignor", _has_another(assignorName="range")),
            ("another epoch of the group", _has_another(groupEpoch=9)),
            ("another epoch of the target", _has_another(assignmentEpoch=1)),
            ("another target", _aims_elsewhere),
            ("a member twice", _repeats),
            ("a partition twice", _names_a_partition_twice),
        )
    ),
)  # fmt: skip
