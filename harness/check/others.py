"""Rules that an experiment does not declare: which of them a run may exercise, and what they find.

An experiment declares what it expects. Every other rule that speaks of the run's client and
protocol has to hold too: a violation that nobody thought of would be overlooked otherwise. One that
finds nothing to examine says nothing; one that cannot be judged is shown and changes no exit code,
because nothing says that this run had to show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.check import judge
from harness.experiment import APP, Verdict
from harness.history.derived import TABLES
from harness.rules import RULES, Rule
from harness.tables.source import Run

Row = dict[str, Any]  # of the table `other_rules`
_COLUMNS: Final = TABLES["other_rules"].names


def others_of(run: Run) -> list[str]:
    """Ids of the rules that a run is judged by though its experiment does not declare them.

    Of a program of somebody else's all that can be judged is declared. Members that break a rule on
    purpose break others along with it, so their runs are judged by what brokers alone keep. And a
    run that shows nothing is judged by nothing.
    """
    if run.client == APP or not run.complete:
        return []
    declared = {str(each["rule"]) for each in run.expected}
    return [
        rule.id
        for rule in RULES.values()
        if rule.id not in declared and _may_be_asked(rule, run) and not rule.evidence
    ]


def _may_be_asked(rule: Rule, run: Run) -> bool:
    return (
        rule.speaks_of(run.client, run.protocol)
        and not rule.is_contradicted(run.client, run.protocol, static=run.static)
        and (rule.broker or not run.sabotaged)
        and rule.is_kept_by(run.releases)
    )


def look_at(tables: judge.OfARun, lacking: Mapping[str, str] = judge.WHOLE) -> list[Row]:
    """What the other rules find, a row each; without those that find nothing to examine.

    `lacking` is as in `judge.examine`.
    """
    names = others_of(tables.run)
    outcome = judge.examine(tables, names, lacking)
    asked = [judge.Asked(name, if_seen=True) for name in names]
    verdicts = [
        judge.verdict_of(each, outcome, tables)
        for each in asked
        if not judge.said_nothing(each, outcome)
    ]
    return [{name: verdict[name] for name in _COLUMNS} for verdict in verdicts]


def asked_besides(asked: Sequence[judge.Asked], found: Sequence[Row]) -> list[judge.Asked]:
    """What is to be judged once the other rules were looked at.

    One that is judged in every run is left out where it found nothing, and what was violated is
    judged as well, so that each violation is found by the engine whose verdicts are kept.
    """
    seen = {row["rule"]: row["verdict"] for row in found}
    named = {each.rule for each in asked}
    accused = [
        judge.Asked(rule, if_seen=True, undeclared=True)
        for rule, verdict in seen.items()
        if verdict == Verdict.VIOLATED and rule not in named
    ]
    return [each for each in asked if not each.undeclared or each.rule in seen] + accused


def settled(found: Sequence[Row], verdicts: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of `other_rules`, and the verdicts to be kept.

    A rule that is judged in every run has its verdict and no such row. A violation that only the
    first look found is none: the row is UNKNOWN then, and no verdict is kept. Where the rule could
    not be judged again, the verdict that says so is kept, for nobody knows.
    """
    by_rule = {verdict["rule"]: verdict for verdict in verdicts}
    rows, unconfirmed = [], set()
    for row in found:
        rule = row["rule"]
        if RULES[rule].always:
            continue
        again = by_rule[rule]["verdict"] if rule in by_rule else None
        if row["verdict"] == Verdict.VIOLATED and again != Verdict.VIOLATED:
            if again == Verdict.UNKNOWN:
                spark = "cannot judge"
            else:
                spark = "does not find"
                unconfirmed.add(rule)
            reason = f"Spark {spark} the violation that DuckDB finds: {row['reason']}"
            row = {**row, "verdict": str(Verdict.UNKNOWN), "reason": reason}
        rows.append(row)
    return rows, [verdict for verdict in verdicts if verdict["rule"] not in unconfirmed]
