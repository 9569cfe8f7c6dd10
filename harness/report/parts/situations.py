"""What one run shows of each thing that was done to its group: standstills, repeats, and signs.

A situation is a fault as people say it ("crash"), from when it began to when the next one did.
Steps of a fault, such as those of a deploy, are part of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.base.errors import NoData
from harness.history.derived import TABLES
from harness.report.formats import partition_name
from harness.report.load import JudgedRun, Row
from harness.report.parts.faults import FaultStory, stories
from harness.rules import RULES

CRASH: Final = "crash"
END: Final = "orderly end"
JOIN: Final = "a new member"
COORDINATOR: Final = "coordinator dies"
LINK: Final = "own link dead"
FROZEN: Final = "frozen"
BROKER: Final = "a broker dies"
DEPLOY: Final = "deploy"
SLOW: Final = "slow dependency"
GONE: Final = "dependency gone"
SINK: Final = "slow sink"
# In the order of the columns, each with what is done.
MEANINGS: Final[Mapping[str, str]] = {
    CRASH: "a process is killed (SIGKILL)",
    END: "a process gets the signal of its supervisor (SIGTERM, unless its app.toml names another)",
    JOIN: "one more process is started",
    COORDINATOR: "the broker that coordinates the group is killed, and started again later",
    LINK: "one process can reach no broker for a while",
    FROZEN: "a process stands still for longer than its session (SIGSTOP), and then goes on",
    BROKER: "a broker that leads partitions, and does not coordinate the group, is killed, and "
    "started again later",
    DEPLOY: "every process is replaced: a new one is started, then an old one "
    "is asked to end, and so on",
    SLOW: "what the program uses besides Kafka answers late",
    GONE: "what the program uses besides Kafka does not answer for a while",
    SINK: "what the program posts is answered late, or with 503",
}
_KINDS: Final[Mapping[str, str]] = {
    "kill-consumer": CRASH,
    "terminate-consumer": END,
    "start-consumer": JOIN,
    "freeze-consumer": FROZEN,
}
_OF_DEPENDENCIES: Final[Mapping[str, str]] = {
    "slow-dependency": SLOW,
    "cut-dependency": GONE,
    "slow-sink": SINK,
}
_Number = TypeVar("_Number", int, float)
_ASKS_TO_END: Final = "terminate-consumer"


class SignFound(StrEnum):
    """What a rule found where it looked."""

    NOTHING = "nothing to judge"
    FINE = "fine"
    UNKNOWN = "unknown"
    VIOLATED = "violated"


@dataclass(frozen=True)
class Sign:
    """A rule whose violation is a sign, as the end of "it …": of a violation, and of none."""

    rule: str
    violated: str
    fine: str


_RULE: Final = {rule.headline: id_ for id_, rule in RULES.items() if rule.headline}
LEFT: Final = Sign(_RULE["leaving"], "did not leave in order", "left in order")
BACK: Final = Sign(_RULE["coming back"], "did not come back", "came back")
STOPPED: Final = Sign(
    _RULE["work after removal"], "went on after its removal", "stopped at its removal"
)
CAUGHT_UP: Final = Sign(_RULE["catching up"], "did not catch up", "caught up")
WORKED: Final = Sign(_RULE["work"], "wedged", "worked to the end")
LOST: Final = Sign(_RULE["loss"], "lost records", "lost nothing")
IN_SITUATIONS: Final = (LEFT, BACK, STOPPED)
AT_THE_END: Final = (CAUGHT_UP, WORKED, LOST, LEFT)


@dataclass(frozen=True)
class Shown:
    """One situation in one run.

    `standstill_ms` is the longest of any partition, 0 if none stopped; `never_again` says that
    it went on until the run ended, so that it would have been longer. `again` counts records. Both
    are null where the record of it is missing.
    """

    situation: str
    standstill_ms: float | None
    never_again: bool
    again: int | None
    signs: Mapping[str, SignFound] = field(default_factory=dict)  # by rule
    who: str = ""  # it was done to
    at: datetime | None = None
    where: tuple[str, int] | None = None  # the partition that stopped for longest


@dataclass(frozen=True)
class _Window:
    situation: str
    from_at: datetime
    to_at: datetime
    who: str

    def has(self, at: datetime | None) -> bool:
        return at is not None and self.from_at <= at < self.to_at


@dataclass(frozen=True)
class _Still:
    """A partition that stopped; `began_at` is when it belongs to."""

    began_at: datetime
    from_at: datetime
    to_at: datetime
    where: tuple[str, int]
    never_again: bool = False

    def ms_in(self, window: _Window) -> float:
        """How long, less what was before the situation."""
        return (self.to_at - max(self.from_at, window.from_at)) / timedelta(milliseconds=1)


def situation_of(fault: FaultStory) -> str:
    """A fault as people say it; by its own name where there is no word for it."""
    how = fault.parameters.get("how")
    if fault.kind == "kill-broker" and fault.target == "coordinator":
        return COORDINATOR
    if fault.kind == "kill-broker" and "leader" in fault.target:
        return BROKER
    one_process = fault.target == "any member" or fault.target.startswith("member ")
    if fault.kind == "isolate" and one_process:
        return LINK
    if fault.kind == "deploy" and how in (None, "rolling"):
        return DEPLOY
    if fault.kind in _OF_DEPENDENCIES and not one_process:
        return _OF_DEPENDENCIES[fault.kind]
    if fault.kind in _KINDS and how is None:
        return _KINDS[fault.kind]
    if fault.target == "group":
        return f"{fault.kind}, {how}" if how else fault.kind
    return f"{fault.kind} of {fault.target}" + (f", {how}" if how else "")


def in_order(found: Iterable[str]) -> list[str]:
    """Situations, each once, those with words of their own first."""
    known = list(MEANINGS)
    return sorted(
        dict.fromkeys(found), key=lambda each: known.index(each) if each in known else len(known)
    )


def shown(run: JudgedRun) -> list[Shown]:
    """What a judged run shows of each fault, in their order. Raises NoData as `sample` does."""
    return _shown_by(run, _judgements(run), _stop_at(run))


def _shown_by(
    run: JudgedRun, judged: Mapping[str, Sequence[Row]], stop_at: datetime
) -> list[Shown]:
    if not run.has("faults"):
        raise NoData("its record of what was done is lost")
    faults = stories(run.history["faults"])
    stood = _stood_still(run, judged, stop_at)
    ended_at = [fault.injecting_at for fault in faults if fault.kind == _ASKS_TO_END]
    return [
        _shown(run, window, stood, judged, any(map(window.has, ended_at)))
        for window in _windows(faults, stop_at)
    ]


def sample(run: JudgedRun) -> Row:
    """What a judged run shows of each situation, and what was found at its end, by rule.

    Raises NoData where its record of that is lost.
    """
    judged, stop_at = _judgements(run), _stop_at(run)
    found: dict[str, Shown] = {}
    for one in _shown_by(run, judged, stop_at):
        found[one.situation] = _worse(found.get(one.situation, one), one)
    ends = [row for row in judged[LEFT.rule] if row["at"] is not None and row["at"] >= stop_at]
    kept = ("standstill_ms", "never_again", "again", "signs")
    return {
        "situations": {
            name: {each: getattr(one, each) for each in kept} for name, one in found.items()
        },
        "at_the_end": {
            # These have something to examine in every run.
            CAUGHT_UP.rule: _standing(judged[CAUGHT_UP.rule], SignFound.UNKNOWN),
            LOST.rule: _standing(judged[LOST.rule], SignFound.UNKNOWN),
            # After a deploy no process may have run for long enough.
            WORKED.rule: _standing(judged[WORKED.rule]),
            LEFT.rule: _standing(ends),
        },
        "fetched_only": run.fetched_only,
    }


def _shown(
    run: JudgedRun,
    window: _Window,
    stood: Sequence[_Still],
    judged: Mapping[str, Sequence[Row]],
    asked_to_end: bool,
) -> Shown:
    mine = [each for each in stood if window.has(each.began_at)]
    longest = max(mine, key=lambda each: each.ms_in(window), default=None)
    again = sum(
        row["count"] or 0 for row in run.tables["redeliveries"] if window.has(row["polled_at"])
    )
    return Shown(
        window.situation,
        None if not run.has("stops") else longest.ms_in(window) if longest else 0.0,
        any(each.never_again for each in mine),
        again if run.has("redeliveries") else None,
        {
            sign.rule: _standing(
                [row for row in judged[sign.rule] if window.has(row["at"])],
                SignFound.UNKNOWN if sign is LEFT and asked_to_end else SignFound.NOTHING,
            )
            for sign in IN_SITUATIONS
        },
        window.who,
        window.from_at,
        longest.where if longest else None,
    )


def _worse(a: Shown, b: Shown) -> Shown:
    """Of a situation that a run has twice, the worse of each number and sign."""
    order = list(SignFound)
    return Shown(
        a.situation,
        _larger(a.standstill_ms, b.standstill_ms),
        a.never_again or b.never_again,
        _larger(a.again, b.again),
        {rule: max(found, b.signs[rule], key=order.index) for rule, found in a.signs.items()},
    )


def _larger(a: _Number | None, b: _Number | None) -> _Number | None:
    return None if a is None or b is None else max(a, b)


def _standing(rows: Iterable[Row], nothing: SignFound = SignFound.NOTHING) -> SignFound:
    found = [row["ok"] for row in rows]
    if False in found:
        return SignFound.VIOLATED
    if None in found:
        return SignFound.UNKNOWN
    return SignFound.FINE if found else nothing


def _judgements(run: JudgedRun) -> Mapping[str, list[Row]]:
    """What the rules that are signs found, by rule."""
    path = run.path / "tables" / "judgements.parquet"
    found: dict[str, list[Row]] = {sign.rule: [] for sign in (*IN_SITUATIONS, *AT_THE_END)}
    columns = ["rule", "subject", "at", "ok"]
    try:
        table = pq.read_table(
            path,
            columns=columns,
            filters=[("rule", "in", list(found))],
            page_checksum_verification=True,
        ).cast(pa.schema([TABLES["judgements"].field(name) for name in columns]))
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise NoData(f"its judgements cannot be read ({str(error).splitlines()[0]})") from error
    for row in table.to_pylist():
        found[row["rule"]].append(row)
    return found


def _stop_at(run: JudgedRun) -> datetime:
    """When all processes were asked to end: what comes after it is not what a fault cost."""
    for phase in run.manifest.phases:
        if phase.name == "stop":
            return phase.from_at
    raise NoData("its manifest does not say when its processes were asked to end")


def _windows(faults: Iterable[FaultStory], stop_at: datetime) -> list[_Window]:
    """From each fault that took effect to the next; what another one does ends it as well."""
    begun = [
        (fault, fault.injecting_at)
        for fault in faults
        if fault.injecting_at is not None
        and "." not in fault.fault.partition("-")[0]  # 1.2-terminate-consumer of 1-deploy
    ]
    begun.sort(key=lambda each: each[1])
    ends = [at for _, at in begun[1:]] + [stop_at]
    return [
        _Window(situation_of(fault), at, end, fault.resolved or fault.target)
        for (fault, at), end in zip(begun, ends, strict=True)
        if fault.took_effect
    ]


def _stood_still(
    run: JudgedRun, judged: Mapping[str, Sequence[Row]], stop_at: datetime
) -> list[_Still]:
    found = [
        _Still(
            max(row["from_at"], row["cause_at"] or row["from_at"]),
            row["from_at"],
            row["to_at"],
            (row["topic"], row["partition"]),
        )
        for row in run.tables["stops"]
        if row["stopped"] and row["from_at"] is not None and row["to_at"] is not None
    ]
    return [*found, *_never_again(run, judged, stop_at)]


def _never_again(
    run: JudgedRun, judged: Mapping[str, Sequence[Row]], stop_at: datetime
) -> Iterable[_Still]:
    """Partitions with records that no member came to: a stop is on record only once it is over.

    It began when the usual pause between two records was over, so that one whose last record was
    read just before a fault stopped with that.
    """
    if not run.has("sends", "deliveries" if run.manifest.app is None else "reads"):
        return
    caught_up = {row["subject"] for row in judged[CAUGHT_UP.rule] if row["ok"]}
    acknowledged = run.sends.filter(pc.equal(run.sends["outcome"], pa.scalar("acknowledged")))
    keys = ["topic", "partition"]
    ends = acknowledged.group_by(keys).aggregate([("last_offset", "max")]).to_pylist()
    read = run.deliveries.append_column(
        "done_at", pc.coalesce(run.deliveries["processed_at"], run.deliveries["polled_at"])
    )
    reads = read.group_by(keys).aggregate([("last_offset", "max"), ("done_at", "max")])
    last = {(row["topic"], row["partition"]): row for row in reads.to_pylist()}
    usual_ms = max((row["usual_ms"] or 0.0 for row in run.tables["stops"]), default=0.0)
    for end in ends:
        key = end["topic"], end["partition"]
        if key not in last or partition_name(*key) in caught_up:
            continue
        from_at = last[key]["done_at_max"]
        if from_at < stop_at and last[key]["last_offset_max"] < end["last_offset_max"]:
            began_at = from_at + timedelta(milliseconds=usual_ms)
            yield _Still(began_at, from_at, stop_at, key, never_again=True)
