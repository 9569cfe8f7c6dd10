"""What the consumer loop asks of a client library, and what it hears from it.

`librdkafka.py` and `java.py` implement it; another client needs no change of the loop.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


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


class Polled(NamedTuple):
    """What one poll returned. An error stands for records that were not delivered."""

    ranges: list[Range]
    errors: list[ClientError]


class Listener(Protocol):
    """Told from within `poll_batch` and `close`. Whatever it raises reaches `callback_failed`."""

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


class Client(Protocol):
    """One consumer of one client library, single-threaded."""

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the library and what binds it."""

    @property
    def effective(self) -> dict[str, object]:
        """The configuration, whole where the library tells it, else what was passed; no secrets."""

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
        """What a transactional producer of the same library tells of this consumer's group."""

    def member(self) -> MemberIdentity:
        """Who it is at this moment, None and None while it is nobody: asks the library's thread."""

    def close(self) -> None:
        """Leave the group; runs callbacks."""
