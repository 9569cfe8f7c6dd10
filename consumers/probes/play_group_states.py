"""Members that are silent at the wrong moment: what the coordinator waits for, and for how long.

Each scene has a group of its own, and all are played at once: about 12 s.
"""

import time

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.member import ProbeMember, form, join_all, leader_of, settle
from consumers.probes.script import Script

SESSION_MS = 6_000  # the shortest that a broker takes
LONGER_S = 7.0  # than that session
SHORT_REBALANCE_MS = 7_000
SHORTER_REBALANCE_MS = 3_500
LATE_S = 5.0  # in the middle of the second of these


def play(config: ProbeConfig, journal: Journal) -> None:
    script = Script(config, journal)
    script.play(
        (silent_leader, never_syncs, parked_join, stragglers, nobody_rejoins, lost_id, late_id)
    )


def silent_leader(script: Script) -> None:
    """The leader does not assign for longer than a session; followers assign to themselves."""
    topic = script.config.topic
    members = [
        ProbeMember(script, script.group("silent-leader"), "R13", None, SESSION_MS, topics=(topic,))
        for _ in range(3)
    ]
    join_all(members, "form the group")
    leader = leader_of(members)
    followers = [member for member in members if member is not leader]
    everything = [(topic, number) for number in range(3)]
    parked = [
        follower.begin_sync(
            "sync of a follower that assigns to itself", {follower.member_id: everything}
        )
        for follower in followers
    ]
    leader.keep_alive("heartbeat before assigning", LONGER_S)
    given = {member.member_id: [(topic, number)] for number, member in enumerate(members)}
    leader.begin_sync("sync of the leader", given).result()
    for answer in parked:
        answer.result()
    for member in members:
        member.heartbeat("heartbeat when all is assigned")
    disband(members)


def never_syncs(script: Script) -> None:
    """One member joins and never asks for its part."""
    group = script.group("never-syncs")
    members = [
        ProbeMember(script, group, "X10", rebalance_timeout_ms=SHORT_REBALANCE_MS) for _ in "ab"
    ]
    join_all(members, "form the group")
    leader = leader_of(members)
    (silent,) = (member for member in members if member is not leader)
    leader.begin_sync("sync of the leader").result()
    script.until_state(group, "PreparingRebalance")
    silent.heartbeat("heartbeat of the one that never synced")
    join_all([leader], "go on without it")
    settle([leader], "go on without it")
    disband([leader])


def parked_join(script: Script) -> None:
    """A newcomer waits longer than its session; the one it waits for only heartbeats."""
    group = script.group("parked-join")
    old, new = (ProbeMember(script, group, "R03-wire", None, SESSION_MS) for _ in "ab")
    form([old], "form the group")
    old.rule = "R08-wire"
    new.get_id()
    joining = new.begin_join("join that has to wait")
    script.until_state(group, "PreparingRebalance")
    old.keep_alive("heartbeat instead of rejoining", LONGER_S)
    rejoining = old.begin_join("rejoin at last")
    new.take(joining)
    old.take(rejoining)
    settle([old, new], "settle")
    for member in (old, new):
        member.heartbeat("heartbeat after the rebalance")
    disband([old, new])


def stragglers(script: Script) -> None:
    """One member rejoins, a dynamic and a static one do not."""
    group = script.group("stragglers")
    leader, dynamic, static = (
        ProbeMember(script, group, "X09-wire", instance, rebalance_timeout_ms=SHORT_REBALANCE_MS)
        for instance in (None, None, "straggler")
    )
    form([leader, dynamic, static], "form the group")
    leader.take(leader.begin_join("rejoin with news", note="news"))
    dynamic.heartbeat("heartbeat of the dynamic straggler")
    static.heartbeat("heartbeat of the static straggler")
    leader.begin_sync("sync of the leader").result()
    disband([leader, static])


def nobody_rejoins(script: Script) -> None:
    """A member leaves, and of the two static ones nobody comes before the time is up, one after."""
    group = script.group("nobody-rejoins")
    leader, late, away = (
        ProbeMember(script, group, "X09-wire", instance, rebalance_timeout_ms=SHORTER_REBALANCE_MS)
        for instance in (None, "late", "away")
    )
    form([leader, late, away], "form the group")
    leader.leave("leave while the others do not notice")
    time.sleep(LATE_S)
    late.heartbeat("heartbeat when the time has been up once")
    late.take(late.begin_join("rejoin of one that is late"))
    away.heartbeat("heartbeat of the one that stayed away")
    late.begin_sync("sync of the one that is left", {late.member_id: []}).result()
    disband([late, away])


def lost_id(script: Script) -> None:
    """The connection is cut between the two steps of joining, and nobody comes back in time."""
    member = ProbeMember(script, script.group("lost-id"), "X08-wire", None, SESSION_MS)
    member.get_id()
    time.sleep(SESSION_MS / 1_000 + 0.5)
    member.begin_join("join with an id that was not used for a session").result()


def late_id(script: Script) -> None:
    """The same, and it comes back in the middle of the session."""
    member = ProbeMember(script, script.group("late-id"), "X08-wire", None, SESSION_MS)
    member.get_id()
    time.sleep(SESSION_MS / 2_000)
    member.take(member.begin_join("join with an id given half a session ago"))
    settle([member], "settle")
    disband([member])


def disband(members: list[ProbeMember]) -> None:
    for member in members:
        member.leave("leave at the end")
