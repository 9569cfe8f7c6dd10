"""Every call of the group APIs in every state of a group, right and wrong: what is answered.

Each scene has a group of its own, and all are played at once: some seconds.
"""

from dataclasses import replace

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.admin import delete_group
from consumers.probes.member import ProbeMember, form, join_all, settle
from consumers.probes.script import Question, Script

SHORT_REBALANCE_MS = 7_000  # for a coordinator that does not go on when it turns a member away
LOOKED_UP = 60  # groups whose coordinator is looked up: many for each partition


def play(config: ProbeConfig, journal: Journal) -> None:
    script = Script(config, journal)
    script.play(
        (
            session_range,
            leave_stable,
            leave_preparing,
            heartbeats,
            duplicate_instance,
            full_group,
            last_one_back,
            describe,
            delete,
            coordinators,
        )
    )


def session_range(script: Script) -> None:
    """Session timeouts at the ends of the accepted range, and just outside."""
    for session_ms in (5_999, 6_000, 1_800_000, 1_800_001):
        group = script.group(f"session-{session_ms}")
        member = ProbeMember(script, group, "R17", session_timeout_ms=session_ms)
        member.get_id(f"join with a session timeout of {session_ms} ms")
        if member.member_id:
            member.leave("leave before joining")


def leave_stable(script: Script) -> None:
    """Leaving a group that is not there, a stable one, one that completes, and an empty one."""
    group = script.group("leave-stable")
    first, second, third = (ProbeMember(script, group, "R29-wire") for _ in "abc")
    stranger = ProbeMember(script, group, "R29-wire", member_id="nobody")
    stranger.leave("leave a group that does not exist")
    form([first, second, third], "form the group")
    stranger.leave("leave a stable group as a stranger")
    third.leave("leave a stable group")
    join_all([first, second], "go on without it")
    second.leave("leave while the group completes")
    join_all([first], "go on alone")
    settle([first], "go on alone")
    first.leave("leave as the last")
    script.until_state(group, "Empty")
    first.leave("leave an empty group")


def leave_preparing(script: Script) -> None:
    """Leaving while others are waited for: not the last one missing, then the last one."""
    group = script.group("leave-preparing")
    first, second, third = (ProbeMember(script, group, "R29-wire") for _ in "abc")
    form([first, second, third], "form the group")
    new = ProbeMember(script, group, "R29-wire")
    new.get_id()
    joining = new.begin_join("join")
    script.until_state(group, "PreparingRebalance")
    first.leave("leave while another is missing as well")
    rejoining = second.begin_join("rejoin")
    third.leave("leave as the last one missing")
    new.take(joining)
    second.take(rejoining)
    settle([new, second], "settle")
    for member in (new, second):
        member.leave("leave at the end")


def heartbeats(script: Script) -> None:
    """Heartbeats with everything right, and with one thing wrong, in every state."""
    group = script.group("heartbeats")
    dynamic = ProbeMember(script, group, "R35-wire")
    static = ProbeMember(script, group, "R35-wire", "steady")
    ProbeMember(script, group, "R35-wire", member_id="nobody").heartbeat(
        "to a group that is not there"
    )
    form([dynamic, static], "form the group")
    _all_heartbeats(dynamic, static, "stable")
    new = ProbeMember(script, group, "R35-wire")
    new.get_id()
    joining = new.begin_join("join")
    script.until_state(group, "PreparingRebalance")
    _all_heartbeats(dynamic, static, "preparing")
    rejoining = [(member, member.begin_join("rejoin")) for member in (dynamic, static)]
    for member, answer in [*rejoining, (new, joining)]:
        member.take(answer)
    _all_heartbeats(dynamic, static, "completing")
    settle([dynamic, static, new], "settle")
    for member in (dynamic, static, new):
        member.heartbeat("right, in the new generation")
    for member in (dynamic, static, new):
        member.leave("leave at the end")
    script.until_state(group, "Empty")
    dynamic.heartbeat("to an empty group")


def _all_heartbeats(dynamic: ProbeMember, static: ProbeMember, state: str) -> None:
    for member, who in ((dynamic, "dynamic"), (static, "static")):
        replace(member).heartbeat(f"{state}: right, {who}")
        replace(member, generation=member.generation - 1).heartbeat(
            f"{state}: generation before, {who}"
        )
        replace(member, generation=member.generation + 1).heartbeat(
            f"{state}: generation to come, {who}"
        )
        replace(member, member_id="nobody").heartbeat(f"{state}: another member id, {who}")
    replace(static, instance_id="stranger").heartbeat(f"{state}: another instance id")


def duplicate_instance(script: Script) -> None:
    """Two live members with one instance id: the newer one wins."""
    group = script.group("twins")
    old, new = (ProbeMember(script, group, "X05-wire", "twin") for _ in "ab")
    form([old], "form the group")
    old.heartbeat("heartbeat of the only one")
    new.take(new.begin_join("join with the instance id of a live member"))
    old.heartbeat("heartbeat of the older one")
    old.commit("commit of the older one", {(script.config.topic, 0): 1})
    old.begin_sync("sync of the older one").result()
    old.begin_join("join of the older one").result()
    old.leave("leave of the older one")
    new.begin_sync("sync of the newer one").result()
    new.heartbeat("heartbeat of the newer one")
    new.leave("leave of the newer one")


