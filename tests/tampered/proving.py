"""Changes by which what is on record of a fault, a broker or a member proves something else."""

from __future__ import annotations

from typing import Final

from tests.tampered.history import Change, Edit, Kept, NotThere, Row, first


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
)  # fmt: skip
