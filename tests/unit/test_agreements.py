"""What both engines have agreed on need not be shown again, and nothing else may be left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.rules import RULES
from tests import agreements
from tests.agreements import DAYS, Agreements, Digest, digest_of

TODAY = 3


def digest(number: int, queries: str = "") -> Digest:
    found = Digest(f"{number:016x}")
    found.queries = queries
    return found


def one() -> None:
    """A way to compare two verdicts."""


def other() -> None:
    """Another way, which may find less."""


def of(
    rule: str = "R01", rows: tuple[object, ...] = ("a", "b"), by: Callable[[], None] = one
) -> Digest:
    return digest_of([rule], "librdkafka", rows, by)


def test_what_is_not_on_record_is_judged_by_both() -> None:
    assert not Agreements([], TODAY).settled(digest(TODAY + 1), "a")


def test_what_is_on_record_is_judged_by_both_once_in_so_many_days() -> None:
    days = [Agreements([digest(5)], day).settled(digest(5), "a") for day in range(2 * DAYS)]

    assert [day for day, settled in enumerate(days) if not settled] == [5, 5 + DAYS]


def test_of_what_is_not_on_record_one_of_each_test_and_its_queries_is_judged_by_both() -> None:
    found = Agreements([], TODAY, every=False)
    asked = [("a", "x"), ("a", "x"), ("b", "x"), ("a", "y"), ("b", "x")]
    settled = [found.settled(digest(8 + n, q), test) for n, (test, q) in enumerate(asked)]

    assert [False, True, False, False, True] == settled
    assert 5 == len(found.asked)


def test_all_that_is_not_on_record_is_judged_by_both_where_it_is_to_be_kept() -> None:
    found = Agreements([], TODAY)

    assert [False, False] == [found.settled(digest(8 + n), "a") for n in range(2)]


@pytest.mark.parametrize(("all_asked", "dropped"), [(True, []), (False, [digest(16)])])
def test_what_no_test_asks_for_any_more_is_dropped_once_all_have_asked(
    all_asked: bool, dropped: list[str]
) -> None:
    found = Agreements([digest(8), digest(16)], TODAY)
    found.settled(digest(8), "a")
    found.settled(digest(24), "a")
    found.agree(digest(24))

    kept = found.worth_keeping(all_asked=all_asked)
    assert [digest(8), *dropped, digest(24)] == kept


def test_what_was_compared_and_did_not_agree_is_not_kept() -> None:
    found = Agreements([], TODAY)
    found.settled(digest(8), "a")

    assert [] == found.worth_keeping(all_asked=True)


@pytest.mark.parametrize(
    "changed",
    [
        of(rows=("a", "c")),
        of(rows=("ab", "")),
        of(rule="R02"),
        of(by=other),
    ],
)
def test_whatever_decides_a_verdict_changes_the_digest(changed: str) -> None:
    assert of() != changed


def test_the_same_has_the_same_digest() -> None:
    assert of() == of()


def test_queries_are_the_same_whatever_the_rows() -> None:
    assert of().queries == of(rows=("a", "c")).queries
    assert of().queries not in (of(rule="R02").queries, of(by=other).queries)


def test_tables_are_other_ones_for_a_program_of_somebody_elses() -> None:
    ours, theirs = (digest_of(["R21"], client, (), one) for client in ("librdkafka", "app"))

    assert ours != theirs


def test_a_table_that_a_rule_is_made_from_is_part_of_it() -> None:
    texts = agreements.texts(RULES["R01"].examine, "librdkafka")

    assert {"evictions", "signs_of_life", "silences"} <= set(texts)
    assert any("armed_by_at" in text for text in texts)


def test_comments_and_white_space_are_not_part_of_a_query() -> None:
    wrapped = """
        -- What it is about isn't judged.
        SELECT 'a  b', `group`  -- which
        FROM x
    """

    assert "SELECT 'a  b', `group` FROM x" == agreements.as_engines_see(wrapped)


@pytest.mark.parametrize("other", ["SELECT 'a b'", "SELECT 'a -- b'", r"SELECT 'a\'  b'"])
def test_what_a_text_has_is_part_of_a_query(other: str) -> None:
    assert other == agreements.as_engines_see(other)
    assert agreements.as_engines_see("SELECT 'a  b'") != agreements.as_engines_see(other)
