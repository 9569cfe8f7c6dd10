"""Every kept run, and what each rule makes of it as far as the tests of kept runs pin it."""

from __future__ import annotations

from collections.abc import Container, Mapping

from harness.check import judge, others
from harness.tables.base import Tables
from harness.tables.source import Sources, load, read_run
from tests.in_memory import tables_of_run
from tests.recorded.keep import RUNS
from tests.recorded.test_recorded_runs import as_row, as_verdict
from tests.remembering import Remembering


class Records:
    """The kept runs, judged once by every rule that their tests judge them by.

    The same is pinned by tests/recorded: each row of the rules that a run is asked for, and of the
    others the verdict and the number of rows. Here one rule is judged without the rest, which takes
    a hundredth of the time of such a test.
    """

    def __init__(self) -> None:
        self._engine = Remembering()
        self._runs: dict[str, tuple[Sources, Tables]] = {}
        self._seen: dict[str, dict[str, str]] = {}  # run -> rule -> what is pinned

    def look(self) -> None:
        """Judge every run by every rule."""
        for folder in sorted(RUNS.iterdir()):
            sources = load(folder, self._engine)
            tables = tables_of_run(self._engine, read_run(folder), sources)
            self._runs[folder.name] = (sources, tables)
            self._seen[folder.name] = _judged(tables, None)

    def first_to_notice(
        self, rules: set[str], noticed: Mapping[str, int], *, anew: bool
    ) -> str | None:
        """The test that would fail, of those that have noticed most first.

        With `anew` tables are derived again, because a change may have reached them.
        """
        concerned = [run for run, seen in self._seen.items() if rules & seen.keys()]
        for run in sorted(concerned, key=lambda run: -noticed.get(_named(run), 0)):
            sources, tables = self._runs[run]
            if anew:
                tables = tables_of_run(self._engine, tables.run, sources)
            now = _judged(tables, rules)
            if any(now.get(rule) != self._seen[run].get(rule) for rule in rules):
                return _named(run)
        return None


def _judged(tables: Tables, rules: set[str] | None) -> dict[str, str]:
    """By each rule that the run is judged by, or those of `rules` that are among them."""
    pinned = {each.rule: each for each in judge.asked_of(tables)}
    asked = [*pinned.values(), *(_as_other(rule) for rule in others.others_of(tables.run))]
    asked = [each for each in asked if rules is None or each.rule in rules]
    outcome = judge.examine(tables, [each.rule for each in asked])
    return {each.rule: _shown(each, outcome, tables, pinned) for each in asked}


def _named(run: str) -> str:
    return f"tests/recorded[{run}]"


def _as_other(rule: str) -> judge.Asked:
    return judge.Asked(rule, if_seen=True)


def _shown(
    asked: judge.Asked, outcome: judge.Outcome, tables: Tables, pinned: Container[str]
) -> str:
    if judge.said_nothing(asked, outcome):
        return ""
    lines = [as_verdict(judge.verdict_of(asked, outcome, tables))]
    if asked.rule in pinned:
        rows = outcome.rows.get(asked.rule, ())
        lines += [as_row({"rule": asked.rule, **row}) for row in rows]
    return "\n".join(lines)
