"""Which rules a run is judged by, and what those find that its experiment does not declare.

An experiment declares what it expects. Every other rule that speaks of the run's client and
protocol has to hold too: an unforeseen violation would be overlooked otherwise. One that finds
nothing to examine says nothing; one that cannot be judged is shown and changes no exit code,
because nothing says that this run had to show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.check import judge
from harness.check.rows import Row
from harness.experiment import APP, Verdict
from harness.rules import RULES, Need, Rule
from harness.rules.lineage import judged_of_an_app
from harness.tables.source import Run


def asked_of(run: Run) -> list[judge.Asked]:
    """What is asked of a run, and first of all each limit that was promised.

    A limit that finds nothing to examine is UNKNOWN: that nothing was seen keeps no promise.
    """
    asked = _asked_of(run)
    held = [rule.id for rule in RULES.values() if rule.holds_to(run.client, run.promised)]
    before = {each.rule: each for each in asked}
    limits = [replace(before.get(rule, judge.Asked(rule)), if_seen=False) for rule in held]
    return [*limits, *(each for each in asked if each.rule not in held)]


def _asked_of(run: Run) -> list[judge.Asked]:
    """The rules to judge in a run: those its experiment declares, and those of every run.

    A run without faults is not asked whether its faults took effect.
    """
    declared = [
        judge.Asked(
            each["rule"],
            str(each.get("verdict", Verdict.HOLDS.value)),
            each.get("because", ""),
            if_seen=bool(each.get("if_seen", False)),
        )
        for each in run.expected
    ]
    named = {each.rule for each in declared}
    others = [rule for rule in RULES.values() if rule.id not in named]
    faults = bool(run.settings["faults"])
    evidence = [
        judge.Asked(rule.id)
        for rule in others
        if rule.evidence and (faults or Need.FAULTS not in rule.needs)
    ]
    if run.client == APP:  # all that can be judged of it is declared
        judged = judged_of_an_app()
        asked = declared + evidence
        return [each for each in asked if each.rule in judged or judge.is_absent(each.rule)]
    always = [
        judge.Asked(rule.id, if_seen=True)
        for rule in others
        if rule.always and _may_be_asked(rule, run)
    ]
    return declared + always + evidence


def _may_be_asked(rule: Rule, run: Run) -> bool:
    """Whether a run may be judged by a rule that its experiment does not declare.

    Members that break a rule on purpose break others along with it, so their runs are judged by
    what brokers alone keep.
    """
    return (
        rule.speaks_of(run.client, run.protocol)
        and not rule.is_contradicted(run.client, run.protocol, static=run.static)
        and (rule.broker or not run.sabotaged)
        and rule.is_kept_by(run.releases)
    )


def others_of(run: Run) -> list[str]:
    """Ids of the rules that a run is judged by though its experiment does not declare them.

    None for a user's program, of which all rules that can be judged are declared, and none for a
    run that is not complete.
    """
    if run.client == APP or not run.complete:
        return []
    declared = {str(each["rule"]) for each in run.expected}
    return [
        rule.id
        for rule in RULES.values()
        if rule.id not in declared and _may_be_asked(rule, run) and not rule.evidence
    ]


def look_at(
    tables: judge.OfARun, named: Sequence[str], lacking: Mapping[str, str], outcome: judge.Outcome
) -> list[Row]:
    """The verdicts on the other rules; without those that find nothing to examine.

    Those that are `named` have been judged, and `lacking` is as in `judge.examine`. The rows behind
    a violation are added to `outcome`, since it becomes a verdict of the run.
    """
    names = [name for name in others_of(tables.run) if name not in named]
    found = judge.examine(tables, names, lacking)
    asked = [judge.Asked(name, if_seen=True) for name in names]
    verdicts = judge.verdicts_of(asked, found, tables)
    for verdict in verdicts:
        if verdict["verdict"] == Verdict.VIOLATED:
            outcome.rows[verdict["rule"]] = found.rows[verdict["rule"]]
    return verdicts
