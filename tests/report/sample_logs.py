"""Logs of made-up incidents, as a broker of 3.x or of 4.x writes them in Kafka's default layout.

What a client says of itself is what Java's client says (AbstractCoordinator, ConsumerCoordinator).
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.history.foreign import events, log_files
from harness.report.incident.explain_terminal import print_view
from harness.report.incident.explain_view import IncidentView, view_of
from tests.foreign_logs import NEW_LOGGER, OLD_LOGGER

START: Final = datetime(2026, 10, 1, 10, 0, tzinfo=UTC)
OLD: Final = "[GroupCoordinator 1]: "
NEW: Final = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
UUID: Final = "-1364448b-d342-4f02-88b1-885ba4a7d072"
UNSAID: Final = "not provided"
POLL: Final = "consumer poll timeout has expired."
CLOSED: Final = "the consumer is being closed"

Said = tuple[float, str]  # seconds after START, and a message


def member(name: str, number: int = 0) -> str:
    """A member id as a coordinator makes it of a client.id or an instance id."""
    return f"{name}-1364448b-d342-4f02-88b1-{number:012d}"


def write(folder: Path, said: Iterable[Said], *, old: bool = False) -> Path:
    """A server.log with these messages."""
    logger = OLD_LOGGER if old else NEW_LOGGER
    lines = [
        f"[{START + timedelta(seconds=at):%Y-%m-%d %H:%M:%S,%f}] INFO {OLD if old else NEW}{text} "
        f"({logger})\n"
        for at, text in sorted(said, key=lambda each: each[0])
    ]
    (folder / "server.log").write_text("".join(lines))
    return folder


def view(folder: Path) -> IncidentView:
    return view_of(events.read(log_files.files_of([folder])))


def printed(shown: IncidentView, width: int = 2_000) -> str:
    file = io.StringIO()
    print_view(shown, Console(file=file, width=width))
    return file.getvalue()


class Classic:
    """What the coordinator of a classic group writes, in the words of 3.x or of 4.x."""

    def __init__(self, *, old: bool = False, group: str = "g") -> None:
        self.old = old
        self.group = group
        self.generation = 0
        self.said: list[Said] = []

    def says(self, at: float, text: str) -> None:
        self.said.append((at, text))

    def begins(self, at: float, reason: str) -> None:
        where = " (__consumer_offsets-7)" if self.old else ""
        end = "" if self.old else "."
        self.says(
            at,
            f"Preparing to rebalance group {self.group} in state PreparingRebalance with old "
            f"generation {self.generation}{where} (reason: {reason}){end}",
        )

    def ends(self, at: float, members: int, leader: str) -> None:
        self.generation += 1
        where = " (__consumer_offsets-7)" if self.old else ""
        end = "" if self.old else "."
        self.says(
            at,
            f"Stabilized group {self.group} generation {self.generation}{where} with {members} "
            f"members{end}",
        )
        self.says(
            at + 0.01,
            f"Assignment received from leader {leader} for group {self.group} for generation "
            f"{self.generation}. The group has {members} members, 0 of which are static.",
        )

    def joins(
        self, at: float, who: str, members: int, instance: str = "", says: str = UNSAID
    ) -> None:
        named = instance or ("None" if self.old else "null")
        if self.old and instance:
            named = f"Some({instance})"
        if not self.old:
            self.says(
                at,
                f"Pending dynamic member with id {who} joins group {self.group} in Stable state. "
                "Adding to the group now.",
            )
        self.begins(
            at, f"Adding new member {who} with group instance id {named}; client reason: {says}"
        )
        self.ends(at + 0.5, members, who)

    def leaves(self, at: float, who: str, members: int, leader: str, says: str) -> None:
        if self.old:
            self.begins(at, f"Removing member {who} on LeaveGroup; client reason: {says}")
            self.says(
                at + 0.001,
                f"Member MemberMetadata(memberId={who}, groupInstanceId=None, clientId={who[:8]}, "
                "clientHost=/10.0.0.7, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
                f"supportedProtocols=List(range)) has left group {self.group} through explicit "
                f"`LeaveGroup`; client reason: {says}",
            )
        else:
            self.says(
                at,
                f"[Group {self.group}] Member {who} has left group through explicit `LeaveGroup` "
                f"request; client reason: {says}",
            )
            self.begins(at, f"explicit `LeaveGroup` request for ({who}) members.")
        self.ends(at + 0.5, members, leader)

    def expires(self, at: float, who: str, members: int, leader: str) -> None:
        end = "" if self.old else "."
        self.says(
            at, f"Member {who} in group {self.group} has failed, removing it from the group{end}"
        )
        self.begins(at, f"removing member {who} on heartbeat expiration{end}")
        self.ends(at + 0.5, members, leader)


def storm_of_a_slow_member(*, old: bool = False) -> list[Said]:
    """One of three cooperative members exceeds max.poll.interval.ms again and again."""
    group, others = Classic(old=old, group="orders"), [member("orders-1", 1), member("orders-2", 2)]
    group.joins(0, others[0], 1)
    group.joins(1, others[1], 2)
    for turn in range(8):
        at, slow = 60 * turn + 10, member("orders-3", 100 + turn)
        group.joins(at, slow, 3, says="need to re-join with the given member-id: " + slow)
        group.begins(
            at + 2,
            f"Updating metadata for member {others[turn % 2]} during Stable; client reason: need "
            "to revoke partitions and re-join",
        )
        group.ends(at + 3, 3, others[0])
        group.leaves(at + 40, slow, 2, others[0], POLL)
    return group.said


def logged(folder: Path, said: Iterable[Said]) -> IncidentView:
    """What there is to say of these messages; their log is put into a folder of its own."""
    logs = folder / "logs"
    logs.mkdir()
    return view(write(logs, said))
