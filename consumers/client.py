"""What the consumer loop asks of a client library, and what it hears from it.

`librdkafka.py` and `java_client.py` implement it; another client needs no change of the loop.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

TRANSACTION_PATIENCE_S: Final = 60.0


class Partition(NamedTuple):
    topic: str
    partition: int


class Range(NamedTuple):
    """A run of consecutive offsets of one partition; `last` is included."""

    topic: str
    partition: int
    first: int
    last: int
    records: int


class Position(NamedTuple):
    """The next record to read of one partition: what a commit carries."""

    topic: str
    partition: int
    committed: int


class Answer(NamedTuple):
    """What came of committing one position. Code 0 is accepted; negative ones are the client's."""

    topic: str
    partition: int
    committed: int
    error_code: int
    error: str | None


class ClientError(NamedTuple):
    """An error the client library reports; a fatal one ends the process."""

    code: int
    name: str
    text: str
    fatal: bool


class MemberIdentity(NamedTuple):
    """Who the consumer is to its group: the coordinator's id for it, and the generation."""

    member_id: str | None
    generation: int | None


NO_MEMBER: Final = MemberIdentity(None, None)


class Polled(NamedTuple):
    """What one poll returned. An error stands for records that were not delivered."""

    ranges: list[Range]
    errors: list[ClientError]


class Listener(Protocol):
    """Called from within `poll_batch` and `close`. Whatever it raises reaches `callback_failed`."""

    def assigned(self, partitions: Sequence[Partition]) -> None:
        """`partitions` are the ones gained (cooperative) or all there are (eager)."""

    def revoked(self, partitions: Sequence[Partition]) -> None:
        """`partitions` are given up, in good order: their positions can still be committed."""

    def lost(self, partitions: Sequence[Partition]) -> None:
        """`partitions` may belong to others already: nothing of them can be committed."""

    def committed(self, answers: Sequence[Answer]) -> None:
        """An asynchronous or automatic commit was answered."""

    def error(self, error: ClientError) -> None:
        """The library reports an error that belongs to no record."""

    def callback_failed(self, where: str, error: Exception) -> None:
        """One of the above raised; must not raise itself."""


class GroupClient(Protocol):
    """One consumer of one client library, single-threaded."""

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the library and what binds it."""

    @property
    def effective(self) -> dict[str, object]:
        """The configuration, whole where the library shows it, else what was passed; no secrets."""

    @property
    def known(self) -> MemberIdentity:
        """Who it was when a callback last ran: costs nothing, and what the application works as."""

    def subscribe(self, topic: str, listener: Listener) -> None:
        """Join the group and hear of its rebalances."""

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        """At most `limit` records, waiting `timeout_s` for them; runs callbacks."""

    def commit(self, positions: Sequence[Position], *, wait: bool) -> list[Answer] | None:
        """Commit positions; the answers if `wait`, else None (`Listener.committed` hears them)."""

    def seek(self, positions: Sequence[Position]) -> None:
        """Only from within `Listener.assigned`: read these partitions from there on."""

    def rewind(self, positions: Sequence[Position]) -> None:
        """Read these partitions again from there; those it has not any more are passed over."""

    def group_metadata(self) -> object:
        """What a transactional producer of the same library needs of this consumer's group."""

    def member(self) -> MemberIdentity:
        """Who it is now, None and None while it is no member: asks the library's thread."""

    def close(self) -> None:
        """Leave the group; runs callbacks."""


# Copies batches and commits positions with them: `Transactions.copy`.
Copy = Callable[
    [Sequence[Range], Sequence[Position], Any, Callable[[], None]],
    tuple[list[Answer], ClientError | None],
]


@dataclass(frozen=True)
class Transactions:
    """Copies batches to another topic, by a producer of the consumer's own library.

    All but the last two are calls of the producer: `send` takes a partition and a record, `offer`
    positions and the group's metadata. These are asked for when a batch is handed over, so that a
    coordinator refuses the positions of a member that is no longer what it was then. `said` has
    what one of the library's `errors` says.
    """

    begin: Callable[[], object]
    send: Callable[[int, bytes], object]
    flush: Callable[[], object]
    offer: Callable[[Sequence[Position], Any], object]
    commit: Callable[[], object]
    abort: Callable[[], object]
    errors: type[Exception]
    said: Callable[[Any], ClientError]

    def copy(
        self,
        ranges: Sequence[Range],
        positions: Sequence[Position],
        metadata: Any,
        written: Callable[[], None],
    ) -> tuple[list[Answer], ClientError | None]:
        """Copy a batch and commit `positions` with it in one transaction, all or nothing.

        Each record of the output names the one that it was made from; `written` is called when all
        are in the log and nothing is committed yet. Returns the answers, and the error after which
        this producer is of no use any more.
        """
        try:
            self.begin()
            for topic, partition, first, last, _ in ranges:
                for offset in range(first, last + 1):
                    self.send(partition, made_from(topic, partition, offset))
            # On disk before the positions are offered, so that an abort has something to hide.
            self.flush()
            written()
            self.offer(positions, metadata)
            self.commit()
        except self.errors as refusal:
            error = self.said(refusal)
            answers = answered(positions, error.code, error.name)
            if not error.fatal:
                try:
                    self.abort()
                    return answers, None
                except self.errors as worse:
                    error = self.said(worse)
            return answers, error._replace(fatal=True)
        return answered(positions), None


def answered(
    positions: Sequence[Position], code: int = 0, error: str | None = None
) -> list[Answer]:
    """The same answer for each of these positions."""
    return [Answer(*position, code, error) for position in positions]


def made_from(topic: str, partition: int, offset: int) -> bytes:
    """What a record of the output holds: which record it was made from."""
    return json.dumps([topic, partition, offset]).encode()


class Adapter:
    """What the clients of both libraries share: who listens, and who the consumer was last."""

    def __init__(self) -> None:
        self._listener: Listener | None = None
        self.known = NO_MEMBER  # when a rebalance callback last ran

    def _safely(self, where: str, act: Callable[[Listener], None]) -> None:
        """Call the listener; nothing that is raised there may reach the library."""
        if self._listener is None:
            return
        try:
            act(self._listener)
        except Exception as error:  # noqa: BLE001 (whatever it is)
            self._listener.callback_failed(where, error)
