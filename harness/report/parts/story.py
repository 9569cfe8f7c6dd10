"""What happened in a run, in words: what was broken, and what each of that cost."""

from collections.abc import Iterator
from typing import Final

from harness.base.errors import NoData
from harness.base.words import listed, plural
from harness.report.formats import duration, partition_name, seconds
from harness.report.load import JudgedRun
from harness.report.parts import situations, stops
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.record_counts import RecordCounts
from harness.report.parts.situations import BACK, LEFT, Shown, SignFound

_MOST_FAULTS = 3  # that are named one by one
_NAMES: Final = {
    situations.CRASH: "Crash",
    situations.END: "Orderly end",
    situations.JOIN: "Start",
    situations.COORDINATOR: "Death of the coordinator",
    situations.LINK: "Dead link",
    situations.DEPLOY: "Deploy",
}


def story(run: JudgedRun, count: RecordCounts) -> list[str]:
    """Sentences without numbers that were not recorded; none for a run that shows nothing."""
    if not run.manifest.complete:
        return []
    known = costs(run)  # which name each fault, so that it need not be named here
    return [*([] if known else [_broken(run)]), *_cost(run), *_records(count)]


def _broken(run: JudgedRun) -> str:
    zero = run.manifest.steady_at
    faults = [fault for fault in stories(run.history["faults"]) if fault.injected_at]
    if not run.has("faults"):
        return "Which faults were injected was not recorded."
    if not faults:
        return "Nothing was broken."
    named = [_fault(fault, seconds(fault.injected_at, zero)) for fault in faults[:_MOST_FAULTS]]
    more = len(faults) - len(named)
    if more:
        named.append(f"{plural(more, 'more fault')}")
    return f"After steady state came {listed(named)}."


def _fault(fault: FaultStory, at: str) -> str:
    text = f"{fault.kind} of {fault.resolved or fault.target} (at {at}"
    if fault.injected_at and fault.healed_at:
        lasted = (fault.healed_at - fault.injected_at).total_seconds() * 1_000
        text += f", for {duration(lasted)}"
    return f"{text})"


def _cost(run: JudgedRun) -> Iterator[str]:
    if run.has("rebalances", "evictions"):
        rebalances, evictions = len(run.tables["rebalances"]), len(run.tables["evictions"])
        evicted = f" and evicted {plural(evictions, 'member')}" if evictions else ""
        yield f"The group went through {plural(rebalances, 'rebalance')}{evicted}."
    if run.has("stops"):
        longest = stops.longest(run)
        if longest is None:
            yield "No partition stopped."
        else:
            where = partition_name(longest["topic"], longest["partition"])
            yield (
                f"{where} stopped for longest, {duration(longest['ms'])}: {stops.said(longest)}."
            )


def _records(count: RecordCounts) -> Iterator[str]:
    if count.acknowledged is None or count.lost is None or count.redelivered is None:
        return
    lost = f"{count.lost:,}" if count.lost else "none"
    again = f"{count.redelivered:,}" if count.redelivered else "none"
    if count.fetched_only:
        lost, again = f"{lost} were never fetched", f"{again} were fetched again"
    else:
        lost, again = f"{lost} were lost", f"{again} were redelivered"
    yield f"Of {count.acknowledged:,} acknowledged records {lost} and {again}."


def costs(run: JudgedRun) -> list[str]:
    """A sentence for each fault of an app's run; none where it shows nothing."""
    if run.manifest.app is None or not run.manifest.complete:
        return []
    try:
        found = situations.shown(run)
    except NoData:
        return []
    return [_sentence(run, each) for each in found]


def _sentence(run: JudgedRun, shown: Shown) -> str:
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


def _again(run: JudgedRun, shown: Shown) -> str:
    if shown.again is None:
        return ""
    verb = "was" if shown.again < 2 else "were"
    if run.fetched_only:
        return f"{_count_of(shown.again)} {verb} fetched again"
    return f"{_count_of(shown.again)} {verb} redelivered"


def _count_of(count: int) -> str:
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
