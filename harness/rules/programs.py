"""What is asked of a program of somebody else's: it is known by its requests and its processes."""

from harness.experiment import APP
from harness.rules.rule import Rule

# A process that was put out of the group and knows it is back within this time, or gone: clients
# wait up to a second before they try again, and joining takes one rebalance.
BACK_MS = 30_000
# A fetch that was on its way when its client heard that it is no member any more.
UNDER_WAY_MS = 100


@Rule(
    "P1",
    title="The group catches up",
    statement=(
        "Once nothing is broken and nothing more is produced, the program commits every partition "
        "to its end within the time that its owner promises; within 60 s where nothing is promised."
    ),
    source="kafka-chaos, programs under test",
    unit="ms",
    things="partitions",
    measures="until committed to the end",
    too_high="was committed to its end too late",
    matters="A group that does not catch up after a fault has stopped, however well it looks.",
    clients=(APP,),
)
def catches_up() -> str:
    """A partition to whose end somebody had committed before the producer stopped took no time."""
    return """
        WITH ends AS (
            SELECT topic, partition, max(end_offset) AS end_offset
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic GROUP BY topic, partition
        ), committed AS (
            SELECT e.topic, e.partition, e.end_offset, max(a.committed) AS committed,
                   min(a.at) FILTER (WHERE a.committed >= e.end_offset) AS done_at
            FROM ends e LEFT JOIN {accepted} a
              ON a.topic = e.topic AND a.partition = e.partition
            GROUP BY e.topic, e.partition, e.end_offset
        )
        SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
               greatest(0, ms_between(:drain_at, done_at)) AS measured,
               :limit_drained_ms AS bound_high,
               CASE WHEN end_offset = 0 THEN NULL
                    WHEN committed IS NULL THEN 'was never committed'
                    WHEN done_at IS NULL
                    THEN clause('was committed to ', committed, ' of ', end_offset,
                                ' when the run ended') END AS wrong,
               IF(end_offset = 0, 'holds no record', NULL) AS excused
        FROM committed
    """


@Rule(
    "P2",
    title="Nothing is committed that was not fetched",
    statement="No member commits a position beyond the records that it has fetched by then.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="members and partitions",
    measures="committed unseen",
    too_high="were committed though nobody had fetched them",
    matters="Records below a committed position are never read again: such a commit loses them.",
    clients=(APP,),
)
def commits_follow_fetches() -> str:
    """The worst of a member's commits of each partition.

    A position that the group had committed already may be committed again. A broker that was killed
    may have answered a fetch that its log has not got.
    """
    return """
        WITH steps AS (
            SELECT member, topic, partition, answered_at AS at, last_offset + 1 AS reached,
                   CAST(NULL AS BIGINT) AS committed, CAST(NULL AS BIGINT) AS before
            FROM {fetched}
            UNION ALL
            SELECT member, topic, partition, arrived_at, fetch_offset, NULL, NULL
            FROM {fetches} WHERE fetch_offset IS NOT NULL AND member IS NOT NULL
            UNION ALL
            -- A fetch's line may be stamped after that of the commit that follows it.
            SELECT member, topic, partition, after(:slack_ms, at), NULL, committed,
                   previous_committed
            FROM {accepted}
        ), ordered AS (
            SELECT *, max(reached) OVER w AS seen,
                   max(IF(reached IS NULL, NULL, at)) OVER w AS seen_at
            FROM steps
            WINDOW w AS (PARTITION BY member, topic, partition ORDER BY at, reached NULLS LAST
                         ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ), beyond AS (
            SELECT *, greatest(0, committed - greatest(coalesce(seen, 0), coalesce(before, 0)))
                       AS unseen
            FROM ordered WHERE committed IS NOT NULL
        ), worst AS (
            SELECT member, topic, partition, max(unseen) AS unseen, count(*) AS times,
                   max_by(at, struct(unseen, at)) AS at,
                   max_by(committed, struct(unseen, at)) AS committed,
                   max_by(seen, struct(unseen, at)) AS seen,
                   max_by(seen_at, struct(unseen, at)) AS seen_at
            FROM beyond GROUP BY member, topic, partition
        ), killed AS (
            SELECT DISTINCT w.member, w.topic, w.partition
            FROM worst w JOIN {broker_faults} b
              ON b.killed AND b.injecting_at <= w.at
             AND b.injecting_at >= coalesce(w.seen_at, :started_at)
            WHERE w.unseen > 0
        )
        SELECT clause(w.member, ' ', w.topic, '-', w.partition) AS subject, w.at,
               w.unseen AS measured, 0 AS bound_high,
               CASE WHEN k.member IS NOT NULL
                    THEN 'a broker that was killed may have answered a fetch that it did not log'
                    END AS unknown,
               IF(w.unseen > 0,
                  clause('committed ', w.committed, ', and had fetched to ', coalesce(w.seen, 0)),
                  clause(w.times, ' commits')) AS note
        FROM worst w LEFT JOIN killed k
          ON k.member = w.member AND k.topic = w.topic AND k.partition = w.partition
    """


