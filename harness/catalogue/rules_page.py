"""docs/rules.md, made from the catalogue: `make docs` writes it, a test keeps it current."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from harness.catalogue import registry
from harness.experiment import CLIENTS, PROTOCOLS, Expect, Experiment, Verdict
from harness.rules.catalogue import RULES
from harness.rules.documents import STATEMENTS
from harness.rules.rule import OF_THE_KIND, Rule

_HEAD = """# Rules

Every rule that runs are judged by: what it states, where that comes from, for which clients and
protocols, which experiments judge it and what they expect. Made from the code by `make docs`.

A rule that is judged in every run that has something of the kind needs no experiment to declare it;
where a run has nothing of the kind, it is left out of the verdicts.

An experiment that expects VIOLATED shows a statement that does not hold (any more), or breaks the
rule on purpose (`saboteur-…`): a rule that nothing can violate would prove nothing.
"""


def page() -> str:
    """The whole page in Markdown."""
    experiments = {name: registry.load(name) for name in registry.names()}
    lines = [_HEAD, _index()]
    for rule in RULES.values():
        lines.append(_section(rule, experiments))
    return "\n".join(lines)


def _index() -> str:
    rows = [f"| [{rule.id}](#{rule.id.lower()}) | {rule.title} |" for rule in RULES.values()]
    return "\n".join(["| rule | |", "|---|---|", *rows, ""])


def _section(rule: Rule, experiments: dict[str, Experiment]) -> str:
    lines = [f"## {rule.id}", "", f"**{rule.title}.** {rule.statement}", ""]
    lines.append(f"- source: {rule.source}")
    lines.append(f"- measured: {rule.things}, in {rule.unit or 'nothing but yes or no'}")
    lines.append(
        f"- clients: {_some(rule.clients, CLIENTS)}; protocols: {_some(rule.protocols, PROTOCOLS)}"
    )
    stated = [each.id for each in STATEMENTS if rule.id in each.rules]
    replaces = [each.id for each in STATEMENTS if rule.id in each.instead]
    if stated:
        lines.append(f"- stated by: {', '.join(stated)}")
    if replaces:
        lines.append(f"- has replaced: {', '.join(replaces)}")
    if rule.evidence:
        lines.append("- judged in every run: without it no verdict can be trusted")
    elif rule.always:
        lines += [f"- judged in {OF_THE_KIND}", *_judged_by(rule, experiments)]
    else:
        lines += _judged_by(rule, experiments) or ["- judged by: no experiment yet"]
    return "\n".join([*lines, ""])


def _judged_by(rule: Rule, experiments: dict[str, Experiment]) -> list[str]:
    lines = []
    for verdict in (Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN):
        names = [
            f"`{name}`{_only(expect)}"
            for name, experiment in experiments.items()
            for expect in experiment.rules
            if expect.rule == rule.id and expect.verdict is verdict
        ]
        if names:
            lines.append(f"- {verdict} in {', '.join(names)}")
    return lines


def _only(expect: Expect) -> str:
    parts = [*expect.clients, *expect.protocols, *(f"Kafka {each}*" for each in expect.kafka)]
    return f" ({', '.join(parts)})" if parts else ""


def _some(chosen: Sequence[str], all_of_them: Sequence[str]) -> str:
    return "all" if tuple(chosen) == tuple(all_of_them) else ", ".join(chosen)


if __name__ == "__main__":
    sys.stdout.write(page())
