"""Mutation testing: which changes are made to SQL, and which tests are asked to notice them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest

from harness.rules import RULES
from harness.tables.lift import RUN
from harness.tables.recipes import RECIPES, VIEWS
from harness.tables.sql_file import SqlFile
from harness.tables.vocabulary import text_of
from tests.mutation.asked_histories import Dataset, written
from tests.mutation.mutants import Mutant, mutants, sources_in
from tests.mutation.selection import Selection, rules_of, rules_reading, tables_of
from tests.mutation.sql_changes import changes
from tests.mutation.trials import OfTables, install, trials_of
from tests.remembering import Remembering

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
        # One number is as good as any other there.
        ("OVER (PARTITION BY 1 ORDER BY a)", {"OVER (PARTITION BY 1 ORDER BY a DESC)"}),
        ("EXISTS (SELECT 1 FROM t)", {"NOT EXISTS (SELECT 1 FROM t)"}),
    ],
)
def test_every_small_change_is_made(before: str, after: set[str]) -> None:
    assert after == changed(before)


SOURCE = """-- A title: a < b is no query here
-- Nor is a < b in a statement.
-- let SHORT = x > y
-- let LIMIT_MS = 1000
-- let BUSY
--   Neither is this: a < b.
SELECT 1 FROM {commits} WHERE a AND b

-- query
SELECT x = 'y < z' FROM busy -- a < b
"""


def test_each_change_of_a_file_is_made_in_its_place() -> None:
    found = list(mutants("rules/group/name", SOURCE))

    assert [
        ("", 10, "compare"),
        ("BUSY", 7, "logic"),
        ("BUSY", 7, "number"),
        *[("SHORT", 3, "compare")] * 2,
    ] == sorted((each.within, each.line, each.kind) for each in found)
    for each in found:
        changed = each.apply(SOURCE).splitlines()
        different = [n for n, line in enumerate(SOURCE.splitlines(), 1) if changed[n - 1] != line]
        assert [each.line] == different
    assert any("SELECT x <> 'y < z' FROM busy" in each.apply(SOURCE) for each in found)


SOURCES = sources_in(REPOSITORY / "harness")


def reached(file: str, within: str = "") -> set[str]:
    """Rules that some change there can reach."""
    found = [each for each in mutants(file, SOURCES[file]) if each.within == within]
    assert found, file
    if not file.startswith("tables/"):
        return set[str]().union(*map(rules_of, found))
    return {
        rule
        for programs in (True, False)
        for table in tables_of(found[0], of_programs=programs)
        for rule in rules_reading(table, of_programs=programs)
    }


def test_a_rule_is_reached_by_what_it_uses_and_by_nothing_else() -> None:
    assert {"R14"} == reached("rules/session/heartbeat-is-sent-in-its-interval")
    # What several rules share reaches them all.
    assert {"R21", "R21-delivery"} == reached("rules/pieces/ownership", "OVERLAPS")


@pytest.mark.parametrize(
    ("file", "query"),
    [
        ("rules/rebalance/departure-starts-one", RULES["R20b"].examine),
        ("rules/pieces/rebalance", RULES["R20b"].examine),
        ("tables/derived/evictions", RECIPES["evictions"]),
        ("tables/views/busy", VIEWS["busy"]),
    ],
)
def test_a_change_is_installed_in_place_wherever_the_query_is_used(
    file: str, query: SqlFile
) -> None:
    before = text_of(query)
    changed = SOURCES[file].replace("SELECT", "SELECT /*+ changed */")
    try:
        install(file, changed)
        assert "/*+ changed */" in text_of(query)
    finally:
        install(file, SOURCES[file])
    assert before == text_of(query)


def test_a_changed_table_reaches_the_rules_that_are_made_from_it() -> None:
    assert {"R01", "R16"} <= reached("tables/derived/evictions")
    assert "X63" not in reached("tables/derived/evictions")
    # A table of programs counts for the rules of programs, and of a view whoever names it.
    assert {"P10", "L1"} <= reached("tables/derived/fetched_of_an_app")
    assert {"R06", "R10"} <= reached("tables/views/busy")


def test_every_table_reaches_a_rule() -> None:
    for table in RECIPES | VIEWS:
        assert any(rules_reading(table, of_programs=each) for each in (False, True)), table


@pytest.mark.parametrize(("most", "computed"), [(None, 3), (2, 4), (1, 5)])
def test_a_query_is_computed_anew_only_for_other_rows_or_another_text_or_if_forgotten(
    monkeypatch: pytest.MonkeyPatch, most: int | None, computed: int
) -> None:
    engine = Remembering()
    engine.most = most
    run = Mock(side_effect=engine.run)
    monkeypatch.setattr(engine, "run", run)

    def value(number: int, added: int) -> int:
        engine.define("numbers", engine.rows(pa.table({"n": [number]})))
        query = "SELECT n + :added AS sum FROM {numbers}"
        (found,) = engine.query(query, {"numbers": "numbers"}, {"added": added}).toArrow()["sum"]
        engine.drop("numbers")
        return int(found.as_py())

    asked = [(1, 2), (1, 2), (3, 2), (1, 2), (1, 3), (3, 2)]
    assert [3, 3, 5, 3, 4, 5] == [value(*each) for each in asked]
    assert computed == run.call_count
    engine.close()


def test_every_rule_is_named_by_a_case() -> None:
    selection = Selection(REPOSITORY)

    for rule in RULES:
        assert selection.tests([rule]), rule


def test_a_change_of_a_rule_is_noticed_by_its_cases_or_by_nothing() -> None:
    file = "rules/rebalance/end-of-session-starts-one"
    changes = list(mutants(file, SOURCES[file]))[:2]
    pointless = Mutant(file, "", 1, "none", 0, 0, "")  # the text as it is

    *noticed, kept = trials_of([*changes, pointless], SOURCES[file])

    assert all(each.noticed_by.startswith("R20e in ") for each in noticed), noticed
    assert not kept.noticed_by


def test_other_rows_of_a_table_are_found_by_history_in_whatever_order() -> None:
    dataset = Dataset(written("R20e")[:2])
    rows = [{RUN: 0, "n": 1}, {RUN: 0, "n": 2}, {RUN: 1, "n": 3}]
    before, turned = (pa.Table.from_pylist(each) for each in (rows, rows[::-1]))
    first, second = dataset.histories

    assert [] == dataset.others(before, turned)
    assert [second] == dataset.others(before, before.slice(0, 2))
    assert [first, second] == dataset.others(before, None)  # a query that fails
    assert dataset.rows("SELECT missing FROM {requests}") is None
    dataset.close()


def test_a_changed_table_is_noticed_where_it_is_pinned_or_by_a_case_or_by_its_tests() -> None:
    file, other = "tables/derived/evictions", "tables/derived/late_ticks"
    change, of_other = (
        next(each for each in mutants(name, SOURCES[name]) if each.kind == "compare")
        for name in (file, other)
    )
    histories = written("R01")
    names = {each.name for each in histories}
    with closing(Dataset(histories)) as some:
        pinned = OfTables([some], [], SOURCES[file]).noticed_by(change)
        case = OfTables([], [some], SOURCES[file]).noticed_by(change)
    by_a_test = OfTables([], [], SOURCES[other]).noticed_by(of_other)

    assert pinned in {f"evictions of {name}" for name in names}
    assert case in names
    assert by_a_test.startswith("FAILED tests/tables/test_late_ticks.py")