@Rule(
    "P3",
    title="A new owner reads on from what was committed",
    statement=(
        "A member that is given a partition begins with the position that the coordinator tells "
        "it: it neither passes over records nor reads again what was committed."
    ),
    source="kafka-chaos, programs under test",
    unit="records",
    things="partitions taken over",
    measures="from the committed position to the first fetch",
    too_low="reads again what had been committed",
    too_high="passes over records that nobody had committed",
    matters="Where a new owner begins decides what comes twice after a fault, and what is lost.",
    clients=(APP,),
)
def begins_where_committed() -> str:
    """Partitions given to a member that asked for their position and then fetched from them."""
    return """
        WITH told AS (
            SELECT o.member, o.topic, o.partition, o.from_at, o.to_at,
                   max_by(p.committed, p.processed_at) AS committed,
                   max(p.processed_at) AS told_at
            FROM {ownership} o JOIN {positions} p
              ON p.api = 'OFFSET_FETCH' AND p.error_code = :NONE AND p.member = o.member
             AND p.topic = o.topic AND p.partition = o.partition
             AND p.processed_at >= after(-:slack_ms, o.from_at)
             AND p.processed_at <= coalesce(o.to_at, :ended_at)
            GROUP BY o.member, o.topic, o.partition, o.from_at, o.to_at
        ), begun AS (
            SELECT t.member, t.topic, t.partition, t.from_at, t.committed,
                   min_by(f.fetch_offset, f.arrived_at) AS first_offset,
                   min(f.arrived_at) AS at, min_by(f.evidence, f.arrived_at) AS evidence
            FROM told t JOIN {fetches} f
              ON f.member = t.member AND f.topic = t.topic AND f.partition = t.partition
             AND f.fetch_offset IS NOT NULL AND f.arrived_at >= after(-:rounding_ms, t.from_at)
             AND f.arrived_at <= coalesce(t.to_at, :ended_at)
            GROUP BY t.member, t.topic, t.partition, t.from_at, t.committed
        ), others AS (
            SELECT b.member, b.topic, b.partition, b.from_at,
                   max_by(f.member, f.last_offset) AS old_member,
                   max(f.last_offset) + 1 - any_value(b.first_offset) AS again
            FROM begun b JOIN {fetched} f
              ON f.topic = b.topic AND f.partition = b.partition AND f.answered_at < b.at
             AND NOT (f.member = b.member AND f.arrived_at >= b.from_at)
            GROUP BY b.member, b.topic, b.partition, b.from_at
        )
        SELECT clause(b.topic, '-', b.partition, ' to ', b.member) AS subject, b.at,
               IF(b.committed < 0, NULL, b.first_offset - b.committed) AS measured,
               0 AS bound_low, 0 AS bound_high,
               IF(b.committed < 0,
                  clause('nothing was committed, so it began at ', b.first_offset,
                         ' as its auto.offset.reset says'), NULL) AS excused,
               CASE WHEN o.again > 0 AND b.first_offset = b.committed
                    THEN clause(o.again, ' records that ', o.old_member,
                                ' had fetched and not committed come again')
                    WHEN b.first_offset <> b.committed
                    THEN clause('began at ', b.first_offset, ', and ', b.committed,
                                ' was committed') END AS note,
               b.evidence
        FROM begun b LEFT JOIN others o
          ON o.member = b.member AND o.topic = b.topic AND o.partition = b.partition
         AND o.from_at = b.from_at
    """


