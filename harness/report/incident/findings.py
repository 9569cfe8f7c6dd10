"""Which reason drives a group's rebalances, storms first, and whom it is about."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeVar

from harness.base import words
from harness.base.words import plural
from harness.history.foreign.client_processes import IN, UNNAMED
from harness.report.formats import clip, duration
from harness.report.incident.causes import CAUSES, PROGRAMS, Cause, Program
from harness.report.incident.logged import Burst, Incident, LoggedGroup, LoggedRebalance, Removal
from harness.report.incident.names import Names

_Row = TypeVar("_Row", LoggedRebalance, Removal)
STORM_LEAST: Final = 6  # rebalances
STORM_S: Final = 600  # within so many seconds
# A session lasts so long, by default, with what it takes a member to notice the move.
_SESSIONS_S: Final = (6, 60)
SORTS: Final = ("fault", "change", "follows")  # of causes, the worst first
SLOW_MS: Final = 30_000
_SECOND: Final = 1_000_000
_MOST_NAMES: Final = 3
# A name ends in what sets one instance apart: numbers, and the letters of pods' names.
_INSTANCE: Final = re.compile(r"(?:[-_.](?:[a-z]*\d\w*|[^\Waeiou_]{5,}))+(?= at |$)")
_NO_MEMBER: Final = re.compile(r" \((?:named: |noticed by )no member\)")
_AT_ONCE: Final = 4  # sessions that end on one broker within a second
_GONE: Final = ("closed", "left", "unsubscribed", "static_away")


@dataclass(frozen=True)
class Storm:
    """Many rebalances of one group in a short time."""

    from_at: int
    to_at: int
    rebalances: tuple[LoggedRebalance, ...]


@dataclass(frozen=True)
class Driver:
    """One reason in one stretch of time, whom it is about and how often."""

    cause: Cause
    count: int
    who: tuple[tuple[str, int], ...]  # names and how often, the most frequent first
    sentence: str
    back: str = ""  # what it costs, or that they came back
    program: Program | None = None  # what they are

    @property
    def next(self) -> tuple[str, ...]:
        return (*(self.program.next if self.program else ()), *self.cause.next)


@dataclass(frozen=True)
class Explained:
    """A group with its storms, each with what drives it, and what else there is."""

    group: LoggedGroup
    storms: tuple[tuple[Storm, tuple[Driver, ...]], ...]
    findings: tuple[Driver, ...]  # of the whole time
    program: Program | None = None  # what its members are


def explained(incident: Incident, names: Names, last_at: int) -> list[Explained]:
    found = []
    _find_bursts(incident.groups)
    for group in incident.groups:
        program = _program(group, names)
        driven = []
        for storm in storms_of(group):
            time = storm.from_at, storm.to_at
            findings = findings_in(group, names, storm.rebalances, time, program)
            driven.append((storm, _first_of(program, list(findings))))
        time = group.first_at, group.last_at
        whole = list(findings_in(group, names, group.rebalances, time, program))
        whole += _standing(group, last_at)
        whole.sort(key=_weight)
        found.append(Explained(group, tuple(driven), _first_of(program, whole), program))
    return found


def _program(group: LoggedGroup, names: Names) -> Program | None:
    """What the members are, if all are the same and it is known."""
    ids = group.members.union(*(one.named for one in group.rebalances))
    clients = [client for each in ids if (client := names.client_id(each))]
    if any(one.cause == "connect" for one in group.rebalances):
        return PROGRAMS[0]
    return next(
        (
            program
            for program in PROGRAMS
            if clients and all(re.fullmatch(program.client_ids, each) for each in clients)
        ),
        None,
    )


def _first_of(program: Program | None, findings: Sequence[Driver]) -> tuple[Driver, ...]:
    """The first one says what to look at in such a program too."""
    return (*(replace(each, program=program) for each in findings[:1]), *findings[1:])


def _find_bursts(groups: Iterable[LoggedGroup]) -> None:
    """Give each removal its burst: sessions that ended at once on one broker."""
    rows = [row for group in groups for row in group.removals if row.cause == "session_expired"]
    for broker in {row.coordinator for row in rows if row.coordinator is not None}:
        ours = sorted((row for row in rows if row.coordinator == broker), key=lambda row: row.at)
        for run in _dense(ours, _AT_ONCE, _SECOND):
            whose = len({row.group for row in run})
            burst = Burst(broker, run[0].at, run[-1].at, len(run), whose)
            for row in run:
                row.burst = burst


def _dense(rows: Sequence[_Row], least: int, within_us: int) -> list[Sequence[_Row]]:
    """Stretches of rows, ordered by time, in which so many lie so close."""
    runs: list[list[int]] = []  # where each begins and ends
    for first in range(len(rows) - least + 1):
        if rows[first + least - 1].at - rows[first].at > within_us:
            continue
        end = runs[-1][1] if runs else -1
        if first < end or (first == end and rows[first].at - rows[end - 1].at <= within_us):
            runs[-1][1] = first + least
        else:
            runs.append([first, first + least])
    return [rows[first:end] for first, end in runs]


def storms_of(group: LoggedGroup) -> list[Storm]:
    """The storms of a group, and in each of their rebalances its number."""
    found = []
    rows = sorted(group.rebalances, key=lambda each: each.at)
    for number, run in enumerate(_dense(rows, STORM_LEAST, STORM_S * _SECOND), start=1):
        for row in run:
            row.storm = number
        found.append(Storm(run[0].at, max(each.ended_at or each.at for each in run), tuple(run)))
    return found


def findings_in(
    group: LoggedGroup,
    names: Names,
    rebalances: Sequence[LoggedRebalance],
    span: tuple[int, int],
    program: Program | None = None,
) -> Iterator[Driver]:
    """What drives these rebalances, the likeliest first."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    said: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def note(cause: str, who: str, why: str | None) -> None:
        counts[cause][who] += 1
        if why:
            said[cause][why] += 1

    def within(at: int) -> bool:
        # What a departure causes is logged after it, within moments.
        return span[0] - _SECOND <= at <= span[1] + _SECOND

    removals, leaves, others = (
        [row for row in rows if within(row.at)]
        for rows in (group.removals, group.leaves, group.others)
    )
    joins = [(member, at) for member, at in group.joins if within(at)]
    successors = _not_closed(removals, leaves, joins)
    lost = _not_found(removals, group.moves)
    for row in (*removals, *leaves, *others):
        cause, who = row.cause, names.of(row.member_id, row.instance_id)
        if cause == "session_expired" and lost:
            cause = "not_found"
        elif cause == "session_expired" and row.burst is not None:
            cause, who = "many_at_once", _burst(row.burst)
        elif cause == "session_expired" and row.unsynced:
            cause = "never_synced"
        elif cause == "session_expired" and row.member_id in successors:
            cause = "not_closed"
        note(cause, who, row.said)
    for member, _ in joins:
        note("joined", names.of(member), None)
    seen = {row.cause for row in (*removals, *leaves, *others)} | {"joined"} & counts.keys()
    for one in rebalances:
        cause = one.cause
        begun = one.reason is not None or cause != "unknown"  # else these logs begin after it
        if cause not in seen and begun:
            if cause == "rejoined" and program is not None:
                cause = program.again or cause
            who = names.of(one.named[0]) if one.named else "no member"
            note(cause, who, one.reason if cause == "unknown" else one.client_reason)
    for at, left, after in group.moves:
        if within(at):
            note("coordinator_moved", f"{names.broker(left, at)} to {after}", None)
    gone_at = [row.at for row in leaves if row.cause in _GONE]
    at_once = _at_once([*removals, *leaves], joins, names)
    _as_a_deploy(counts, gone_at, max((at for _, at in joins), default=0), at_once)
    _as_two_programs(counts, len(removals) + len(leaves) + len(joins))
    found = [_finding(CAUSES[cause], who, said.get(cause)) for cause, who in counts.items()]
    found.sort(key=_weight)
    gone: dict[str, list[int]] = {}
    for row in sorted((*removals, *leaves), key=lambda row: row.at):
        gone.setdefault(names.of(row.member_id, row.instance_id), []).append(row.at)
    back: dict[str, list[int]] = {}  # how long after it had gone
    for member, joined_at in joins:
        left_at = gone.get(name := names.of(member), [])
        if before := bisect_left(left_at, joined_at):
            back.setdefault(name, []).append(joined_at - left_at[before - 1])
    for place, finding in enumerate(found):
        yield _with_costs(finding, counts, back, len(rebalances)) if place == 0 else finding


