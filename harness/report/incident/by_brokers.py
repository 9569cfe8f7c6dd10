"""From what coordinators logged to each group's rebalances and removals.

A rebalance begins and ends as in `harness/tables/rebalances.py`, which derives the same from the
history of a run; a test holds both against each other. Without the requests it is not known when
the last member had its assignment, only when the group leader's came.
"""

import re
from typing import Final

from harness.history.foreign.events import Event, Read
from harness.report.incident import by_clients, reasons
from harness.report.incident.logged import Incident, LoggedGroup, LoggedRebalance, Removal

# What lines mean, by event: where in a group the member is kept that went, or never came (empty:
# a method knows), the cause, and the trigger of the epoch that follows.
_MEANS: Final = {
    "member_added": ("", "joined", "join"),
    "left": ("", "left", "leave"),
    "left_for_now": ("leaves", "static_away", "leave"),
    "evicted": ("removals", "session_expired", "expiry"),
    "fenced": ("removals", "rebalance_timeout", "fenced"),
    "dropped": ("removals", "rebalance_timeout", "other"),
    "instance_fenced": ("removals", "instance_fenced", "other"),
    "replaced": ("others", "instance_replaced", "other"),
    "replacing_failed": ("others", "instance_taken", "other"),
    "pending_evicted": ("others", "pending_expired", "other"),
    "shutdown_asked": ("others", "shutdown_asked", "other"),
    "upgraded": ("", "converted", "other"),
    "subscribed": ("", "subscription", "other"),
    "metadata": ("", "metadata", "metadata"),
}
_UNKNOWN: Final = ("", "unknown", "other")
_BEFORE_EPOCHS: Final = ("member_added", "left", "left_for_now", "evicted", "fenced", "upgraded")
_ENDS_A_CHANGE: Final = ("epoch_bumped", "target_computed", "loaded")
_LIST: Final = re.compile(r"^(?:\[|\w*Set\()|[\])]$")
_TO_A_GROUP: Final = re.compile(r"to a \w+ group")
NOT_NAMED: Final = "(a group that its clients do not name)"
_SAID_TWICE: Final = ("session_expired", "sync_expired")  # in a line of its own, and as a reason
_MOMENT_US: Final = 1_000_000
_SYNC_US: Final = 300_000_000  # who is put out so long after its generation began lacked a sync


def incident_of(read: Read, only: str | None = None) -> Incident:
    """What became of the groups, or of one of them."""
    instances, homes = _known_members(read)
    named = {event.group for event in read.events if event.group}
    alone = named.pop() if len(named) == 1 else None
    tellers: dict[str, _BrokersStory] = {}
    of_clients: dict[str, list[Event]] = {}
    for event in read.events:
        name = event.group or homes.get(event.member_id or "") or homes.get(event.other_id or "")
        ours = event.broker is None or event.member_id or event.client_id
        name = name or (alone if ours else None)
        if event.broker is None:
            of_clients.setdefault(name or NOT_NAMED, []).append(event)
        elif name is not None:
            if name not in tellers:
                tellers[name] = _BrokersStory(name, instances)
            tellers[name].take(event)
    found = {name: teller.done() for name, teller in tellers.items()}
    for name, events in of_clients.items():
        if name in found:
            by_clients.explain_leaves(found[name], events)
        else:
            found[name] = by_clients.group_of(name, events)
    groups = [group for name, group in found.items() if only in (None, name)]
    groups.sort(key=lambda group: (-len(group.rebalances), -len(group.removals), group.name))

    def of_brokers(name: str) -> list[tuple[int, int]]:
        found = [one for one in read.events if one.event == name and not one.group]
        return [(one.at, one.broker) for one in found if one.broker is not None]

    return Incident(groups, instances, of_brokers("broker_stopping"), of_brokers("offsets_expired"))


def _known_members(read: Read) -> tuple[dict[str, str], dict[str, str]]:
    """Instance ids, and groups, by member id. Some lines name no group, or no instance id."""
    instances = {
        member: client.instance_id for member, client in read.clients.items() if client.instance_id
    }
    homes: dict[str, str] = {}
    for event in read.events:
        named: tuple[str | None, ...] = (event.member_id, event.other_id)
        instance = event.instance_id
        if event.event == "rebalance_started":
            named, instance = reasons.named_in(event.reason or "")
        elif not event.member_id:
            continue
        for member in filter(None, named):
            if instance:
                instances[member] = instance
            if event.group:
                homes[member] = event.group
    return instances, homes


_Generation = tuple[int | None, int]  # with the broker that counts it


