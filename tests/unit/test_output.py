"""What members wrote in transactions, and programs for each record, as runs of offsets."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from harness.base.ports import Ports
from harness.cluster import wire
from harness.run.output import _settled, add_piece, ranges


def test_offsets_with_as_many_copies_are_one_run() -> None:
    copies = Counter({("t", 0, 1): 1, ("t", 0, 2): 1, ("t", 0, 3): 2, ("t", 0, 5): 2})
    copies[("t", 1, 6)] = 2

    assert [("t", 0, 1, 2, 1), ("t", 0, 3, 3, 2), ("t", 0, 5, 5, 2), ("t", 1, 6, 6, 2)] == list(
        ranges(copies)
    )
    assert [] == list(ranges(Counter()))


def test_records_of_one_write_that_go_on_are_one_piece() -> None:
    pieces: list[list[object]] = []
    for offset, number, partition, at_us in (
        (5, 10, 1, 900),
        (6, 11, 1, 900),
        (7, 12, 1, 901),  # written later
        (8, 13, 2, 901),  # of another partition
        (9, 15, 2, 901),  # one is left out
        (11, 16, 2, 901),  # after something else, such as the end of a transaction
        (12, 16, 2, 901),  # twice
    ):
        add_piece(pieces, offset, ("number", partition, number), at_us)

    assert [
        [5, "number", 1, 10, 11, 900],
        [7, "number", 1, 12, 12, 901],
        [8, "number", 2, 13, 13, 901],
        [9, "number", 2, 15, 15, 901],
        [11, "number", 2, 16, 16, 901],
        [12, "number", 2, 16, 16, 901],
    ] == pieces


def test_a_broker_that_does_not_answer_is_asked_again() -> None:
    with Ports() as ports:
        node = SimpleNamespace(id=1, port=ports.take())
        plan: Any = SimpleNamespace(brokers=[node], nodes=[node])
        assert not _settled(plan, "t", 0)


@pytest.mark.parametrize("leader", [None, -1, 2])
def test_a_partition_without_a_leader_is_asked_again(
    leader: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [] if leader is None else [{"partition": 0, "leader": leader}]
    monkeypatch.setattr(wire, "metadata", lambda *_: SimpleNamespace(partitions=rows))
    node = SimpleNamespace(id=1, port=1)
    plan: Any = SimpleNamespace(brokers=[node], nodes=[node])
    assert not _settled(plan, "t", 0)