def _at_once(
    gone: Sequence[Removal], joins: Sequence[tuple[str, int]], names: Names
) -> tuple[Counter[str], int]:
    """The most members at one time, of each name and in all: processes may share a client.id."""
    came = {member for member, _ in joins}
    left = [(row, names.of(row.member_id, row.instance_id)) for row in gone]
    now = Counter(name for row, name in left if row.member_id not in came)
    most, in_all = now.copy(), now.total()
    changes = [(row.at, -1, name) for row, name in left]
    changes += [(at, 1, names.of(member)) for member, at in joins]
    count = in_all
    for _, change, name in sorted(changes):
        now[name] += change
        count += change
        most[name] = max(most[name], now[name])
        in_all = max(in_all, count)
    return most, in_all


def _as_a_deploy(
    counts: dict[str, Counter[str]],
    left_at: list[int],
    last_join_at: int,
    at_once: tuple[Counter[str], int],
) -> None:
    """Members that left in order, each once or twice, and others that came after, are a deploy.

    So are several such rounds, a while apart. More of them only come and go.
    """
    most, in_all = at_once
    gone = sum((counts[cause] for cause in _GONE if cause in counts), Counter[str]())
    before = sum(at < last_join_at for at in left_at)
    if before < 2 or any(count > 2 * max(1, most[name]) for name, count in gone.items()):
        return
    left_at = sorted(left_at)
    pauses = enumerate(pairwise(left_at), start=1)
    ends = [place for place, (one, other) in pauses if other - one > STORM_S * _SECOND]
    rounds = [end - begin for begin, end in pairwise([0, *ends, len(left_at)])]
    in_order = all(2 <= size <= 2 * in_all for size in rounds)
    for cause in (*_GONE, "joined"):
        counts.pop(cause, None)
    counts["deploy" if in_order or len(left_at) <= 2 * in_all else "come_and_go"] = gone


