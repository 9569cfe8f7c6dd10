"""Which evictions are false: those of processes that lived, each counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.report.load import load
from harness.report.parts.evictions import false_evictions
from tests.report.sample_run import Row, member_id
from tests.report.sample_sweep import event, evicted, killed, said, write_measured

ONE, TWO = "member-1", "member-2"


def found(run_dir: Path, **rows: object) -> list[tuple[str, str]] | None:
    put_out = false_evictions(load(write_measured(run_dir, **rows)))  # type: ignore[arg-type]
    return None if put_out is None else [(each.member, each.by) for each in put_out]


def test_a_killed_process_is_put_out_rightly_and_a_living_one_falsely(tmp_path: Path) -> None:
    evictions = [evicted(ONE, 14), evicted(TWO, 15)]

    assert [(TWO, "session")] == found(tmp_path, evictions=evictions, faults=killed(ONE, 8))


def test_one_that_is_put_out_before_it_is_killed_lived(tmp_path: Path) -> None:
    assert [(ONE, "session")] == found(
        tmp_path, evictions=[evicted(ONE, 14)], faults=killed(ONE, 14.1)
    )


def test_a_fault_of_an_old_journal_is_known_by_its_kind(tmp_path: Path) -> None:
    faults = [{**row, "parameters": '{"how": null}'} for row in killed(ONE, 8)]

    assert [] == found(tmp_path, evictions=[evicted(ONE, 14)], faults=faults)


@pytest.mark.parametrize(("closing_s", "put_out"), [(13.9, []), (14.1, [(ONE, "session")])])
def test_one_that_closes_is_not_there_any_more(
    tmp_path: Path, closing_s: float, put_out: list[tuple[str, str]]
) -> None:
    closing = [event(ONE, "closing", closing_s)]

    assert put_out == found(tmp_path, evictions=[evicted(ONE, 14)], client_events=closing)


def test_what_happened_before_steady_state_does_not_count(tmp_path: Path) -> None:
    assert [] == found(tmp_path, evictions=[evicted(ONE, -0.1)])


def test_a_coordinator_puts_out_who_is_too_late_in_a_rebalance(tmp_path: Path) -> None:
    ids = f"[{member_id(ONE)}, {member_id(TWO)}]"
    known = [event(member, "assigned", 1) for member in (ONE, TWO)]

    assert [(ONE, "rebalance"), (TWO, "rebalance")] == found(
        tmp_path / "a",
        client_events=known,
        coordinator_events=[said("stragglers_removed", 20, reason=ids)],
    )
    assert [(ONE, "rebalance")] == found(
        tmp_path / "b",
        client_events=known,
        coordinator_events=[said("fenced", 20, member_id=member_id(ONE))],
    )


def test_another_group_is_not_looked_at(tmp_path: Path) -> None:
    of_a_probe = {**said("fenced", 20, member_id=member_id(ONE)), "group": "probe-1"}

    assert [] == found(tmp_path, coordinator_events=[of_a_probe])


@pytest.mark.parametrize(
    ("back", "times"),
    [([], 1), ([event(ONE, "assigned", 19)], 1), ([event(ONE, "assigned", 21)], 2)],
)
def test_who_is_put_out_by_both_sides_is_put_out_once_until_it_is_back(
    tmp_path: Path, back: list[Row], times: int
) -> None:
    exceeded = event(ONE, "max_poll_exceeded", 20)

    assert times == len(
        found(tmp_path, client_events=[exceeded, *back], evictions=[evicted(ONE, 24)]) or []
    )


@pytest.mark.parametrize("name", ["evictions", "faults", "client_events", "coordinator_events"])
def test_without_the_record_nothing_can_tell(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, **{name: None}) is None
