"""What is asked of a program of somebody else's: how its processes come, go and come back."""

from harness.experiment import APP
from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS

# A process that was put out of the group and knows it is back within this time, or gone: clients
# wait up to a second before they try again, and joining takes one rebalance.
BACK_MS = 30_000
# What a process sent before its end may arrive after it, and counts as a sign of life.
LATE_MS = 1_000
# A fetch that was on its way when its client heard that it is no member any more. Its line may be
# stamped late.
UNDER_WAY_MS = STAMP_LATE_MS
# What helps (KIP-812; KIP-1153, which renamed it in 4.2; Spring Boot's own setting).
STREAMS_STAYS = (
    "; Kafka Streams stays in its group unless it is closed by KafkaStreams.close(new "
    "CloseOptions().leaveGroup(true)), from 4.2 on CloseOptions.groupMembershipOperation("
    "LEAVE_GROUP), or with Spring''s leave-group-on-close"
)


@Rule(
    "P6",
    title="A program that is told to end leaves its group in time",
    statement="A process that is told to end leaves its group and ends by itself within its grace "
    "period. A static member need not leave.",
    source="kafka-chaos, programs under test; KIP-345 for static members",
    unit="ms",
    things="processes told to end",
    measures="from the signal to the end",
    too_high="ended after its grace period",
    matters="A process that does not leave makes the group wait for its session timeout, with "
    "every deploy.",
    clients=(APP,),
    without_journals=True,  # what the kernel drops is an event that the harness writes
    headline="leaving",
)
def ends_in_order() -> str:
    """Processes that were told to end, with what the coordinator heard of them after that.

    Law: A dynamic member that is told to end says to its coordinator that it leaves, and its
    process ends within its grace period.

    Kafka Streams stays by default (KIP-812): its client id or its assignor tells that it is one.
    """
    return """
        WITH told AS (
            SELECT member, instance_id, told_at, ended_at, `end`, exit_code,
                   coalesce(session_timeout_ms, :session_ms) AS session_timeout_ms
            FROM {members} WHERE role = 'consumer' AND told_at IS NOT NULL
        ), leaves AS (
            SELECT t.member, min(r.arrived_at) AS at
            FROM told t JOIN {own_requests} r
              ON r.member = t.member AND r.arrived_at >= t.told_at AND r.error_code = :NONE
             AND (r.api = 'LEAVE_GROUP'
                  OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
            GROUP BY t.member
        ), dropped AS (
            SELECT t.member, max(e.detail) AS signal
            FROM told t JOIN {client_events} e
              ON e.member = t.member AND e.event = 'signal_dropped' GROUP BY t.member
        ), streams AS (
            SELECT DISTINCT member FROM {own_requests}
            WHERE protocol_name = 'stream' OR client_id RLIKE '-StreamThread-[0-9]+-consumer$'
        ), belonged AS (
            SELECT DISTINCT t.member
            FROM told t JOIN {memberships} m
              ON m.member = t.member AND m.joined_at <= t.told_at
             AND (m.removed_at IS NULL OR m.removed_at > t.told_at)
        )
        SELECT t.member AS subject, t.told_at AS at, ms_between(t.told_at, t.ended_at) AS measured,
               :grace_ms AS bound_high,
               CASE WHEN t.`end` = 'killed' AND d.signal IS NOT NULL
                    THEN clause('ran as PID 1 and did not react to ', d.signal,
                                ', for which it has no handler: still ran ',
                                round(:grace_ms / 1e3, 1),
                                ' s after it was told to end, and was killed')
                    WHEN t.`end` = 'killed'
                    THEN clause('still ran ', round(:grace_ms / 1e3, 1),
                                ' s after it was told to end, and was killed')
                    WHEN t.ended_at IS NULL THEN 'never ended'
                    WHEN b.member IS NOT NULL AND l.at IS NULL AND t.instance_id IS NULL
                    THEN clause('ended without leaving the group, which waits for its session of ',
                                round(t.session_timeout_ms / 1e3, 1), ' s',
                                IF(s.member IS NULL, '', '{STREAMS_STAYS}')) END AS wrong,
               concat_ws(', ',
                   CASE WHEN l.at IS NOT NULL
                        THEN concat('left after ', round(ms_between(t.told_at, l.at)), ' ms') END,
                   concat('exit code ', t.exit_code)) AS note
        FROM told t LEFT JOIN leaves l ON l.member = t.member
        LEFT JOIN belonged b ON b.member = t.member
        LEFT JOIN dropped d ON d.member = t.member
        LEFT JOIN streams s ON s.member = t.member
    """


