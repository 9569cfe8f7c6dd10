"""Changes that no test noticed are told apart by their sort, and shown word by word."""

from __future__ import annotations

import pytest

from tests.mutation import survivors


def row(kind: str, before: str, after: str, noticed_by: str = "") -> dict[str, str]:
    diff = f"- {before}\n+ {after}"
    return {"file": "m", "within": "q", "kind": kind, "noticed_by": noticed_by, "diff": diff}


@pytest.mark.parametrize(
    ("kind", "before", "after", "sort", "shown"),
    [
        ("join", "a JOIN b", "a LEFT JOIN b", "A row always", "a [JOIN → LEFT JOIN] b"),
        ("compare", "x.at < y.at", "x.at <= y.at", "Two moments", "x.at [< → <=] y.at"),
        ("compare", "x.at < y.at", "x.at >= y.at", "Not tested", "x.at [< → >=] y.at"),
        ("compare", "members > 0", "members >= 0", "None to", "members [> → >=] 0"),
        ("compare", "members > 1", "members >= 1", "Not tested", "members [> → >=] 1"),
        ("compare", "size > ", "size >= ", "Not tested", "size [> → >=]"),
        ("aggregate", "min(at) AS at", "max(at) AS at", "Only how", "[min → max](at) AS at"),
        ("aggregate", "min(x.n) AS n", "max(x.n) AS n", "One of", "[min → max](x.n) AS n"),
        ("aggregate", "bool_and(x)", "bool_or(x)", "Not tested", "[bool_and → bool_or](x)"),
        ("number", "EXISTS (SELECT 1", "EXISTS (SELECT 2", "The value", "EXISTS (SELECT [1 → 2]"),
        (
            "number",
            "PARTITION BY 1 ORDER",
            "PARTITION BY 2 ORDER",
            "The value",
            "PARTITION BY [1 → 2] ORDER",
        ),
        (
            "number",
            "coalesce(f(x, y), -1)",
            "coalesce(f(x, y), -2)",
            "The value",
            "coalesce(f(x, y), -[1 → 2])",
        ),
        ("number", "size(x) > 3", "size(x) > 4", "Not tested", "size(x) > [3 → 4]"),
        ("logic", "a AND b", "a OR b", "Not tested", "a [AND → OR] b"),
    ],
)
def test_a_survivor_is_sorted_and_shown(
    kind: str, before: str, after: str, sort: str, shown: str
) -> None:
    survivor = row(kind, before, after)
    assert survivors.sort_of(survivor).startswith(sort)
    assert shown == survivors.change(survivor)


def test_the_page_counts_what_was_noticed_and_lists_the_rest() -> None:
    found = [row("logic", "a AND b", "a OR b", by) for by in ("R01 in a case", "")]
    page = survivors.page(found)
    assert "1 of 2 changes are noticed: 50.0%." in page
    assert "| logic | 1 | 2 |" in page
    assert 1 == page.count("`m q`: ")
