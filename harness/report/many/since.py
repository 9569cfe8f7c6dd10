"""What a night shows that the night before did not: verdicts that are other ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import NoData
from harness.base.words import plural
from harness.experiment import label
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import Suite, is_suite, load_suite
from harness.report.load import Row
from harness.report.many.verdicts import rows_in
from harness.report.outcome import Standing, sign_of, standing, verdict_of

_NONE: Final = "not judged"


@dataclass(frozen=True)
class Change:
    """One rule of one run whose verdict is another than it was the night before."""

    label: str
    rule: str
    before: str
    now: str
    standing: str
    sign: str


@dataclass(frozen=True)
class Since:
    """What is different since a night: `night` is its name, null if there was none before."""

    night: str | None
    changes: tuple[Change, ...] = ()

    def sentence(self) -> str:
        """In one sentence."""
        if self.night is None:
            return "There is no night of the same set before this one to compare with."
        if not self.changes:
            return f"No verdict is another one than in {self.night}."
        return f"{plural(len(self.changes), 'verdict')} changed since {self.night}."


def since(suite: Suite, rows: Iterable[Row]) -> Since:
    """Compare a night's verdicts with those of the night before; only runs that both have begun."""
    found = night_before(suite)
    if found is None:
        return Since(None)
    before, rows_before = found
    was = _by_rule(rows_before)
    now = _by_rule(rows)
    both = {label for label, _ in was} & {label for label, _ in now}
    changes = [
        _change(key, was.get(key), now.get(key))
        for key in sorted({*was, *now})
        if key[0] in both and _verdict(was.get(key)) != _verdict(now.get(key))
    ]
    worst_first = {Standing.DIFFERS: 0, Standing.RESULT: 1, Standing.AS_EXPECTED: 2}
    changes.sort(key=lambda each: worst_first[Standing(each.standing)])
    return Since(before.name, tuple(changes))


def night_before(suite: Suite) -> tuple[Path, Sequence[Row]] | None:
    """The last night of the same set in the same folder that began before, and its verdicts.

    One that judged nothing, or whose verdicts are damaged, is passed over.
    """
    if suite.kind != "nightly":
        return None
    folders = sorted(
        path
        for path in suite.path.parent.iterdir()
        if path.name < suite.path.name and not path.is_symlink() and is_suite(path)
    )
    for folder in reversed(folders):
        try:
            found = load_suite(folder)
            judged = any(entry.judged for entry in found.entries)
            if found.kind == suite.kind and found.asked == suite.asked and judged:
                return folder, rows_in(folder / VERDICTS_FILE, "an earlier night is compared")
        except (NoData, OSError):
            continue
    return None


def _by_rule(rows: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """Verdicts by run and rule; a run that was played again is the same run."""
    return {
        (label(row["experiment"], row["client"], row["protocol"]), str(row["rule"])): row
        for row in rows
    }


def _verdict(row: Row | None) -> str:
    return _NONE if row is None else verdict_of(row)


def _change(key: tuple[str, str], was: Row | None, now: Row | None) -> Change:
    how = standing(now) if now is not None else Standing.AS_EXPECTED
    sign = sign_of(now) if now is not None else "–"
    return Change(*key, before=_verdict(was), now=_verdict(now), standing=how, sign=sign)