@Rule(
    "P4",
    title="Partitions stand still no longer than promised",
    statement=(
        "After a fault or a change of the group no partition stands still for longer than the "
        "program's owner promises; where nothing is promised it is measured."
    ),
    source="kafka-chaos, programs under test",
    unit="ms",
    things="standstills",
    measures="without records read",
    too_high="stood still for longer than promised",
    matters="This is the outage that those behind the program feel.",
    clients=(APP,),
    headline="standstill",
)
def stands_still() -> str:
    """Stops of partitions with where their time went, as far as the record has moments of them."""
    return """
        SELECT clause(topic, '-', partition, ' after ', coalesce(cause, trigger, 'a change'),
                      coalesce(concat(' of ', subject), '')) AS subject,
               coalesce(cause_at, from_at) AS at, ms AS measured,
               IF(:limit_standstill_ms < 0, NULL, :limit_standstill_ms) AS bound_high,
               concat_ws(', ',
                   CASE WHEN detection_ms >= 1
                        THEN concat(round(detection_ms / 1e3, 2), ' s until it was noticed') END,
                   CASE WHEN coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
                             + coalesce(join_ms, 0) + coalesce(sync_ms, 0) >= 1
                        THEN concat(round((coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
                                           + coalesce(join_ms, 0) + coalesce(sync_ms, 0)) / 1e3, 2),
                                    ' s for the rebalance') END,
                   CASE WHEN first_fetch_ms >= 1
                        THEN concat(round(first_fetch_ms / 1e3, 2), ' s to the first records')
                        END,
                   CASE WHEN redelivered > 0
                        THEN concat(redelivered, ' records came again') END) AS note
        FROM {stops} WHERE stopped
    """


@Rule(
    "P5",
    title="The group rebalances only when something happened",
    statement=(
        "Every rebalance of the group begins after something that was done to it or to the "
        "cluster, and no later than a session timeout after that is over."
    ),
    source="kafka-chaos, programs under test",
    unit="",
    things="rebalances",
    matters="Rebalances without a cause stop all partitions again and again, and look like load.",
    clients=(APP,),
)
def rebalances_have_causes() -> str:
    """Rebalances between the first steady state and the end of the producer.

    What follows from another rebalance of the same change has that one's cause. A process that ends
    or starts by itself is a cause too.
    """
    return """
        WITH causes AS (
            SELECT concat(kind, coalesce(concat(' of ', resolved), '')) AS what,
                   injecting_at AS from_at,
                   after(:session_ms + :slack_ms, coalesce(healed_at, failed_at, injected_at,
                                                           injecting_at)) AS to_at
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
            UNION ALL
            SELECT concat('the start of ', member), started_at, after(:session_ms, started_at)
            FROM {members} WHERE role = 'consumer'
            UNION ALL
            SELECT concat('the end of ', member), ended_at,
                   after(:session_ms + :slack_ms, ended_at)
            FROM {members} WHERE role = 'consumer' AND ended_at IS NOT NULL
        ), begun AS (
            SELECT r.generation, r.started_at, r.trigger, r.trigger_member, r.reason, r.evidence,
                   least(r.started_at, min(e.first_at)) AS first_at
            FROM {rebalances} r LEFT JOIN {episodes} e
              ON e.generation = r.generation AND e.started_at = r.started_at
            WHERE r.started_at > :steady_at AND r.started_at < :drain_at
            GROUP BY ALL
        ), caused AS (
            SELECT b.*, max_by(c.what, c.from_at) AS what
            FROM begun b LEFT JOIN causes c
              ON c.from_at <= after(:slack_ms, b.first_at) AND c.to_at >= b.first_at
            GROUP BY ALL
        )
        SELECT concat('generation ', generation) AS subject, started_at AS at,
               IF(what IS NULL,
                  clause('began though nothing had happened: ', reason), NULL) AS wrong,
               concat(trigger, coalesce(concat(' of ', trigger_member), ''), ', after ', what)
                   AS note, evidence
        FROM caused
    """


