"""Logs that went through other hands: what stands around Kafka's lines changes nothing of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.paths import ROOT
from harness.history.foreign import events, files
from tests.coats import COATS, later, logged

LOGS: Final = ROOT / "tests" / "data" / "logs"
LEAVING: Final = LOGS / "c21-plain.log"  # members leave, and come back
FLAPPING: Final = LOGS / "c22-plain.log"  # the leader's metadata change, with brackets and braces
UNDATED: Final = ("time-only.log",)
DAY_US: Final = 86_400_000_000


def told(*paths: Path) -> list[tuple[Any, ...]]:
    """What a log tells: nothing of it may be left out, or have no reason."""
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
    found, expected = told(log), told(plain)
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

    assert told(plain) == told(log)


@pytest.mark.parametrize("coat", ["loki", "json, pretty, no stamp", "ticket"])
def test_a_coat_may_be_longer_than_what_is_read_at_once(
    coat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (events, files):
        monkeypatch.setattr(module, "BLOCK", 1 << 16)
    once = logged(LEAVING.read_text())
    lines = [later(line, timedelta(days=day)) for day in range(10) for line in once]
    plain, log = tmp_path / "plain.log", tmp_path / "some.log"
    plain.write_text("".join(line.line + "\n" for line in lines))
    log.write_text(COATS[coat](lines))
    assert log.stat().st_size > files.BLOCK

    assert told(plain) == told(log)
