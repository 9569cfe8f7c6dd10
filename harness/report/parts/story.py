"""What happened in a run, in a few sentences: what was broken, and what that cost."""

from collections.abc import Iterator

from harness.base.words import listed, plural
from harness.report.formats import duration, partition_name, seconds
from harness.report.load import Run
from harness.report.parts import stops
from harness.report.parts.costs import costs
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.record_counts import RecordCounts

_MOST_FAULTS = 3  # that are named one by one


def story(run: Run, count: RecordCounts) -> list[str]:
    """Sentences without numbers that were not recorded; none for a run that shows nothing."""
    if not run.manifest.complete:
        return []
    known = costs(run)  # which name each fault, so that it need not be named here
    return [*([] if known else [_broken(run)]), *_cost(run), *_records(count)]


def _broken(run: Run) -> str:
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


def _cost(run: Run) -> Iterator[str]:
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