@Rule(
    "P6",
    title="A program that is told to end leaves in order",
    statement=(
        "A process that is told to end leaves its group and ends by itself within its grace "
        "period; a static member need not leave."
    ),
    source="kafka-chaos, programs under test; KIP-345 for static members",
    unit="ms",
    things="ends",
    measures="from the signal to the end",
    too_high="ended after its grace period",
    matters=(
        "Who does not leave makes the group wait for its session timeout, with every deploy anew."
    ),
    clients=(APP,),
)
def ends_in_order() -> str:
    """Processes that were told to end, with what the coordinator heard of them after that."""
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
        ), belonged AS (
            SELECT DISTINCT t.member
            FROM told t JOIN {memberships} m
              ON m.member = t.member AND m.joined_at <= t.told_at
             AND (m.removed_at IS NULL OR m.removed_at > t.told_at)
        )
        SELECT t.member AS subject, t.told_at AS at, ms_between(t.told_at, t.ended_at) AS measured,
               :grace_ms AS bound_high,
               CASE WHEN t.`end` = 'killed'
                    THEN clause('still ran ', round(:grace_ms / 1e3, 1),
                                ' s after it was told to end, and was killed')
                    WHEN t.ended_at IS NULL THEN 'never ended'
                    WHEN b.member IS NOT NULL AND l.at IS NULL AND t.instance_id IS NULL
                    THEN clause('ended without leaving the group, which waits for its session of ',
                                round(t.session_timeout_ms / 1e3, 1), ' s') END AS wrong,
               concat_ws(', ',
                   CASE WHEN l.at IS NOT NULL
                        THEN concat('left after ', round(ms_between(t.told_at, l.at)), ' ms') END,
                   concat('exit code ', t.exit_code)) AS note
        FROM told t LEFT JOIN leaves l ON l.member = t.member
        LEFT JOIN belonged b ON b.member = t.member
    """


@Rule(
    "P7",
    title="A program that runs works",
    statement=(
        "At the end, when nothing has been broken for a while, every process that runs is a member "
        "of the group, and whoever holds a partition fetches from it."
    ),
    source="kafka-chaos, programs under test",
    unit="ms",
    things="running processes",
    measures="since the last fetch",
    too_high="holds partitions, and fetches nothing",
    matters="A process that runs and does nothing looks healthy to whoever supervises it.",
    clients=(APP,),
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
        ), holding AS (
            SELECT a.member, count(o.partition) AS partitions
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
               IF(h.partitions > 0, ms_between(coalesce(f.at, a.started_at), :stopped_at), NULL)
                   AS measured,
               a.session_ms AS bound_high,
               IF(b.ids = 0,
                  clause('runs, and is no member of the group; ',
                         coalesce(concat('the group last heard of it ',
                                         round(ms_between(s.at, :stopped_at) / 1e3, 1),
                                         ' s before'), 'the group never heard of it')),
                  NULL) AS wrong,
               IF(h.partitions = 0, 'holds no partition', NULL) AS excused,
               clause('holds ', h.partitions, ' partitions') AS note
        FROM alive a JOIN belonging b USING (member) JOIN holding h USING (member)
        JOIN fetching f USING (member) JOIN speaking s USING (member)
    """


@Rule(
    "P8",
    title="A program that is put out of the group comes back",
    statement=(
        "A process that the coordinator evicted or fenced is in the group again within 30 s of "
        "when it could know, or ends with an exit code other than 0, so that its supervisor sees "
        "it."
    ),
    source="kafka-chaos, programs under test",
    unit="ms",
    things="removals of running processes",
    measures="until it was back, or gone",
    too_high="came back too late",
    matters="A process that stays outside works no more, and nobody is told.",
    clients=(APP,),
)
def comes_back() -> str:
    """Removals by the coordinator. Until a fault is over that hits the process it cannot know."""
    return """
        {OUTSIDE}
        SELECT clause(member, ' at ', substr(concat(removed_at), 12, 12)) AS subject,
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
    title="A program that is put out of the group stops working",
    statement=(
        "A process that has heard of its removal fetches nothing and has no commit accepted "
        "before it is in the group again."
    ),
    source="kafka-chaos, programs under test",
    unit="records",
    things="removals that a process heard of",
    measures="fetched meanwhile",
    too_high="were fetched by a process that knew that it was no member",
    matters="Whoever goes on without its membership processes records that belong to another.",
    clients=(APP,),
)
def stops_working() -> str:
    """It has heard when a request of the removed member was answered with an error."""
    return """
        {OUTSIDE}, heard AS (
            SELECT o.member, o.member_id, o.removed_at, o.back_at, o.evidence,
                   min(r.answered_at) AS heard_at
            FROM outside o JOIN {own_requests} r
              ON r.member = o.member AND r.member_id = o.member_id
             AND r.arrived_at >= o.removed_at
             AND (o.back_at IS NULL OR r.arrived_at < o.back_at)
            WHERE r.error_code IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION, :FENCED_MEMBER_EPOCH,
                                   :FENCED_INSTANCE_ID)
            GROUP BY o.member, o.member_id, o.removed_at, o.back_at, o.evidence
        ), fetching AS (
            SELECT h.member, h.removed_at, sum(f.last_offset - f.first_offset + 1) AS records
            FROM heard h JOIN {fetched} f
              ON f.member = h.member AND f.arrived_at > after(:UNDER_WAY_MS, h.heard_at)
             AND f.arrived_at < coalesce(h.back_at, :ended_at)
            GROUP BY h.member, h.removed_at
        ), committing AS (
            SELECT h.member, h.removed_at, count(*) AS times
            FROM heard h JOIN {accepted} a
              ON a.member = h.member AND a.member_id = h.member_id AND a.at > h.heard_at
             AND a.at < coalesce(h.back_at, :ended_at)
            GROUP BY h.member, h.removed_at
        )
        SELECT clause(h.member, ' at ', substr(concat(h.removed_at), 12, 12)) AS subject,
               h.heard_at AS at, coalesce(f.records, 0) AS measured, 0 AS bound_high,
               IF(c.times > 0, clause(c.times, ' commits of it were accepted'), NULL) AS wrong,
               h.evidence
        FROM heard h LEFT JOIN fetching f
          ON f.member = h.member AND f.removed_at = h.removed_at
        LEFT JOIN committing c ON c.member = h.member AND c.removed_at = h.removed_at
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
                   greatest(p.removed_at, max(coalesce(f.healed_at, :stopped_at))) AS knows_at
            FROM put_out p LEFT JOIN {fault_windows} f
              ON f.resolved = p.member AND f.injecting_at <= p.removed_at
             AND (f.disturbs_heartbeats OR f.link_cut)
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


