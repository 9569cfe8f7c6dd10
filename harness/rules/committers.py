"""Whom a commit names: the member that makes it, or nobody."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Groups, Rule

# Commits of our own members that came to a coordinator, one row per request. One is of nobody where
# it names no member, or no generation that a member can have. A program of somebody else's does not
# show whether its library or its application asked, so it has none here.
COMMITS: Final = """
    WITH commits AS (
        SELECT r.member, m.commit, r.arrived_at AS at, r.error_code, r.evidence,
               r.member_id IS NULL OR coalesce(r.generation, -1) < 0 AS of_nobody,
               concat(IF(r.member_id IS NULL, 'no member', 'its member'), ' and ',
                      IF(coalesce(r.generation, -1) < 0, 'no generation',
                         concat('generation ', r.generation))) AS names
        FROM {own_requests} r JOIN {members} m ON m.member = r.member
        WHERE r.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND m.role = 'consumer'
          AND m.commit IS NOT NULL
    )
"""
PER_MEMBER: Final = """
    SELECT member AS subject, coalesce(min(at) FILTER (WHERE of_nobody), min(at)) AS at,
           count_if(of_nobody) AS measured, 0 AS bound_high,
           coalesce(concat('the first of them names ',
                           min_by(concat(names, ', and was answered ',
                                         coalesce(string(error_code), 'nothing')),
                                  struct(at, evidence)) FILTER (WHERE of_nobody)),
                    concat(count(*), IF(count(*) = 1, ' commit', ' commits'), ' with its name'))
               AS note,
           coalesce(min_by(evidence, struct(at, evidence)) FILTER (WHERE of_nobody),
                    min_by(evidence, struct(at, evidence))) AS evidence
    FROM commits
"""


@Rule(
    "X41",
    title="A client makes automatic commits only as a member",
    statement="An automatic commit names the member id and the generation (in KIP-848 the epoch) "
    "of the member that makes it. A client that has lost its place in the group makes none until "
    "it has joined again.",
    source="OffsetCommitRequest, MemberId and GenerationIdOrMemberEpoch; librdkafka #5585",
    unit="commits",
    things="members with automatic commits",
    measures="without a valid member id and generation",
    too_high="made commits without a valid member id and generation",
    matters="A static member's commit without its member id is refused with FENCED_INSTANCE_ID "
    "(82). Its client takes that for another process with its instance id, and stops for good.",
    always=True,
    of_applications=True,  # who asks for a commit
)
def commits_as_a_member() -> str:
    """Members whose client commits by itself; the application asks for none there."""
    return "{COMMITS} {PER_MEMBER} WHERE commit = 'auto' GROUP BY member"


@Rule(
    "X41-asked",
    title="A commit by the application names its member",
    statement="A commit that the application asks for names the member id and the generation (in "
    "KIP-848 the epoch) of its member. A client that has lost its place in the group refuses the "
    "commit and sends nothing.",
    source="KafkaConsumer.commitSync (CommitFailedException); ConsumerCoordinator, "
    "sendOffsetCommitRequest",
    unit="commits",
    things="members whose application commits",
    measures="without a valid member id and generation",
    too_high="made commits without a valid member id and generation",
    matters="The answer to such a commit depends on the group: mostly UNKNOWN_MEMBER_ID (25), the "
    "fatal FENCED_INSTANCE_ID (82) if the group still has a static member of that name, and no "
    "error from an empty group if no generation is named.",
    of_applications=True,  # who asks for a commit
    in_passing=True,
    contradicted=(
        *(Groups(client="librdkafka", protocol=protocol) for protocol in CLASSIC),
        Groups(client="java", protocol="consumer"),
    ),
)
def asked_commits_name_their_member() -> str:
    """Members whose commits go to the group's coordinator because their application asks.

    librdkafka drops its member id, and keeps its generation, when max.poll.interval.ms or its own
    session is over (rd_kafka_cgrp_max_poll_interval_check_tmr_cb); Java's client of KIP-848 has
    epoch -1 then. Both send what an application asks for before its next poll.
    """
    return "{COMMITS} {PER_MEMBER} WHERE commit <> 'auto' GROUP BY member"
