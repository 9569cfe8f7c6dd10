"""What each thing that was done to a program cost it, in words: a line for each, in order."""

from typing import Final

from harness.base.errors import NoData
from harness.base.words import plural
from harness.report.formats import duration, partition_name, seconds
from harness.report.load import Run
from harness.report.parts import situations
from harness.report.parts.situations import BACK, LEFT, Shown, SignFound

_NAMES: Final = {
    situations.CRASH: "Crash",
    situations.END: "Orderly end",
    situations.JOIN: "Start",
    situations.COORDINATOR: "Death of the coordinator",
    situations.LINK: "Dead link",
    situations.DEPLOY: "Deploy",
}


def costs(run: Run) -> list[str]:
    """A sentence for each fault of an app's run; none where it shows nothing."""
    if run.manifest.app is None or not run.manifest.complete:
        return []
    try:
        found = situations.shown(run)
    except NoData:
        return []
    return [_sentence(run, each) for each in found]


def _sentence(run: Run, shown: Shown) -> str:
    zero = run.manifest.steady_at
    what = _NAMES.get(shown.situation, shown.situation[:1].upper() + shown.situation[1:])
    at = f" at {seconds(shown.at, zero)}" if shown.at else ""
    parts = [_standstill(shown), _again(run, shown), *_signs(shown)]
    return f"{what}{_whom(shown)}{at}: {'; '.join(filter(None, parts))}."


def _whom(shown: Shown) -> str:
    if shown.situation not in _NAMES or shown.who in ("", "group"):
        return ""
    if shown.situation == situations.COORDINATOR:
        return f" ({shown.who})"
    return f" of {shown.who}"


def _standstill(shown: Shown) -> str:
    if shown.standstill_ms is None:
        return "how long partitions stopped is not on record"
    if not shown.standstill_ms:
        return "no partition stopped"
    where = partition_name(*shown.where) if shown.where else "a partition"
    lasted = duration(shown.standstill_ms)
    if shown.never_again:
        return f"{where} was stopped until the end of the run, {lasted} at least"
    return f"{where} stopped for {lasted}"


def _again(run: Run, shown: Shown) -> str:
    if shown.again is None:
        return ""
    verb = "was" if shown.again < 2 else "were"
    if run.fetched_only:
        return f"{_records(shown.again)} {verb} fetched again"
    return f"{_records(shown.again)} {verb} redelivered"


def _records(count: int) -> str:
    return plural(count, "record") if count else "no record"


def _signs(shown: Shown) -> list[str]:
    """Whether the process left in order, and came back, where that was to be judged."""
    words = {SignFound.VIOLATED: "violated", SignFound.FINE: "fine"}
    return [
        f"it {getattr(sign, words[standing])}"
        for sign in (LEFT, BACK)
        for standing in [shown.signs.get(sign.rule, SignFound.NOTHING)]
        if standing in words
    ]
