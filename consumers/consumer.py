"""The consumer's loop: poll, journal what came, work, journal that it is done, commit.

One thread, and no more recording than a line per poll, so that the recording does not change what
is measured. Deliveries are journalled before the work and not after, so that a killed consumer
leaves behind what it had in hand.
"""

import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

from consumers.client import (
    Answer,
    ClientError,
    Copy,
    GroupClient,
    MemberIdentity,
    Partition,
    Position,
    Range,
)
from consumers.commits import Committer, PositionStore
from consumers.config import ConsumerConfig
from consumers.control import Control, run_program
from consumers.journal import Journal, JournalError
from consumers.sabotage import Batch, conduct_of
from harness.base.errors import HarnessError

# Also how long an order waits at most while nothing arrives.
POLL_TIMEOUT_S: Final = 0.2
# How long an order waits while batches come without a pause: looking costs as much as a frame.
ORDERS_EVERY_S: Final = 0.001
# A stall starts in the middle of a batch; with no batch for so long it starts without one.
STALL_WAITS_S: Final = 2.0
HOLD_S: Final = 30.0  # it is killed long before


class ClientGaveUp(HarnessError):
    """The client library reported a fatal error: this consumer can do nothing any more."""

    exit_code: int = 1


class _Stall(NamedTuple):
    duration_ms: float
    without_batch_at: float  # on the monotonic clock


