from __future__ import annotations

import json

import pytest

from harness.tables.engines.base import Engine
from tests.histories import History
from tests.tables.rows import rows


@pytest.mark.parametrize(
    ("kind", "resolved", "how", "gone"),
    [
        ("kill-broker", "broker-1", None, True),
        ("pause-broker", "broker-1", None, True),
        ("stop-broker", "broker-1", None, True),
        ("isolate-broker", "broker-1", None, True),
        ("isolate-broker", "broker-1", "peers", True),
        ("isolate-broker", "broker-1", "lanes", False),
        ("pause-broker", "controller-101", None, False),
        ("kill-consumer", "member-1", None, False),
    ],
)
def test_a_broker_is_gone_for_the_others_by_some_faults_only(
    engine: Engine, kind: str, resolved: str, how: str | None, gone: bool
) -> None:
    history = History().fault(kind, resolved, 5_000, parameters=json.dumps({"how": how}))
    assert gone == (len(rows(history, engine, "broker_faults")) == 1)
