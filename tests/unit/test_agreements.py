"""Where both engines have agreed need not be shown again, and nothing else may be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from harness.rules import RULES
from tests import agreements
from tests.agreements import DAYS, Agreements, Queries, queries_of_rules, queries_of_tables


def one() -> None:
    """A way to compare two verdicts."""


def other() -> None:
    """Another way, which may find less."""


def of(rule: str = "R01", by: Callable[[], None] = one) -> Queries:
    return queries_of_rules([rule], "librdkafka", by)


def due(found: Agreements, *asked: tuple[str, str]) -> list[bool]:
    """Whether both engines have to judge: of each test, and its queries by a letter each."""
    return [bool(found.due(frozenset(queries), test)) for test, queries in asked]


def agreed(*asked: tuple[str, str]) -> list[str]:
    """What is on record once both have judged these."""
    found = Agreements([], 0)
    for test, queries in asked:
        found.agree(found.due(frozenset(queries), test))
    return found.worth_keeping(all_asked=True)


def turn(test: str) -> int:
    """The day of a test."""
    known = agreed((test, "q"))
    [day] = [day for day in range(DAYS) if due(Agreements(known, day), (test, "q")) == [True]]
    return day


def test_one_of_each_test_and_query_that_is_not_on_record_is_judged_by_both() -> None:
    asked = [("a", "x"), ("a", "x"), ("b", "x"), ("a", "xy"), ("a", "y"), ("b", "x")]

    assert [True, False, True, True, False, False] == due(Agreements([], 0), *asked)


def test_what_is_on_record_is_judged_by_both_once_in_so_many_days() -> None:
    day = turn("a")
    days = [due(Agreements(agreed(("a", "q")), each), ("a", "q")) for each in range(2 * DAYS)]

    assert [day, day + DAYS] == [each for each, found in enumerate(days) if found == [True]]


def test_on_its_day_a_test_is_judged_once_by_its_queries() -> None:
    found = Agreements(agreed(("a", "q")), turn("a"))

    assert [True, False] == due(found, ("a", "q"), ("a", "q"))


@pytest.mark.parametrize(("all_asked", "kept"), [(True, ["b", "c"]), (False, ["a", "b", "c"])])
def test_what_no_test_asks_for_any_more_is_dropped_once_all_have_asked(
    all_asked: bool, kept: Iterable[str]
) -> None:
    found = Agreements(agreed(("a", "q"), ("b", "q")), turn("b") + 1)
    due(found, ("b", "q"))
    found.agree(found.due(frozenset("q"), "c"))

    expected = agreed(*((each, "q") for each in kept))
    assert expected == found.worth_keeping(all_asked=all_asked)


def test_what_was_compared_and_did_not_agree_is_not_kept() -> None:
    found = Agreements([], 0)
    due(found, ("a", "q"))

    assert [] == found.worth_keeping(all_asked=True)


def test_whatever_judges_is_part_of_the_queries() -> None:
    assert of() == of()
    assert of() != of(rule="R02")
    assert not of() & of(by=other)


def test_tables_are_other_ones_for_a_program_of_somebody_elses() -> None:
    ours, theirs = (queries_of_rules(["R21"], client, one) for client in ("librdkafka", "app"))

    assert ours != theirs


def test_a_table_that_is_a_file_needs_no_query() -> None:
    assert not queries_of_tables(["requests"], "librdkafka", one)


def test_a_table_that_a_rule_is_made_from_is_part_of_it() -> None:
    texts = agreements.texts(RULES["R01"].examine, "librdkafka")

    assert {"evictions", "signs_of_life", "silences"} <= set(texts)
    assert any("armed_by_at" in text for text in texts)


def test_comments_and_white_space_are_not_part_of_a_query() -> None:
    wrapped = """
        -- What it is about isn't judged.
        SELECT 'a  b', `group`  -- which, if (any
        FROM ( x )
    """

    assert "SELECT 'a  b',`group` FROM(x)" == agreements.as_engines_see(wrapped)


@pytest.mark.parametrize("other", ["SELECT 'a b'", "SELECT 'a -- b'", r"SELECT 'a\'  b'"])
def test_what_a_text_has_is_part_of_a_query(other: str) -> None:
    assert other == agreements.as_engines_see(other)
    assert agreements.as_engines_see("SELECT 'a  b'") != agreements.as_engines_see(other)
