"""Logs that went through other hands: what stands around Kafka's lines changes nothing of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.paths import ROOT
from harness.history.broker_log import CALL
from harness.history.foreign import events, log_files
from tests.coats import COATS, later, logged
from tests.report.sample_logs import NEW, OLD

LOGS: Final = ROOT / "tests" / "data" / "logs"
LEAVING: Final = LOGS / "c21-plain.log"  # members leave, and come back
FLAPPING: Final = LOGS / "c22-plain.log"  # the leader's metadata change, with brackets and braces
UNDATED: Final = ("time-only.log",)
DAY_US: Final = 86_400_000_000


def rows_of(*paths: Path) -> list[tuple[Any, ...]]:
    """What a log says: nothing of it may be left out, or have no reason."""
    found = events.read(list(paths))
    assert 0 == sum(log.unread for log in found.logs)
    return [
        (e.event, e.group, e.member_id, e.generation, e.reason, e.client_reason, e.at)
        for e in found.events
    ]


def without_times(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row[:-1] for row in rows]


@pytest.mark.parametrize(
    ("log", "plain"),
    [
        *((log, LEAVING) for log in sorted((LOGS / "coats").iterdir())),
        *((log, FLAPPING) for log in sorted(LOGS.glob("c22-*"))),
    ],
    ids=lambda path: path.name,
)
def test_what_others_put_around_lines_changes_nothing(log: Path, plain: Path) -> None:
    found, expected = rows_of(log), rows_of(plain)
    if log.name == "grep-context.log":  # which has three of four lines
        expected = [row for row in expected if row in found]
        assert 48 == len(expected)

    assert without_times(expected) == without_times(found)
    for (*_, at), (*_, other) in zip(expected, found, strict=True):
        exact = 1_000_000 if log.name == "us-date.log" else 1
        apart = (at - other) % DAY_US if log.name in UNDATED else abs(at - other)
        assert apart < exact


@pytest.mark.parametrize("plain", [LEAVING, FLAPPING], ids=["leaving", "flapping"])
@pytest.mark.parametrize("coat", COATS)
def test_no_coat_has_to_be_known(coat: str, plain: Path, tmp_path: Path) -> None:
    log = tmp_path / "some.txt"
    log.write_bytes(COATS[coat](logged(plain.read_text())).encode())

    assert rows_of(plain) == rows_of(log)


@pytest.mark.parametrize("coat", ["loki", "json, pretty, no stamp", "ticket"])
def test_a_coat_may_be_longer_than_what_is_read_at_once(
    coat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (events, log_files):
        monkeypatch.setattr(module, "BLOCK", 1 << 16)
    once = logged(LEAVING.read_text())
    lines = [later(line, timedelta(days=day)) for day in range(10) for line in once]
    plain, log = tmp_path / "plain.log", tmp_path / "some.log"
    plain.write_text("".join(line.line + "\n" for line in lines))
    log.write_text(COATS[coat](lines))
    assert log.stat().st_size > log_files.BLOCK

    assert rows_of(plain) == rows_of(log)


@pytest.mark.parametrize("joined", [json.dumps, lambda each: "".join(map(json.dumps, each))])
def test_a_line_of_many_records_may_begin_with_a_request(
    joined: Callable[[list[Any]], str], tmp_path: Path
) -> None:
    """What its client says there is no line of the coordinator."""
    said = "Member x in group other has failed, removing it from the group"
    request = {"requestHeader": {"requestApiKeyName": "LEAVE_GROUP"}, "reason": NEW + said}
    records: list[Any] = [{"time": "2026-10-01T10:00:00Z", "log": CALL + json.dumps(request)}]
    records += [{"time": each.iso, "log": each.line} for each in logged(LEAVING.read_text())]
    log = tmp_path / "some.json"
    log.write_text(joined(records))

    assert rows_of(LEAVING) == rows_of(log)


@pytest.mark.parametrize("feed", [" ", "\n"])
def test_a_reason_that_looks_like_a_record_is_none(feed: str, tmp_path: Path) -> None:
    forged = f"[2026-10-01 10:00:00,000] INFO {OLD}Member x in group other has failed, removing it"
    message = (
        f"{OLD}Preparing to rebalance group g in state PreparingRebalance with old generation 1 "
        f"(__consumer_offsets-1) (reason: Removing member m on LeaveGroup; client reason: a"
        f"{feed}{forged} from the group)"
    )
    log = tmp_path / "ecs.json"
    log.write_text(json.dumps({"@timestamp": "2026-10-01T10:00:00.000Z", "message": message}))

    assert [("rebalance_started", "g")] == [row[:2] for row in rows_of(log)]
