"""What a run showed beside its verdicts, in words and numbers, and what each fault cost."""

from typing import Final

from harness.base.errors import NoData
from harness.base.words import listed, plural
from harness.report import outcome
from harness.report.formats import duration, partition_name, seconds
from harness.report.load import JudgedRun
from harness.report.parts import situations, stops
from harness.report.parts.faults import span
from harness.report.parts.record_counts import fate, records
from harness.report.parts.situations import BACK, LEFT, Shown, SignFound

_NAMES: Final = {
    situations.CRASH: "Crash",
    situations.END: "Orderly end",
    situations.JOIN: "Start",
    situations.COORDINATOR: "Death of the coordinator",
    situations.LINK: "Dead link",
    situations.DEPLOY: "Deploy",
}


def figures(run: JudgedRun) -> list[tuple[str, str]]:
    """What terminal and summary say of a run beside its verdicts, each with what it is about."""
    found = [
        ("rebalances", ", ".join(filter(None, rebalanced(run)))),
        ("standstill", stops.sentence(run)),
        ("records", fate(records(run))),
        *(("cost", cost) for cost in costs(run)),
        ("others", outcome.others_in_words(outcome.others_in(run))),
        ("rules", outcome.left_out(run.manifest)[0]),
    ]
    return [(about, said) for about, said in found if said]


def rebalanced(run: JudgedRun) -> tuple[str, str, str]:
    """How many rebalances and evictions there were from the first fault on, and, in small print,
    how many rebalances before and at the end.
    """
    if not run.has("rebalances"):
        return "not derived", "", ""
    from_at, to_at = span(run)
    began = [row["started_at"] for row in run.tables["rebalances"] if row["started_at"]]
    before, at_the_end = sum(at < from_at for at in began), sum(at >= to_at for at in began)
    evictions = [row["evicted_at"] for row in run.tables["evictions"] if row["evicted_at"]]
    evicted = sum(from_at <= at < to_at for at in evictions)
    apart = [(before, "before the first fault"), (at_the_end, "at the end")]
    said = [f"{count:,} {when}" for count, when in apart if count]
    return (
        f"{len(run.tables['rebalances']) - before - at_the_end:,}",
        plural(evicted, "eviction") if evicted else "",
        f"not counted: {listed(said)}" if said else "",
    )


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
