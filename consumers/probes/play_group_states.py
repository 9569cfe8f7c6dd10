"""Members that are silent at the wrong moment: what the coordinator waits for, and for how long.

Each scene has a group of its own, and all are played at once: about 12 s. 6 s is the shortest
session that a broker takes.
"""

from typing import Final

from consumers.probes.classic_member import ProbeMember, join_all
from consumers.probes.scene_tables import tables
from consumers.probes.script import Script

_TABLES: Final = tables("""
never-syncs X10: one member joins and never asks for its part
    leader silent: be rebalance_timeout_ms=7000
    leader silent: join_all | form the group
    leader: sync | sync of the leader
    group: until state=PreparingRebalance
    silent: heartbeat | heartbeat of the one that never synced
    leader: join_all | go on without it
    leader: settle | go on without it
    leader: leave | leave at the end

parked-join R03-wire: a newcomer waits longer than its session; the one it waits for only heartbeats
    old new: be session_timeout_ms=6000
    old: form | form the group
    old: be rule=R08-wire
    new: get_id
    new: begin_join | join that has to wait
    group: until state=PreparingRebalance
    old: keep_alive for_s=7.0 | heartbeat instead of rejoining
    old: begin_join | rejoin at last
    new old: take
    old new: settle | settle
    old new: heartbeat | heartbeat after the rebalance
    old new: leave | leave at the end

stragglers X09-wire: one member rejoins, a dynamic and a static one do not
    leader dynamic static: be rebalance_timeout_ms=7000
    static: be instance_id=straggler
    leader dynamic static: form | form the group
    leader: join note=news | rejoin with news
    dynamic: heartbeat | heartbeat of the dynamic straggler
    static: heartbeat | heartbeat of the static straggler
    leader: sync | sync of the leader
    leader static: leave | leave at the end

nobody-rejoins X09-wire: a member leaves; of two static ones, one comes in the next wait
    leader late away: be rebalance_timeout_ms=3500
    late: be instance_id=late
    away: be instance_id=away
    leader late away: form | form the group
    leader: leave | leave while the others do not notice
    group: sleep s=5.0
    late: heartbeat | heartbeat when the time has been up once
    late: join | rejoin of one that is late
    away: heartbeat | heartbeat of the one that stayed away
    late: sync alone=true | sync of the one that is left
    late away: leave | leave at the end

lost-id X08-wire: the connection is cut between the two steps of joining, for longer than a session
    member: be session_timeout_ms=6000
    member: get_id
    group: sleep s=6.5
    member: try_join | join with an id that was not used for a session

late-id X08-wire: the same, and it comes back in the middle of the session
    member: be session_timeout_ms=6000
    member: get_id
    group: sleep s=3.0
    member: join | join with an id given half a session ago
    member: settle | settle
    member: leave | leave at the end
""")


def silent_leader(script: Script) -> None:
    """The leader does not assign for longer than a session; followers assign to themselves."""
    topic, group = script.config.topic, script.group("silent-leader")
    members = leader, *followers = [
        ProbeMember(script, group, "R13", topics=(topic,), session_timeout_ms=6_000)
        for _ in range(3)
    ]
    join_all(members, "form the group")
    everything = [(topic, number) for number in range(3)]
    step = "sync of a follower that assigns to itself"
    parked = [each.begin_sync(step, {each.member_id: everything}) for each in followers]
    leader.keep_alive("heartbeat before assigning", for_s=7.0)
    given = {member.member_id: [(topic, number)] for number, member in enumerate(members)}
    for answer in [leader.begin_sync("sync of the leader", given), *parked]:
        answer.result()
    for member in members:
        member.heartbeat("heartbeat when all is assigned")
    for member in members:
        member.leave("leave at the end")


SCENES: Final = (silent_leader, *_TABLES)
