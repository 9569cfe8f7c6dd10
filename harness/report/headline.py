"""What a run found, in at most three sentences: what was broken, what it cost, what to do about it.

The findings are data, the most important first, and the first that a run fits is its headline. Each
has the evidence that it needs, and says nothing beyond that. A run that fits none says what its
faults cost. Rules are named as people meet them; `tests/report/test_headlines.py` keeps the names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from math import inf
from typing import Any, Final

from harness.base.errors import NoData
from harness.base.words import listed, plural
from harness.experiment import Verdict
from harness.report.formats import duration, number
from harness.report.load import JudgedRun, Row, judgements
from harness.report.outcome import Overall, name_of, of_verdicts, verdict_of
from harness.report.parts import record_counts, stops
from harness.report.parts.evictions import PutOut, false_evictions
from harness.report.parts.faults import FaultStory, done, span, whole
from harness.report.parts.situations import never_again
from harness.rules import rule_names


@dataclass(frozen=True)
class Finding:
    """What a run may have found; a run fits if all that is given is so.

    `rules` are violated; the last of these says the numbers. `rows` is a rule and words that are in
    the clause of a thing it looked at. `put_out` is by what members lost their place although their
    processes lived: session, rebalance or max poll; "all session" says that it was everybody.
    `stops` are what the longest standstill came from, and `part` is what most of it was: one of the
    columns of the table `stops`.
    """

    name: str
    says: str
    remedy: str = ""
    rules: tuple[str, ...] = ()
    rows: tuple[str, str] = ("", "")
    put_out: str = ""
    stops: tuple[str, ...] = ()
    part: str = ""


_ENDS: Final = ("close", "close-consumer", "terminate-consumer", "leave")
_STARTS: Final = ("start-consumer", "join", "rejoin", "add-partitions")
_BROKERS: Final = ("kill-broker", "stop-broker", "upgrade-broker", "pause-broker", "isolate-broker")
_USES: Final = ("stall-consumer", "slow-sink", "slow-dependency", "cut-dependency")
_LEAVES: Final = "promises/leaves-in-time"
_ALONE: Final = ("promises/ends-only-on-request", "ended by itself after")
_AFTER_WORK: Final = "Commit a record only after the work on it is done{commit}."
_BEFORE: Final = (
    "Commit before a partition is given up, in the rebalance listener, and never after."
)
_FEWER: Final = "Take fewer records at once, or set a longer `max.poll.interval.ms`."
_LONGER: Final = "A longer session timeout keeps members for that long; a crash then costs more."
_VERSION: Final = "Another version of the client may not do so: `--client-version` plays one."
_SUPERVISOR: Final = "so that its supervisor starts it again."

# fmt: off
FINDINGS: Final = (
    Finding("loses-records",
            "After {what} {who} lost {sum} of {n partition}: committed, and never processed.",
            _AFTER_WORK, rules=("promises/nothing-lost",)),
    Finding("loses-acknowledged-records", "After {what} {sum} of {n partition} came to no member.",
            _AFTER_WORK, rules=("delivery/nothing-acknowledged-is-lost",)),
    Finding("takes-positions-back",
            "{Who} committed what it had given up, and took positions back by up to {most}.",
            _BEFORE, rules=("commits/only-what-was-given", "delivery/positions-never-go-back")),
    Finding("commits-what-it-gave-up", "{Who} committed {n partition} that it had given up.",
            _BEFORE, rules=("commits/only-what-was-given",)),
    Finding("stands-idle", "After {what} {n process} of your program did nothing: {whose}.",
            "Have a process end when it makes no progress, " + _SUPERVISOR,
            rules=("promises/every-process-works",)),
    Finding("stays-away", "After {what} these were put out of the group for good: {whose}.",
            "Join again, or end the process with an error, once the client says that it is out.",
            rules=("promises/removed-comes-back",)),
    Finding("works-on", "After {what} {whose} worked on knowing to be out of the group: {sum}.",
            "Drop what was fetched once the client says that its partitions are lost.",
            rules=("promises/removed-stops-working",)),
    Finding("streams-stays", "Your program does not leave its group when it ends: {ends}.",
            "Close Kafka Streams with `CloseOptions.leaveGroup(true)`, from Kafka 4.2 on with "
            "`CloseOptions.groupMembershipOperation(LEAVE_GROUP)`.",
            rules=(_LEAVES,), rows=(_LEAVES, "Kafka Streams stays")),
    Finding("does-not-leave", "Your program does not leave its group when it ends: {ends}.",
            "Call `{close}` when it is asked to end.",
            rules=(_LEAVES,), rows=(_LEAVES, "without leaving the group")),
    Finding("has-no-handler", "Your program ran as process 1 without a handler for the signal that "
            "asks it to end, and was killed: {whose}.",
            "Install a handler for the signal, and close the consumer in it.",
            rules=(_LEAVES,), rows=(_LEAVES, "ran as PID 1")),
    Finding("ends-too-late", "Asked to end, your program did not within its grace period: {whose}.",
            "Stop polling when it is asked to, and allow for the work on one poll's records.",
            rules=(_LEAVES,)),
    Finding("ends-unasked", "Unasked, and while nothing was broken or with exit code 0, {whose} "
            "ended.", "End only after an error, and with another exit code, " + _SUPERVISOR,
            rules=_ALONE[:1]),
    Finding("ends-with-its-client", "{n process} of your program ended unasked after {last}: "
            "{cost}.", "Do not end at an error of the client: {go_on}.", rows=_ALONE),
    Finding("falls-behind", "After {what} {who} did not read {n partition} to the end in time.",
            rules=("promises/catches-up",)),
    Finding("mixes-up-the-order", "{Who} processed {sum} after later ones of their partition.",
            "Work on the records of a partition one after the other.",
            rules=("promises/records-in-order",)),
    Finding("client-gives-up", "After {what} the client of {whose} gave up for good: {cost}.",
            "End the process at a fatal error of its client, " + _SUPERVISOR,
            rules=("coordinator/client-gives-up-only-as-no-member",)),
    Finding("hands-out-what-is-not-its", "Too slow, and out of the group unheard, {whose} handed "
            "over {sum} that another may have had by then.",
            _FEWER, rules=("poll/hears-it-is-out-before-a-record",)),
    Finding("reads-below-the-position", "After {what} {sum} came again although committed.",
            _VERSION, rules=("delivery/only-uncommitted-comes-again",)),
    Finding("leaves-a-part-uncommitted", "{sum} came again as partitions were given up, of which "
            "members had committed a part.", "Commit all that is processed before giving up.",
            rules=("callbacks/given-part-is-committed-before",
                   "callbacks/handover-repeats-nothing")),
    Finding("repeats-at-handovers", "{sum} came again as partitions were handed over, more than "
            "the commit policy allows.", _BEFORE, rules=("delivery/handover-repeats-by-policy",)),
    Finding("coordinator-forgets", "After {what} the coordinator answered with positions up to "
            "{most} older than the last commit: who began then would have read these again.",
            rules=("commits/last-one-is-returned",)),
    Finding("commits-ahead-of-work", "Automatic commits were up to {most} ahead of the work: a "
            "crash then loses these.",
            "Set `enable.auto.commit=false`, and commit after the work is done.",
            rules=("commits/automatic-covers-processed-records",)),
    Finding("partition-of-two", "{n partition} had two members at one time, for up to {most}.",
            _VERSION, rules=("assignment/partition-has-one-member",)),
    Finding("everyone-is-put-out", "{Last} outlasted the session timeout ({session}), which put "
            "all {n member} out of the group although alive: {cost}.", _LONGER,
            put_out="all session"),
    Finding("put-out-while-alive", "{Last} outlasted the session timeout ({session}), which put "
            "{whose} out of the group although alive: {cost}.", _LONGER, put_out="session"),
    Finding("rebalance-times-out", "{whose} came too late for a rebalance and fell out of the "
            "group although alive: {cost}.", "Return from the work and from callbacks sooner, or "
            "allow rebalances more time.", put_out="rebalance"),
    Finding("too-slow-to-poll", "{whose} did not poll within `max.poll.interval.ms` and fell out "
            "of the group although alive: {cost}.", _FEWER, put_out="max poll"),
    Finding("heartbeats-need-replicas", "After {what} too few replicas of `__consumer_offsets` "
            "were left, and the coordinator refused heartbeats as well as commits: {cost}.",
            "Keep `min.insync.replicas` of that topic below the number of its replicas.",
            rules=("coordinator/too-few-replicas-keep-heartbeats",)),
    Finding("loses-all-for-nothing", "After {what} {n member} heard that all partitions were lost "
            "without a cause: {cost}.", rules=("callbacks/lost-only-by-a-member-that-was-out",)),
    Finding("moves-without-need", "After {what} {sum} moved without need: {cost}.",
            rules=("assignment/sticky-moves-few",)),
    Finding("takes-many-rounds", "{What} led to more rebalances than it needs: {cost}.",
            rules=("rebalance/takes-fixed-intervals",),
            rows=("rebalance/takes-fixed-intervals", r"took \d+ rounds")),
    Finding("waits-for-a-commit", "{Cause} made members wait for the answer to a commit: {cost}.",
            "Commit asynchronously while the group rebalances.",
            stops=(*_STARTS, *_ENDS, *_BROKERS, "stall-callback"), part="commit_ms"),
    Finding("crash-waits-for-the-session",
            "{Cause} was noticed only when its session was over ({session}): {cost}.",
            "A shorter session timeout shortens that.",
            stops=("kill-consumer", "bounce-consumer"), part="detection_ms"),
    Finding("end-waits-for-the-session", "{Cause} was noticed only when its session was over "
            "({session}), as it did not leave: {cost}.", stops=_ENDS, part="detection_ms"),
    Finding("heard-by-heartbeat",
            "{Cause} made partitions wait until others heard of it by a heartbeat: {cost}.",
            "A shorter heartbeat interval shortens that.",
            stops=(*_ENDS, *_STARTS), part="notice_ms"),
    Finding("waits-for-a-member", "{Cause} made the group wait for {waited_for} to join: {cost}.",
            "A member joins once it has heard of it by a heartbeat, and is back from its work.",
            stops=(*_ENDS, *_STARTS, *_BROKERS, "stall-callback", "stall"), part="join_ms"),
    Finding("waits-for-its-leader",
            "{Cause} left partitions without a leader until another broker took over: {cost}.",
            "Brokers decide how long that takes (`broker.session.timeout.ms`), not consumers.",
            stops=_BROKERS, part="detection_ms"),
    Finding("finds-its-leader-late", "{Cause} gave partitions another leader, and members found "
            "their records there late: {cost}.", stops=_BROKERS, part="first_fetch_ms"),
    Finding("waits-for-its-link", "{Cause} kept partitions from their records: {cost}.",
            "No member was put out of the group.",
            stops=("isolate", "connections-reset", "latency", "bandwidth", "delete-acl")),
    Finding("waits-for-what-it-uses",
            "{Cause} stopped its partitions, and the group kept the member: {cost}.", stops=_USES),
)
# By how a library calls itself to brokers, or a program itself where it says nothing there: how a
# process leaves its group, how it goes on after an error, and how it commits after the work.
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "aiokafka": ("await consumer.stop()",), "apache-kafka-java": ("consumer.close()",),
    "confluent-kafka-javascript": ("consumer.disconnect()",), "kafkajs": ("consumer.disconnect()",),
    "kafka-go": ("reader.Close()", "make a new reader",
                 ": `ReadMessage` commits before it returns, `FetchMessage` does not"),
    "kafka-python": ("consumer.close()", "catch `KafkaConnectionError`, and make a new consumer"),
    "kgo": ("client.Close()", "go on polling after an `ErrGroupSession`"),
    "librdkafka": ("close()", "make a new consumer", " (`enable.auto.offset.store=false`)"),
    "sarama": ("group.Close()", "call `Consume` again after a pause"),
}
# fmt: on
_ANY: Final = ("close()", "make a new consumer", "")


def of_run(run: JudgedRun) -> Overall:
    """What a run comes to; its headline is what it found, unless it shows nothing."""
    verdicts = of_verdicts(run.manifest, run.verdicts)
    if verdicts.kind == "unjudged":
        return verdicts
    name, said = found_in(run)
    answers = [row for row in run.tables.get("answers", ()) if row["answered"]]
    poor = [row for row in answers if row["judged"] < _MOST_OF * row["answered"]]
    come_to = verdicts.headline
    if poor and verdicts.kind == "as-expected":  # it is not called clean
        come_to = f"Only {listed(list(map(_judged_of, poor)))} could be judged"
    counts = list(map(_judged_of, answers))
    detail = f"{verdicts.detail} Judged: {listed(counts)}." if counts else verdicts.detail
    return Overall(verdicts.kind, said, f"{come_to}: {detail}", name)


_MOST_OF: Final = 0.8  # of what was answered, at least: a run with less judged shows too little


def _judged_of(row: Row) -> str:
    return f"{number(row['judged'])} of {number(row['answered'])} {row['what']}"


def found_in(run: JudgedRun) -> tuple[str, str]:
    """What a complete and judged run found: the name of the finding, and its sentences.

    Where only what its faults cost is said, it has no name.
    """
    lost = "", "The record of what was broken, or of what that cost, is not whole."
    if not run.has(*_COSTS, "deliveries" if run.manifest.app is None else "reads"):
        return lost
    try:
        return _found(_evidence(run))
    except NoData:  # of its judgements
        return lost


_COSTS: Final = ("faults", "stops", "redeliveries", "sends")


@dataclass(frozen=True)
class _Evidence:
    """What a run shows from its first fault on; one without, from steady state on.

    `stops` are standstills, those included that went on when the run ended; `again` is what came
    again; `put_out` are members that lost their place although their processes lived; `violated`
    are verdicts by the names of their rules.
    """

    run: JudgedRun
    faults: Sequence[FaultStory]
    stops: Sequence[Row]
    again: Sequence[Row]
    put_out: Sequence[PutOut]
    violated: Mapping[str, Row]

    @cached_property
    def worst(self) -> Row:
        return max(self.stops, key=lambda row: float(row["ms"]), default={})

    @cached_property
    def what(self) -> str:
        """What was broken, in words."""
        named = list(dict.fromkeys(map(done, self.faults))) or ["steady state"]
        more = len(named) - 1
        return f"{named[0]} and {plural(more, 'more fault')}" if more > 2 else listed(named)

    def rows(self, rule: str, like: str = "") -> list[Row]:
        """What a rule looked at that has such words; without words, what violates it."""
        every = judgements(self.run, [rule_names.id_of(rule)])
        return [r for r in every if (re.search(like, r["why"] or "") if like else r["ok"] is False)]

    def of_them(self, members: Iterable[str], since: datetime) -> tuple[list[Row], list[Row]]:
        """Standstills of what these members had, with all that stopped for the same change, and
        what came again to or after them. A member that is not known may be any.
        """
        known = set(members)

        def theirs(*names: str | None) -> bool:
            return not known.isdisjoint(names) or "" in known

        late = [row for row in self.stops if row["to_at"] >= since]
        mine = [r for r in late if theirs(r["subject"], r["old_member"]) or r.get("never_again")]
        changes = {row["episode"] for row in mine} - {None}
        again = [row for row in self.again if row["polled_at"] >= since]
        return (
            [row for row in late if row in mine or row["episode"] in changes],
            [row for row in again if theirs(row["member"], row["first_member"])],
        )

    def before(self, at: datetime, whom: str = "", named: str = "") -> tuple[str, datetime]:
        """The fault behind what happened then, in words, and when it began: the last one that was
        done to this member or is named there, or else that lasted until then.
        """
        begun = [f for f in self.faults if f.injecting_at and f.injecting_at <= at]
        mine = [f for f in begun if f.resolved == whom or f"{f.kind} of {f.resolved}" in named]
        lasting = [f for f in begun if f.healed_at and f.healed_at >= at - timedelta(seconds=1)]
        if found := mine or lasting:
            return done(found[-1]), found[-1].injecting_at or at
        return self.what if begun else "a silence", span(self.run)[0]


def _evidence(run: JudgedRun) -> _Evidence:
    from_at, to_at = span(run)
    rows, again = run.verdicts or (), run.tables["redeliveries"]
    return _Evidence(
        run,
        [each for each in whole(run.history["faults"]) if each.took_effect],
        [*stops.stopped(run), *never_again(run, to_at)],
        [row for row in again if row["polled_at"] and from_at <= row["polled_at"] < to_at],
        [each for each in false_evictions(run) or () if from_at <= each.at < to_at],
        {name_of(row["rule"]): row for row in rows if verdict_of(row) == Verdict.VIOLATED},
    )


def _found(seen: _Evidence) -> tuple[str, str]:
    for finding in FINDINGS:
        if words := _fits(finding, seen):
            said = [_filled(text, words) for text in (finding.says, finding.remedy)]
            return finding.name, " ".join(filter(None, said))
    lost = record_counts.records(seen.run).lost or 0
    alone = _cost(seen.stops, seen.again, lost)
    if not seen.faults:
        return "", f"Nothing was broken: {alone}."
    harmed = seen.stops or seen.again or lost or seen.put_out
    return "" if harmed else "harmless", _filled(f"{{What}}: {alone}.", {"what": seen.what})


def _fits(finding: Finding, seen: _Evidence) -> Mapping[str, Any]:
    """The words for the names in a finding's sentences; none where a run does not fit it."""
    if not seen.violated.keys() >= set(finding.rules):
        return {}
    rows: Sequence[Row] = ()
    stood, again, last = seen.stops, seen.again, seen.what
    if finding.rules or finding.rows[0]:
        rows = seen.rows(*(finding.rows if finding.rows[0] else finding.rules[-1:]))
        if not rows:
            return {}
    whose = sorted({row["subject"].partition(" (")[0] for row in rows})
    began = [seen.before(r["at"], named=r["why"]) for r in rows if finding.rows == _ALONE]
    if by := finding.put_out:
        out = [each for each in seen.put_out if each.by == by.removeprefix("all ")]
        whose = sorted({each.member for each in out})
        everyone = max(2, (seen.run.manifest.declared.get("group") or {}).get("members") or 0)
        if not out or (by.startswith("all ") and len(whose) < everyone):
            return {}
        began = [seen.before(out[0].at, out[0].member)]
    if began:
        last = listed(list(dict.fromkeys(said for said, _ in began)))
        stood, again = seen.of_them(whose, since=began[0][1])
    worst = seen.worst
    if finding.stops:
        if worst.get("cause") not in finding.stops:
            return {}
        if finding.part not in ("", _longest_part(worst)):
            return {}
        of = ("cause", "subject", "cause_at") if worst["episode"] is None else ("episode",)
        stood = [row for row in stood if all(row[name] == worst[name] for name in of)]
        again = [{"count": row["redelivered"]} for row in stood]
    measured = [row["measured"] for row in rows if row["measured"] is not None]
    verdict = seen.violated[finding.rules[-1]] if finding.rules else {}
    few = all(whose) and 0 < len(whose) < 4
    return {
        **_words(seen),
        "n": len(rows or whose),
        "whose": listed(whose) if few else plural(len(whose), "member"),
        "sum": _in_unit(sum(measured), verdict.get("unit") or ""),
        "most": _in_unit(max(measured, default=0), verdict.get("unit") or ""),
        "last": last,
        "cost": _cost(stood, again),
    }


