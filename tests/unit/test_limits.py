"""Limits as they are written, and whom they are promised of."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from harness.base.errors import BadInput
from harness.catalogue import apps, registry
from harness.catalogue.choice import Choice
from harness.catalogue.promises import of_texts, promised_in
from harness.experiment import Experiment, Limits, holds
from harness.experiment.app import App
from tests.unit.worded import pairs

OURS = Experiment(claim="x.", limits=Limits(standstill_s=5, lost=1), rules=holds("R21"))
ORDERS = App(name="orders", command=("x",), folder=".", limits=Limits(lost=2, repeats=7))
GIVEN = Limits(repeats=9, drained_s=30.5)


def test_limits_are_read_from_texts() -> None:
    texts = ["standstill_s=10", "repeats = 500", "lost=0", "drained_s=30.5"]
    assert Limits(standstill_s=10, repeats=500, lost=0, drained_s=30.5) == of_texts(texts)


WRONG: Final = """
standstil_s=10 => there is no limit 'standstil_s': did you mean 'standstill_s'?
lag_drained_s=30 => did you mean 'drained_s'?
x=1 => there are standstill_s, repeats, lost, out_of_order, drained_s
lost => --limit 'lost' is not of the form NAME=VALUE, such as lost=10
lost=1 lost=2 => the limit lost is given twice
lost=0.5 => the limit lost takes a whole number, such as 10, not '0.5'
drained_s=soon => the limit drained_s takes a number, such as 10, not 'soon'
drained_s=nan => drained_s is nan: use a number from 0 to 1000000000000
drained_s=inf => drained_s is inf: use a number from 0 to 1000000000000
drained_s=1e300 => drained_s is 1e+300: use a number from 0 to 1000000000000
lost=1000000000001 => lost is 1000000000001: use a number from 0 to 1000000000000
repeats=-1 => repeats is -1: use a number from 0 to 1000000000000
"""


@pytest.mark.parametrize(("texts", "says"), pairs(WRONG))
def test_a_limit_that_is_none_is_one_sentence(texts: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        of_texts(texts.split())
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_of_our_own_members_what_is_given_goes_before_what_the_experiment_says() -> None:
    held = Choice({}, GIVEN).held(OURS)

    assert Limits(standstill_s=5, lost=1, repeats=9, drained_s=30.5) == held.limits
    assert ("L1", "L2", "L3", "L4") == promised_in(held)


def test_of_a_program_its_own_limits_go_before_the_experiments() -> None:
    held = Choice({}, GIVEN).held(apps.with_app(OURS, ORDERS))

    assert held.app is not None
    assert Limits(standstill_s=5, lost=2, repeats=9, drained_s=30.5) == held.app.limits
    assert {"P1", "P4", "P10", "P11"} == set(promised_in(held))


def test_where_nothing_is_promised_nothing_is_judged() -> None:
    assert () == promised_in(replace(OURS, limits=Limits()))


def test_a_rule_of_a_limit_is_not_declared_but_promised() -> None:
    with pytest.raises(
        BadInput, match=r"/[a-z-]+ judges what is promised: write limits=Limits\(lost=10"
    ):
        registry.checked(replace(OURS, rules=holds("L3")))


def test_limits_of_another_kind_are_refused_with_how_to_write_them() -> None:
    with pytest.raises(BadInput, match=r"limits is a dict, not Limits: write limits=Limits\("):
        Experiment(claim="x.", rules=holds("R21"), limits={"lost": 0})  # type: ignore[arg-type]
