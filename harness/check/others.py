"""Rules that an experiment does not declare: which of them a run may exercise, and what they find.

An experiment declares what it expects. Every other rule that speaks of the run's client and
protocol has to hold too: an unforeseen violation would be overlooked otherwise. One that finds
nothing to examine says nothing; one that cannot be judged is shown and changes no exit code,
because nothing says that this run had to show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.check import judge
from harness.check.rows import Row
from harness.experiment import APP, Verdict
from harness.rules import RULES
from harness.tables.source import Run


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
        if rule.id not in declared and judge.may_be_asked(rule, run) and not rule.evidence
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
