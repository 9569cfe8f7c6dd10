"""Which rows are withheld because of this machine, and why: functions over rows alone.

Nothing is read here and nothing changed, so it is all the same who calls it, and where.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final, NamedTuple, cast

from harness.check.rows import Row
from harness.history.derived import CLOCK_SET, KEPT, STOOD_STILL, UNWATCHED
from harness.rules import RULES, Rule
from harness.rules.rule import Party

# By what `late_ticks` says.
_TIMELESS: Final = {"late": STOOD_STILL, "set": CLOCK_SET, "unseen": UNWATCHED}

# How far from the moment of an accusation this machine may have stood still for it to count:
# twice the longest that a rule lets one process be behind another.
_NEAR: Final = timedelta(seconds=1)

# Parties of which a row may name the one that it is about, and such names.
_NARROWED: Final = (Party.MEMBER, Party.BROKER)
_NAMED: Final = re.compile(r"\b(?:member|broker)-\d+\b")

Rows = Mapping[str, Sequence[Row]]  # by rule


class Withheld(NamedTuple):
    """A row that cannot be judged: what it is withheld for, and why in a clause of its own."""

    row: Row
    what: str
    why: str


@dataclass(frozen=True)
class Timed:
    """A row of a rule that says something of times: between when this machine had to keep time.

    `of_a_ms` is what a millisecond is in the row's own unit, if that is a time. An `accusation` has
    no guard of its own.
    """

    row: Row
    rule: Rule
    of_a_ms: float | None
    begin: datetime
    end: datetime | None
    accusation: bool = False

    def doubt(self, ms: float) -> float | None:
        """What a delay of `ms` is in the row's unit, if that is a time.

        It is in a mean of several timings only once.
        """
        return self.of_a_ms and ms * self.of_a_ms / (self.row["timings"] or 1)

    def passes(self, process: str) -> bool:
        """Whether a process is on the way of what was timed, and so can have delayed it."""
        kind = process.partition("-")[0]
        party = next((each for each in self.rule.delayed_by if each.kind == kind), None)
        if party not in _NARROWED:
            return party is not None
        texts = (self.row[each] for each in ("subject", "evidence", "on_the_way"))
        named = _NAMED.findall(" ".join(filter(None, texts)))
        return process in named or not any(each.startswith(f"{kind}-") for each in named)


def timed(rows: Rows, heartbeat_ms: float) -> list[Timed]:
    """Rows with a guard, and accusations that compare clocks, guarded by `_NEAR` on both sides."""
    one_ms = {"ms": 1.0}
    if heartbeat_ms:
        one_ms["intervals"] = 1 / heartbeat_ms
    found: list[Timed] = []
    for name, each in rows.items():
        rule = RULES[name]
        of_a_ms = one_ms.get(rule.unit)
        for row in each:
            if row["guard_from"]:
                found.append(Timed(row, rule, of_a_ms, row["guard_from"], row["guard_to"]))
            elif row["ok"] is False and row["at"] and rule.compares_clocks:
                near = (row["at"] - _NEAR, row["at"] + _NEAR)
                found.append(Timed(row, rule, of_a_ms, *near, accusation=True))
    return found


def accusations(rows: Rows) -> list[Row]:
    """Rows that violate a statement, but for those about this machine and about the record."""
    return [
        row
        for name, each in rows.items()
        if not (RULES[name].clock or RULES[name].of_record)
        for row in each
        if row["ok"] is False
    ]


def by_stalls(timings: Sequence[Timed], late_ticks: Sequence[Row]) -> Iterator[Withheld]:
    """Timings in whose guard this machine stood still.

    Neither a pass nor a violation may come from a timing that the machine itself spoilt. One that
    would be the same however much of the standing still is in it is kept. Where the time of day was
    set, all that is counted across that moment is wrong, however long ago it began.
    """
    still = Spans((each for each in late_ticks if each["what"] != "set"), "to_at")
    clock_set = [each for each in late_ticks if each["what"] == "set"]
    set_at = Spans(clock_set, "to_at")
    for each in timings:
        if each.row["ok"] is None or each.end is None:
            continue
        near = still.touching(each.begin, each.end)
        near += set_at.touching(_counted_from(each), each.end) if clock_set else []
        doubt = each.doubt(math.fsum(stall["late_ms"] for stall in near))
        if near and (doubt is None or not _beyond_doubt(each.row, doubt)):
            worst = max(near, key=lambda stall: (float(stall["late_ms"]), stall["what"]))
            what = _TIMELESS[worst["what"]]
            how = "by" if worst["what"] == "set" else "for"
            yield Withheld(each.row, what, f"{what} {how} {worst['late_ms']:,.0f} ms")


def _counted_from(timing: Timed) -> datetime:
    """When what was measured began, if that is a time, or else the guard."""
    if not timing.of_a_ms or timing.row["measured"] is None:
        return timing.begin
    lasted = timedelta(milliseconds=timing.row["measured"] / timing.of_a_ms)
    return min(timing.begin, cast("datetime", timing.end) - lasted)


def by_the_time_of_day(accused: Sequence[Row], late_ticks: Sequence[Row]) -> Iterator[Withheld]:
    """All accusations, where the time of day was set by more than `_NEAR`.

    What happened in which order is not known then.
    """
    set_by_ms = max((each["late_ms"] for each in late_ticks if each["what"] == "set"), default=0.0)
    if set_by_ms > _NEAR / timedelta(milliseconds=1):
        why = f"{CLOCK_SET} by {set_by_ms:,.0f} ms during the run"
        yield from (Withheld(row, CLOCK_SET, why) for row in accused)


def doubtful(timings: Sequence[Timed]) -> list[Timed]:
    """Accusations that a wait for a processor may have brought about.

    They are of timings outside their bounds; and of what was seen in a guard that has no unit of
    time, if the rule says who has to keep up for it to be seen right. What violates its statement
    whatever was measured is no matter of time.
    """
    return [
        each
        for each in timings
        if each.row["ok"] is False and each.end is not None
        if (not each.row["wrong"] if each.of_a_ms else each.rule.delayed_by and not each.accusation)
    ]


def by_waits(
    timings: Sequence[Timed], waits: Sequence[Row], *, unrecorded: Set[str]
) -> Iterator[Withheld]:
    """What is outside its bounds by no more than those on its way waited for a processor.

    One process may wait for another that waits, so what all of them waited adds up. What is within
    its bounds stays: waiting cannot have helped it. What has no unit of time is withheld where they
    waited for half of its guard. `unrecorded` are parties without a record of their waits: where
    one of these is on the way, all waits of this machine count instead.

    Law: a delay by this machine excuses a timing only if it befell a process on its way, and by no
    more than its share in what was measured.
    """
    spans = Spans(waits, "at")
    for each in doubtful(timings):
        anybody = any(party.kind in unrecorded for party in each.rule.delayed_by)
        near = [
            wait
            for wait in spans.touching(each.begin, cast("datetime", each.end))
            if anybody or each.passes(wait["process"])
        ]
        if near and _explain(near, each):
            worst = max(near, key=lambda wait: (_waited_ms(wait), wait["process"]))
            waited = f"waiting for a processor for {_waited_ms(worst):,.0f} ms"
            what = f"{KEPT} processes waiting for a processor"
            yield Withheld(each.row, what, f"{KEPT} {worst['process']} {waited}")


def _explain(waits: Sequence[Row], timing: Timed) -> bool:
    """Whether these waits can be why a row is outside its bounds."""
    ms = math.fsum(map(_waited_ms, waits))  # the same in any order
    doubt = timing.doubt(ms)
    if doubt is None:
        guarded = cast("datetime", timing.end) - timing.begin
        return 2 * ms >= guarded / timedelta(milliseconds=1)
    return not _beyond_doubt(timing.row, doubt)


def pressure(waits: Sequence[Row], lasted_ms: float, shares: Mapping[str, float]) -> str:
    """How busy this machine was during a run of `lasted_ms`, in a clause; "" if it is unknown.

    `shares` of the time are the kernel's own: when some thread waited for a processor, and when all
    did.
    """
    said = []
    if waits:
        longest = max(waits, key=lambda wait: (_waited_ms(wait), wait["process"]))
        ms: defaultdict[str, float] = defaultdict(float)
        for wait in waits:
            ms[wait["process"]] += _waited_ms(wait)
        most = max(ms, key=lambda process: (ms[process], process))
        other = "" if most == longest["process"] else f"{most} "
        said.append(
            f"{longest['process']} waited for a processor for {_waited_ms(longest):,.0f} of "
            f"{_looked_ms(longest):,.0f} ms, and {other}for {ms[most] / max(lasted_ms, 1):.0%} of "
            "the run"
        )
    if "some" in shares:
        alone = f"somebody waited for one for {shares['some']:.0%} of the time"
        said.append(f"by the kernel's count {alone}, and all for {shares.get('full', 0.0):.0%}")
    return "; ".join(said)


def _looked_ms(wait: Row) -> float:
    return float((wait["at"] - wait["from_at"]) / timedelta(milliseconds=1))


def _waited_ms(wait: Row) -> float:
    """How long a process waited; no longer than it was looked at, which older runs do not heed."""
    return float(min(wait["waited_ms"], _looked_ms(wait)))


def _beyond_doubt(row: Row, doubt: float) -> bool:
    """Whether a timing is within its bounds, or outside, by more than `doubt`, in its own unit."""
    if row["measured"] is None or (row["bound_low"] is None and row["bound_high"] is None):
        return False
    low = -math.inf if row["bound_low"] is None else row["bound_low"]
    high = math.inf if row["bound_high"] is None else row["bound_high"]
    if row["ok"]:
        return bool(low + doubt <= row["measured"] <= high - doubt)
    return not low - doubt <= row["measured"] <= high + doubt


class Spans:
    """Rows from `from_at` to the moment in the column `end`, both of which belong to them.

    In order of their beginnings, all that begin too late are behind one place. The latest end so
    far only grows, so all before another place end too early. A search halves what is left, and
    only what lies between the two places is looked at.
    """

    def __init__(self, rows: Iterable[Row], end: str) -> None:
        self._rows = sorted(rows, key=lambda row: cast("datetime", row["from_at"]))
        self._begins: list[datetime] = [row["from_at"] for row in self._rows]
        self._latest: list[datetime] = list(accumulate((row[end] for row in self._rows), max))
        self._end = end

    def touching(self, begin: datetime, end: datetime) -> list[Row]:
        """Rows that have a moment in common with the time from `begin` to `end`."""
        first = bisect_left(self._latest, begin)
        behind = bisect_right(self._begins, end)
        return [row for row in self._rows[first:behind] if row[self._end] >= begin]
