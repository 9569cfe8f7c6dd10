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

from experiments import ANY_RUN
from harness.catalogue import registry
from harness.experiment import APP, CLIENTS, PROTOCOLS, Expect, Experiment, Verdict
from harness.rules.catalogue import RULES
from harness.rules.documents import DOCUMENTS, STATEMENTS
from harness.rules.rule import OF_A_PROGRAM, OF_THE_KIND, Rule
from harness.run.faults import needs_app

_HEAD = """# Rules

Runs are judged by these rules. Each rule has a statement, why it matters to people who run
consumers, an example of a violation, its source, the clients and protocols that it is about, and
the experiments that judge it. `make docs` writes this page from the code.

An experiment declares the verdicts that it expects. Every other rule about the run's client and
protocol is judged as well, and an unexpected violation fails the run.

Some experiments expect VIOLATED: the statement does not hold, or does not hold any more, or a
saboteur (`saboteur-…`) breaks it on purpose. This proves that the rule notices a violation.

Sources and statements name five documents about consumer groups, written for Kafka 0.11 to 2.x.
They are not published here: *tests* and *replaces* say in our words what they say.

"""


_IN_PASSING: Final = "judged in every run of our own members in which it can be examined"
# Units that stand before their number.
_BEFORE: Final = ("error code", "place")
# How a pinned row that violates its rule reads: subject, number, bounds, clause.
_PINNED: Final = re.compile(
    r"^ +(?P<subject>.+) at \S+: ok False, measured (?P<measured>\S+) of (?P<low>\S+) to "
    r"(?P<high>[^\s,]+)(?:, guarded \S+ to \S+)?; (?P<why>.+)$"
)
_PINNED_RULE: Final = re.compile(r"^ +([RXPLE]\d\S*) VIOLATED$")


def page(examples: Mapping[str, str]) -> str:
    """The whole page in Markdown; `examples` has a row for each rule id that has one."""
    experiments = {name: registry.load(name) for name in registry.names()}
    lines = [_HEAD + _documents(), _index()]
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
    measured = row["measured"] != "None"
    parts = [_number(rule, _plain(row["measured"]))] if measured else []
    unit = "" if measured else f" {rule.unit}"
    if row["low"] != "None" and row["high"] != "None":
        parts.append(f"{low} to {high}{unit} allowed" if low != high else f"{low}{unit} allowed")
    elif row["low"] != "None":
        parts.append(f"at least {low}{unit} allowed")
    elif row["high"] != "None":
        parts.append(f"at most {high}{unit} allowed")
    numbers = f" ({'; '.join(parts)})" if parts else ""
    return f"{row['subject']}: {row['why']}{numbers}"


def _number(rule: Rule, number: str) -> str:
    return f"{rule.unit} {number}" if rule.unit in _BEFORE else f"{number} {rule.unit}".strip()


def _plain(number: str) -> str:
    return number.removesuffix(".0")


def _documents() -> str:
    return "".join(f"- document {number}: {title}\n" for number, title in DOCUMENTS.items())


def _index() -> str:
    rows = [f"| [{rule.id}](#{rule.id.lower()}) | {rule.title} |" for rule in RULES.values()]
    return "\n".join(["| rule | |", "|---|---|", *rows, ""])


def _section(rule: Rule, experiments: dict[str, Experiment], example: str | None) -> str:
    lines = [f"## {rule.id}", "", f"**{rule.title}.** {rule.statement}", ""]
    if rule.matters:
        lines += [f"Why it matters: {rule.matters}", ""]
    if example:
        lines.append(f"- example of a violation: {example}")
    lines.append(f"- source: {rule.source}")
    lines.append(f"- examined: {rule.things}{_measured(rule)}")
    clients = "your own program" if rule.clients == (APP,) else _some(rule.clients, CLIENTS)
    lines.append(f"- clients: {clients}; protocols: {_some(rule.protocols, PROTOCOLS)}")
    if rule.since:
        lines.append(
            f"- brokers: Kafka {rule.since} or newer; older ones only if an experiment declares it"
        )
    lines += [
        f"- {how} document {each.document}: {each.says}"
        for how, by in (("tests", "rules"), ("replaces", "instead"))
        for each in STATEMENTS
        if rule.id in getattr(each, by)
    ]
    if rule.evidence:
        lines.append("- judged in every run: without it no verdict can be trusted")
    elif rule.always:
        lines += [f"- judged in {OF_THE_KIND}", *_judged_by(rule, experiments)]
    elif rule.contradicted:
        known = " and ".join(str(groups) for groups in rule.contradicted)
        lines.append(
            f"- known not to hold, at least at times, in {_of_every_kind(known)}: judged there "
            "only if an experiment declares it"
        )
        lines += _judged_by(rule, experiments)
    elif rule.in_passing:
        lines.append(f"- {_IN_PASSING}")
        lines += _judged_by(rule, experiments)
    elif rule.limit and APP not in rule.clients:
        lines.append(f"- judged in every run with this limit: `--limit {rule.limit}=…`")
    else:
        lines += _judged_by(rule, experiments) or [f"- {_undeclared(rule)}"]
    return "\n".join([*lines, ""])


def _measured(rule: Rule) -> str:
    """What is measured of each thing, in which unit; nothing where no number is."""
    if not rule.measures:
        return ""
    unit = "" if rule.measures.startswith(rule.unit) else f"{rule.unit} "
    return f"; measured: {unit}{rule.measures}"


def _of_every_kind(groups: str) -> str:
    return "groups of every kind" if groups == "groups" else groups


def _undeclared(rule: Rule) -> str:
    """Where a rule is judged that no experiment declares."""
    if rule.clients == (APP,):
        return f"judged in {OF_A_PROGRAM}"
    return "judged in no experiment yet"


def _judged_by(rule: Rule, experiments: dict[str, Experiment]) -> list[str]:
    found = [
        (f"`{name}`", expect)
        for name, experiment in experiments.items()
        if not needs_app(experiment)  # judged by whatever can be judged of a program
        for expect in experiment.rules
    ]
    found += [("all others that exercise it", expect) for expect in ANY_RUN]
    found = [(name, expect) for name, expect in found if expect.rule == rule.id]
    lines = []
    for verdict in (Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN):
        names = [f"{name}{_only(expect)}" for name, expect in found if expect.verdict is verdict]
        if names:
            lines.append(f"- {verdict} expected in {', '.join(names)}")
    return lines


def _only(expect: Expect) -> str:
    parts = [*expect.clients, *expect.protocols, *(f"Kafka {each}*" for each in expect.kafka)]
    parts += [f"commit={' or '.join(expect.commits)}"] if expect.commits else []
    parts += ["sometimes"] if expect.sometimes else []
    return f" ({', '.join(parts)})" if parts else ""


def _some(chosen: Sequence[str], all_of_them: Sequence[str]) -> str:
    return "all" if tuple(chosen) == tuple(all_of_them) else ", ".join(chosen)


if __name__ == "__main__":
    sys.stdout.write(page(examples_in(Path(sys.argv[1]))))