def _words(seen: _Evidence) -> Mapping[str, str]:
    """What every sentence may say of a run."""
    manifest, worst = seen.run.manifest, seen.worst
    cause = done(kind=worst.get("cause") or "", whom=worst.get("subject") or "")
    if worst.get("cause") == "rejoin":  # as new partitions make a member do
        cause = seen.before(worst["cause_at"] or worst["from_at"])[0]
    elif len(seen.faults) > 1:
        cause += f", the costliest of {len(seen.faults)} faults,"
    known = {**(manifest.declared.get("group") or {}), **manifest.observed}
    evicted = [row["session_timeout_ms"] for row in seen.run.tables["evictions"]]
    session_ms = next(filter(None, evicted), known.get("session_timeout_ms")) or 0
    # Where its successor joined first, the rebalance began by that, and waited for the session.
    waits = [r for r in seen.stops if r["trigger"] == "expiry" or r["ms"] > (session_ms or inf)]
    episodes = {row["episode"] for row in waits if row["cause"] in _ENDS}
    left = [row for row in seen.stops if row["episode"] in episodes]
    ends = f"in {len(episodes)} rebalances " if len(episodes) > 1 else ""
    ends += _cost(left, [{"count": row["redelivered"]} for row in left])
    names = known.get("clients") or [str((manifest.app or {}).get("name"))]
    own = next((v for k, v in _LIBRARIES.items() for n in names if n.startswith(k)), ())
    return {
        **dict(zip(("close", "go_on", "commit"), (*own, *_ANY[len(own) :]), strict=True)),
        "what": seen.what,
        "who": "your program" if manifest.app else f"the client ({manifest.client})",
        "cause": cause,
        "waited_for": worst.get("waited_for") or "a member",
        "session": f"{session_ms / 1_000:g} s",
        "ends": ends if left else f"the others wait for its session of {session_ms / 1_000:g} s",
    }


