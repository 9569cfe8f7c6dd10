"""What happened in a run, in words: what was broken, and what each of that cost."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from harness.base.errors import NoData
from harness.base.words import listed, plural
from harness.report import outcome
from harness.report.formats import duration, partition_name, seconds
from harness.report.load import JudgedRun
from harness.report.parts import situations, stops
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.record_counts import RecordCounts, fate, records
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


def figures(run: JudgedRun) -> list[tuple[str, str]]:
    """What terminal and summary say of a run beside its verdicts, each with what it is about."""
    rebalanced = "not derived"
    if run.has("rebalances"):
        evicted = len(run.tables["evictions"])
        rebalanced = f"{len(run.tables['rebalances']):,}"
        rebalanced += f", {plural(evicted, 'eviction')}" if evicted else ""
    found = [
        ("rebalances", rebalanced),
        ("standstill", stops.sentence(run)),
        ("records", fate(records(run))),
        *(("cost", cost) for cost in costs(run)),
        ("others", outcome.others_in_words(outcome.others_in(run))),
        ("rules", outcome.left_out(run.manifest)[0]),
    ]
    return [(about, said) for about, said in found if said]


def _broken(run: JudgedRun) -> str:
    faults = [fault for fault in stories(run.history["faults"]) if fault.injected_at]
    if not run.has("faults"):
        return "Which faults were injected was not recorded."
    if not faults:
        return "Nothing was broken."
    named = [_fault(fault, run.manifest.steady_at) for fault in faults[:_MOST_FAULTS]]
    if more := len(faults) - len(named):
        named.append(f"{plural(more, 'more fault')}")
    return f"After steady state came {listed(named)}."


def _fault(fault: FaultStory, zero: datetime | None) -> str:
    lasted = ""
    if fault.injected_at and fault.healed_at:
        took = fault.healed_at - fault.injected_at
        lasted = f", for {duration(took.total_seconds() * 1_000)}"
    name = f"{fault.kind} of {fault.resolved or fault.target}"
    return f"{name} (at {seconds(fault.injected_at, zero)}{lasted})"


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
    lost, again = (f"{each:,}" if each else "none" for each in (count.lost, count.redelivered))
    fates = f"{lost} were {count.lost_is} and {again} were {count.again_is}"
    yield f"Of {count.acknowledged:,} acknowledged records {fates}."


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
    name = shown.situation
    what = _NAMES.get(name, name[:1].upper() + name[1:])
    whom = ""
    if name in _NAMES and shown.who not in ("", "group"):
        whom = f" ({shown.who})" if name == situations.COORDINATOR else f" of {shown.who}"
    at = f" at {seconds(shown.at, run.manifest.steady_at)}" if shown.at else ""
    parts = [_standstill(shown)]
    if shown.again is not None:
        count = plural(shown.again, "record") if shown.again else "no record"
        verb = "was" if shown.again < 2 else "were"
        parts.append(f"{count} {verb} {'fetched again' if run.fetched_only else 'redelivered'}")
    # Whether the process left in order, and came back, where that was to be judged.
    for sign in (LEFT, BACK):
        found = shown.signs.get(sign.rule)
        if found in (SignFound.VIOLATED, SignFound.FINE):
            parts.append(f"it {sign.fine if found is SignFound.FINE else sign.violated}")
    return f"{what}{whom}{at}: {'; '.join(parts)}."


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