class ConsumerLoop:
    """One consumer from subscription to close; also the `Listener` of its client."""

    def __init__(
        self,
        config: ConsumerConfig,
        client: GroupClient,
        journal: Journal,
        control: Control,
        copy: Copy | None = None,
    ) -> None:
        self._config = config
        self._client = client
        self._journal = journal
        self._control = control
        self._conduct = conduct_of(config.sabotage)
        self._commits = Committer(client, journal)
        self._copy = copy
        self._metadata: object = None
        self._owned: set[Partition] = set()
        self._uncommitted: dict[Partition, int] = {}  # worked off, to be committed later
        self._committed_at = time.monotonic()  # commit "interval": when it last was
        self._store = PositionStore(Path(config.store)) if config.store else None
        self._stalls: deque[_Stall] = deque()
        self._callback_stalls: deque[float] = deque()  # milliseconds
        self._hold = False
        self._joins = not config.joins_when_told
        self._closing: str | None = None
        self._look_at = 0.0  # for orders, on the monotonic clock
        self._polls = 0
        self._returned_at = 0
        self._broken: HarnessError | None = None
        self._topic_json = json.dumps(config.topic)
        self._member_json = _member_json(MemberIdentity(None, None))

    def run(self) -> None:
        """Consume until ordered to close, and leave the group.

        Raises ClientGaveUp after a fatal error of the library, JournalError if the disk is full.
        """
        self._journal.write(
            "started",
            versions=self._client.versions,
            config=asdict(self._config),
            effective=self._client.effective,
        )
        while not self._joins and self._closing is None:
            self._control.wait(POLL_TIMEOUT_S)
            self._obey()
        if self._joins:
            self._client.subscribe(self._config.topic, self)
        while self._closing is None:
            self.turn()
        self._close(self._closing)

    def turn(self) -> None:
        """Obey what was ordered; unless that was to close, poll once and work off what came."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + ORDERS_EVERY_S
            self._obey()
        if self._closing is not None:
            return
        polled = self._client.poll_batch(self._config.batch_records, POLL_TIMEOUT_S)
        self._returned_at = _now_us()
        self._polls += 1
        if self._copy is not None and polled.ranges:
            # As who these records were got: the transaction is refused if that is past.
            self._metadata = self._client.group_metadata()
        for error in polled.errors:
            self._note_error("message", error)
        self._raise_what_broke()
        batch = self._take(polled.ranges) if polled.ranges else None
        for ready in self._conduct.ready(batch):
            self._work_off(ready)
        if batch and self._conduct.again():
            # A poll of its own, which is what it looks like to those who count the work.
            self._polls += 1
            self._returned_at = _now_us()
            if again := self._take(list(batch.ranges)):
                self._work_off(again)
        if self._stalls and time.monotonic() >= self._stalls[0].without_batch_at:
            self._stall()

    # What the harness orders

    def _obey(self) -> None:
        for order in self._control.poll():
            match order.split():
                case ["close"]:
                    self._closing = "ordered"
                case ["join"]:
                    self._joins = True
                case ["stall", duration] if duration.isdecimal():
                    starts = time.monotonic() + STALL_WAITS_S
                    self._stalls.append(_Stall(float(duration), starts))
                case ["hold-transaction"]:
                    self._hold = True
                case ["stall-callback", duration] if duration.isdecimal():
                    self._callback_stalls.append(float(duration))
                case _:
                    self._journal.write("error", where="control", text=f"unknown order {order!r}")
        self._closing = self._closing or self._control.gone

    def _stall(self) -> None:
        duration_ms = self._stalls.popleft().duration_ms
        about = {"polled_at": self._returned_at, "duration_ms": duration_ms}
        self._journal.write("stall_started", **about)
        self._conduct.stalls()
        time.sleep(duration_ms / 1000)
        self._journal.write("stall_ended", **about)

    def _close(self, why: str) -> None:
        self._journal.write("closing", why=why)
        self._conduct.revoked()
        for ready in self._conduct.ready(None):
            self._work_off(ready)
        if self._conduct.closes:
            self._client.close()
        self._raise_what_broke()
        self._journal.write("closed")

    # A batch

    def _take(self, ranges: list[Range]) -> Batch | None:
        # One poll can gather records and then run the callback that takes their partition away.
        # They are the next owner's now: to work on them here would be a fault of the application.
        batch = whole = Batch(self._polls, ranges)
        if self._conduct.drops_revoked and (batch := whole.only(self._owned)) is not whole:
            dropped = [r for r in ranges if r not in batch.ranges]
            self._journal.write("dropped", poll=batch.poll, ranges=dropped)
        if not batch.ranges:
            return None
        topic = self._topic_json
        listed = ",".join(
            [f"[{topic},{part},{first},{last},{n}]" for _, part, first, last, n in batch.ranges]
        )
        self._journal.write_encoded(
            "delivered",
            f'"poll":{batch.poll},"ranges":[{listed}],{self._member_json},'
            f'"polled_at":{self._returned_at}',
        )
        return batch

    def _work_off(self, batch: Batch) -> None:
        if self._conduct.commits == "before":
            self._commits.ask("sync", self._conduct.positions(batch), wait=True)
        if self._config.process_us:
            time.sleep(self._config.process_us * batch.records / 1e6)
        if self._stalls:
            self._stall()
        if self._copy is not None and not self._transact(self._copy, batch):
            return
        self._journal.write_encoded("processed", f'"poll":{batch.poll}')
        if self._conduct.commits == "after":
            self._commit_done(batch)

    def _transact(self, copy: Copy, batch: Batch) -> bool:
        """Copy a batch in a transaction; whether it was committed. If not, read it again."""
        broken: list[ClientError] = []
        refused: list[Answer] = []

        def make(positions: Sequence[Position]) -> list[Answer]:
            answers, error = copy(batch.ranges, positions, self._metadata, self._hold_if_ordered)
            broken.extend([error] if error else [])
            refused.extend(answer for answer in answers if answer.error_code)
            return answers

        self._commits.through("transaction", batch.positions, make)
        if broken:
            self._note_error("transaction", broken[0])
        if refused:
            first = {(r.topic, r.partition): r.first for r in reversed(batch.ranges)}
            self._client.rewind([Position(*found, at) for found, at in sorted(first.items())])
        return not refused

    def _hold_if_ordered(self) -> None:
        """Wait for the end in an open transaction, where a member is to die in one."""
        if self._hold:
            self._journal.write("transaction_held")
            time.sleep(HOLD_S)

    def _commit_done(self, batch: Batch) -> None:
        if self._config.commit == "auto":
            return  # the library commits by itself what it has handed over
        positions = self._conduct.positions(batch)
        match self._config.commit:
            case "sync":
                self._commits.ask("sync", positions, wait=True)
            case "async":
                self._commits.ask("async", positions, wait=False)
            case "interval" | "revoke":
                for topic, partition, committed in positions:
                    self._uncommitted[Partition(topic, partition)] = committed
                if self._config.commit == "interval":
                    self._commit_if_due()
            case "external" if self._store is not None:
                self._commits.through("external", positions, self._store.write)

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        if now - self._committed_at >= self._config.auto_commit_interval_ms / 1_000:
            self._committed_at = now
            done = [Position(*p, at) for p, at in sorted(self._uncommitted.items())]
            self._uncommitted.clear()
            for answer in self._commits.ask("interval", done, wait=True):
                partition = Partition(answer.topic, answer.partition)
                if answer.error_code and partition in self._owned:
                    self._uncommitted[partition] = answer.committed  # the next time, then

    # What the client library reports, from within poll_batch and close

    def assigned(self, partitions: Sequence[Partition]) -> None:
        self._note_rebalance("assigned", partitions)
        self._owned.update(partitions)
        if self._store is not None:
            self._client.seek(self._store.read(partitions))

    def revoked(self, partitions: Sequence[Partition]) -> None:
        """With commit "revoke", commit what was worked off of `partitions`."""
        self._note_rebalance("revoked", partitions)
        self._forget(partitions, commit=True)
        if self._callback_stalls:
            duration_ms = self._callback_stalls.popleft()
            self._journal.write("callback_stall_started", duration_ms=duration_ms)
            time.sleep(duration_ms / 1000)
            self._journal.write("callback_stall_ended", duration_ms=duration_ms)

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Nothing is committed, for others may own `partitions` by now."""
        self._note_rebalance("lost", partitions)
        self._forget(partitions, commit=False)

    def committed(self, answers: Sequence[Answer]) -> None:
        self._commits.answered(answers)

    def error(self, error: ClientError) -> None:
        """A fatal one ends the process after this poll."""
        self._note_error("library", error)

    def callback_failed(self, where: str, error: Exception) -> None:
        """The loop goes on unless the journal itself failed."""
        try:
            self._journal.write("error", where=where, text=f"{type(error).__name__}: {error}")
        except JournalError as full:
            self._broken = full

    def _forget(self, partitions: Sequence[Partition], *, commit: bool) -> None:
        self._owned.difference_update(partitions)
        self._conduct.revoked()
        done = [
            Position(*p, self._uncommitted.pop(p)) for p in partitions if p in self._uncommitted
        ]
        if commit and done and self._config.commit == "revoke":
            self._commits.ask("revoke", done, wait=True)

    def _note_rebalance(self, kind: str, partitions: Sequence[Partition]) -> None:
        self._member_json = _member_json(self._client.known)
        partitions_json = json.dumps(partitions, separators=(",", ":"))
        self._journal.write_encoded(kind, f'"partitions":{partitions_json},{self._member_json}')

    def _note_error(self, where: str, error: ClientError) -> None:
        self._journal.write("error", where=where, **error._asdict())
        if error.fatal:
            self._broken = ClientGaveUp(
                f"{self._config.member} cannot go on: {error.name}: {error.text}"
            )

    def _raise_what_broke(self) -> None:
        if self._broken is not None:
            raise self._broken


def run(config: ConsumerConfig) -> int:
    """The program: consume until ordered to close. Returns the exit code; raises HarnessError."""

    def loop(journal: Journal, control: Control) -> None:
        client, copy = _connect(config)
        ConsumerLoop(config, client, journal, control, copy).run()

    return run_program(config, loop)


def _connect(config: ConsumerConfig) -> tuple[GroupClient, Copy | None]:
    transacts = config.commit == "transaction"
    if config.client == "java":
        from consumers import java_client as java

        return java.JavaClient(config), java.transactions(config).copy if transacts else None

    from consumers import librdkafka as rd

    return rd.Librdkafka(config), rd.transactions(config).copy if transacts else None


def _member_json(member: MemberIdentity) -> str:
    return f'"member_id":{json.dumps(member[0])},"generation":{json.dumps(member[1])}'


def _now_us() -> int:
    return time.time_ns() // 1000