@Rule(
    "P7",
    title="Every running process works",
    statement="At the end of the run, when nothing has been broken for a while, every running "
    "process is a member of the group. Each one that holds a partition fetches from it and makes "
    "progress.",
    source="kafka-chaos, programs under test",
    unit="ms",
    things="running processes",
    measures="since the last fetch",
    too_high="holds partitions and fetches nothing",
    matters="A process that runs and does nothing looks healthy to its supervisor.",
    clients=(APP,),
    headline="work",
)
def works_to_the_end() -> str:
    """Processes that run when the members are told to end; a session timeout is time enough.

    One that came later than a session before that may still be on its way into the group.
    """
    return """
        WITH alive AS (
            SELECT member, started_at, coalesce(session_timeout_ms, :session_ms) AS session_ms
            FROM {members}
            WHERE role = 'consumer' AND started_at <= after(-:session_ms, :stopped_at)
              AND (ended_at IS NULL OR ended_at >= :stopped_at)
              AND (told_at IS NULL OR told_at >= :stopped_at)
        ), belonging AS (
            SELECT a.member, count(m.member_id) AS ids
            FROM alive a LEFT JOIN {memberships} m
              ON m.member = a.member AND m.joined_at <= :stopped_at
             AND (m.removed_at IS NULL OR m.removed_at >= :stopped_at)
            GROUP BY a.member
        ), removed AS (
            SELECT a.member, max(m.removed_at) AS at
            FROM alive a JOIN {memberships} m ON m.member = a.member
            WHERE m.removed_at < :stopped_at GROUP BY a.member
        ),
        -- More records than come in a second: less may be left to the next commit.
        waiting AS (
            SELECT a.member, count(*) AS partitions, sum(w.records) AS records,
                   max(greatest(coalesce(w.advanced_at, o.from_at), o.from_at)) AS advanced_at
            FROM alive a JOIN {ownership} o
              ON o.member = a.member AND o.from_at <= :stopped_at
             AND (o.to_at IS NULL OR o.to_at >= :stopped_at)
            JOIN (SELECT e.topic, e.partition, max(p.at) AS advanced_at,
                         max(e.end_offset) - coalesce(max(p.position), 0) AS records
                  FROM {topology} e LEFT JOIN {advances} p ON same(p, e, topic, partition)
                  WHERE e.what = 'end_offset' GROUP BY e.topic, e.partition) w
              ON same(w, o, topic, partition)
            WHERE w.records > :records_per_s / :partitions
              -- What it was given since then it may have had no time for.
              AND o.from_at <= after(-a.session_ms, :stopped_at)
            GROUP BY a.member
        ), holding AS (
            SELECT a.member, count(o.partition) AS partitions, min(o.from_at) AS from_at
            FROM alive a LEFT JOIN {ownership} o
              ON o.member = a.member AND o.from_at <= :stopped_at
             AND (o.to_at IS NULL OR o.to_at >= :stopped_at)
            GROUP BY a.member
        ), fetching AS (
            SELECT a.member, max(f.arrived_at) AS at
            FROM alive a LEFT JOIN {fetches} f
              ON f.member = a.member AND f.arrived_at <= :stopped_at
            GROUP BY a.member
        ), speaking AS (
            SELECT a.member, max(r.arrived_at) AS at
            FROM alive a LEFT JOIN {own_requests} r
              ON r.member = a.member AND r.arrived_at <= :stopped_at
            GROUP BY a.member
        )
        SELECT a.member AS subject, :stopped_at AS at,
               ms_between(greatest(coalesce(f.at, h.from_at), h.from_at), :stopped_at) AS measured,
               a.session_ms AS bound_high,
               CASE WHEN b.ids = 0
                    THEN clause('runs, and is no member of the group; ',
                                coalesce(concat('its coordinator last heard of it ',
                                                round(ms_between(s.at, :stopped_at) / 1e3, 1),
                                                ' s before'),
                                         'no coordinator ever heard of it'))
                    WHEN ms_between(w.advanced_at, :stopped_at) > a.session_ms
                    THEN clause('holds ', w.partitions, ' partitions in which ', w.records,
                                ' records wait, and came no further for ',
                                round(ms_between(w.advanced_at, :stopped_at) / 1e3, 1), ' s')
                    END AS wrong,
               CASE WHEN b.ids = 0 AND ms_between(x.at, :stopped_at) < a.session_ms
                    THEN 'was put out of the group just before the end' END AS unknown,
               IF(h.partitions = 0, 'holds no partition', NULL) AS excused,
               clause('holds ', h.partitions, ' partitions') AS note
        FROM alive a JOIN belonging b USING (member) JOIN holding h USING (member)
        JOIN fetching f USING (member) JOIN speaking s USING (member)
        LEFT JOIN waiting w ON w.member = a.member
        LEFT JOIN removed x ON x.member = a.member
    """


