"""That a coordinator refuses only what it has a reason to refuse."""

from harness.experiment import CLASSIC
from harness.rules.lookups import STANDS  # noqa: F401 (a query names it)
from harness.rules.rights import TOPIC_AUTHORIZATION_FAILED  # noqa: F401 (a query names it)
from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)


@Rule(
    "X56",
    title="A member that is in order is not refused",
    statement="The coordinator refuses a heartbeat, a sync or a commit only with a reason: "
    "UNKNOWN_MEMBER_ID (25) to a member that it removed, and no other error to that, "
    "ILLEGAL_GENERATION (22) to another generation than the group's, REBALANCE_IN_PROGRESS (27) "
    "to a heartbeat or a sync while it waits for members, and to a commit between join and "
    "assignment, and FENCED_MEMBER_EPOCH (110) or STALE_MEMBER_EPOCH (113) to another epoch than "
    "the member's.",
    source="ClassicGroup.validateMember and validateOffsetCommit; "
    "GroupMetadataManager.classicGroupHeartbeat; KIP-848",
    unit="requests",
    things="members",
    measures="refused without a reason",
    too_high="was refused without a reason",
    matters="A member that is refused gives up its partitions, or repeats its work: each refusal "
    "without a reason is a standstill without one.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def refused_for_a_reason() -> str:
    """Refusals of members by the coordinator's lines, each with what was so as it was answered.

    What was so at any moment between its arrival, less the slack, and its answer is a reason. A
    broker that has just loaded the group, or that is broken, knows less: it is not asked here. One
    commit is for several partitions, of which each may have been given at another epoch. An
    assignment is there when it is stored, and not with the line that the leader has sent it.
    """
    return """
        WITH refused AS (
            SELECT r.member, r.member_id, r.api, r.broker, r.generation, r.error_code, r.evidence,
                   after(-:slack_ms, r.arrived_at) AS from_at, r.arrived_at,
                   after(:slack_ms, r.processed_at) AS to_at
            FROM {own_requests} r
            LEFT ANTI JOIN {unsettled} f
              ON f.from_at <= after(:slack_ms, r.processed_at)
             AND f.to_at >= r.arrived_at
            LEFT ANTI JOIN {coordinator_events} l
              ON l.`group` = :group AND l.event IN ('loaded', 'unloaded', 'upgraded', 'downgraded')
             AND l.at <= after(:session_ms, r.processed_at)
             AND l.at >= after(-:session_ms, r.arrived_at)
            WHERE r.api IN ('HEARTBEAT', 'SYNC_GROUP', 'OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT')
              AND r.member_id IS NOT NULL AND r.generation > 0
              AND r.error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS,
                                   :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
        ), removed AS (
            SELECT r.member_id, r.arrived_at, count(m.removed_at) AS times,
                   -- Surely out of the group for as long as it was asked.
                   count_if(m.removed_at <= r.from_at AND m.removed_by <> 'forgotten'
                            AND (m.back_at IS NULL OR m.back_at > r.to_at)) AS out
            FROM refused r JOIN {removals} m
              ON m.member_id = r.member_id AND m.removed_at <= r.to_at
            GROUP BY r.member_id, r.arrived_at
        ), syncing AS (
            SELECT r.member_id, r.arrived_at, count(*) AS times
            FROM refused r JOIN {own_requests} s
              ON s.api = 'SYNC_GROUP' AND s.arrived_at <= r.to_at AND s.processed_at >= r.from_at
            WHERE r.api = 'OFFSET_COMMIT' GROUP BY r.member_id, r.arrived_at
        ), steps AS (
            SELECT at, event, lead(at) OVER (PARTITION BY 1 ORDER BY at, generation, event)
                       AS until,
                   last_value(CASE WHEN event IN ('stabilized', 'emptied') THEN generation END,
                              true) OVER (PARTITION BY 1 ORDER BY at, generation, event {SO_FAR})
                       AS stands
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('rebalance_started', 'stabilized',
                                                 'assignment_received', 'emptied')
        ), stood AS (
            SELECT r.member_id, r.arrived_at, count(s.at) AS known,
                   count_if(s.stands <> r.generation) AS others,
                   count_if(s.event = IF(r.api = 'OFFSET_COMMIT', 'stabilized',
                                         'rebalance_started')) AS rebalancing
            FROM refused r LEFT JOIN steps s
              ON s.at <= r.to_at AND (s.until IS NULL OR s.until >= r.from_at)
            GROUP BY r.member_id, r.arrived_at
        ), told AS (
            -- The epochs that a member may have had: the last it was told, or one just then.
            SELECT r.member_id, r.arrived_at,
                   max_by(h.member_epoch, h.processed_at) FILTER (WHERE h.processed_at < r.from_at)
                       AS epoch,
                   count_if(h.arrived_at <= r.to_at AND h.processed_at >= r.from_at
                            AND h.member_epoch <> r.generation) AS changes
            FROM refused r JOIN {consumer_heartbeats} h
              ON h.member_id = r.member_id AND h.arrived_at <= r.to_at AND h.error_code = :NONE
            GROUP BY r.member_id, r.arrived_at
        ), mixed AS (
            -- In a converted group a raised epoch is no rebalance in the coordinator's log.
            SELECT count(*) > 0 AS converted FROM {coordinator_events}
            WHERE `group` = :group AND event = 'upgraded'
        ), judged AS (
            SELECT r.*,
                   CASE WHEN m.out > 0 AND r.error_code <> :UNKNOWN_MEMBER_ID
                        THEN 'of a member that was out of the group'
                        WHEN m.times > 0 THEN NULL
                        WHEN r.error_code = :UNKNOWN_MEMBER_ID THEN 'that was in the group'
                        WHEN r.error_code = :ILLEGAL_GENERATION AND s.known > 0 AND s.others = 0
                        THEN 'that named the generation of the group'
                        WHEN r.error_code = :REBALANCE_IN_PROGRESS AND s.known > 0
                             AND s.rebalancing = 0 AND y.times IS NULL AND NOT x.converted
                        THEN IF(r.api = 'OFFSET_COMMIT',
                                'that was not between join and assignment',
                                'while the group was stable')
                        WHEN r.error_code IN (:FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                             AND t.epoch = r.generation AND t.changes = 0
                        THEN 'that named its own epoch' END AS odd
            FROM refused r CROSS JOIN mixed x
            LEFT JOIN removed m ON same(m, r, member_id, arrived_at)
            LEFT JOIN stood s ON same(s, r, member_id, arrived_at)
            LEFT JOIN syncing y ON same(y, r, member_id, arrived_at)
            LEFT JOIN told t ON same(t, r, member_id, arrived_at)
        ), worst AS (
            SELECT member, member_id, min(arrived_at) AS at, count(*) AS refusals,
                   count_if(odd IS NOT NULL) AS times,
                   min(struct(arrived_at, evidence, api, error_code, odd))
                       FILTER (WHERE odd IS NOT NULL) AS first,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM judged GROUP BY member, member_id
        )
        SELECT concat(member, ' (', member_id, ')') AS subject,
               coalesce(first.arrived_at, at) AS at, times AS measured, 0 AS bound_high,
               IF(times > 0, clause('was answered ', first.error_code, ' to a ', first.api, ' ',
                                    first.odd), NULL) AS wrong,
               concat(refusals, IF(refusals = 1, ' refusal', ' refusals')) AS note,
               coalesce(first.evidence, evidence) AS evidence
        FROM worst
    """


@Rule(
    "X62",
    title="Who is out of the group is not accepted",
    statement="A heartbeat, a sync, a leave or a commit of a member id that left, was evicted, "
    "fenced or replaced is refused from then on, until the same id joins anew. A group with "
    "members refuses commits without a member id, and does not delete positions that it needs.",
    source="ClassicGroup.validateMember; KIP-848, Member ID",
    unit="requests",
    things="member ids that were out, and clients that were no members",
    measures="accepted",
    too_high="was accepted although it was out of the group",
    matters="A process that was put out and is not told so goes on with partitions of others.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def nobody_that_is_out() -> str:
    """Requests of each member id after the line that removed it; lines are stamped late.

    A broker that is broken may have answered before it knew.
    """
    return """
        WITH later AS (
            SELECT m.member, m.member_id, m.removed_at, m.removed_by, m.evidence AS line,
                   r.api, r.arrived_at, r.error_code, r.evidence
            FROM {removals} m LEFT JOIN {own_requests} r
              ON r.member_id = m.member_id
             AND r.arrived_at > after(:STAMP_LATE_MS, m.removed_at)
             AND (m.back_at IS NULL OR r.arrived_at < after(-:slack_ms, m.back_at))
             AND (r.api IN ('HEARTBEAT', 'SYNC_GROUP', 'LEAVE_GROUP')
                  OR r.api = 'OFFSET_COMMIT' AND r.generation > 0
                 OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation <> 0)
            LEFT ANTI JOIN {unsettled} f
              ON f.from_at <= r.arrived_at
             AND f.to_at >= m.removed_at
            WHERE m.removed_by <> 'forgotten'
        )
        SELECT concat(min(member), ' (', member_id, ')') AS subject, removed_at AS at,
               count_if(error_code IN (:NONE, :REBALANCE_IN_PROGRESS)) AS measured, 0 AS bound_high,
               concat(min(removed_by), '; ', count(api), ' requests after it') AS note,
               coalesce(min(IF(error_code IN (:NONE, :REBALANCE_IN_PROGRESS), evidence, NULL)),
                        min(line)) AS evidence
        FROM later GROUP BY member_id, removed_at
        UNION ALL
        SELECT concat(r.member, ' (no member)'), min(r.arrived_at),
               count_if(r.error_code = :NONE), 0, concat(count(*), ' requests of no member'),
               min(r.evidence)
        FROM {own_requests} r LEFT SEMI JOIN {memberships} m
          ON m.joined_at < after(-:slack_ms, r.arrived_at)
         AND (m.removed_at IS NULL OR m.removed_at > after(:slack_ms, r.processed_at))
        LEFT ANTI JOIN {unsettled} f ON f.from_at <= r.arrived_at AND f.to_at >= r.arrived_at
        WHERE r.api = 'OFFSET_DELETE' OR r.api = 'OFFSET_COMMIT' AND r.member_id IS NULL
        GROUP BY r.member
    """


@Rule(
    "X70",
    title="Every other refusal has a reason as well",
    statement="A request of a member is refused with COORDINATOR_LOAD_IN_PROGRESS (14), "
    "COORDINATOR_NOT_AVAILABLE (15) or NOT_COORDINATOR (16) only while the coordinator changes, "
    "and by brokers that do not coordinate the group. A JoinGroup or LeaveGroup is refused with "
    "UNKNOWN_MEMBER_ID (25) only if the member was out. FENCED_INSTANCE_ID (82) and "
    "UNRELEASED_INSTANCE_ID (111) need another process with the instance id, "
    "INCONSISTENT_GROUP_PROTOCOL (23) members whose assignors differ, GROUP_MAX_SIZE_REACHED (81) "
    "a full group, UNSTABLE_OFFSET_COMMIT (88) a transaction. No other error is an answer to a "
    "member that is in order.",
    source="GroupCoordinatorService; ClassicGroup.validateMember; KIP-345; KIP-447; KIP-848",
    unit="requests",
    things="members",
    measures="refused without a reason",
    too_high="was refused without a reason",
    matters="A client retries most of these errors in silence, so nobody sees what its group waits "
    "for.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def refused_otherwise_for_a_reason() -> str:
    """Refusals that X56 does not examine, nor rules about rights, outside a broker's trouble.

    A broker's trouble lasts until a session after it: until then others may know less.
    """
    return """
        WITH askers AS (
            SELECT member FROM {members} UNION ALL SELECT 'observer'
        ), asked AS (
            SELECT r.member, r.member_id, r.instance_id, r.api, r.broker, r.error_code,
                   r.arrived_at, r.evidence, after(-:slack_ms, r.arrived_at) AS from_at,
                   after(:slack_ms, r.processed_at) AS to_at
            FROM {own_requests} r LEFT SEMI JOIN askers k ON k.member = r.member
            WHERE r.error_code NOT IN (:NONE, :REBALANCE_IN_PROGRESS, :MEMBER_ID_REQUIRED,
                      :GROUP_AUTHORIZATION_FAILED, :TOPIC_AUTHORIZATION_FAILED)
              AND (r.error_code NOT IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION,
                                        :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                   OR r.api IN ('JOIN_GROUP', 'LEAVE_GROUP')
                   OR r.api = 'OFFSET_FETCH'
                      AND (r.member_id IS NULL OR r.error_code = :UNKNOWN_MEMBER_ID)
                   OR r.api = 'CONSUMER_GROUP_HEARTBEAT'
                      AND (r.error_code = :STALE_MEMBER_EPOCH OR r.generation <= 0))
              AND (r.member <> 'observer' OR r.api = 'OFFSET_FETCH')
        ), refused AS (
            SELECT a.* FROM asked a
            LEFT ANTI JOIN {unsettled} u ON u.from_at <= a.to_at AND u.to_at >= a.from_at
        ), steady AS (
            SELECT r.member, r.arrived_at, r.evidence, count(t.tenure) AS times
            FROM refused r JOIN {tenures} t
              ON (t.broker = r.broker OR r.api = 'FIND_COORDINATOR')
             AND after(IF(t.loaded OR r.api = 'FIND_COORDINATOR', :session_ms, 0), t.from_at)
                 <= r.from_at
             -- Whoever resigns knows it before its successor has loaded the group.
             AND (t.next_at IS NULL OR t.next_at > after(:session_ms, r.to_at))
            GROUP BY r.member, r.arrived_at, r.evidence
        ), rivals AS (
            SELECT r.member, r.arrived_at, r.evidence, count(o.member_id) AS times
            FROM refused r JOIN {own_requests} o
              ON o.instance_id = r.instance_id AND o.member_id <> r.member_id
             AND o.arrived_at <= r.to_at
            GROUP BY r.member, r.arrived_at, r.evidence
        ), known AS (
            SELECT member_id, joined_at, removed_at, removed_by FROM {memberships}
            UNION ALL
            -- Who has an id may join with it, until it is taken back or out of the group.
            SELECT g.member_id, after(-:slack_ms, g.at), min(o.at),
                   min_by(o.event, struct(o.at, o.event))
            FROM {coordinator_events} g LEFT JOIN {coordinator_events} o
              ON same(o, g, `group`, member_id)
             AND o.event IN ('pending_evicted', 'evicted', 'left', 'replaced')
            WHERE g.`group` = :group AND g.event = 'member_id_given'
            GROUP BY g.member_id, g.at
        ), inside AS (
            SELECT r.member, r.arrived_at, r.evidence, count(m.member_id) AS times
            FROM refused r JOIN known m
              ON m.member_id = r.member_id AND m.joined_at <= r.from_at
             AND (m.removed_at IS NULL OR m.removed_at > r.to_at
                  OR r.api IN ('LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT')
                     AND m.removed_by = 'left' AND m.removed_at >= r.from_at)
            LEFT ANTI JOIN {own_requests} l
              ON (l.api = 'LEAVE_GROUP'
                  OR l.api = 'CONSUMER_GROUP_HEARTBEAT' AND l.generation < 0)
             AND l.member_id = r.member_id AND l.error_code = :NONE
             AND l.arrived_at <= r.arrived_at
            GROUP BY r.member, r.arrived_at, r.evidence
        ), offered AS (
            SELECT count(DISTINCT IF(api = 'JOIN_GROUP', array_join(assignors, ','), NULL))
                       AS kinds,
                   count(DISTINCT member_id) AS ids
            FROM {own_requests}
        ), judged AS (
            SELECT r.member, r.arrived_at, r.evidence, r.api, r.error_code,
                   CASE WHEN r.error_code IN (:COORDINATOR_LOAD_IN_PROGRESS,
                                 :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
                        THEN IF(s.times > 0, 'of the coordinator in office', NULL)
                        WHEN r.error_code = :GROUP_MAX_SIZE_REACHED
                        THEN IF(o.ids < IF(r.api = 'JOIN_GROUP', :group_max_size,
                                           :consumer_max_size),
                                'of a group that never was so large', NULL)
                        WHEN r.error_code = :UNKNOWN_MEMBER_ID
                             AND (r.api <> 'OFFSET_FETCH' OR r.member_id IS NOT NULL)
                        THEN IF(i.times > 0, 'of a member of the group', NULL)
                        WHEN r.error_code IN (:FENCED_INSTANCE_ID, :UNRELEASED_INSTANCE_ID)
                        THEN IF(r.member_id IS NOT NULL AND v.times IS NULL,
                                'that nobody else had the instance id for', NULL)
                        WHEN r.error_code = :INCONSISTENT_GROUP_PROTOCOL
                        THEN IF(o.kinds = 1, 'although all offered the same assignors', NULL)
                        WHEN r.error_code = :UNSTABLE_OFFSET_COMMIT
                        THEN IF(:commit <> 'transaction', 'although nobody wrote transactions',
                                NULL)
                        -- Of the transaction's coordinator, which aborts what takes too long.
                        WHEN r.api = 'TXN_OFFSET_COMMIT' AND r.error_code IN (
                                 :INVALID_PRODUCER_EPOCH, :PRODUCER_FENCED)
                        THEN NULL
                        ELSE 'for which this group gave no reason' END AS odd
            FROM refused r CROSS JOIN offered o
            LEFT JOIN steady s ON same(s, r, member, arrived_at, evidence)
            LEFT JOIN rivals v ON same(v, r, member, arrived_at, evidence)
            LEFT JOIN inside i ON same(i, r, member, arrived_at, evidence)
        ), worst AS (
            SELECT member, count(*) AS refusals, count_if(odd IS NOT NULL) AS times,
                   min(struct(arrived_at, evidence, api, error_code, odd))
                       FILTER (WHERE odd IS NOT NULL) AS first
            FROM judged GROUP BY member
        ), members AS (
            SELECT member, min(arrived_at) AS at, count(*) AS requests,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM {own_requests} LEFT SEMI JOIN askers USING (member) GROUP BY member
        )
        SELECT concat(m.member, ' (refusals)') AS subject, coalesce(w.first.arrived_at, m.at) AS at,
               coalesce(w.times, 0) AS measured, 0 AS bound_high,
               IF(w.times > 0, clause('was answered ', w.first.error_code, ' to a ', w.first.api,
                                      ' ', w.first.odd), NULL) AS wrong,
               concat(coalesce(w.refusals, 0), ' refusals of ', m.requests, ' requests') AS note,
               coalesce(w.first.evidence, m.evidence) AS evidence
        FROM members m LEFT JOIN worst w ON w.member = m.member
    """


@Rule(
    "X71",
    title="A sync is accepted only in its own generation",
    statement="The coordinator answers a SyncGroup with a part only if it names the group's "
    "generation; one of an earlier generation is refused with ILLEGAL_GENERATION (22).",
    source="GroupMetadataManager.classicGroupSync; ClassicGroup.validateSyncGroup",
    unit="requests",
    things="members",
    measures="accepted in another generation",
    too_high="had a sync accepted in another generation than the group's",
    matters="A member with the part of an earlier generation reads partitions of others.",
    broker=True,
    protocols=CLASSIC,
    in_passing=True,
    compares_clocks=True,
)
def syncs_in_its_generation() -> str:
    """Accepted SyncGroups beside where the group stood from their arrival to their answer."""
    return """
        WITH {STANDS}, judged AS (
            SELECT r.member, r.arrived_at, r.generation, r.evidence, max(s.stands) AS stands
            FROM {own_requests} r LEFT JOIN stands s
              ON s.broker = r.broker AND s.at <= after(-:slack_ms, r.arrived_at)
             AND (s.until IS NULL OR s.until > after(:slack_ms, r.processed_at))
             AND s.stands <> r.generation
            WHERE r.api = 'SYNC_GROUP' AND r.error_code = :NONE
            GROUP BY r.member, r.arrived_at, r.generation, r.evidence
        ), worst AS (
            SELECT member, min(arrived_at) AS at, count(*) AS syncs, count(stands) AS times,
                   min(struct(arrived_at, evidence, generation, stands))
                       FILTER (WHERE stands IS NOT NULL) AS first,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM judged GROUP BY member
        )
        SELECT concat(member, ' (syncs)') AS subject, coalesce(first.arrived_at, at) AS at,
               times AS measured, 0 AS bound_high,
               IF(times > 0, clause('had a sync of generation ', first.generation,
                                    ' accepted when the group was in ', first.stands), NULL)
                   AS wrong,
               concat(syncs, ' syncs') AS note, coalesce(first.evidence, evidence) AS evidence
        FROM worst
    """