def _not_closed(
    removals: Sequence[Removal], leaves: Sequence[Removal], joins: Sequence[tuple[str, int]]
) -> set[str]:
    """Members whose sessions expired after another had come in their place, if most were."""
    gone = {row.member_id: row.at for row in (*removals, *leaves)}
    came = dict(joins)
    expired = [row for row in removals if row.cause == "session_expired"]
    old = {row.member_id for row in expired}
    new = sorted((at, member) for member, at in joins if member not in old)
    found = set()
    for row in sorted(expired, key=lambda row: row.at):
        after = max(row.at - STORM_S * _SECOND, came.get(row.member_id, 0))
        for place in range(bisect_right(new, (after, "\uffff")), bisect_left(new, (row.at, ""))):
            if row.at < gone.get(new[place][1], row.at + 1):
                del new[place]
                found.add(row.member_id)
                break
    return found if len(found) > 1 and len(found) * 2 > len(expired) else set()


def _not_found(removals: Sequence[Removal], moves: Sequence[tuple[int, int, int]]) -> bool:
    """Whether all sessions that expired did so a session after the group had moved."""
    expired = [row for row in removals if row.cause == "session_expired"]
    return bool(expired) and all(
        any(
            row.coordinator == broker
            and _SESSIONS_S[0] * _SECOND <= row.at - at <= _SESSIONS_S[1] * _SECOND
            for at, _, broker in moves
        )
        for row in expired
    )


def _as_two_programs(counts: dict[str, Counter[str]], changes: int) -> None:
    """Members of two names that join again by turns, while hardly anybody comes or goes."""
    again = counts.get("rejoined", Counter()) + counts.get("subscription", Counter())
    programs: Counter[str] = Counter()
    for name, count in again.items():
        programs[_INSTANCE.sub("", name.partition(IN)[0])] += count
    if len(programs) > 1 and min(programs.values()) > 1 and again.total() > 2 * changes:
        counts.pop("rejoined", None)
        counts.pop("subscription", None)
        counts["two_programs"] = again


