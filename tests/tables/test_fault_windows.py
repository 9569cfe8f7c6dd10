from __future__ import annotations

import json

import pytest

from tests.histories import History, at
from tests.tables.table_rows import Rows


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
    rows: Rows, kind: str, resolved: str, how: str | None, gone: bool
) -> None:
    history = History().fault(kind, resolved, 5_000, parameters=json.dumps({"how": how}))
    assert gone == (len(rows(history, "broker_faults")) == 1)


def test_each_phase_of_a_fault_begins_with_whom_it_reaches_first(rows: Rows) -> None:
    """It takes effect if it does on everybody."""
    phases = ("planned", "injecting", "injected", "healing", "healed", "failed")
    history = History()
    for number, (resolved, effect) in enumerate((("member-1", True), ("member-2", False))):
        for place, phase in enumerate(phases):
            history.add(
                "faults", fault="1", kind="kill-consumer", target="all", resolved=resolved,
                phase=phase, at=at(100 * place + 10 * number),
                took_effect=effect if phase == "injected" else None,
                parameters=json.dumps({"number": number}), evidence=f"{phase} {resolved}",
            )  # fmt: skip
    (window,) = rows(history, "fault_windows")
    assert [at(100 * place) for place in range(6)] == [window[f"{phase}_at"] for phase in phases]
    assert ("member-2", '{"number": 1}', False, "injected member-2") == tuple(
        window[name] for name in ("resolved", "parameters", "took_effect", "evidence")
    )


@pytest.mark.parametrize(
    ("kind", "resolved", "below"),
    [
        ("latency", "member-1", True),
        ("kill-broker", "controller-101", True),
        ("kill-broker", "broker-1", False),
        ("kill-consumer", "member-1", False),
    ],
)
def test_a_group_has_no_reason_to_rebalance_for_a_controller_or_a_slow_link(
    rows: Rows, kind: str, resolved: str, below: bool
) -> None:
    (window,) = rows(History().fault(kind, resolved, 5_000), "fault_windows")
    assert below == window["below_limits"]
