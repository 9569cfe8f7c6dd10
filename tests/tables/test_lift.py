"""Queries of many runs at once: nothing of one run meets anything of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.rules import RULES
from harness.tables.engines.contract import Engine
from harness.tables.lift import CannotLift, lifted
from harness.tables.many_runs import Many, One
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.source import run_of
from harness.tables.vocabulary import expand, text_of
from tests.histories import History, many_of

QUERIES = {
    **{rule.id: rule.examine for rule in RULES.values()},
    **{f"{name} of a program": query for name, query in OF_AN_APP.items()},
    **VIEWS,
    **RECIPES,
}


@pytest.fixture
def many(engine: Engine) -> Iterator[Many]:
    """Three runs: of two members, of none, and of one with another session."""
    two, none, one = History(), History(), History(group={"session_timeout_ms": 9_000})
    two.member("member-1").member("member-2")
    one.member("member-1")
    found = many_of([(run_of(each.manifest()), each) for each in (two, none, one)], engine)
    yield found
    found.close()


@pytest.mark.parametrize("name", QUERIES)
def test_every_rule_and_table_can_be_asked_of_many_runs(name: str) -> None:
    assert lifted(expand(text_of(QUERIES[name])), {"session_ms"})


BOTH, FIRST = ["member-1", "member-2"], ["member-1"]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT member FROM {members}", [BOTH, [], FIRST]),
        ("SELECT count(*) AS n, max(member) AS m FROM {members}", [[2], [0], [1]]),
        ("SELECT :session_ms AS ms", [[6_000], [6_000], [9_000]]),
        ("SELECT 1 AS n FROM {members} GROUP BY role HAVING max(:session_ms) > 6e3", [[], [], [1]]),
        ("SELECT count(*) AS n FROM {members} a JOIN {members} b ON true", [[4], [0], [1]]),
        (
            "SELECT lag(member) OVER (ORDER BY member) AS m FROM {members}",
            [[None, "member-1"], [], [None]],
        ),
        (
            "SELECT member FROM {members} WHERE member = (SELECT max(o.member) FROM {members} o)",
            [["member-2"], [], FIRST],
        ),
        (
            "SELECT member FROM {members} WHERE 'member-2' IN (SELECT o.member FROM {members} o)",
            [BOTH, [], []],
        ),
        ("SELECT member FROM {members} UNION SELECT member FROM {members}", [BOTH, [], FIRST]),
        (
            "WITH m AS (SELECT member FROM {members}) SELECT * FROM m FULL JOIN m o USING (member)",
            [BOTH, [], FIRST],
        ),
    ],
)
def test_each_run_has_the_rows_that_it_has_alone(many: Many, query: str, rows: list[Any]) -> None:
    found = [One(many, number).answer(lambda: query).toArrow() for number in range(3)]

    assert rows == [sorted(each.column(0).to_pylist(), key=str) for each in found]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT member FROM {members} LIMIT 1", "LIMIT is of the rows of all runs"),
        ("SELECT 1 FROM {members} a RIGHT JOIN {calls} b ON true", "RIGHT JOIN"),
        ("SELECT 1 FROM {calls} WHERE EXISTS (SELECT 1 FROM {calls})", "give it a name"),
    ],
)
def test_what_cannot_be_asked_of_many_says_why(query: str, says: str) -> None:
    with pytest.raises(CannotLift, match=says):
        lifted(query, ())


def test_a_setting_that_no_run_has_is_named(many: Many) -> None:
    with pytest.raises(ValueError, match=":lag_ms, which does not exist"):
        many.answers("SELECT :lag_ms AS ms")
