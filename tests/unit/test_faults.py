"""What is known of every kind of fault, wherever it is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.base.errors import BadInput
from harness.catalogue.apps import with_app
from harness.experiment import Experiment, Fault, holds
from harness.experiment.app import App
from harness.rules import RULES

APP = App(name="orders", command=("orders",), folder=".")
ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "harness"
# Made-up runs declare rules, as an experiment does.
DECLARING = {HARNESS / "rules", HARNESS / "bench"}


def test_nothing_outside_the_rules_knows_a_rule_by_its_name() -> None:
    quoted = re.compile(rf"[\"']({'|'.join(map(re.escape, RULES))})[\"']")
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in HARNESS.rglob("*.py")
        if path.parent not in DECLARING
        for name in quoted.findall(path.read_text())
    }

    assert not found


@pytest.mark.parametrize("kind", ["close-consumer", "stall-consumer"])
def test_what_is_done_by_an_order_is_refused_for_a_program_of_a_user_elses(kind: str) -> None:
    fault = Fault(kind=kind, target="member 1")
    experiment = Experiment(claim="x.", faults=(fault,), rules=holds("R02"))

    with pytest.raises(BadInput, match=f"{kind} is an order that only"):
        with_app(experiment, APP)


def test_a_program_of_a_user_elses_can_be_asked_to_end() -> None:
    fault = Fault(kind="terminate-consumer", target="member 1")

    assert (fault,) == with_app(Experiment(claim="x.", faults=(fault,)), APP).faults
