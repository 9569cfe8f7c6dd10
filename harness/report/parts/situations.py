"""What one run shows of each thing that was done to its group: standstills, repeats, and signs.

A situation is a fault as people say it ("crash"), from when it began to when the next one did.
Steps of a fault, such as those of a deploy, are part of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from harness.base.errors import NoData
from harness.history.derived import TABLES
from harness.report.formats import partition_name
from harness.report.load import JudgedRun, Row, judgements
from harness.report.parts.faults import FaultStory, stories, whole
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
_ASKS_TO_END: Final = "terminate-consumer"


class SignFound(StrEnum):
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
    """What a judged run shows of each fault that took effect, in their order, until the next.

    What another fault does ends it as well. Raises NoData as `sample` does.
    """
    judged, stop_at = _judgements(run), _stop_at(run)
    if not run.has("faults"):
        raise NoData("its record of what was done is lost")
    stood = [
        *(row for row in run.tables["stops"] if row["stopped"] and row["from_at"] and row["to_at"]),
        *never_again(run, stop_at, judged[CAUGHT_UP.rule]),
    ]
    faults = [fault for fault in stories(run.history["faults"]) if fault.injecting_at is not None]
    begun = whole(run.history["faults"])
    ends = [*map(_began_at, begun[1:]), stop_at]
    return [
        _shown(run, fault, end, stood, judged, faults)
        for fault, end in zip(begun, ends, strict=True)
        if fault.took_effect
    ]


def _began_at(fault: FaultStory) -> datetime:
    assert fault.injecting_at is not None
    return fault.injecting_at


def _shown(
    run: JudgedRun,
    fault: FaultStory,
    to_at: datetime,
    stood: Sequence[Row],
    judged: Mapping[str, Sequence[Row]],
    faults: Sequence[FaultStory],
) -> Shown:
    from_at = _began_at(fault)

    def during(at: datetime | None) -> bool:
        return at is not None and from_at <= at < to_at

    def ms(row: Row) -> float:
        """How long, less what was before the situation."""
        stopped: timedelta = row["to_at"] - max(row["from_at"], from_at)
        return stopped / timedelta(milliseconds=1)

    mine = [row for row in stood if during(max(row["from_at"], row["cause_at"] or row["from_at"]))]
    longest = max(mine, key=ms, default=None)
    again = [row["count"] or 0 for row in run.tables["redeliveries"] if during(row["polled_at"])]
    asked_to_end = any(each.kind == _ASKS_TO_END and during(each.injecting_at) for each in faults)
    return Shown(
        situation_of(fault),
        None if not run.has("stops") else ms(longest) if longest else 0.0,
        any(row.get("never_again", False) for row in mine),
        sum(again) if run.has("redeliveries") else None,
        {
            sign.rule: _standing(
                [row for row in judged[sign.rule] if during(row["at"])],
                SignFound.UNKNOWN if sign is LEFT and asked_to_end else SignFound.NOTHING,
            )
            for sign in IN_SITUATIONS
        },
        fault.resolved or fault.target,
        from_at,
        (longest["topic"], longest["partition"]) if longest else None,
    )


def sample(run: JudgedRun) -> Row:
    """What a judged run shows of each situation, and what was found at its end, by rule.

    Raises NoData where its record of that is lost.
    """
    judged, stop_at = _judgements(run), _stop_at(run)
    found: dict[str, list[Shown]] = {}
    for one in shown(run):
        found.setdefault(one.situation, []).append(one)
    ends = [row for row in judged[LEFT.rule] if row["at"] is not None and row["at"] >= stop_at]
    return {
        "situations": {name: _worst(several) for name, several in found.items()},
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


def _worst(several: Sequence[Shown]) -> Row:
    """Of a situation that a run has more than once, the worst of each number and sign."""
    order = list(SignFound)

    def most(name: str) -> Any:
        values = [getattr(one, name) for one in several]
        return None if None in values else max(values)

    signs = {
        rule: max((one.signs[rule] for one in several), key=order.index)
        for rule in several[0].signs
    }
    numbers = ("standstill_ms", "never_again", "again")
    return {**{name: most(name) for name in numbers}, "signs": signs}


def _standing(rows: Iterable[Row], nothing: SignFound = SignFound.NOTHING) -> SignFound:
    found = [row["ok"] for row in rows]
    if False in found:
        return SignFound.VIOLATED
    if None in found:
        return SignFound.UNKNOWN
    return SignFound.FINE if found else nothing


def _judgements(run: JudgedRun) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {sign.rule: [] for sign in (*IN_SITUATIONS, *AT_THE_END)}
    for row in judgements(run, list(found)):
        found[row["rule"]].append(row)
    return found


def _stop_at(run: JudgedRun) -> datetime:
    """When all processes were asked to end: what comes after it is not what a fault cost."""
    for phase in run.manifest.phases:
        if phase.name == "stop":
            return phase.from_at
    raise NoData("its manifest does not say when its processes were asked to end")


def never_again(run: JudgedRun, stop_at: datetime, caught_up: Sequence[Row] = ()) -> Iterable[Row]:
    """Partitions with records that no member came to: a stop is on record only once it is over.

    It began when the usual pause between two records was over, so that one whose last record was
    read just before a fault stopped with that.
    """
    if not run.has("sends", "deliveries" if run.manifest.app is None else "reads"):
        return
    fine = {row["subject"] for row in caught_up if row["ok"]}
    acknowledged = run.sends.filter(pc.equal(run.sends["outcome"], pa.scalar("acknowledged")))
    keys = ["topic", "partition"]
    ends = acknowledged.group_by(keys).aggregate([("last_offset", "max")]).to_pylist()
    read = run.deliveries.append_column(
        "done_at", pc.coalesce(run.deliveries["processed_at"], run.deliveries["polled_at"])
    )
    reads = read.group_by(keys).aggregate([("last_offset", "max"), ("done_at", "max")])
    last = {(row["topic"], row["partition"]): row for row in reads.to_pylist()}
    usual = timedelta(
        milliseconds=max((r["usual_ms"] or 0 for r in run.tables["stops"]), default=0)
    )
    for end in ends:
        key = end["topic"], end["partition"]
        if key not in last or partition_name(*key) in fine:
            continue
        from_at = last[key]["done_at_max"]
        if (
            from_at is not None
            and from_at < stop_at
            and last[key]["last_offset_max"] < end["last_offset_max"]
        ):
            times = {"from_at": from_at, "cause_at": from_at + usual, "to_at": stop_at}
            lasted = (stop_at - from_at) / timedelta(milliseconds=1)
            row = {**dict.fromkeys(TABLES["stops"].names), **times, "ms": lasted}
            yield {**row, "topic": key[0], "partition": key[1], "never_again": True}
