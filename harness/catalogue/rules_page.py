"""docs/rules.md, made from the catalogue: `make docs` writes it, a test keeps it current.

Its examples are rows that the judge wrote: the shortest that violates a rule in the pinned
judgements of hand-written histories, whose folder is the command's argument.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.catalogue import registry
from harness.experiment import APP, CLIENTS, PROTOCOLS, Expect, Experiment, Verdict
from harness.rules.catalogue import RULES
from harness.rules.documents import STATEMENTS
from harness.rules.rule import OF_A_PROGRAM, OF_THE_KIND, Rule
from harness.run.faults import needs_app

_HEAD = """# Rules

Every rule by which runs are judged: what it states, why that matters to somebody who runs
consumers, a row that violates it, where the statement comes from, for which clients and protocols
it is, and which experiments judge it. Made from the code by `make docs`.

An experiment declares which verdicts it expects. Every other rule that is about the run's client
and protocol is looked at as well, and a violation that nobody expected fails the run. Some rules
have a verdict in every run in which they can be examined.

An experiment that expects VIOLATED shows a statement that does not hold (any more), or breaks the
rule on purpose (`saboteur-…`): a rule that nothing can violate would prove nothing.
"""


# How a pinned row that violates its rule reads: subject, number, bounds, clause.
_PINNED: Final = re.compile(
    r"^ +(?P<subject>.+) at \S+: ok False, measured (?P<measured>\S+) of (?P<low>\S+) to "
    r"(?P<high>[^\s,]+)(?:, guarded \S+ to \S+)?; (?P<why>.+)$"
)
_PINNED_RULE: Final = re.compile(r"^ +([RXLE]\d\S*) VIOLATED$")


def page(examples: Mapping[str, str]) -> str:
    """The whole page in Markdown; `examples` has a row for each rule id that has one."""
    experiments = {name: registry.load(name) for name in registry.names()}
    lines = [_HEAD, _index()]
    for rule in RULES.values():
        lines.append(_section(rule, experiments, examples.get(rule.id)))
    return "\n".join(lines)


def examples_in(pins: Path) -> dict[str, str]:
    """For each rule the shortest pinned row that violates it."""
    found: dict[str, str] = {}
    for path in sorted(pins.glob("*.ambr")):
        rule = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if named := _PINNED_RULE.match(line):
                rule = named[1]
            elif rule in RULES and (row := _PINNED.match(line)):
                found[rule] = min(found.get(rule, ""), _example(RULES[rule], row), key=_length)
    return found


def _length(text: str) -> tuple[bool, int, str]:
    return not text, len(text), text


def _example(rule: Rule, row: re.Match[str]) -> str:
    """What it is about, what is wrong with it, and its number beside what is allowed."""
    low, high = (_plain(row[name]) for name in ("low", "high"))
    parts = [f"{_plain(row['measured'])} {rule.unit}".strip()] if row["measured"] != "None" else []
    if row["low"] != "None" and row["high"] != "None":
        parts.append(f"{low} to {high} allowed" if low != high else f"{low} allowed")
    elif row["low"] != "None":
        parts.append(f"at least {low} allowed")
    elif row["high"] != "None":
        parts.append(f"at most {high} allowed")
    numbers = f" ({'; '.join(parts)})" if parts else ""
    return f"{row['subject']}: {row['why']}{numbers}"


def _plain(number: str) -> str:
    return number.removesuffix(".0")


def _index() -> str:
    rows = [f"| [{rule.id}](#{rule.id.lower()}) | {rule.title} |" for rule in RULES.values()]
    return "\n".join(["| rule | |", "|---|---|", *rows, ""])


def _section(rule: Rule, experiments: dict[str, Experiment], example: str | None) -> str:
    lines = [f"## {rule.id}", "", f"**{rule.title}.** {rule.statement}", ""]
    if rule.matters:
        lines += [f"Why it matters: {rule.matters}", ""]
    if example:
        lines.append(f"- violated, for example: {example}")
    lines.append(f"- source: {rule.source}")
    lines.append(f"- measured: {rule.things}, in {rule.unit or 'nothing but yes or no'}")
    lines.append(
        f"- clients: {_some(rule.clients, CLIENTS)}; protocols: {_some(rule.protocols, PROTOCOLS)}"
    )
    if rule.since:
        lines.append(f"- brokers: since Kafka {rule.since}; of older ones only if it is declared")
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
    elif rule.contradicted:
        known = " and ".join(str(groups) for groups in rule.contradicted)
        lines.append(
            f"- does not hold for all {known}: judged there only if an experiment declares it"
        )
        lines += _judged_by(rule, experiments)
    elif rule.limit and APP not in rule.clients:
        lines.append(f"- judged in every run of which it is promised: `--limit {rule.limit}=…`")
    else:
        lines += _judged_by(rule, experiments) or [f"- judged in {_in_passing(rule)}"]
    return "\n".join([*lines, ""])


def _in_passing(rule: Rule) -> str:
    """Where a rule is judged that no experiment declares."""
    return OF_A_PROGRAM if rule.clients == (APP,) else "no experiment yet"


def _judged_by(rule: Rule, experiments: dict[str, Experiment]) -> list[str]:
    lines = []
    for verdict in (Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN):
        names = [
            f"`{name}`{_only(expect)}"
            for name, experiment in experiments.items()
            if not needs_app(experiment)  # judged by whatever can be judged of a program
            for expect in experiment.rules
            if expect.rule == rule.id and expect.verdict is verdict
        ]
        if names:
            lines.append(f"- {verdict} in {', '.join(names)}")
    return lines


def _only(expect: Expect) -> str:
    parts = [*expect.clients, *expect.protocols, *(f"Kafka {each}*" for each in expect.kafka)]
    parts += ["sometimes"] if expect.sometimes else []
    return f" ({', '.join(parts)})" if parts else ""


def _some(chosen: Sequence[str], all_of_them: Sequence[str]) -> str:
    return "all" if tuple(chosen) == tuple(all_of_them) else ", ".join(chosen)


if __name__ == "__main__":
    sys.stdout.write(page(examples_in(Path(sys.argv[1]))))
