"""Rules of the experiment's owner: which are judged, which failed, and which have changed since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from harness.check.judge import FAILED, Outcome
from harness.experiment import APP
from harness.rules.lineage import judged_of_an_app
from harness.rules.own import USED
from harness.tables.source import Run

_CHANGED: Final = "the rule is not the one that the run was played with: it has changed since"


def about(run: Run) -> list[str]:
    """Ids of the own rules here that can be judged of a run, declared or not."""
    judged = judged_of_an_app() if run.client == APP else tuple(USED)
    return sorted(
        name
        for name, own in USED.items()
        if name in judged and own.rule.speaks_of(run.client, run.protocol)
    )


def failed(outcome: Outcome) -> dict[str, str]:
    """Why queries of own rules ended with an error, by the rules' ids."""
    return {
        name: reason.removeprefix(FAILED)
        for name, reason in outcome.unknown.items()
        if name in USED and reason.startswith(FAILED)
    }


def with_changes(run: Run, verdicts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts, and of those of own rules whether the run was played with other ones."""
    return [
        {**row, "reason": f"{row['reason']}; {_CHANGED}"} if _is_changed(run, row["rule"]) else row
        for row in verdicts
    ]


def _is_changed(run: Run, rule: str) -> bool:
    own = USED.get(rule)
    if own is None or not run.own:
        return False
    return any(run.own.get(path) != digest for path, digest in own.files.items())
