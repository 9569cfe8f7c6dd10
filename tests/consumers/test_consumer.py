import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from consumers.client import (
    Answer,
    ClientError,
    Listener,
    MemberIdentity,
    Partition,
    Polled,
    Position,
    Range,
)
from consumers.config import ConsumerConfig
from consumers.consumer import ClientGaveUp, ConsumerLoop
from consumers.control import Control
from consumers.journal import Journal, JournalError, read_journal

P0, P1 = Partition("t", 0), Partition("t", 1)
NOTHING = Polled([], [])
Step = Callable[[Listener], Polled | None]


def records(partition: int, first: int, last: int) -> Range:
    return Range("t", partition, first, last, last - first + 1)


def brings(*places: tuple[int, int, int]) -> Step:
    """Records of a partition, from one offset to another, for each of these."""
    return lambda _listener: Polled([records(*place) for place in places], [])


def assigns(*partitions: Partition) -> Step:
    return lambda listener: listener.assigned(partitions)


def revokes(*partitions: Partition) -> Step:
    return lambda listener: listener.revoked(partitions)


class FakeClient:
    """Plays one step per poll; commits are answered at once, or by `answer` if asynchronous."""

    versions: dict[str, str] = {"fake": "1"}  # noqa: RUF012
    effective: dict[str, object] = {}  # noqa: RUF012

    def __init__(self, steps: Sequence[Step], on_end: Callable[[], None]) -> None:
        self._steps = deque(steps)
        self._on_end = on_end
        self.known = MemberIdentity("id-1", 1)
        self.current = MemberIdentity("id-1", 1)
        self.committed: list[tuple[tuple[Position, ...], bool]] = []
        self.sought: list[Position] = []
        self.rewound: list[Position] = []
        self.refuses: tuple[int, str | None] = (0, None)
        self.listener: Listener | None = None
        self.at_close: Step | None = None

    @property
    def steps_left(self) -> int:
        return len(self._steps)

    def subscribe(self, topic: str, listener: Listener) -> None:
        self.listener = listener

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        assert self.listener is not None
        if not self._steps:
            self._on_end()
            return NOTHING
        return self._steps.popleft()(self.listener) or NOTHING

    def commit(self, positions: Sequence[Position], *, wait: bool) -> list[Answer] | None:
        self.committed.append((tuple(positions), wait))
        return [Answer(*position, *self.refuses) for position in positions] if wait else None

    def seek(self, positions: Sequence[Position]) -> None:
        self.sought = list(positions)

    def rewind(self, positions: Sequence[Position]) -> None:
        self.rewound = list(positions)

    def group_metadata(self) -> object:
        return self.current

    def member(self) -> MemberIdentity:
        return self.current

    def close(self) -> None:
        if self.at_close is not None and self.listener is not None:
            self.at_close(self.listener)


OF_CLIENT = {"refuses", "current", "at_close"}