@Rule(
    "P8",
    title="A program that was removed from the group comes back",
    statement="A process that the coordinator evicted or fenced is in the group again within 30 s "
    "after it could know. Or it ends with an exit code other than 0, so that its supervisor "
    "notices.",
    source="kafka-chaos, programs under test",
    unit="ms",
    things="removals of running processes",
    measures="until it was back, or had ended",
    too_high="came back too late",
    matters="A process that stays outside the group does no work, and nobody notices.",
    clients=(APP,),
    headline="coming back",
)
def comes_back() -> str:
    """Removals by the coordinator. Until a fault is over that hits the process it cannot know.

    Nor can one that waits for what it depends on.
    """
    return """
        {OUTSIDE}
        SELECT concat(member, ' (put out)') AS subject,
               removed_at AS at,
               ms_between(knows_at, coalesce(least(back_at, gone_at), gone_at)) AS measured,
               :BACK_MS AS bound_high,
               CASE WHEN back_at IS NULL AND exit_code = 0 AND ended_at < :stopped_at
                         AND told_at IS NULL
                    THEN 'ended with exit code 0, so that no supervisor starts it again'
                    WHEN back_at IS NULL AND gone_at IS NULL
                         AND after(:BACK_MS, knows_at) < :stopped_at
                    THEN clause('was not back after ',
                                round(ms_between(knows_at, :stopped_at) / 1e3, 1), ' s') END
                   AS wrong,
               CASE WHEN back_at IS NULL AND gone_at IS NULL
                         AND after(:BACK_MS, knows_at) >= :stopped_at
                    THEN 'the run ended before it had to be back' END AS unknown,
               CASE WHEN back_at IS NOT NULL THEN 'joined again'
                    ELSE clause('ended with exit code ', exit_code) END AS note,
               evidence
        FROM outside
    """


@Rule(
    "P9",
    title="A program that was removed from the group stops working",
    statement="A process that has learned of its removal processes nothing that it fetches from "
    "then on, and none of its commits is accepted before it is in the group again. A program that "
    "does not show what it processes must not fetch either.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="removals that a process heard of",
    measures="fetched outside the group",
    too_high="fetched and used records after it knew of its removal",
    matters="A process that goes on without its membership processes records that belong to "
    "another.",
    clients=(APP,),
    headline="work after removal",
)
def stops_working() -> str:
    """It has heard when a request of the removed member was answered with an error.

    A client that fetches while it joins again, and throws that away, does no harm.
    """
    return """
        {OUTSIDE}, heard AS (
            SELECT o.member, o.member_id, o.removed_at, o.back_at, o.evidence,
                   min(r.answered_at) AS heard_at
            FROM outside o JOIN {own_requests} r ON same(r, o, member, member_id)
             AND r.arrived_at >= o.removed_at
             AND (o.back_at IS NULL OR r.arrived_at < o.back_at)
            WHERE r.error_code IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION, :FENCED_MEMBER_EPOCH,
                                   :FENCED_INSTANCE_ID)
            GROUP BY o.member, o.member_id, o.removed_at, o.back_at, o.evidence
        ), taken AS (
            SELECT h.member, h.removed_at, h.back_at, f.topic, f.partition, f.first_offset,
                   f.last_offset, f.arrived_at
            FROM heard h JOIN {fetched} f
              ON f.member = h.member AND f.arrived_at > after(:UNDER_WAY_MS, h.heard_at)
             AND f.arrived_at < coalesce(h.back_at, :ended_at)
        ), used AS (
            SELECT t.member, t.removed_at,
                   least(t.last_offset, e.last_offset)
                       - greatest(t.first_offset, e.first_offset) + 1 AS records
            FROM taken t JOIN {effects} e ON same(e, t, member, topic, partition)
             AND e.first_offset <= t.last_offset AND e.last_offset >= t.first_offset
             AND e.at >= t.arrived_at AND e.at < coalesce(t.back_at, :ended_at)
            UNION ALL
            SELECT member, removed_at, last_offset - first_offset + 1 FROM taken
            WHERE NOT EXISTS (SELECT 1 FROM {effects})
        ), fetching AS (
            SELECT member, removed_at, sum(records) AS records FROM used
            GROUP BY member, removed_at
        ), committing AS (
            SELECT h.member, h.removed_at, count(*) AS times
            FROM heard h JOIN {accepted} a ON same(a, h, member, member_id) AND a.at > h.heard_at
             AND a.at < coalesce(h.back_at, :ended_at)
            GROUP BY h.member, h.removed_at
        )
        SELECT concat(h.member, ' (put out)') AS subject,
               h.heard_at AS at, coalesce(f.records, 0) AS measured, 0 AS bound_high,
               IF(c.times > 0, clause(c.times, ' commits of it were accepted'), NULL) AS wrong,
               h.evidence
        FROM heard h LEFT JOIN fetching f ON same(f, h, member, removed_at)
        LEFT JOIN committing c ON same(c, h, member, removed_at)
    """


