"""The words of queries: what each is replaced by."""

from __future__ import annotations

import pytest

from harness.tables.vocabulary import expand


def test_a_word_is_replaced_with_its_arguments() -> None:
    assert "SELECT (timestampdiff(MICROSECOND, a.x, b.y) / 1e3) AS ms" == expand(
        "SELECT ms_between(a.x, b.y) AS ms"
    )


def test_words_may_stand_in_each_other() -> None:
    found = expand("ms_between(after(-:slack_ms, greatest(a, b)), least(c, after(5, d)))")
    assert "after(" not in found
    assert "timestampadd(MICROSECOND, CAST(round((5) * 1e3) AS BIGINT), d)" in found


def test_parentheses_and_commas_within_quotes_are_text() -> None:
    found = expand("ms_between(to_timestamp('1,2)'), b)")
    assert "(timestampdiff(MICROSECOND, to_timestamp('1,2)'), b) / 1e3)" == found


def test_a_column_of_a_similar_name_stays() -> None:
    assert "SELECT before(1), hereafter(2), after_ms" == expand(
        "SELECT before(1), hereafter(2), after_ms"
    )


@pytest.mark.parametrize("query", ["after(5)", "ms_between(a, b, c)"])
def test_a_wrong_number_of_arguments_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="takes 2 arguments"):
        expand(query)


def test_a_parenthesis_that_is_not_closed_is_refused() -> None:
    with pytest.raises(ValueError, match="a parenthesis is not closed"):
        expand("SELECT after(5, d")
