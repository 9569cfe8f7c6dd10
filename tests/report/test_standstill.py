"""The longest time that a partition stood still, between steady state and the drain."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from harness.report.load import DELIVERY_COLUMNS, Phase, Run, load
from harness.report.parts import standstill
from tests.report.sample_run import write_run

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A sample run whose steady state is at 10 s and whose drain starts at 60 s."""
    loaded = load(write_run(tmp_path / "run"))
    phases = (Phase("steady", at(10), at(10)), Phase("drain", at(60), at(61)))
    return replace(loaded, manifest=replace(loaded.manifest, phases=phases))


def polled(run: Run, *polls: tuple[int, float]) -> Run:
    """The run with these polls only: (partition, second)."""
    rows = [
        {"topic": "t", "partition": number, "polled_at": at(second)} for number, second in polls
    ]
    columns: dict[str, pa.DataType] = {
        "topic": pa.string(),
        "partition": pa.int32(),
        "polled_at": pa.timestamp("us", tz="UTC"),
    }
    schema = pa.schema([pa.field(name, columns.get(name, pa.int64())) for name in DELIVERY_COLUMNS])
    return replace(run, deliveries=pa.Table.from_pylist(rows, schema=schema))


def test_the_longest_gap_of_any_partition_is_told(run: Run) -> None:
    still = standstill.longest(polled(run, (0, 11), (0, 13), (1, 11), (1, 20.5), (0, 21)))

    assert still is not None
    assert (1, 9_500) == (still.partition, still.ms)


def test_before_steady_state_and_after_the_drain_nobody_is_expected_to_read(run: Run) -> None:
    still = standstill.longest(polled(run, (0, 1), (0, 11), (0, 12), (0, 90)))

    assert still is not None
    assert 1_000 == still.ms


def test_a_run_in_which_nothing_was_read_does_not_tell(run: Run) -> None:
    assert standstill.longest(polled(run)) is None
    assert "not recorded" == standstill.told(polled(run))