@Rule(
    "P14",
    title="A program ends only when it is told to",
    statement="No process ends by itself while nothing is broken. A process that ends by itself "
    "during a fault has an exit code other than 0, so that its supervisor notices.",
    source="kafka-chaos, programs under test",
    unit="",
    things="processes",
    matters="A supervisor does not restart a process that ended with exit code 0.",
    clients=(APP,),
)
def ends_when_told() -> str:
    """Processes up to the end of the run. What a fault did may show a session timeout later."""
    return """
        WITH broken AS (
            SELECT concat(kind, coalesce(concat(' of ', resolved), '')) AS what,
                   injecting_at AS from_at,
                   after(:session_ms + :LATE_MS, coalesce(healed_at, failed_at, injected_at,
                                                          injecting_at)) AS to_at
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
        ), ends AS (
            SELECT m.member, m.started_at, m.ended_at, m.exit_code,
                   coalesce(m.`end` = 'failed' AND m.ended_at < :stopped_at, FALSE) AS by_itself,
                   max_by(b.what, struct(b.from_at, b.what)) AS what
            FROM {members} m LEFT JOIN broken b
              ON b.from_at <= m.ended_at AND b.to_at >= m.ended_at
            WHERE m.role = 'consumer' GROUP BY ALL
        )
        SELECT member AS subject, coalesce(ended_at, :stopped_at) AS at,
               CASE WHEN by_itself AND exit_code = 0
                    THEN 'ended by itself with exit code 0, so that no supervisor starts it again'
                    WHEN by_itself AND what IS NULL
                    THEN clause('ended by itself with exit code ', exit_code,
                                ' while nothing was broken') END AS wrong,
               IF(by_itself, concat('ended by itself after ', what), NULL) AS note
        FROM ends
    """


# Processes that the coordinator put out of the group while they ran: when they could know it, and
# when they were back or gone.
OUTSIDE = """
        WITH put_out AS (
            SELECT r.member, r.member_id, r.removed_at, r.evidence, m.ended_at, m.exit_code,
                   m.told_at, m.`end`
            FROM {removals} r JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
            WHERE r.removed_by IN ('evicted', 'fenced') AND r.removed_at < :stopped_at
              AND (m.ended_at IS NULL OR m.ended_at > r.removed_at)
        ), knowing AS (
            SELECT p.member, p.member_id, p.removed_at, p.evidence, p.ended_at, p.exit_code,
                   p.told_at, p.`end`,
                   greatest(p.removed_at,
                            max(IF(f.fault IS NULL, p.removed_at,
                                   coalesce(f.healed_at, :stopped_at)))) AS knows_at
            FROM put_out p LEFT JOIN {fault_windows} f
              ON f.injecting_at <= p.removed_at
             AND (f.resolved = p.member
                  AND (f.disturbs_heartbeats OR f.link_cut OR f.breaks = 'dependency')
                  -- Of all processes at once.
                  OR f.breaks = 'dependency' AND f.resolved NOT LIKE 'member-%')
             AND coalesce(f.healed_at, :stopped_at) > p.removed_at
            GROUP BY ALL
        ), outside AS (
            SELECT k.member, k.member_id, k.removed_at, k.evidence, k.ended_at, k.exit_code,
                   k.told_at, k.knows_at,
                   min(j.processed_at) AS back_at,
                   IF(k.ended_at < :stopped_at, k.ended_at, NULL) AS gone_at
            FROM knowing k LEFT JOIN {own_requests} j
              ON j.member = k.member AND j.processed_at > k.removed_at AND j.error_code = :NONE
             AND (j.api = 'SYNC_GROUP'
                  OR j.api = 'CONSUMER_GROUP_HEARTBEAT' AND j.member_epoch > 0
                     AND j.generation = 0)
            GROUP BY ALL
        )
"""