class _BrokersStory:
    """Follows one group through its lines, in order of time."""

    def __init__(self, name: str, instances: dict[str, str]) -> None:
        self._group = LoggedGroup(name)
        self._instances = instances
        self._started: dict[_Generation, LoggedRebalance] = {}  # by the old generation
        self._last: dict[_Generation, LoggedRebalance] = {}  # by the new one
        self._said: dict[str, str] = {}  # by member id, why it left
        self._here: set[str] = set()  # who was named as joining and has not gone
        self._announced: set[str] = set()  # whose join has a line before that of the rebalance
        self._latest: LoggedRebalance | None = None  # the last generation that began
        self._members: int | None = None  # of the last generation
        self._bumps: list[LoggedRebalance] = []  # epochs without a target yet
        self._places: list[tuple[int, int, str]] = []  # time, broker, and what it said
        self._broker: int | None = None  # of the line before
        self._line: Event | None = None  # the last that may explain an epoch
        self._hint: Event | None = None  # since that
        self._hash: str | None = None

    def take(self, event: Event) -> None:
        group = self._group
        group.first_at = group.first_at or event.at
        group.last_at = event.at
        if event.member_id:
            group.members.add(event.member_id)
        broker = event.broker
        if broker is not None and (broker != self._broker or event.event in ("loaded", "unloaded")):
            self._broker = broker
            self._places.append((event.at, broker, event.event))
        rows, cause, _ = _MEANS.get(event.event, _UNKNOWN)
        if rows == "removals":
            self._removed(event, cause)
        elif rows:
            getattr(group, rows).append(self._removal(event, cause))
        elif taken := getattr(self, f"_{event.event}", None):
            taken(event)
        if event.event in (*_BEFORE_EPOCHS, *_ENDS_A_CHANGE):
            self._line = event if event.event in _BEFORE_EPOCHS else None
            self._hint = None
        elif event.event in ("subscribed", "metadata_computed", "dropped"):
            self._hint = event

    def done(self) -> LoggedGroup:
        """The group, with what was never completed."""
        self._group.rebalances += self._started.values()
        self._started.clear()
        self._group.rebalances.sort(key=lambda each: each.at)
        self._find_moves()
        return self._group

    def _find_moves(self) -> None:
        """Who coordinated the group one after the other.

        Where brokers say that they load it, only these lines count: their clocks may differ, and
        then their other lines alternate.
        """
        group = self._group
        before = [broker for _, broker, _ in self._places[:1]]
        loads = [(at, broker) for at, broker, event in self._places if event == "loaded"]
        silent = {broker for _, broker, _ in self._places} - {broker for _, broker in loads}
        places = [(at, broker) for at, broker, event in self._places if event != "unloaded"]
        changes = loads if silent <= set(before) else places
        for at, broker in changes:
            if before and before[-1] != broker:
                group.moves.append((at, before[-1], broker))
            if before[-1:] != [broker]:
                before.append(broker)
        group.coordinators = before

    def _rebalance_started(self, event: Event) -> None:
        reason, generation = event.reason or "", event.generation or 0
        named, _ = reasons.named_in(reason)
        cause = reasons.of_reason(reason)
        said = reasons.client_reason(reason)
        if cause == "joined":
            if named[:1] and named[0] in self._here:
                cause = "joins_on"
            self._here.update(named)
            self._group.joins += [(each, event.at) for each in named if each not in self._announced]
            self._announced.difference_update(named)
        if cause == "left":
            reported = [why for member in named if (why := self._said.get(member))]
            said = said or next(iter(reported), None)
            cause = reasons.of_leave(said)
        if not reason:
            cause, named = self._just_gone(event.at)
        if cause in ("session_expired", "sync_expired"):  # some logs have this line alone
            for member in named:
                self._removed(event, cause, member)
        trigger = reasons.trigger_of(reason)
        if trigger == "leave":
            self._here.difference_update(named)
            for member in named:  # before 2.2 this line alone has it
                if not self._has_left(member, event.at):
                    self._group.leaves.append(self._removal(event, cause, member))
        self._started[event.broker, generation] = LoggedRebalance(
            self._group.name, generation + 1, trigger, cause, named, reason,
            "classic", event.broker, event, self._members, client_reason=said, started_at=event.at,
        )  # fmt: skip

    def _just_gone(self, at: int) -> tuple[str, tuple[str, ...]]:
        """What caused a rebalance that has no reason in the log, and who, as far as is known."""
        gone = [*self._group.removals[-1:], *self._group.leaves[-1:]]
        last = max(gone, key=lambda row: row.at, default=None)
        if last is None or at - last.at > _MOMENT_US:
            return "unlogged", ()
        return last.cause, (last.member_id,)

    def _completed(self, event: Event, members: int | None) -> None:
        generation = event.generation or 0
        one = self._started.pop((event.broker, generation - 1), None)
        one = one or self._unexplained(event, generation, "classic")
        one.evidence, one.joined_at = event, event.at
        one.members_before = self._members if generation > 1 else 0
        one.members_after = members
        self._members = members
        self._last[event.broker, generation] = self._latest = one
        self._group.rebalances.append(one)

    def _unexplained(self, event: Event, generation: int, protocol: str) -> LoggedRebalance:
        about = generation, "other", "unknown", (), None, protocol
        return LoggedRebalance(self._group.name, *about, event.broker, event)

    def _stabilized(self, event: Event) -> None:
        self._completed(event, event.members)

    def _emptied(self, event: Event) -> None:
        self._here.clear()
        self._completed(event, 0)

    def _assignment_received(self, event: Event) -> None:
        key = event.broker, event.generation or 0
        if key not in self._last and (event.broker, key[1] - 1) in self._started:
            self._completed(event, event.members)
        one = self._last.get(key)
        if one is not None and one.synced_at is None:
            one.synced_at, one.leader = event.at, event.member_id

    def _member_added(self, event: Event) -> None:
        self._group.joins.append((event.member_id or "", event.at))
        self._announced.add(event.member_id or "")

    def _left(self, event: Event) -> None:
        said = event.client_reason or event.reason or ""
        if " left the " in said:  # Kafka's own words, in groups that have no reasons
            said = ""
        if event.member_id and said != "not provided":
            self._said[event.member_id] = said
        self._here.discard(event.member_id or "")
        if self._has_left(event.member_id or "", event.at):
            self._group.leaves.pop()
        self._group.leaves.append(self._removal(event, reasons.of_leave(said)))
        self._group.leaves[-1].said = self._said.get(event.member_id or "")

    def _has_left(self, member: str, at: int) -> bool:
        """Whether it is the last that left, a moment ago."""
        last = self._group.leaves[-1:]
        return any(one.member_id == member and at - one.at < _MOMENT_US for one in last)

    def _unloaded(self, event: Event) -> None:
        """What a broker began and has not completed goes on elsewhere, as another rebalance."""
        for key in [key for key in self._started if key[0] == event.broker]:
            self._group.rebalances.append(self._started.pop(key))

    def _upgraded(self, event: Event) -> None:
        found = _TO_A_GROUP.search(event.reason or "")
        one = self._removal(event, "converted", found[0] if found else "to another protocol")
        self._group.others.append(one)

    _downgraded = _upgraded

    def _never_synced(self, event: Event) -> None:
        for member in [event.member_id] if event.member_id else _listed(event):
            self._removed(event, "sync_expired", member)

    def _dead(self, event: Event) -> None:
        if event.at - max(self._group.deaths, default=0) > _MOMENT_US:  # both lines may be there
            self._group.deaths.append(event.at)

    _offsets_expired = _dead

    def _stragglers_removed(self, event: Event) -> None:
        started = {one.cause for one in self._started.values()}
        cause = "over_capacity" if "over_capacity" in started else "rebalance_timeout"
        for member in _listed(event):
            self._removed(event, cause, member)

    def _removed(self, event: Event, cause: str, member: str | None = None) -> None:
        one = self._removal(event, cause, member)
        self._here.discard(one.member_id)
        for last in reversed(self._group.removals):
            if one.at - last.at >= _MOMENT_US:
                break
            if (last.member_id, last.cause) == (one.member_id, cause) and cause in _SAID_TWICE:
                return
        latest = self._latest
        if latest is not None and latest.members_after != 0 and latest.synced_at is None:
            one.unsynced = one.at - (latest.joined_at or 0) < _SYNC_US
        self._group.removals.append(one)

    def _removal(self, event: Event, cause: str, member: str | None = None) -> Removal:
        member = member or event.member_id or ""
        instance = event.instance_id or self._instances.get(member)
        return Removal(
            self._group.name, cause, member, instance, event.reason, event.broker, event.at, event,
            event.other_id,
        )  # fmt: skip

    def _epoch_bumped(self, event: Event) -> None:
        line, hint = self._line, self._hint
        by = line.event if line else ""
        if line is None:
            changed = bool(event.reason and self._hash and event.reason != self._hash)
            if changed or (hint is not None and hint.event == "metadata_computed"):
                by = "metadata"
        _, cause, trigger = _MEANS.get(by, _UNKNOWN)
        if by == "left" and line:
            cause = reasons.of_leave(line.client_reason)
        if line is None and hint is not None and hint.event in _MEANS:
            cause = _MEANS[hint.event][1]
        about = line or (hint if hint and hint.member_id else None)
        named = (about.member_id,) if about and about.member_id else ()
        reason = (about.reason if about else None) or event.reason
        self._hash = event.reason or self._hash
        self._bumps.append(
            LoggedRebalance(
                self._group.name, event.generation or 0, trigger, cause, named, reason, "consumer",
                event.broker, event, started_at=event.at,
            )
        )  # fmt: skip

    def _target_computed(self, event: Event) -> None:
        epoch = event.generation or 0
        ours = [one for one in self._bumps if (one.generation or 0) <= epoch]
        self._bumps = [one for one in self._bumps if (one.generation or 0) > epoch]
        one = ours[0] if ours else self._unexplained(event, epoch, "consumer")
        one.generation, one.coordinator = epoch, event.broker
        one.evidence, one.joined_at = event, event.at
        self._latest = None
        self._members = None  # no line of KIP-848 has how many there are
        self._group.rebalances.append(one)


def _listed(event: Event) -> list[str]:
    return [each for each in _LIST.sub("", event.reason or "").split(", ") if each]
