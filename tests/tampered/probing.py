"""Changes of what probes of kept runs were answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.tampered.history import Change, Kept, NotThere, Row, change, first

GROUP_APIS: Final = "group-apis."
OFFSET_APIS: Final = "offset-apis."
JOINS: Final = (GROUP_APIS, "group-states.", OFFSET_APIS)
# A subscription to topic "u" in the way of Kafka's clients.
ANOTHER: Final = "AAAAAAABAAF1AAAAAA=="
# Partition 2 of topic t.
PART: Final = "AAAAAAABAAF0AAAAAQAAAAIAAAAA"


def answer(call: Row) -> Any:
    return json.loads(call["answer"])


def answered(call: Row, edit: Callable[[Any], object]) -> None:
    """The call with its answer changed."""
    changed = answer(call)
    edit(changed)
    call["answer"] = json.dumps(changed)


def calls(kept: Kept, api: str, step: str = "") -> list[Row]:
    """Calls by probes that were answered without an error, in order, whose step begins so."""
    found = [
        row
        for row in kept["calls"]
        if row["api"] == api and row["error_code"] == 0 and row["step"].startswith(step)
    ]
    return sorted(found, key=lambda row: row["sent_at"])


def of_leader(kept: Kept) -> Row:
    """A JoinGroup of a leader that is told of two members at least."""
    joins = [row for row in calls(kept, "JOIN_GROUP") if len(answer(row)["members"]) > 1]
    return first(joins, "leader of two")


def of_follower(kept: Kept) -> Row:
    """A JoinGroup of the same generation by a member that does not lead."""
    leader = of_leader(kept)
    number = answer(leader)["generationId"]
    joins = [row for row in calls(kept, "JOIN_GROUP") if row["group"] == leader["group"]]
    told = [(row, answer(row)) for row in joins]
    followers = [row for row, its in told if its["generationId"] == number and not its["members"]]
    return first(followers, "follower")


def a_leader_is_not_told_of_a_member(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told["members"].pop())


def a_leader_is_told_of_a_stranger(kept: Kept) -> None:
    stranger = {"memberId": "stranger-1", "groupInstanceId": None, "metadata": "AAAAAAAAAAAAAA=="}
    answered(of_leader(kept), lambda told: told["members"].append(stranger))


def a_leader_is_told_another_subscription(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told["members"][1].update(metadata=ANOTHER))


def a_leader_is_told_another_instance_id(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told["members"][1].update(groupInstanceId="another"))


def a_group_has_two_leaders(kept: Kept) -> None:
    members = answer(of_leader(kept))["members"]
    answered(of_follower(kept), lambda told: told.update(leader=told["memberId"], members=members))


def a_dynamic_leader_is_told_to_skip_the_assignment(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told.update(skipAssignment=True))


def a_join_is_answered_as_of_another_type(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told.update(protocolType="connect"))


def a_join_is_told_an_assignor_that_nobody_offers(kept: Kept) -> None:
    answered(of_leader(kept), lambda told: told.update(protocolName="roundrobin"))


def a_sync_is_told_another_assignor(kept: Kept) -> None:
    sync = first(calls(kept, "SYNC_GROUP"), "SyncGroup")
    answered(sync, lambda told: told.update(protocolName="roundrobin"))


def a_join_is_answered_with_another_member_id(kept: Kept) -> None:
    joins = [row for row in calls(kept, "JOIN_GROUP") if row["member_id"]]
    answered(joins[0], lambda told: told.update(memberId=told["memberId"][:-4] + "ffff"))


def a_leader_gets_another_part_than_it_gave_itself(kept: Kept) -> None:
    for sync in calls(kept, "SYNC_GROUP"):
        given = json.loads(sync["request"])["assignments"]
        if sync["member_id"] in [each["memberId"] for each in given]:
            answered(sync, lambda told: told.update(assignment=PART))
            return
    raise NotThere("no leader that gave itself a part")


def of_group(told: Any) -> Any:
    """What a fetch was answered of its first partition."""
    return told["groups"][0]["topics"][0]["partitions"][0]


def a_fetch_tells_metadata_that_nobody_committed(kept: Kept) -> None:
    fetch = first(calls(kept, "OFFSET_FETCH", "fetch named"), "fetch")
    answered(fetch, lambda told: of_group(told).update(metadata="mine"))


def a_fetch_has_forgotten_the_metadata(kept: Kept) -> None:
    fetches = calls(kept, "OFFSET_FETCH", "fetch after the commit with metadata")
    fetch = first([row for row in fetches if '"metadata": "m' in row["answer"]], "metadata")
    told = answer(fetch)
    for part in told["groups"][0]["topics"][0]["partitions"]:
        part["metadata"] = ""
    fetch["answer"] = json.dumps(told)


def a_fetch_tells_a_leader_epoch_that_nobody_committed(kept: Kept) -> None:
    fetch = first(calls(kept, "OFFSET_FETCH", "fetch named"), "fetch")
    answered(fetch, lambda told: of_group(told).update(committedLeaderEpoch=4))


def a_fetch_is_answered_for_another_group(kept: Kept) -> None:
    fetch = first(calls(kept, "OFFSET_FETCH", "fetch named"), "fetch")
    answered(fetch, lambda told: told["groups"][0].update(groupId="orders-other"))


def a_commit_is_answered_for_one_of_two(kept: Kept) -> None:
    commits = calls(kept, "OFFSET_COMMIT")
    several = [row for row in commits if len(answer(row)["topics"][0]["partitions"]) > 1]
    commit = first(several, "commit of two")
    answered(commit, lambda told: told["topics"][0]["partitions"].pop())


def a_fetch_leaves_a_named_partition_out(kept: Kept) -> None:
    fetch = first(calls(kept, "OFFSET_FETCH", "fetch named"), "fetch")
    answered(fetch, lambda told: told["groups"][0]["topics"][0]["partitions"].pop())


def a_commit_creates_no_group(kept: Kept) -> None:
    commits = calls(kept, "OFFSET_COMMIT", "as nobody, to a group that does not exist")
    first(commits, "such commit")["state_after"] = "Dead"


def a_member_is_described_at_another_host(kept: Kept) -> None:
    call = first(
        calls(kept, "DESCRIBE_GROUPS", "describe a stable group, version 6"), "description"
    )
    answered(call, lambda told: told["groups"][0]["members"][0].update(clientHost="/10.9.8.7"))


def a_member_of_kip_848_is_described_at_another_host(kept: Kept) -> None:
    call = first(calls(kept, "CONSUMER_GROUP_DESCRIBE"), "description")
    answered(call, lambda told: told["groups"][0]["members"][0].update(clientHost="/10.1.1.1"))


def a_lookup_leaves_a_group_out(kept: Kept) -> None:
    call = first(calls(kept, "FIND_COORDINATOR"), "lookup")
    answered(call, lambda told: told["coordinators"].pop())


def a_leave_is_answered_of_another_member(kept: Kept) -> None:
    leaves = [row for row in calls(kept, "LEAVE_GROUP") if answer(row)["members"]]
    leave = first(leaves, "leave that names a member")
    answered(leave, lambda told: told["members"][0].update(memberId="stranger-1"))


CHANGES: Final[tuple[Change, ...]] = (
    change(a_leader_is_not_told_of_a_member, "X108", JOINS),
    change(a_leader_is_told_of_a_stranger, "X108", JOINS),
    change(a_leader_is_told_another_subscription, "X108", JOINS),
    change(a_leader_is_told_another_instance_id, "X108", JOINS),
    change(a_group_has_two_leaders, "X108", JOINS),
    change(a_dynamic_leader_is_told_to_skip_the_assignment, "X108", JOINS),
    change(a_join_is_answered_as_of_another_type, "X109", JOINS),
    change(a_join_is_told_an_assignor_that_nobody_offers, "X109", JOINS),
    change(a_sync_is_told_another_assignor, "X109", JOINS),
    change(a_join_is_answered_with_another_member_id, "X109", JOINS),
    change(a_leader_gets_another_part_than_it_gave_itself, "R13", (GROUP_APIS, OFFSET_APIS)),
    change(a_fetch_tells_metadata_that_nobody_committed, "R30-wire", (OFFSET_APIS,)),
    change(a_fetch_has_forgotten_the_metadata, "R30-wire", (OFFSET_APIS,)),
    change(a_fetch_tells_a_leader_epoch_that_nobody_committed, "R30-wire", (OFFSET_APIS,)),
    change(a_fetch_is_answered_for_another_group, "R30-wire", (OFFSET_APIS,)),
    change(a_commit_is_answered_for_one_of_two, "X110", (OFFSET_APIS,)),
    change(a_fetch_leaves_a_named_partition_out, "X110", (OFFSET_APIS,)),
    change(a_commit_creates_no_group, "X06", (OFFSET_APIS,)),
    change(a_member_is_described_at_another_host, "R28", (GROUP_APIS,)),
    change(a_member_of_kip_848_is_described_at_another_host, "R28-epoch", ("member-epochs.",)),
    change(a_lookup_leaves_a_group_out, "X13", (GROUP_APIS,)),
    change(a_leave_is_answered_of_another_member, "R29-wire", (GROUP_APIS, OFFSET_APIS)),
)  # fmt: skip
