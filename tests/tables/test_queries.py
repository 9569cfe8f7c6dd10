"""What queries may not say, because engines take it for something else."""

from __future__ import annotations

import re
from typing import Final

from harness.rules import RULES
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.vocabulary import expand, text_of

# `struct(a = b)` is a comparison in Spark, and a field named a in DuckDB.
_NAMED_FIELD: Final = re.compile(r"struct\([^()]*[^<>!=]=[^=]", re.IGNORECASE)


def test_no_struct_has_a_bare_comparison() -> None:
    queries = {
        **{rule: each.examine for rule, each in RULES.items()},
        **RECIPES, **OF_AN_APP, **VIEWS,
    }  # fmt: skip
    found = [name for name, query in queries.items() if _NAMED_FIELD.search(expand(text_of(query)))]
    assert [] == found
    assert _NAMED_FIELD.search("max_by(h.at, struct(h.who = a.subject, h.at))")