def _longest_part(row: Row) -> str:
    """The column of a standstill that has most of what was not idle; nothing if none has.

    In KIP-848 the assignment comes with a heartbeat, so that what waits for it waits to hear.
    """
    parts = {kind.column: float(row.get(kind.column) or 0) for kind in stops.PARTS}
    waited = float(row["ms"]) - parts.pop("idle_ms")
    most = max(parts, key=lambda column: parts[column])
    if 2 * parts[most] < waited:
        return ""
    return "notice_ms" if most == "sync_ms" and row["protocol"] == "consumer" else most


def _cost(stood: Sequence[Row], again: Iterable[Row], lost: int = 0) -> str:
    """How long partitions stopped, and how many records came again or were lost.

    Those count that stopped for half as long as the longest: an eager group stops all briefly.
    """
    repeats, said = sum(row["count"] or 0 for row in again), ["no partition stopped"]
    if not (stood or repeats or lost):
        return "no partition stopped, and no record came again or was lost"
    if stood:
        longest = max(stood, key=lambda row: float(row["ms"]))
        as_long = [row for row in stood if 2 * row["ms"] >= longest["ms"]]
        partitions = len({(row["topic"], row["partition"]) for row in as_long})
        how = "for" if partitions == 1 else "for up to"
        how = "until the run ended, for" if longest.get("never_again") else how
        said = [f"{plural(partitions, 'partition')} stopped {how} {duration(longest['ms'])}"]
    said += [f"{plural(repeats, 'record')} came again"] if repeats else []
    return listed([*said, f"{plural(lost, 'record')} went lost"] if lost else said)


def _in_unit(value: float, unit: str) -> str:
    if unit == "ms":
        return duration(value)
    return (
        plural(int(value), unit[:-1]) if unit.endswith("s") else f"{number(value)} {unit}".strip()
    )


def _filled(sentence: str, words: Mapping[str, Any]) -> str:
    """A sentence with words for its names: "{n member}" is a count, "{Cause}" has a capital."""

    def word(name: re.Match[str]) -> str:
        if name[2]:
            return plural(words[name[1]], name[2], "processes" if name[2] == "process" else "")
        said = str(words[name[1].lower()])
        return said[:1].upper() + said[1:] if name[1][0].isupper() else said

    return re.sub(r"\{(\w+)(?: (\w+))?\}", word, sentence)
