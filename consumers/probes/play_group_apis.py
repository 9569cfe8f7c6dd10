"""Every call of the group APIs in every state of a group, right and wrong: what is answered.

Each scene has a group of its own, and all are played at once: some seconds.
"""

from typing import Final

from consumers.probes.classic_member import ProbeMember, every_state, liars
from consumers.probes.scene_tables import tables
from consumers.probes.script import Script

LOOKED_UP: Final = 60  # groups whose coordinator is looked up: many for each partition

# The time-outs of full-again are short: its coordinator waits on after it turned a member away.
_TABLES: Final = tables("""
leave-stable R29-wire: leaving no group, a stable one, one that completes, and an empty one
    stranger: be member_id=nobody
    stranger: leave | leave a group that does not exist
    a b c: form | form the group
    stranger: leave | leave a stable group as a stranger
    c: leave | leave a stable group
    a b: join_all | go on without it
    b: leave | leave while the group completes
    a: join_all | go on alone
    a: settle | go on alone
    a: leave | leave as the last
    group: until state=Empty
    a: leave | leave an empty group

leave-preparing R29-wire: leaving while others are waited for: one of two, then the last one
    a b c: form | form the group
    new: get_id
    new: begin_join | join
    group: until state=PreparingRebalance
    a: leave | leave while another is missing as well
    b: begin_join | rejoin
    c: leave | leave as the last one missing
    new b: take
    new b: settle | settle
    new b: leave | leave at the end

twins X05-wire: two live members with one instance id: the newer one wins
    old new: be instance_id=twin
    old: form | form the group
    old: heartbeat | heartbeat of the only one
    new: join | join with the instance id of a live member
    old: heartbeat | heartbeat of the older one
    old: commit positions={"TOPIC-0":1} | commit of the older one
    old: sync | sync of the older one
    old: try_join | join of the older one
    old: leave | leave of the older one
    new: sync | sync of the newer one
    new: heartbeat | heartbeat of the newer one
    new: leave | leave of the newer one

full-again X15: a newcomer joins while a full group prepares, and its last member finds it full
    a b c last new: be rebalance_timeout_ms=7000
    a b c last: form | form the group
    a: begin_join note=news | rejoin of the leader with news
    group: until state=PreparingRebalance
    new: get_id | join while members are waited for
    new: begin_join | join while members are waited for
    b c: begin_join | rejoin
    last: heartbeat | heartbeat of the last that is waited for
    last: try_join | rejoin as the last
    a new b c: take
    last: heartbeat | heartbeat of the one that was turned away
    a b c new: settle | settle
    a b c new: heartbeat | heartbeat in a group that is full again
    a b c new: leave | leave at the end

full X15: one more member than group.max.size allows
    a b c d: form | form the group
    e: get_id | join a full group
    e: try_join? | join a full group
    a b c d: heartbeat | heartbeat in a full group
    d: leave | make room
    e: get_id | join when there is room
    a b c: leave | leave at the end

deleted X30: DeleteGroups of a group with a member, an empty one, and none
    group: delete | delete a group that does not exist
    member: form | form the group
    group: delete | delete a group that has a member
    member: heartbeat | heartbeat after the refused delete
    member: leave | leave
    group: until state=Empty
    group: delete | delete an empty group
    group: until state=Dead
    group: delete | delete it again
""")


def session_range(script: Script) -> None:
    """Session timeouts at the ends of the accepted range, and just outside."""
    for session_ms in (5_999, 6_000, 1_800_000, 1_800_001):
        group = script.group(f"session-{session_ms}")
        member = ProbeMember(script, group, "R17", session_timeout_ms=session_ms)
        member.get_id(f"join with a session timeout of {session_ms} ms")
        if member.member_id:
            member.leave("leave before joining")


def heartbeats(script: Script) -> None:
    """Heartbeats with everything right, and with one thing wrong, in every state."""
    group = script.group("heartbeats")
    members = [ProbeMember(script, group, "R35-wire", name) for name in (None, "steady", None)]
    outsider = ProbeMember(script, group, "R35-wire", member_id="nobody")
    outsider.heartbeat("to a group that is not there")
    for state, there in every_state(members):
        if state == "stable again":
            for member in there:
                member.heartbeat("right, in the new generation")
        elif state == "empty":
            there[0].heartbeat("to an empty group")
        else:
            for what, liar in liars(*there):
                liar.heartbeat(f"{state}: {what}")


def describe(script: Script) -> None:
    """DescribeGroups and ListGroups in every state, and of a group that is not there."""
    group, topics = script.group("described"), (script.config.topic,)
    members = [
        ProbeMember(script, group, "R28", name, topics=topics) for name in (None, "shown", None)
    ]
    _describe(script, script.group("unheard-of"), "a group that does not exist")
    _describe(script, script.config.group, "the group under test")
    for state, _ in every_state(members):
        what = _DESCRIBED[state]
        _describe(script, group, what)
        for states in _LISTED if state in ("stable", "preparing") else ():
            step = f"list {what}, asking for {' '.join(states) or 'every state'}"
            for broker in script.brokers.addresses:
                body = {"statesFilter": states}
                script.ask(step, "R28-list", "LIST_GROUPS", body, broker, group=group)


_LISTED: Final[tuple[list[str], ...]] = ([], ["Stable"], ["PreparingRebalance"])
_DESCRIBED: Final = {
    "stable": "a stable group",
    "preparing": "a group that prepares",
    "completing": "a group that completes",
    "stable again": "a stable group of three",
    "empty": "an empty group",
}


def _describe(script: Script, group: str, what: str) -> None:
    body = {"groups": [group], "includeAuthorizedOperations": False}
    for version in range(5, min(6, script.codec.newest("DESCRIBE_GROUPS")) + 1):
        step = f"describe {what}, version {version}"
        script.ask(step, "R28", "DESCRIBE_GROUPS", body, group=group, version=version)


def coordinators(script: Script) -> None:
    """FindCoordinator for many groups, of names that hash to both signs."""
    keys = [script.config.group] + [script.group(f"looked-up-{n}") for n in range(LOOKED_UP)]
    body = {"keyType": 0, "coordinatorKeys": keys}
    step = "look up the coordinators of many groups"
    script.ask(step, "X13", "FIND_COORDINATOR", body, script.brokers.any)


SCENES: Final = (session_range, heartbeats, describe, coordinators, *_TABLES)