@Rule(
    "P10",
    title="Nothing is lost",
    statement=(
        "Every record below the position that the group committed last was processed, where the "
        "program shows what it processes; or else it was fetched."
    ),
    source="kafka-chaos, programs under test",
    unit="records",
    things="partitions",
    measures="lost",
    too_high="were never read, and never will be",
    matters="A record below the committed position is not read again: it is lost without a word.",
    clients=(APP,),
)
def nothing_lost() -> str:
    """Holes in what was read of each partition, from the first record read to the last committed.

    Where auto.offset.reset is latest, a program passes over what was there before it came.
    """
    return """
        WITH upto AS (
            SELECT topic, partition, max(committed) AS committed FROM {accepted}
            GROUP BY topic, partition
        ), followed AS (
            SELECT topic, partition, first_offset, last_offset,
                   max(last_offset) OVER (
                       PARTITION BY topic, partition ORDER BY first_offset, last_offset
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM {reads}
        ), holes AS (
            SELECT f.topic, f.partition, u.committed, f.reached + 1 AS from_offset,
                   least(f.first_offset, u.committed) - f.reached - 1 AS records
            FROM followed f JOIN upto u USING (topic, partition)
            WHERE f.reached IS NOT NULL
            UNION ALL
            SELECT f.topic, f.partition, any_value(u.committed), max(f.last_offset) + 1,
                   any_value(u.committed) - max(f.last_offset) - 1
            FROM followed f JOIN upto u USING (topic, partition)
            GROUP BY f.topic, f.partition
        ), counted AS (
            SELECT topic, partition, any_value(committed) AS committed,
                   coalesce(sum(records) FILTER (WHERE records > 0), 0) AS lost,
                   min(from_offset) FILTER (WHERE records > 0) AS first_lost
            FROM holes GROUP BY topic, partition
        ), shown AS (SELECT count(*) AS times FROM {effects})
        SELECT concat(topic, '-', partition) AS subject, :stopped_at AS at, lost AS measured,
               :limit_lost AS bound_high,
               clause(IF(s.times > 0, 'by what it showed', 'by what it fetched'),
                      ', to the committed position ', committed,
                      IF(lost > 0, concat('; the first is at ', first_lost), '')) AS note
        FROM counted CROSS JOIN shown s
    """


@Rule(
    "P11",
    title="Records come again no more often than promised",
    statement="In the whole run no more records come again than the program's owner promises.",
    source="kafka-chaos, programs under test",
    unit="records",
    things="runs",
    measures="came again",
    too_high="is more than promised",
    matters="What comes twice is done twice, unless the program takes care of it.",
    clients=(APP,),
)
def repeats_as_promised() -> str:
    """Judged where a limit was declared."""
    return """
        SELECT 'the run' AS subject, coalesce(max(polled_at), :stopped_at) AS at,
               coalesce(sum(count), 0) AS measured, :limit_repeats AS bound_high,
               IF((SELECT count(*) FROM {effects}) > 0, 'by what it showed',
                  'by what it fetched') AS note
        FROM {redeliveries} HAVING :limit_repeats >= 0
    """