def _burst(burst: Burst) -> str:
    return (
        f"broker {burst.broker} put out {plural(burst.members, 'member')} of "
        f"{plural(burst.groups, 'group')} within {duration((burst.to_at - burst.from_at) / 1e3)}"
    )


def _finding(cause: Cause, who: Counter[str], said: Counter[str] | None = None) -> Driver:
    count = who.total()
    ordered = tuple(sorted(who.items(), key=lambda each: (-each[1], each[0])))
    names = [name for name, _ in ordered]
    sentence = _sentence(
        cause, listed(_together(names)), count, "it" if len(names) == 1 else "they", said
    )
    return Driver(cause, count, ordered, sentence)


def _together(names: Sequence[str]) -> list[str]:
    """The same names, and instead of processes that share one how many they are."""
    sharing = Counter(name.partition(IN)[0] for name in names if IN in name)
    shown = []
    for name in names:
        whole = name.partition(IN)[0]
        if (many := sharing[whole]) < 2:
            shown.append(name)
        elif whole == UNNAMED:
            shown.append(f"{many} clients")
        else:
            shown.append(f"{many} processes that share the client.id {whole}")
    return list(dict.fromkeys(shown))


def _sentence(
    cause: Cause, who: str, count: int, it: str = "it", said: Counter[str] | None = None
) -> str:
    """What happened; a name keeps its small letter."""
    why = f": “{clip(said.most_common(1)[0][0], 200)}”" if said else ", and did not say why"
    be, was, its = ("is", "was", "its") if it == "it" else ("are", "were", "their")
    parts = {"who": who, "times": times(count), "it": it, "be": be, "was": was, "its": its}
    text = cause.sentence.format(**parts, why=why)
    text = _NO_MEMBER.sub("", text) + "."
    return text if cause.sentence.startswith("{who}") else text[:1].upper() + text[1:]


def _with_costs(
    finding: Driver, counts: dict[str, Counter[str]], joined: dict[str, list[int]], rebalances: int
) -> Driver:
    """The first finding says what follows from it; `joined` are joins after a departure."""
    parts = []
    back = sorted(after for name, _ in finding.who for after in joined.get(name, ()))
    if finding.cause.sort == "fault" and back:
        who = "it" if len(finding.who) == 1 else "they"
        after = duration(back[len(back) // 2] / 1e3)
        parts.append(f"{who} joined again {times(len(back))}, {after} later (median)")
    second = counts.get("cooperative", Counter()).total()
    if second and finding.cause.name != "cooperative":
        parts.append(
            f"{second} of the {rebalances} rebalances are the second step of a cooperative one, "
            "which doubles each change"
        )
    costs = "; ".join(parts)
    return replace(finding, back=f"{costs[:1].upper()}{costs[1:]}." if costs else "")


def _standing(group: LoggedGroup, last_at: int) -> Iterator[Driver]:
    """Rebalances that took long, and one that is not over."""

    def found(name: str, about: str, count: int) -> Driver:
        return Driver(CAUSES[name], count, (), _sentence(CAUSES[name], about, count))

    took = [one.joining_ms or 0 for one in group.rebalances if one.protocol == "classic"]
    if slow := [ms for ms in took if ms >= SLOW_MS]:
        yield found("slow", duration(max(slow)), len(slow))
    if group.deaths:
        yield found("offsets_expired", group.name, len(group.deaths))
    ends = [one for one in group.rebalances if one.joined_at is None]
    if ends and ends[-1] is group.rebalances[-1]:
        waited = (last_at - ends[-1].at) / 1e3
        if waited >= SLOW_MS:
            yield found("unfinished", f"it had waited for {duration(waited)} when they end", 1)


def _weight(finding: Driver) -> tuple[int, int, int]:
    """Faults before changes before what only follows; then the most frequent."""
    order = list(CAUSES).index(finding.cause.name)
    return SORTS.index(finding.cause.sort), -finding.count, order


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more."""
    shown = list(names[:_MOST_NAMES])
    if more := len(names) - len(shown):
        shown.append(plural(more, "other"))
    return words.listed(shown) if shown else "no member"
