"""Mutation testing: which changes are made to SQL, and which tests are asked to notice them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.rules import RULES
from tests.mutation.selection import Selection
from tests.mutation.sql import changes, is_sql

REPOSITORY = Path(__file__).parents[2]


def changed(text: str) -> set[str]:
    return {text[: each.start] + each.to + text[each.end :] for each in changes(text)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a <> 'x = y'", {"a = 'x = y'"}),
        ("a AND b OR c", {"a OR b OR c", "a AND b AND c"}),
        ("a BETWEEN 1 AND x", {"a NOT BETWEEN 1 AND x", "a BETWEEN 2 AND x"}),
        ("a BETWEEN b AND c AND d", {"a NOT BETWEEN b AND c AND d", "a BETWEEN b AND c OR d"}),
        ("a IS NULL", {"a IS NOT NULL"}),
        ("a IS NOT NULL", {"a IS  NULL"}),
        ("a NOT IN (b)", {"a  IN (b)"}),
        ("EXISTS (b)", {"NOT EXISTS (b)"}),
        ("LEFT JOIN t", {" JOIN t"}),
        ("a JOIN t", {"a LEFT JOIN t"}),
        ("LEFT ANTI JOIN t", {"LEFT SEMI JOIN t"}),
        ("min(a) + :b", {"max(a) + :b", "min(a) - :b"}),
        ("(-1)", {"(-2)"}),
        ("true", {"false"}),
        ("OVER (PARTITION BY a ORDER BY b, c)", {"OVER (PARTITION BY a ORDER BY b DESC, c)"}),
        ("ORDER BY f(a, b) DESC)", {"ORDER BY f(a, b) )"}),
        ("SELECT a = b AS subject, c = d AS ok", {"SELECT a = b AS subject, c <> d AS ok"}),
        ("SELECT CASE WHEN a > f(1, 2) THEN 'x' END AS why FROM {t}", set()),
        ("count_at_1 `min` {min} :max", set()),
        ("a -- the leader's b < c, min(d)\n", set()),
    ],
)
def test_every_small_change_is_made(before: str, after: set[str]) -> None:
    assert after == changed(before)


@pytest.mark.parametrize(
    ("text", "sql"),
    [("SELECT 1", True), ("told AS (\n SELECT 2)", True), ("chosen from 3 of them", False)],
)
def test_only_sql_is_changed(text: str, sql: bool) -> None:
    assert sql is is_sql(text)


def test_a_rule_is_reached_by_what_it_uses_and_by_nothing_else() -> None:
    selection = Selection(REPOSITORY)
    source = (REPOSITORY / "harness/rules/stalling.py").read_text()
    own = source.replace("heartbeats while nothing was polled", "heartbeats without a poll")
    shared = source.replace("did not leave the group", "stayed in the group")

    assert own != source != shared
    assert {"R34"} == selection.reached({"stalling": own})
    # What two modules share reaches the rules of both.
    assert {"R07", "X31-java"} == selection.reached({"stalling": shared})


def test_every_rule_is_known_and_named_by_a_test() -> None:
    selection = Selection(REPOSITORY)

    assert set(selection.rules) == set(RULES)
    for rule in RULES:
        assert selection.tests([rule]), rule


def test_tests_that_name_a_rule_through_a_helper_are_found() -> None:
    found = Selection(REPOSITORY).tests(["R22"])

    assert "test_assignment.py" in {path.name for path in found}