def full_group(script: Script) -> None:
    """One more member than group.max.size allows."""
    group = script.group("full")
    members = [ProbeMember(script, group, "X15") for _ in "abcd"]
    form(members, "form the group")
    surplus = ProbeMember(script, group, "X15")
    surplus.get_id("join a full group")
    if surplus.member_id:
        surplus.begin_join("join a full group").result()
    for member in members:
        member.heartbeat("heartbeat in a full group")
    members.pop().leave("make room")
    surplus.get_id("join when there is room")
    for member in members:
        member.leave("leave at the end")


def last_one_back(script: Script) -> None:
    """A newcomer joins while a full group prepares, and the last of its members finds it full."""
    group = script.group("full-again")
    first, second, third, last = members = [
        ProbeMember(script, group, "X15", rebalance_timeout_ms=SHORT_REBALANCE_MS) for _ in "abcd"
    ]
    form(members, "form the group")
    rejoining = [(first, first.begin_join("rejoin of the leader with news", note="news"))]
    script.until_state(group, "PreparingRebalance")
    new = ProbeMember(script, group, "X15", rebalance_timeout_ms=SHORT_REBALANCE_MS)
    new.get_id("join while members are waited for")
    rejoining.append((new, new.begin_join("join while members are waited for")))
    rejoining += [(member, member.begin_join("rejoin")) for member in (second, third)]
    last.heartbeat("heartbeat of the last that is waited for")
    last.begin_join("rejoin as the last").result()
    for member, answer in rejoining:
        member.take(answer)
    last.heartbeat("heartbeat of the one that was turned away")
    settle([first, second, third, new], "settle")
    for member in (first, second, third, new):
        member.heartbeat("heartbeat in a group that is full again")
    for member in (first, second, third, new):
        member.leave("leave at the end")


def describe(script: Script) -> None:
    """DescribeGroups and ListGroups in every state, and of a group that is not there."""
    group = script.group("described")
    topics = (script.config.topic,)
    dynamic = ProbeMember(script, group, "R28", topics=topics)
    static = ProbeMember(script, group, "R28", "shown", topics=topics)
    _describe(script, script.group("unheard-of"), "a group that does not exist")
    _describe(script, script.config.group, "the group under test")
    form([dynamic, static], "form the group")
    _describe(script, group, "a stable group")
    _list(script, group, "a stable group")
    new = ProbeMember(script, group, "R28", topics=topics)
    new.get_id()
    joining = new.begin_join("join")
    script.until_state(group, "PreparingRebalance")
    _describe(script, group, "a group that prepares")
    _list(script, group, "a group that prepares")
    rejoining = [(member, member.begin_join("rejoin")) for member in (dynamic, static)]
    for member, answer in [*rejoining, (new, joining)]:
        member.take(answer)
    _describe(script, group, "a group that completes")
    settle([dynamic, static, new], "settle")
    _describe(script, group, "a stable group of three")
    for member in (dynamic, static, new):
        member.leave("leave at the end")
    script.until_state(group, "Empty")
    _describe(script, group, "an empty group")


def _describe(script: Script, group: str, what: str) -> None:
    for version in range(5, min(6, script.codec.newest("DESCRIBE_GROUPS")) + 1):
        script.ask(
            Question(
                step=f"describe {what}, version {version}",
                rule="R28",
                api="DESCRIBE_GROUPS",
                body={"groups": [group], "includeAuthorizedOperations": False},
                group=group,
                version=version,
            )
        )


def _list(script: Script, group: str, what: str) -> None:
    for states in ([], ["Stable"], ["PreparingRebalance"]):
        for broker in script.brokers.addresses:
            script.ask(
                Question(
                    step=f"list {what}, asking for {' '.join(states) or 'every state'}",
                    rule="R28-list",
                    api="LIST_GROUPS",
                    body={"statesFilter": states},
                    group=group,
                ),
                broker,
            )


def delete(script: Script) -> None:
    """DeleteGroups of a group with a member, an empty one, and one that is not there."""
    group = script.group("deleted")
    member = ProbeMember(script, group, "X30")
    delete_group(script, group, "delete a group that does not exist")
    form([member], "form the group")
    delete_group(script, group, "delete a group that has a member")
    member.heartbeat("heartbeat after the refused delete")
    member.leave("leave")
    script.until_state(group, "Empty")
    delete_group(script, group, "delete an empty group")
    script.until_state(group, "Dead")
    delete_group(script, group, "delete it again")


def coordinators(script: Script) -> None:
    """FindCoordinator for many groups, of names that hash to both signs."""
    keys = [script.config.group] + [script.group(f"looked-up-{n}") for n in range(LOOKED_UP)]
    body = {"keyType": 0, "coordinatorKeys": keys}
    broker = next(iter(script.brokers.addresses))
    step = "look up the coordinators of many groups"
    script.ask(Question(step=step, rule="X13", api="FIND_COORDINATOR", body=body), broker)
