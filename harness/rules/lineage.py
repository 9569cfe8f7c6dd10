"""What a rule is made from: the history files and settings behind its query, tables and all.

It is read from the queries' own texts, so nothing has to be declared twice.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from harness.experiment import APP, PROTOCOLS
from harness.rules.catalogue import RULES
from harness.rules.rule import Rule
from harness.rules.statements import STATEMENTS
from harness.tables.engines.contract import settings_in, tables_in
from harness.tables.recipes import VIEWS, recipes_of
from harness.tables.settings import DECLARED_OF_CLIENTS
from harness.tables.vocabulary import Query, expand, text_of

# What was read, which of a program without a journal is taken from what it showed or fetched: a
# client fetches ahead, so that is no proof that its application was given it.
READS: Final = "reads"
# Files that only our own consumers' journals fill, and what stands in for one, less well.
JOURNALED: Final = frozenset({"client_events", "deliveries", "commits", READS})
# Rules about what documents say and Kafka does otherwise today, at least for some.
_REPLACED: Final = frozenset(
    rule for statement in STATEMENTS if statement.instead for rule in statement.rules
)


@cache
def behind(query: Query, client: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """The names of the history files and of the settings that a query is made from."""
    recipes = {**VIEWS, **recipes_of(client)}
    text = expand(text_of(query))
    files: set[str] = set()
    settings = set(settings_in(text))
    for table in tables_in(text):
        if table in recipes:
            more_files, more_settings = behind(recipes[table], client)
            files |= more_files
            settings |= more_settings
        if table == READS or table not in recipes:
            files.add(table)
    return frozenset(files), frozenset(settings)


def judged_of_an_app() -> tuple[str, ...]:
    """Ids of the rules that can be judged of a program which says nothing itself."""
    left_out = left_out_of_an_app()
    return tuple(name for name in RULES if name not in left_out)


@cache
def left_out_of_an_app() -> dict[str, str]:
    """Ids of the rules that cannot, with what they need that such a program lacks."""
    found = {}
    for rule in RULES.values():
        files, settings = behind(rule.examine, APP)
        journaled = frozenset() if rule.without_journals else files & JOURNALED
        if rule.clients == (APP,):
            continue
        if not any(rule.speaks_of(APP, protocol) for protocol in PROTOCOLS):
            found[rule.id] = f"about {' and '.join(rule.clients)} alone"
        elif rule.broker:  # our own experiments show these, whatever the members are
            found[rule.id] = "about brokers alone"
        elif rule.of_applications:
            found[rule.id] = "about what an application saw"
        elif rule.id in _REPLACED:
            found[rule.id] = "about a statement that does not hold for everybody any more"
        elif missing := journaled | (settings & DECLARED_OF_CLIENTS):
            found[rule.id] = f"needs {', '.join(sorted(missing))}"
    return found


def undeclared_of_an_app(rule: Rule) -> list[str]:
    """Settings that the rule's query names, and no run of such a program has."""
    _, settings = behind(rule.examine, APP)
    return sorted(settings & DECLARED_OF_CLIENTS)
