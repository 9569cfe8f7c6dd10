"""What a rebalance listener is for: giving partitions up in order, and seeking a kept position."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.callbacks import (  # noqa: F401 (queries name them)
    HANDED_ON_MS,
    LEFT_OVER,
    WOKEN,
)
from harness.rules.rights import TOPIC_AUTHORIZATION_FAILED  # noqa: F401 (a query names it)
from harness.rules.rule import A_MEMBER, Groups, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (queries name it)

# Partitions that a member gave up in its callback, and who was given each next. Who had been
# removed from the group before that was not told to give anything up: it found out too late.
GIVEN_UP: Final = """
    handovers AS (
        SELECT topic, partition, member, to_at AS given_up_at, ended_by, removed_at,
               lead(member) OVER w AS next_member, lead(from_at) OVER w AS next_at,
               lead(to_at) OVER w AS next_to
        FROM {ownership} WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at, member)
    ), given_up AS (
        SELECT *, concat(topic, '-', partition, ' from ', member, ' to ', next_member) AS subject
        FROM handovers
        WHERE ended_by = 'revoked' AND next_member IS NOT NULL AND removed_at IS NULL
    )
"""


@Rule(
    "R15",
    title="The revocation callback runs before the partition moves",
    statement="The callback for revoked partitions runs before another member is assigned them.",
    source="document 001, rebalance listener; ConsumerRebalanceListener, onPartitionsRevoked",
    unit="ms",
    things="moved partitions",
    measures="from the callback to the next assignment",
    too_low="was assigned to another member before the callback of the member that had it",
    matters="The callback is the last chance to commit: without it the next owner repeats "
    "finished work.",
    of_applications=True,
)
def callback_first() -> str:
    """Moved partitions, by the callbacks of both members.

    A member that is handed too late what it was given counts as the next owner, if another has the
    partition by then and gives it up later.
    """
    return """
        WITH {GIVEN_UP}, {WOKEN}
        SELECT g.subject, g.given_up_at AS at, ms_between(g.given_up_at, g.next_at) AS measured,
               0 AS bound_low, IF(count(w.member) > 0, '{LEFT_OVER}', NULL) AS excused
        FROM given_up g LEFT JOIN woken w
          ON w.member = g.next_member AND w.from_at <= g.next_at AND w.to_at >= g.next_at
        WHERE g.next_member <> g.member
        GROUP BY g.subject, g.given_up_at, g.next_at
    """


@Rule(
    "R15-commit",
    title="A commit in the revocation callback is accepted",
    statement="The coordinator accepts what a member commits in its callback for revoked "
    "partitions, although the rebalance has begun.",
    source="document 001, rebalance listener (commit in onPartitionsRevoked)",
    unit="error code",
    things="commits in the callback",
    matters="Work that was finished before the partition moves is not repeated.",
    in_passing=True,
)
def commit_in_callback() -> str:
    """Commits made in the callback, by what the coordinator answered.

    What the coordinator logged last before a commit shows in which state the commit found the
    group: a rebalance that has started waits for the members, and takes their commits meanwhile.
    """
    return """
        WITH answered AS (
            SELECT member, topic, partition, committed, min(arrived_at) AS arrived_at,
                   min(error_code) AS error_code, min(evidence) AS evidence
            FROM {positions} WHERE api = 'OFFSET_COMMIT'
            GROUP BY member, topic, partition, committed
        ), made AS (
            SELECT c.member, c.topic, c.partition, c.committed, c.asked_at,
                   coalesce(a.arrived_at, c.asked_at) AS at,
                   coalesce(a.error_code, c.error_code) AS error_code, a.evidence
            FROM {commits} c LEFT JOIN answered a USING (member, topic, partition, committed)
            WHERE c.how = 'revoke'
        ), placed AS (
            SELECT m.*, max_by(s.event, struct(s.at, s.event)) AS state
            FROM made m LEFT JOIN {coordinator_events} s
              ON s.`group` = :group AND s.at <= m.at
             AND s.event IN ('rebalance_started', 'stabilized', 'epoch_bumped', 'target_computed')
            GROUP BY ALL
        )
        SELECT concat(topic, '-', partition, ' committed by ', member) AS subject, at,
               IF(error_code <> :NONE, concat('was refused with error ', error_code), NULL)
                   AS wrong,
               IF(error_code IS NULL, 'was never answered', NULL) AS unknown,
               concat('position ', committed, ' was accepted ',
                      CASE state WHEN 'rebalance_started' THEN 'while members rejoined'
                                 WHEN 'stabilized' THEN 'after all had rejoined'
                                 WHEN 'epoch_bumped' THEN 'before the new target was computed'
                                 WHEN 'target_computed' THEN 'when the new target was computed'
                                 ELSE 'before any rebalance' END) AS note,
               evidence
        FROM placed
        WHERE coalesce(error_code NOT IN (:GROUP_AUTHORIZATION_FAILED,
                                          :TOPIC_AUTHORIZATION_FAILED), true)
    """


@Rule(
    "R15-assigned",
    title="The assignment callback runs after the assignment",
    statement="The callback for assigned partitions runs after the coordinator has answered the "
    "member's SyncGroup with its part of the leader's assignment.",
    source="document 001, rebalance listener; ConsumerRebalanceListener, onPartitionsAssigned",
    unit="ms",
    things="callbacks for assigned partitions",
    measures="after the answer to the SyncGroup",
    too_low="ran before the coordinator had answered the SyncGroup",
    matters="A position that is set in this callback is safe, because no other member reads the "
    "partition any more.",
    protocols=CLASSIC,
    in_passing=True,
    delayed_by=A_MEMBER,
)
def assigned_after() -> str:
    """Callbacks by the first SyncGroup that gave the member its part in that generation."""
    return """
        WITH given AS (
            SELECT member, generation, min(processed_at) AS at,
                   min_by(evidence, struct(processed_at, evidence)) AS evidence
            FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
            GROUP BY member, generation
        )
        SELECT concat(c.member, ' in generation ', c.generation) AS subject, c.event_at AS at,
               ms_between(g.at, c.event_at) AS measured, -:STAMP_LATE_MS AS bound_low, g.evidence,
               -- The line of a request is stamped late by a machine that stands still.
               IF(c.event_at < after(-:STAMP_LATE_MS, g.at), c.event_at, NULL) AS guard_from,
               guard_to(g.at) AS guard_to
        FROM {client_events} c JOIN given g ON same(g, c, member, generation)
        WHERE c.event = 'assigned'
    """


@Rule(
    "R15-repeats",
    title="An orderly hand-over repeats no records",
    statement="Records that a member had processed before it was told to give up their partition "
    "are not delivered to the next owner, which may be the same member.",
    source="document 001, rebalance listener (commit in onPartitionsRevoked)",
    unit="records",
    things="partitions given up",
    measures="delivered again",
    too_high="had records delivered again to its next owner",
    matters="A commit in the callback makes a planned rebalance free of repeated work.",
    # Applications that commit otherwise repeat what they had not committed: X32d.
    contradicted=(Groups(),),
)
def handover_repeats() -> str:
    """Partitions given up, by what their next owners were given again while they had them.

    In an eager group most come back to who had them. A position that was not committed is lost on
    the way all the same: the client reads the committed one anew.
    """
    return """
        WITH {GIVEN_UP}
        SELECT m.subject, m.next_at AS at, coalesce(sum(r.count), 0) AS measured, 0 AS bound_high,
               concat('again from offset ', min(r.first_offset), ', where ',
                      coalesce(string(min(r.committed)), 'nothing'), ' was committed') AS note
        FROM given_up m LEFT JOIN {redeliveries} r
          ON same(r, m, topic, partition) AND r.member = m.next_member
         AND r.polled_at >= m.next_at AND (m.next_to IS NULL OR r.polled_at <= m.next_to)
         AND r.first_polled_at <= m.given_up_at
        GROUP BY m.subject, m.next_at
    """


@Rule(
    "R15-seek",
    title="A member starts to read at the position that it seeks to",
    statement="A member that seeks to a position of its own store when it is assigned a partition "
    "gets the record at that position first.",
    source="document 001, rebalance listener (seek in onPartitionsAssigned)",
    unit="records",
    things="assignments",
    measures="from the stored position to the first record",
    too_low="began before the stored position",
    too_high="began after the stored position",
    matters="An application that stores positions beside its results relies on this to process "
    "nothing twice.",
)
def sought() -> str:
    """Assignments of partitions of which a position was kept outside Kafka before.

    A member that died while it wrote a position may have kept it or not: the next owner may begin
    at either.
    """
    return """
        WITH written AS (
            SELECT topic, partition, asked_at AS at, committed, error_code = 0 AS kept
            FROM {commits} WHERE how = 'external'
        ), started AS (
            SELECT o.topic, o.partition, o.member, o.from_at, o.to_at, max(k.at) AS kept_at,
                   max_by(k.committed, struct(k.at, k.committed)) AS kept
            FROM {ownership} o JOIN written k
              ON same(k, o, topic, partition) AND k.at <= o.from_at AND k.kept
            GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
        ), read AS (
            SELECT s.*, min_by(d.first_offset, struct(d.polled_at, d.first_offset)) AS first
            FROM started s JOIN {deliveries} d ON same(d, s, topic, partition, member)
             AND d.polled_at >= s.from_at AND (s.to_at IS NULL OR d.polled_at <= s.to_at)
            GROUP BY ALL
        )
        SELECT concat(r.topic, '-', r.partition, ' to ', r.member) AS subject, r.from_at AS at,
               IF(count(w.at) > 0, 0, r.first - r.kept) AS measured,
               0 AS bound_low, 0 AS bound_high,
               concat(r.kept, ' was kept, ', r.first, ' was read first') AS note
        FROM read r LEFT JOIN written w ON same(w, r, topic, partition) AND w.kept IS NULL
         AND w.at >= r.kept_at AND w.at <= r.from_at AND w.committed = r.first
        GROUP BY r.topic, r.partition, r.member, r.from_at, r.kept, r.first
    """
