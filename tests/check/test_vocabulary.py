"""The words of queries: what each is replaced by."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Final

import pytest

from harness.rules.catalogue import RULES
from harness.rules.rule import Rule
from harness.tables.engines.contract import Engine
from harness.tables.vocabulary import expand, text_of
from tests.histories import History, tables_of

_DECIDING: Final = re.compile(
    r"CASE(?:(?!\bCASE\b).)*?\bEND\s+AS (?:wrong|unknown|excused)\b", re.S
)


@pytest.mark.parametrize(
    ("query", "expanded"),
    [
        (
            "SELECT ms_between(a.x, b.y) AS ms",
            "SELECT ((unix_micros(b.y) - unix_micros(a.x)) / 1e3) AS ms",
        ),
        (  # parentheses and commas within quotes are text
            "ms_between(to_timestamp('1,2)'), b)",
            "((unix_micros(b) - unix_micros(to_timestamp('1,2)'))) / 1e3)",
        ),
        (
            "FROM x a JOIN y b ON same(a, b, `group`, member_id) AND a.n = 1",
            "FROM x a JOIN y b ON a.`group` = b.`group` AND a.member_id = b.member_id AND a.n = 1",
        ),
        *[("SELECT before(1), hereafter(2), after_ms",) * 2],  # names that are only alike
    ],
)
def test_a_word_is_replaced_with_its_arguments(query: str, expanded: str) -> None:
    assert expanded == expand(query)


def test_words_may_stand_in_each_other() -> None:
    found = expand("ms_between(after(-:slack_ms, greatest(a, b)), least(c, after(5, d)))")
    assert "after(" not in found
    assert "timestamp_micros(unix_micros(d) + CAST(round((5) * 1e3) AS BIGINT))" in found


@pytest.mark.parametrize("before", ["WHERE NOT ", "WHERE a.n = 1 OR\n  "])
def test_a_chain_of_ands_where_half_of_it_would_be_negated_is_refused(before: str) -> None:
    with pytest.raises(ValueError, match="needs parentheses"):
        expand(f"{before}same(a, b, topic, partition)")

    assert "(a.topic = b.topic" in expand(f"{before}(same(a, b, topic, partition))")


def test_every_query_may_use_the_frames_of_windows() -> None:
    assert "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING" == text_of(lambda: "{BEFORE}")
    assert text_of(lambda: "{SO_FAR}").endswith("CURRENT ROW")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("after(5)", "takes 2 arguments"),
        ("ms_between(a, b, c)", "takes 2 arguments"),
        ("SELECT after(5, d", "a parenthesis is not closed"),
    ],
)
def test_a_word_with_other_arguments_is_refused(query: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        expand(query)


def test_a_clause_is_not_lost_for_a_part_that_is_null(engine: Engine) -> None:
    query = (
        "SELECT clause('gave ', n, ' (a, b)') AS text FROM VALUES (1), (NULL) AS v(n) ORDER BY n"
    )
    with closing(tables_of(History(), engine)) as tables:
        rows = tables.sql(query).toArrow().to_pylist()
    assert {"gave unknown (a, b)", "gave 1 (a, b)"} == {row["text"] for row in rows}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_no_clause_that_decides_can_be_lost(rule: Rule) -> None:
    """A text joined by `concat` is null if a part is, and a row without a clause holds."""
    text = text_of(rule.examine)
    for found in _DECIDING.finditer(text):
        assert not re.search(r"\b(THEN|ELSE)\s+concat\(", found[0]), found[0]
