"""What a night shows that the night before did not: verdicts that are other ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from harness.base.errors import NoData
from harness.base.words import plural
from harness.experiment import label
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import Suite, is_suite, load_suite
from harness.report.load import Row
from harness.report.many import blocks
from harness.report.many.verdicts import rows_in
from harness.report.outcome import Standing, sign_of, standing, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

_ORDER: Final = (Standing.DIFFERS, Standing.RESULT, Standing.AS_EXPECTED)


def since(suite: Suite, rows: Iterable[Row]) -> tuple[str, list[blocks.Row]]:
    """What changed since the night before, in a sentence, and a row for each: run, rule, verdict
    before and now, the worst first. Only runs that both have begun are compared.
    """
    found = night_before(suite)
    if found is None:
        return "There is no night of the same set before this one to compare with.", []
    night, rows_before = found
    was, now = _by_rule(rows_before), _by_rule(rows)
    both = {label for label, _ in was} & {label for label, _ in now}
    keys = [key for key in sorted({*was, *now}) if key[0] in both]
    changes = [
        _change(key, was.get(key), now.get(key))
        for key in keys
        if _verdict(was.get(key)) != _verdict(now.get(key))
    ]
    changes.sort(key=lambda each: _ORDER.index(Standing(each.tone)))
    if not changes:
        return f"No verdict is another one than in {night.name}.", []
    return f"{plural(len(changes), 'verdict')} changed since {night.name}.", changes


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
    return "not judged" if row is None else verdict_of(row)


def _change(key: tuple[str, str], was: Row | None, now: Row | None) -> blocks.Row:
    how = Standing.AS_EXPECTED if now is None else standing(now)
    sign = "–" if now is None else sign_of(now)
    return blocks.Row((*key, _verdict(was), blocks.Line(_verdict(now), how, sign=sign)), how)
