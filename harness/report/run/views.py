"""Each rebalance from both sides: by the coordinator, and by the members it happened to."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from types import SimpleNamespace as Shown
from typing import Any, Final

from harness.base.words import plural
from harness.report.formats import clip, duration, generation_word, number
from harness.report.load import JudgedRun, Row
from harness.report.parts.member_names import Members
from harness.report.parts.record_counts import Range, merge
from harness.report.parts.stops import longest_by

MOST_LINES: Final = 40
MOST_REBALANCES: Final = 60
# The eviction or the leave that starts a rebalance is logged just before it.
_CAUSE: Final = timedelta(milliseconds=500)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_REQUEST_NAMES: Final = {
    "JOIN_GROUP": "join",
    "SYNC_GROUP": "sync",
    "LEAVE_GROUP": "leave",
    "CONSUMER_GROUP_HEARTBEAT": "heartbeat",
}


Line = tuple[datetime, str, str]  # when, the member, and what is said


def two_views(run: JudgedRun, members: Members) -> list[Shown]:
    """Sort what both sides said to the rebalance during which they said it."""
    rebalances = [row for row in run.tables["rebalances"] if row["started_at"] is not None]
    coordinator = sorted([*_events(run, members), *_requests(run, members)], key=itemgetter(0))
    noticed = sorted(_client_events(run), key=itemgetter(0))
    starts = [row["started_at"] - _CAUSE for row in rebalances]
    still_ms = {key[0]: row["ms"] for key, row in longest_by(run, "generation").items()}
    worst = max(rebalances, key=lambda row: still_ms.get(row["generation"], 0), default=None)
    ends = [*starts, _LAST][1:]
    timed = list(zip(rebalances, starts, ends, strict=True))[:MOST_REBALANCES]
    return [
        _view(row, _between(coordinator, *times), _between(noticed, *times), opened=row is worst)
        for row, *times in timed
    ]


def _view(row: Row, coordinator: list[Line], noticed: list[Line], *, opened: bool) -> Shown:
    hidden = sum(max(0, len(said) - MOST_LINES) for said in (coordinator, noticed))
    trigger = " ".join(str(x) for x in (row["trigger"], row["trigger_member"]) if x)
    return Shown(
        word=generation_word(row["protocol"]).capitalize(),
        generation=number(row["generation"]),
        headline=f"{trigger or 'unknown trigger'}, {duration(row['duration_ms'])}",
        coordinator=_after(coordinator[:MOST_LINES], row["started_at"]),
        members=_after(noticed[:MOST_LINES], row["started_at"]),
        left_out=f"{plural(hidden, 'more line')} in history/." if hidden else "",
        opened=opened,  # the one to look at first: around it a partition stopped for longest
    )


def _after(said: Iterable[Line], zero: datetime) -> list[tuple[str, str, str]]:
    """The same lines, with how long after the start of the rebalance each was said."""
    lines = []
    for at, member, text in said:
        ms = (at - zero).total_seconds() * 1_000
        lines.append((f"{'−' if ms < 0 else '+'}{abs(ms):,.0f} ms", member, text))
    return lines


def _between(said: Sequence[Line], start: datetime, end: datetime) -> list[Line]:
    return [line for line in said if start <= line[0] < end]


def _said(at: datetime, member: str | None, *parts: str | None, why: str | None = None) -> Line:
    text = ", ".join(filter(None, parts))
    return at, member or "", clip(f"{text}: {why}" if why else text, 200)


def _generation(row: Row) -> str:
    number = row["generation"]
    return "" if number is None or number < 0 else f"generation {number}"


def _events(run: JudgedRun, members: Members) -> Iterable[Line]:
    for row in run.history["coordinator_events"]:
        if row["at"] is not None:
            member = members.of_id(row["member_id"]) if row["member_id"] else None
            count = "" if row["members"] is None else plural(row["members"], "member")
            what = (row["event"] or "").replace("_", " ")
            yield _said(row["at"], member, what, _generation(row), count, why=row["reason"])


def _requests(run: JudgedRun, members: Members) -> Iterable[Line]:
    for row in run.requests:
        at = row["processed_at"] or row["answered_at"] or row["arrived_at"]
        if at is None:
            continue
        if row["api"] == "CONSUMER_GROUP_HEARTBEAT" and not row["error_code"]:
            if changed := _heartbeat(row):
                yield _said(at, row["client_id"], changed)
            continue
        answer = f"answers {_REQUEST_NAMES.get(row['api'], row['api'])}"
        if row["error_code"]:
            answer, generation = f"{answer} with error {row['error_code']}", ""
        else:
            generation = _generation(row)
        gives = f"gives {partitions(row['assigned'])}" if row["assigned"] else None
        who = row["client_id"] or members.of_id(row["member_id"])
        yield _said(at, who, answer, generation, why=gives)


# A line each would hide the others; the chart of heartbeats shows the first.
_TOO_MANY: Final = ("heartbeat_sent", "fetched")


def _heartbeat(row: Row) -> str:
    """What a heartbeat of KIP-848 changed; nothing for one that changed nothing.

    Members of KIP-848 say everything by heartbeat, and most of those say that they live.
    """
    epoch, member_epoch = row["generation"], row["member_epoch"]
    said = []
    if epoch is not None and epoch < 0:
        return "hears that it leaves"
    if row["owned"]:
        said.append(f"hears that it owns {partitions(row['owned'])}")
    elif row["owned"] is not None:
        said.append("hears that it owns nothing")
    if row["assigned"]:
        said.append(f"gives {partitions(row['assigned'])}")
    elif row["assigned"] is not None:
        said.append("gives nothing")
    if epoch != member_epoch:
        said.append(f"member epoch {epoch} → {member_epoch}")
    return ", ".join(said)


def _client_events(run: JudgedRun) -> Iterable[Line]:
    for row in run.history["client_events"]:
        at = row["event_at"] or row["observed_at"]
        if at is not None and row["event"] not in _TOO_MANY:
            what = (row["event"] or "").replace("_", " ")
            whose = f" {partitions(row['partitions'])}" if row["partitions"] else ""
            yield _said(at, row["member"], what + whose, _generation(row), why=row["detail"])


def partitions(given: Iterable[Any]) -> str:
    """Format partitions per topic, runs joined: "orders 0–2, 5"."""
    per_topic: dict[str, list[Range]] = {}
    for item in given:
        per_topic.setdefault(item["topic"], []).append((item["partition"], item["partition"]))
    return "; ".join(
        f"{topic} {', '.join(f'{a}' if a == b else f'{a}–{b}' for a, b in merge(ids))}"
        for topic, ids in sorted(per_topic.items())
    )
