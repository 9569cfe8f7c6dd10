"""Rules of a user's own, judged beside ours as long as they are used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Final

from harness.experiment import APP
from harness.rules import lineage
from harness.rules.catalogue import RULES
from harness.rules.rule import Rule
from harness.rules.rule_names import GROUPS
from harness.tables.engines.contract import tables_in
from harness.tables.recipes import VIEWS, recipes_of
from harness.tables.source import FILES
from harness.tables.vocabulary import expand, text_of

# No id of ours begins so, so that none of theirs will ever be one of ours.
_ID: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Own:
    """A rule of a user's own, and the files that it is made from: a digest by path in a run."""

    rule: Rule
    files: Mapping[str, str]


USED: Final[dict[str, Own]] = {}  # by id


def is_own(name: str) -> bool:
    """Whether a rule of this id is a user's own."""
    return _ID.fullmatch(name) is not None


def problem_of(rule: Rule) -> str:
    """What is wrong with a rule, before it is asked anything; empty where nothing is."""
    if not is_own(rule.id):
        return (
            f"the id {rule.id!r} is not one of a rule of your own, which begins with a small "
            "letter and has letters, digits and dashes: call it something like orders-in-time"
        )
    if rule.id in GROUPS:
        return f"the id {rule.id!r} is the name of a group of our rules: call it something else"
    try:
        names = tables_in(expand(text_of(rule.examine)))
    except Exception as error:  # noqa: BLE001 (whatever the function does: it is not ours)
        return f"the rule {rule.id} gives no query ({type(error).__name__}: {error})"
    for name in names:
        if name not in tables():
            near = get_close_matches(name, tables(), n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else "`sql RUN` lists those there are"
            return f"the rule {rule.id} asks for a table {{{name}}}, which there is not: {hint}"
    return ""


@cache
def tables() -> frozenset[str]:
    """The names of all tables that a query may ask: of the history, and derived."""
    return frozenset({*recipes_of(APP), *VIEWS, *FILES})


@contextmanager
def used(rules: Iterable[Own]) -> Iterator[None]:
    """Have these rules among ours."""
    added = {each.rule.id: each for each in rules}
    USED.update(added)
    RULES.update({name: each.rule for name, each in added.items()})
    lineage.left_out_of_an_app.cache_clear()
    try:
        yield
    finally:
        for name in added:
            USED.pop(name, None)
            RULES.pop(name, None)
        lineage.left_out_of_an_app.cache_clear()
