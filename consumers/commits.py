"""Asking for commits, which answer belongs to which question, and positions kept outside Kafka."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from consumers.client import Answer, GroupClient, MemberIdentity, Partition, Position, answered
from consumers.journal import Journal

NEVER_ANSWERED_KEPT: Final = 10_000  # a bound on memory, far above what can be in flight
_WIDTH: Final = 20  # digits of any offset, so that each write replaces the whole of the one before


class Committer:
    """Commits through `client` and journals each question and each answer.

    The member id and generation of a question are the ones at asking, by the library's own thread;
    of a member that has just been thrown out, the last ones it had.
    """

    def __init__(self, client: GroupClient, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._last_id = 0
        self._open: dict[int, frozenset[Position]] = {}  # asynchronous, in the order of asking

    def ask(self, how: str, positions: Sequence[Position], *, wait: bool) -> Sequence[Answer]:
        """Commit `positions`; with `wait` it returns the answers. Refusals raise nothing."""
        now = self._client.member()
        asker = now if now.member_id is not None else self._client.known
        asked = self._asked(how, positions, asker, in_group=now.member_id is not None)
        answers = self._client.commit(positions, wait=wait)
        if answers is not None:
            self._answered(asked, answers)
        else:
            self._open[asked] = frozenset(positions)
            if len(self._open) > NEVER_ANSWERED_KEPT:
                del self._open[next(iter(self._open))]
        return answers or ()

    def through(
        self,
        how: str,
        positions: Sequence[Position],
        make: Callable[[Sequence[Position]], list[Answer]],
    ) -> None:
        """As `ask`, but `make` commits the positions in a way of its own."""
        self._answered(self._asked(how, positions, self._client.known), make(positions))

    def _asked(
        self, how: str, positions: Sequence[Position], asker: MemberIdentity, **more: bool
    ) -> int:
        self._last_id += 1
        by = {"member_id": asker.member_id, "generation": asker.generation, **more}
        self._journal.write("commit_asked", id=self._last_id, how=how, offsets=positions, **by)
        return self._last_id

    def answered(self, answers: Sequence[Answer]) -> None:
        """An answer came by callback: to one of ours, or to the library's own automatic commit."""
        answer = frozenset(Position(a.topic, a.partition, a.committed) for a in answers)
        asked = next((number for number, open_ in self._open.items() if open_ == answer), None)
        if asked is not None:
            del self._open[asked]
        self._answered(asked, answers)

    def _answered(self, asked: int | None, answers: Sequence[Answer]) -> None:
        by = self._client.known
        self._journal.write(
            "commit_answered",
            id=asked,
            results=answers,
            member_id=by.member_id,
            generation=by.generation,
        )


class PositionStore:
    """The next record to read of each partition: a small file each, shared by all members."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def write(self, positions: Sequence[Position]) -> list[Answer]:
        """Keep `positions`: they survive the process, not the machine. Answers as Kafka would."""
        for topic, partition, committed in positions:
            # One write of one length: a reader sees the old position or the new one.
            path = self._folder / f"{topic}-{partition}"
            with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
                file.write(b"%0*d" % (_WIDTH, committed))
        return answered(positions)

    def read(self, partitions: Sequence[Partition]) -> list[Position]:
        """What is known of `partitions`; those that no member has worked on are left out."""
        found = []
        for topic, partition in partitions:
            path = self._folder / f"{topic}-{partition}"
            if path.exists() and (kept := path.read_bytes()):
                found.append(Position(topic, partition, int(kept)))
        return found
