"""What a person sees of a cluster by hand: a live view on a terminal, a line for each change."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.base.words import plural
from harness.cluster.wire import MemberSeen
from harness.run.by_hand.cluster_watch import GroupSeen, RebalanceSeen, Seen
from harness.run.by_hand.fault_runner import ActiveFault
from harness.run.screen import dots

_MOST_GROUPS: Final = 8  # more are counted: the view has to fit a screen
_MOST_MEMBERS: Final = 12  # of a group
_STABLE: Final = "Stable"
# What groups are that are not of consumers.
_KINDS: Final = {"share": "share group, ", "streams": "Streams group, "}


def named(text: str, names: Mapping[str, str]) -> str:
    """A text with members called by their client.id, which are given by member id."""
    for member_id, client_id in names.items():
        text = text.replace(member_id, client_id)
    return text


def names_in(seen: Seen) -> dict[str, str]:
    """The client.id of every member that is there, by its member id."""
    members = (member for group in seen.groups.values() for member in group.members)
    return {each.member_id: each.client_id for each in members if each.member_id and each.client_id}


def drawn(
    head: str,
    seen: Seen,
    rebalances: Mapping[str, RebalanceSeen],
    active: Sequence[ActiveFault],
    gone: Mapping[str, str],
) -> RenderableType:
    """The view of now; `head` is how it is reached, `gone` names members that were there before."""
    names = {**gone, **names_in(seen)}
    table = Table.grid(padding=(0, 2))
    brokers = dots(seen.brokers)
    if thin := seen.thin():
        brokers.append(_lacking(thin), "yellow")
    table.add_row("brokers", brokers)
    groups = list(seen.groups.values())
    for group in groups[:_MOST_GROUPS]:
        table.add_row("group", _group(group, rebalances.get(group.name), names))
        for member in group.members[:_MOST_MEMBERS]:
            table.add_row("", Text(f"  {_member(member)}", "dim"))
        if len(group.members) > _MOST_MEMBERS:
            table.add_row("", f"  and {len(group.members) - _MOST_MEMBERS} more")
    if len(groups) > _MOST_GROUPS:
        table.add_row("", f"and {len(groups) - _MOST_GROUPS} groups more")
    if not groups:
        table.add_row("group", Text("none yet", "dim"))
    for each in active:
        table.add_row("fault", Text(f"{each.item}, heals in {each.left_s():.0f} s", "bold red"))
    return Group(Text(head, "bold"), table)


def _group(group: GroupSeen, last: RebalanceSeen | None, names: Mapping[str, str]) -> Text:
    text = Text(group.name, "bold")
    text.append(f"  {_KINDS.get(group.kind, '')}")
    text.append(group.state, "" if group.state == _STABLE else "yellow")
    text.append(f", {plural(len(group.members), 'member')}")
    if group.lag is not None:
        text.append(f", lag {group.lag:,}")
    where = "none right now" if group.coordinator is None else f"broker-{group.coordinator}"
    text.append(f", coordinator {where}", "" if group.coordinator is not None else "red")
    if last is not None:
        ago_s = max(0.0, time.time() - last.began_us / 1e6)
        text.append(f"\n  last rebalance {_ago(ago_s)} ago: {named(last.why, names)}", "dim")
    return text


def _lacking(thin: int) -> str:
    return f"{plural(thin, 'partition')} {'lacks' if thin == 1 else 'lack'} replicas"


def _member(member: MemberSeen) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, number in member.partitions:
        by_topic.setdefault(topic, []).append(str(number))
    owned = "; ".join(f"{topic} {' '.join(numbers)}" for topic, numbers in by_topic.items())
    if member.tasks:
        owned = f"{'task' if len(member.tasks) == 1 else 'tasks'} {', '.join(member.tasks)}"
    return f"{member.client_id} at {member.host}: {owned or 'no partitions'}"


def _ago(time_s: float) -> str:
    if time_s < 100:
        return f"{time_s:.0f} s"
    return f"{time_s / 60:.0f} min" if time_s < 6_000 else f"{time_s / 3_600:.0f} h"


def changes(before: Seen, after: Seen) -> Iterator[str]:
    for number, alive in after.brokers.items():
        if before.brokers.get(number, alive) != alive:
            yield f"broker-{number} {'answers again' if alive else 'does not answer'}"
    if before.partitions and bool(before.thin()) != bool(after.thin()):
        thin = after.thin()
        yield _lacking(thin) if thin else "every partition has all its replicas"
    for name, group in after.groups.items():
        had = before.groups.get(name)
        if had is None or _state(had) != _state(group):
            yield f"{name}: {_state(group)}"
    for name in before.groups.keys() - after.groups.keys():
        yield f"{name}: gone"


def _state(group: GroupSeen) -> str:
    """What of a group is worth a line: not its lag, which changes all the time."""
    where = "no coordinator" if group.coordinator is None else f"broker-{group.coordinator}"
    kind = _KINDS.get(group.kind, "")
    return f"{kind}{group.state}, {plural(len(group.members), 'member')}, {where}"