class Rig:
    """A loop over a fake client, closed by the end of its orders when the steps are through."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.read, self.write = os.pipe()
        self._open = True

    def end_orders(self) -> None:
        if self._open:
            os.close(self.write)
            self._open = False

    def run(
        self, *steps: Step, orders: bytes = b"", copy: Any = None, **changes: Any
    ) -> FakeClient:
        """Run it with these orders; `changes` are of its settings, or of its client."""
        client = FakeClient(steps, self.end_orders)
        vars(client).update({name: changes.pop(name) for name in OF_CLIENT & changes.keys()})
        config = ConsumerConfig.of({**self.settings, **changes})
        journal = Journal(config.journal, config.member)
        os.write(self.write, orders)
        ConsumerLoop(config, client, journal, Control(self.read), copy).run()
        return client

    def frames(self, *kinds: str) -> list[dict[str, Any]]:
        frames = read_journal(Path(self.settings["journal"])).frames
        return [f for f in frames if not kinds or f["kind"] in kinds]

    def kinds(self) -> list[str]:
        return [f["kind"] for f in self.frames()]


@pytest.fixture
def rig(consumer_settings: dict[str, Any]) -> Iterator[Rig]:
    made = Rig(consumer_settings)
    yield made
    made.end_orders()
    os.close(made.read)


def test_a_batch_is_journalled_before_the_work_and_committed_after_it(rig: Rig) -> None:
    client = rig.run(assigns(P0, P1), brings((0, 5, 9), (1, 3, 3)))
    kinds = (
        "header started assigned delivered processed commit_asked commit_answered closing closed"
    )
    assert kinds == " ".join(rig.kinds())
    (delivered,) = rig.frames("delivered")
    assert {"poll": 2, "member_id": "id-1", "generation": 1}.items() <= delivered.items()
    assert delivered["ranges"] == [["t", 0, 5, 9, 5], ["t", 1, 3, 3, 1]]
    assert delivered["polled_at"] <= delivered["at"]
    assert [((Position("t", 0, 10), Position("t", 1, 4)), True)] == client.committed
    (asked,), (answered,) = rig.frames("commit_asked"), rig.frames("commit_answered")
    assert ("sync", asked["id"]) == (asked["how"], answered["id"])
    assert answered["results"] == [["t", 0, 10, 0, None], ["t", 1, 4, 0, None]]
    assert rig.frames("closing")[0]["why"] == "end of standard input"


def test_a_refused_commit_is_journalled_and_the_loop_goes_on(rig: Rig) -> None:
    rig.run(
        assigns(P0),
        brings((0, 0, 1)),
        brings((0, 2, 2)),
        refuses=(25, "UNKNOWN_MEMBER_ID"),
        current=MemberIdentity(None, None),
    )
    first, second = rig.frames("commit_answered")
    assert first["results"] == [["t", 0, 2, 25, "UNKNOWN_MEMBER_ID"]]
    assert second["results"] == [["t", 0, 3, 25, "UNKNOWN_MEMBER_ID"]]
    asked = rig.frames("commit_asked")[0]
    assert (asked["member_id"], asked["generation"], asked["in_group"]) == ("id-1", 1, False)


def test_an_asynchronous_answer_finds_its_question(rig: Rig) -> None:
    def answers(*committed: int) -> Step:
        return lambda listener: listener.committed([Answer("t", 0, c, 0, None) for c in committed])

    client = rig.run(
        assigns(P0),
        brings((0, 0, 1)),
        brings((0, 2, 4)),
        answers(5),
        answers(2),
        answers(99),
        commit="async",
    )
    assert [wait for _, wait in client.committed] == [False, False]
    assert [f["id"] for f in rig.frames("commit_asked")] == [1, 2]
    # In the order of the answers; the last was never asked for by the application.
    assert [f["id"] for f in rig.frames("commit_answered")] == [2, 1, None]


def test_with_automatic_commits_only_answers_are_journalled(rig: Rig) -> None:
    client = rig.run(
        assigns(P0),
        brings((0, 0, 1)),
        lambda listener: listener.committed([Answer("t", 0, 2, 0, None)]),
        commit="auto",
    )
    assert client.committed == []
    assert rig.frames("commit_asked") == []
    assert [f["id"] for f in rig.frames("commit_answered")] == [None]


def test_on_revocation_what_was_worked_off_of_the_revoked_is_committed(rig: Rig) -> None:
    client = rig.run(
        assigns(P0, P1),
        brings((0, 0, 4), (1, 0, 1)),
        brings((0, 5, 6)),
        revokes(P0),
        commit="revoke",
        at_close=revokes(P1),
    )
    assert [((Position("t", 0, 7),), True), ((Position("t", 1, 2),), True)] == client.committed
    assert [f["how"] for f in rig.frames("commit_asked")] == ["revoke", "revoke"]
    assert rig.kinds().index("revoked") < rig.kinds().index("commit_asked")


def test_of_lost_partitions_nothing_is_committed(rig: Rig) -> None:
    client = rig.run(
        assigns(P0),
        brings((0, 0, 4)),
        lambda listener: listener.lost([P0]),
        assigns(P0),
        revokes(P0),
        commit="revoke",
    )
    assert client.committed == []
    assert len(rig.frames("lost")) == 1


def test_records_of_a_partition_given_up_in_the_same_poll_are_left_to_its_new_owner(
    rig: Rig,
) -> None:
    def revoked_in_between(listener: Listener) -> Polled:
        listener.revoked([P0])
        return Polled([records(0, 5, 6), records(1, 5, 5)], [])

    client = rig.run(assigns(P0, P1), revoked_in_between)
    assert [f["ranges"] for f in rig.frames("dropped")] == [[["t", 0, 5, 6, 2]]]
    assert [f["ranges"] for f in rig.frames("delivered")] == [[["t", 1, 5, 5, 1]]]
    assert [((Position("t", 1, 6),), True)] == client.committed


def test_a_stall_is_in_the_middle_of_the_next_batch(rig: Rig) -> None:
    rig.run(assigns(P0), brings(), brings((0, 0, 0)), orders=b"stall 30\n")
    assert rig.kinds()[3:7] == ["delivered", "stall_started", "stall_ended", "processed"]
    (delivered,), (started,), (ended,) = (
        rig.frames(kind) for kind in ("delivered", "stall_started", "stall_ended")
    )
    assert delivered["polled_at"] == started["polled_at"] <= started["at"]
    assert 30.0 == started["duration_ms"] == ended["duration_ms"]
    assert ended["at"] - started["at"] >= 30_000


def test_without_a_batch_a_stall_starts_all_the_same(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("consumers.consumer.STALL_WAITS_S", 0.0)
    rig.run(assigns(P0), brings(), orders=b"stall 1\n")
    assert rig.kinds()[1:6] == ["started", "assigned", "stall_started", "stall_ended", "closing"]


def test_two_stalls_take_two_batches(rig: Rig) -> None:
    rig.run(assigns(P0), brings((0, 0, 0)), brings((0, 1, 1)), orders=b"stall 1\nstall 2\n")
    assert [f["duration_ms"] for f in rig.frames("stall_started")] == [1.0, 2.0]
    assert len(rig.frames("processed")) == 2


def test_a_stall_in_a_callback_waits_for_a_revocation(rig: Rig) -> None:
    rig.run(assigns(P0), brings((0, 0, 0)), revokes(P0), orders=b"stall-callback 1\n")
    kinds = rig.kinds()
    revoked = kinds.index("revoked")
    assert ["callback_stall_started", "callback_stall_ended"] == kinds[revoked + 1 : revoked + 3]
    assert 1 == len(rig.frames("processed"))


def test_close_is_obeyed_and_an_unknown_order_is_reported(rig: Rig) -> None:
    client = rig.run(*[brings()] * 3, orders=b"dance\nstall soon\nclose\n")
    assert 3 == client.steps_left  # it did not poll once more
    assert [f["text"] for f in rig.frames("error")] == [
        "unknown order 'dance'",
        "unknown order 'stall soon'",
    ]
    assert [f["why"] for f in rig.frames("closing")] == ["ordered"]


def test_one_that_waits_for_it_joins_when_it_is_reported(rig: Rig) -> None:
    client = rig.run(assigns(P0), brings((0, 0, 0)), joins_when_told=True, orders=b"join\n")
    assert client.steps_left == 0
    assert rig.kinds()[:4] == ["header", "started", "assigned", "delivered"]


def test_one_that_is_closed_while_it_waits_has_never_joined(rig: Rig) -> None:
    client = rig.run(assigns(P0), joins_when_told=True, orders=b"close\n")
    assert client.listener is None
    assert rig.kinds() == ["header", "started", "closing", "closed"]


def test_an_error_instead_of_a_record_is_journalled(rig: Rig) -> None:
    error = ClientError(-147, "_MAX_POLL_EXCEEDED", "exceeded by 251ms", fatal=False)
    rig.run(lambda _: Polled([], [error]))
    (heard,) = rig.frames("error")
    assert {"where": "message", "code": -147, "fatal": False}.items() <= heard.items()


@pytest.mark.parametrize("by_callback", [True, False])
def test_a_fatal_error_is_journalled_and_ends_the_process_with_1(
    rig: Rig, by_callback: bool
) -> None:
    error = ClientError(82, "FENCED_INSTANCE_ID", "fenced", fatal=True)

    def fails(listener: Listener) -> Polled:
        if by_callback:
            listener.error(error)
            return NOTHING
        return Polled([], [error])

    with pytest.raises(ClientGaveUp, match="member-1 cannot go on: FENCED_INSTANCE_ID: fenced"):
        rig.run(fails)
    assert ClientGaveUp.exit_code == 1
    assert [f["fatal"] for f in rig.frames("error")] == [True]
    assert "closed" not in rig.kinds()


def test_a_callback_that_failed_is_journalled_and_the_loop_goes_on(rig: Rig) -> None:
    def fails(listener: Listener) -> None:
        listener.callback_failed("on_assign", ValueError("surprise"))

    rig.run(fails, assigns(P0), brings((0, 0, 0)))
    (error,) = rig.frames("error")
    assert (error["where"], error["text"]) == ("on_assign", "ValueError: surprise")
    assert rig.kinds()[-1] == "closed"


def test_a_full_disk_in_a_callback_ends_the_process_after_the_poll(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise JournalError("the disk is full")

    def fails(listener: Listener) -> None:
        monkeypatch.setattr(Journal, "write", full)
        listener.callback_failed("on_assign", JournalError("the disk is full"))

    with pytest.raises(JournalError, match="the disk is full"):
        rig.run(fails)


# Saboteurs


def test_one_commits_before_the_work(rig: Rig) -> None:
    client = rig.run(assigns(P0), brings((0, 0, 4)), sabotage="commit-before-processing")
    assert rig.kinds()[3:7] == ["delivered", "commit_asked", "commit_answered", "processed"]
    assert [((Position("t", 0, 5),), True)] == client.committed


def test_one_never_commits(rig: Rig) -> None:
    client = rig.run(assigns(P0), brings((0, 0, 4)), sabotage="never-commit")
    assert client.committed == []
    assert len(rig.frames("processed")) == 1


def test_one_goes_on_with_what_it_has_after_the_revocation(rig: Rig) -> None:
    rig.run(
        assigns(P0),
        *[brings((0, at, at)) for at in range(5)],
        revokes(P0),
        sabotage="keep-processing-after-revocation",
    )
    kinds = rig.kinds()
    revoked = kinds.index("revoked")
    assert kinds[:revoked].count("processed") == 2
    assert kinds[revoked:].count("processed") == 3


def test_it_still_finishes_what_it_has_when_it_closes(rig: Rig) -> None:
    rig.run(assigns(P0), brings((0, 0, 0)), sabotage="keep-processing-after-revocation")
    assert len(rig.frames("processed")) == 1


def test_one_commits_every_second_batch_backwards(rig: Rig) -> None:
    client = rig.run(
        assigns(P0),
        *[brings((0, first, first + 9)) for first in (0, 10, 20)],
        sabotage="commit-backwards",
    )
    assert [10, 9, 30] == [positions[0].committed for positions, _ in client.committed]


def test_one_skips_batches_and_commits_past_them(rig: Rig) -> None:
    client = rig.run(
        assigns(P0), *[brings((0, at, at)) for at in range(30)], sabotage="skip-batches"
    )
    assert 30 == len(rig.frames("delivered"))
    skipped = {f["poll"] for f in rig.frames("delivered")} - {
        f["poll"] for f in rig.frames("processed")
    }
    assert {6, 11, 16} == skipped  # the first poll assigned, and after three times it is honest
    assert 30 == client.committed[-1][0][0].committed


def test_one_works_some_batches_off_twice(rig: Rig) -> None:
    rig.run(assigns(P0), *[brings((0, at, at)) for at in range(6)], sabotage="work-twice")
    delivered = [(f["poll"], f["ranges"][0][2]) for f in rig.frames("delivered")]
    assert [(2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (7, 4), (8, 5)] == delivered
    assert 7 == len(rig.frames("processed"))


def test_one_goes_without_a_word(rig: Rig) -> None:
    said: list[str] = []
    rig.run(
        assigns(P0), sabotage="leave-without-close", at_close=lambda _listener: said.append("left")
    )
    assert said == []
    assert ["closing", "closed"] == rig.kinds()[-2:]


# Other ways to commit


def test_commits_by_the_clock_leave_what_is_revoked_before_it_is_due(rig: Rig) -> None:
    client = rig.run(
        assigns(P0),
        brings((0, 0, 1)),
        revokes(P0),
        commit="interval",
        auto_commit_interval_ms=60_000,
    )
    assert [] == client.committed


def test_commits_by_the_clock_cover_all_that_was_worked_off_since(rig: Rig) -> None:
    client = rig.run(
        assigns(P0, P1), brings((0, 0, 1), (1, 5, 5)), commit="interval", auto_commit_interval_ms=0
    )
    assert [((Position("t", 0, 2), Position("t", 1, 6)), True)] == client.committed
    assert "interval" == rig.frames("commit_asked")[0]["how"]


def test_commits_by_the_clock_that_were_refused_are_asked_for_again(rig: Rig) -> None:
    client = rig.run(
        assigns(P0, P1),
        brings((0, 0, 1), (1, 5, 5)),
        brings((1, 6, 6)),
        commit="interval",
        auto_commit_interval_ms=0,
        refuses=(22, "ILLEGAL_GENERATION"),
    )
    both = [Position("t", 0, 2), Position("t", 1, 6)]
    assert [(tuple(both), True), ((both[0], Position("t", 1, 7)), True)] == client.committed


def test_positions_kept_outside_kafka_are_sought_when_assigned(rig: Rig, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    client = rig.run(
        assigns(P0), brings((0, 0, 9)), revokes(P0), assigns(P0, P1), commit="external", store=store
    )
    assert [Position("t", 0, 10)] == client.sought
    assert [] == client.committed
    (asked,), (answered,) = rig.frames("commit_asked"), rig.frames("commit_answered")
    assert ("external", asked["id"]) == (asked["how"], answered["id"])


class FakeTransactions:
    """Refuses the first batch, and commits the others."""

    def __init__(self) -> None:
        self.metadata: list[object] = []

    def copy(
        self,
        ranges: Sequence[Range],
        positions: Sequence[Position],
        metadata: object,
        written: Callable[[], None],
    ) -> tuple[list[Answer], ClientError | None]:
        self.metadata.append(metadata)
        written()
        code = 25 if len(self.metadata) == 1 else 0
        return [Answer(*position, code, None) for position in positions], None


def test_a_member_that_is_to_die_in_a_transaction_says_so_and_stays_in_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("consumers.consumer.HOLD_S", 0.0)
    rig.run(
        assigns(P0),
        brings((0, 3, 4)),
        commit="transaction",
        output="t-copy",
        copy=FakeTransactions().copy,
        orders=b"hold-transaction\n",
    )
    kinds = [frame["kind"] for frame in rig.frames()]
    assert kinds.index("commit_asked") < kinds.index("transaction_held")
    assert kinds.index("transaction_held") < kinds.index("commit_answered")


def test_a_transaction_that_is_refused_is_not_processed_but_read_again(rig: Rig) -> None:
    transactions = FakeTransactions()
    client = rig.run(
        assigns(P0),
        brings((0, 3, 4), (0, 5, 6)),
        brings((0, 3, 6)),
        commit="transaction",
        output="t-copy",
        copy=transactions.copy,
    )
    assert [Position("t", 0, 3)] == client.rewound
    assert [3] == [frame["poll"] for frame in rig.frames("processed")]
    assert [MemberIdentity("id-1", 1)] * 2 == transactions.metadata
