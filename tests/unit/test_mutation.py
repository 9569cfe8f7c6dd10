"""Mutation testing: which changes are made to SQL, and which tests are asked to notice them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest

from harness.rules import RULES
from harness.tables.views import own_requests
from tests.histories import java, judged
from tests.mutation import derived
from tests.mutation.mutants import mutants, sources_in
from tests.mutation.selection import Selection
from tests.mutation.sql import changes, is_sql
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


@pytest.mark.parametrize(
    ("text", "sql"),
    [("SELECT 1", True), ("told AS (\n SELECT 2)", True), ("chosen from 3 of them", False)],
)
def test_only_sql_is_changed(text: str, sql: bool) -> None:
    assert sql is is_sql(text)


SOURCE = """'''SELECT a < b is no query here.'''
SHARED = "busy AS (SELECT 1 FROM {commits} WHERE a AND b)"

@Rule("R1", statement="a < b")
def one():
    '''SELECT a < b is none either.'''
    return '''
        WITH {SHARED}
        SELECT x = 'y < z' FROM busy
    '''
"""


def test_each_change_of_a_module_is_made_in_its_place() -> None:
    found = list(mutants("module", SOURCE))

    assert [("SHARED", 2, "logic"), ("SHARED", 2, "number"), ("one", 9, "compare")] == sorted(
        (each.within, each.line, each.kind) for each in found
    )
    for each in found:
        changed = each.apply(SOURCE).splitlines()
        different = [n for n, line in enumerate(SOURCE.splitlines(), 1) if changed[n - 1] != line]
        assert [each.line] == different
    assert any("SELECT x <> 'y < z' FROM busy" in each.apply(SOURCE) for each in found)


def test_a_rule_is_reached_by_what_it_uses_and_by_nothing_else() -> None:
    selection = Selection(REPOSITORY)
    module, own = selection.rules["R01"]

    assert "R01" in selection.users((module, own))
    assert "R21" not in selection.users((module, own))
    # What several rules share reaches them all.
    shared, _ = selection.rules["R21"]
    assert {"R21", "R21-delivery"} <= selection.users((shared, "OVERLAPS"))


def test_a_change_is_in_the_catalogue_as_it_was_imported_before() -> None:
    code = """
from pathlib import Path
from harness.rules import RULES
from tests.mutation.trials import install
before = dict(RULES)
path = Path("harness/rules/ownership.py")
install("rules.ownership", path.read_text().replace('"R21"', '"R21-changed"'))
assert {"R21-changed"} == set(RULES) - set(before), set(RULES) ^ set(before)
assert {"R21"} == set(before) - set(RULES)
assert "R21-changed" not in path.read_text()
"""
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)


def test_a_changed_table_is_made_so_for_whoever_reads_it() -> None:
    code = """
from pathlib import Path
from harness.tables.recipes import RECIPES, WRITTEN
from harness.tables.vocabulary import text_of
from tests.mutation.trials import install
source = Path("harness/tables/evictions.py").read_text()
before = text_of(RECIPES["evictions"])
install("tables.evictions", source.replace("SELECT", "SELECT /*+ changed */"))
for recipes in (RECIPES, WRITTEN):
    assert before.replace("SELECT", "SELECT /*+ changed */") == text_of(recipes["evictions"])
"""
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)


def table_change(module: str, within: str) -> set[str]:
    """Rules that some change there can reach."""
    source = (REPOSITORY / "harness" / "tables" / f"{module}.py").read_text()
    found = [each for each in mutants(f"tables.{module}", source) if each.within == within]
    return set().union(*(derived.rules_reached(each, source) for each in found))


def test_a_changed_table_reaches_the_rules_that_are_made_from_it() -> None:
    reached = table_change("evictions", "evictions")

    assert {"R01", "X19"} <= reached
    assert "X63" not in reached
    # A table of programs counts for the rules of programs, and of a view whoever names it.
    assert {"P10", "L1"} <= table_change("of_an_app", "fetched")
    assert {"R06", "R10"} <= table_change("views", "busy")


def test_a_change_of_what_is_python_within_a_text_is_left_out() -> None:
    source = "def one():\n    return f'SELECT a < b FROM {\", \".join(names)}'"
    assert {"<=", ">="} == {each.to for each in mutants("rules.module", source)}


def test_every_change_of_a_table_can_be_made_and_reaches_a_rule() -> None:
    for name, source in sources_in(REPOSITORY / "harness", [derived.PACKAGE]).items():
        for each in list(mutants(name, source))[::7]:
            assert derived.rules_reached(each, source), each


def test_what_the_judge_reads_itself_reaches_every_rule() -> None:
    assert set(RULES) == table_change("machine", "late_ticks")


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


def test_every_rule_is_known_and_named_by_a_test() -> None:
    selection = Selection(REPOSITORY)

    assert set(selection.rules) == set(RULES)
    for rule in RULES:
        assert selection.tests([rule]), rule


def test_a_change_of_a_table_concerns_whom_it_gives_other_rows() -> None:
    engine = Remembering()
    rows = {"numbers": engine.rows(pa.table({"n": [1, 2]}))}
    text = "SELECT n FROM {numbers}"
    derivation = derived.Derivation(lambda: text, text, engine, rows, {"more": 1})

    assert not derivation.is_another("SELECT greatest(n, 1) AS n FROM {numbers}")
    assert derivation.is_another("SELECT n + :more AS n FROM {numbers}")
    assert derivation.is_another("SELECT missing FROM {numbers}")
    assert derivation.is_another("SELECT n FROM {others}")
    engine.close()


def test_what_a_history_has_derived_is_known_with_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Remembering()
    history = java().request("HEARTBEAT", "member-1", 10_000, error_code=16)
    with derived.deriving() as seen:
        judged(history, engine, "R09")
    before = {each.query.__name__: each for each in seen}

    assert "own_requests" in before
    assert not derived.others(seen)(seen)
    monkeypatch.setattr(before["own_requests"].query, "__code__", _no_requests.__code__)
    assert derived.others(seen)(seen)
    assert not derived.others(seen)([each for each in seen if each.query is not own_requests])
    engine.close()


def _no_requests() -> str:
    return "SELECT *, client_id AS member FROM {requests} WHERE false"
