"""The consumer protocol of KIP-848: the broker has the timers, and assigns by heartbeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.failure_detection import evicted_on_time
from harness.rules.rebalance import START_MS
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# group.consumer.assignment.interval.ms, of which there is nothing to set before Kafka 4.3.
_ASSIGNMENT_INTERVAL_MS = 1_000

# What the coordinator gave and took, by the answers to heartbeats, one row per partition. An answer
# without an assignment changes nothing. `acked_at` is the first heartbeat after the answer whose
# owned partitions leave the taken one out: until then the partition is still the member's.
_GIVEN_AND_TAKEN = """
    WITH beats AS (
        SELECT * FROM {requests}
        WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0
          AND member_id IS NOT NULL
    ),
    stays AS (
        SELECT b.member_id, b.client_id AS member, b.arrived_at, b.processed_at, b.generation,
               b.owned, b.assigned, b.evidence, m.stay, m.removed_at, m.removed_by,
               m.joined_at
        FROM beats b JOIN {memberships} m
          ON m.member_id = b.member_id AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
         AND (m.until_at IS NULL OR b.arrived_at <= m.until_at)
        WHERE b.generation >= 0
    ),
    answers AS (
        SELECT *, lag(assigned) OVER (PARTITION BY stay ORDER BY arrived_at) AS assigned_before
        FROM stays WHERE assigned IS NOT NULL
    ),
    given AS (
        SELECT *, explode(CASE WHEN assigned_before IS NULL THEN assigned
                               ELSE array_except(assigned, assigned_before) END) AS part
        FROM answers
    ),
    taken AS (
        SELECT *, explode(array_except(assigned_before, assigned)) AS part FROM answers
    ),
    acked AS (
        SELECT t.stay, t.part, t.member, t.member_id, t.arrived_at, t.processed_at, t.removed_at,
               t.removed_by, t.evidence, min(s.arrived_at) AS acked_at
        FROM taken t LEFT JOIN stays s
          ON s.stay = t.stay AND s.arrived_at > t.arrived_at AND s.owned IS NOT NULL
         AND NOT array_contains(s.owned, t.part)
        GROUP BY ALL
    )
"""


def _handed_over_when_released(t: Tables) -> Frame:
    """Each partition that another member had before: given only once that one had let it go.

    It lets go by a heartbeat that owns it no more after the partition was taken from it, or by
    leaving the group in whatever way.
    """
    return t.sql(
        _GIVEN_AND_TAKEN
        + """
        , held AS (
            SELECT g.part, g.stay, g.member, g.processed_at AS at, g.evidence,
                   least(min(a.acked_at), any_value(g.removed_at)) AS released_at,
                   min(a.acked_at) <= coalesce(any_value(g.removed_at), :ended_at) AS by_ack
            FROM given g LEFT JOIN acked a
              ON a.stay = g.stay AND a.part = g.part AND a.arrived_at > g.arrived_at
            GROUP BY g.part, g.stay, g.member, g.processed_at, g.evidence
        ),
        followed AS (
            SELECT *, lag(struct(member, stay, released_at, by_ack)) OVER (
                PARTITION BY part ORDER BY at) AS former
            FROM held
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, former.released_at, at) / 1e3 AS ms
            FROM followed WHERE former.stay <> stay
        )
        SELECT concat(part.topic, '-', part.partition, ' to ', member) AS subject, at,
               coalesce(ms >= -:rounding_ms, false) AS ok, ms AS measured, 0 AS bound_low,
               CASE WHEN ms IS NULL THEN concat(former.member, ' had not let it go')
                    WHEN ms < -:rounding_ms THEN concat('before ', former.member, ' let it go')
                    WHEN former.by_ack THEN concat('after ', former.member, ' acknowledged')
                    ELSE concat('after ', former.member, ' was gone') END AS why,
               evidence
        FROM timed
        """
    )


def _unacknowledged_is_fenced(t: Tables) -> Frame:
    """Revocations that were not acknowledged within the member's rebalance timeout.

    The timer starts between the arrival of the heartbeat that is answered with less and that
    answer. Who was removed for another reason before its time was up is not examined.
    """
    return t.sql(
        _GIVEN_AND_TAKEN
        + """
        , limits AS (
            SELECT member_id, max(rebalance_timeout_ms) AS limit_ms FROM beats GROUP BY member_id
        ),
        told AS (
            SELECT a.stay, a.member, a.member_id, a.arrived_at,
                   any_value(a.processed_at) AS processed_at, any_value(a.removed_at) AS removed_at,
                   any_value(a.removed_by) AS removed_by, any_value(a.evidence) AS evidence,
                   max(coalesce(a.acked_at, timestamp'9999-01-01')) AS acked_at,
                   any_value(coalesce(l.limit_ms, :max_poll_ms)) AS limit_ms
            FROM acked a JOIN limits l USING (member_id)
            GROUP BY a.stay, a.member, a.member_id, a.arrived_at
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, arrived_at, removed_at) / 1e3 AS ms,
                   timestampdiff(MICROSECOND, processed_at, removed_at) / 1e3 AS least_ms,
                   timestampadd(MILLISECOND, limit_ms + :slack_ms, processed_at) AS due_at
            FROM told
        )
        SELECT concat(member, ' (revocation)') AS subject, arrived_at AS at,
               coalesce(removed_by = 'fenced' AND ms >= limit_ms - :slack_ms
                        AND least_ms <= limit_ms + :slack_ms, false) AS ok,
               ms AS measured, limit_ms - :slack_ms AS bound_low,
               limit_ms + :slack_ms + coalesce(ms - least_ms, 0) AS bound_high,
               CASE WHEN removed_at IS NULL THEN 'neither acknowledged nor fenced'
                    WHEN removed_by <> 'fenced' THEN concat('was not fenced, but ', removed_by)
                    WHEN ms < limit_ms - :slack_ms THEN 'fenced too early'
                    WHEN least_ms > limit_ms + :slack_ms THEN 'fenced too late'
                    ELSE 'fenced by the coordinator' END AS why,
               evidence,
               timestampadd(MILLISECOND, limit_ms - :guard_ms, arrived_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, coalesce(removed_at, due_at)) AS guard_to
        FROM timed
        WHERE removed_by = 'fenced' AND removed_at < acked_at
           OR least(acked_at, coalesce(removed_at, :stopped_at)) > due_at
        """
    )


# The first answer by which a member learns that it is in the group no more: UNKNOWN_MEMBER_ID or
# FENCED_MEMBER_EPOCH.
_REFUSED = """
    WITH beats AS (
        SELECT *, lag(error_code) OVER (PARTITION BY member_id ORDER BY arrived_at) AS error_before
        FROM {requests}
        WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id IS NOT NULL
    ),
    refused AS (
        SELECT member_id, client_id AS member, generation, error_code, arrived_at, answered_at,
               evidence
        FROM beats
        WHERE error_code IN (25, 110) AND generation > 0
          AND coalesce(error_before NOT IN (25, 110), true)
    )
"""


def _fenced_comes_back(t: Tables) -> Frame:
    """Members that were told that they are out: what they did until they were in again.

    A member may act on a refusal before the line is stamped from which its arrival counts back.
    """
    return t.sql(
        _REFUSED
        + """
        , back AS (
            SELECT r.member_id, r.member, r.arrived_at, r.answered_at, r.error_code, r.evidence,
                   min(b.arrived_at) AS back_at, min_by(b.member_id, b.arrived_at) AS back_id
            FROM refused r LEFT JOIN beats b
              ON b.client_id = r.member AND b.generation = 0 AND b.error_code = 0
             AND b.arrived_at >= r.answered_at
            GROUP BY ALL
        ),
        lost AS (
            SELECT r.member_id, r.arrived_at, min(c.event_at) AS lost_at
            FROM back r JOIN {client_events} c
              ON c.member = r.member AND c.event = 'lost'
             AND c.event_at >= timestampadd(MILLISECOND, -:slack_ms, r.arrived_at)
             AND (r.back_at IS NULL OR c.event_at <= r.back_at)
            GROUP BY r.member_id, r.arrived_at
        )
        SELECT concat(b.member, ' (fenced)') AS subject, b.arrived_at AS at,
               CASE WHEN b.back_at IS NULL
                     AND b.arrived_at >= timestampadd(MILLISECOND, -2000, :stopped_at) THEN NULL
                    ELSE coalesce(b.back_id = b.member_id, false) AND l.lost_at IS NOT NULL END
                   AS ok,
               timestampdiff(MICROSECOND, b.answered_at, b.back_at) / 1e3 AS measured,
               CASE WHEN b.back_at IS NULL THEN 'did not come back'
                    WHEN b.back_id <> b.member_id THEN 'came back under another member id'
                    WHEN l.lost_at IS NULL THEN 'came back without giving its partitions up'
                    ELSE concat('answered with error ', b.error_code,
                                ', gave its partitions up and joined with epoch 0') END AS why,
               b.evidence
        FROM back b LEFT JOIN lost l USING (member_id, arrived_at)
        """
    )


def _target_is_batched(t: Tables) -> Frame:
    """Group epochs with a target: how long after the first bump, and after the target before.

    The coordinator computes one only when a member heartbeats, and a new coordinator starts anew.
    """
    return t.sql(
        """
        WITH ordered AS (
            SELECT *, timestampdiff(MICROSECOND, started_at, joined_at) / 1e3 AS ms,
                   timestampdiff(MICROSECOND, lag(joined_at) OVER w, joined_at) / 1e3 AS since_ms,
                   lag(broker) OVER w AS broker_before
            FROM {epochs} WINDOW w AS (PARTITION BY 1 ORDER BY joined_at)
        ),
        bounded AS (
            SELECT *, :interval_ms + :heartbeat_ms + :cadence_ms + :slack_ms AS high,
                   coalesce(since_ms < :interval_ms - :rounding_ms, false)
                       AND broker = broker_before AS hasty
            FROM ordered
        )
        SELECT concat('epoch ', generation) AS subject, joined_at AS at,
               CASE WHEN ms IS NOT NULL THEN ms <= high AND NOT hasty END AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low, high AS bound_high,
               CASE WHEN ms IS NULL THEN 'no line tells when the group epoch was bumped'
                    WHEN hasty THEN concat(CAST(round(since_ms) AS INT), ' ms after the one before')
                    ELSE coalesce(reason, 'computed') END AS why,
               evidence, started_at AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, joined_at) AS guard_to
        FROM bounded
        """,
        interval_ms=_ASSIGNMENT_INTERVAL_MS,
    )


def _target_at_once(t: Tables) -> Frame:
    """Joins: whether the target of their epoch was computed before that heartbeat was answered.

    A request's line is stamped late, and its arrival counts back from there: the coordinator's own
    lines may seem to come first.
    """
    return t.sql(
        """
        WITH lines AS (
            SELECT *, lag(event) OVER w AS event_before, lag(member_id) OVER w AS joiner
            FROM {coordinator_events} WHERE `group` = :group WINDOW w AS (ORDER BY at)
        ),
        joins AS (
            SELECT b.generation, b.at, b.evidence, min(c.at) AS computed_at,
                   max(q.processed_at) AS answered_at
            FROM lines b LEFT JOIN {coordinator_events} c
              ON c.event = 'target_computed' AND c.`group` = :group
             AND c.generation = b.generation AND c.at >= b.at
            LEFT JOIN {requests} q
              ON q.member_id = b.joiner AND q.api = 'CONSUMER_GROUP_HEARTBEAT'
             AND q.generation = 0 AND q.processed_at >= b.at
             AND q.arrived_at <= timestampadd(MILLISECOND, :slack_ms, b.at)
            WHERE b.event = 'epoch_bumped' AND b.event_before = 'member_added'
            GROUP BY b.generation, b.at, b.evidence
        )
        SELECT concat('epoch ', generation) AS subject, at,
               CASE WHEN computed_at IS NULL THEN false
                    ELSE computed_at <= answered_at END AS ok,
               timestampdiff(MICROSECOND, at, computed_at) / 1e3 AS measured,
               CASE WHEN computed_at IS NULL
                    THEN 'passed over: the next epoch came before its assignment'
                    WHEN answered_at IS NULL THEN 'the answer to the join is not on record'
                    WHEN computed_at > answered_at THEN 'a later heartbeat computed it'
                    ELSE 'with the join itself' END AS why,
               evidence
        FROM joins
        """
    )


def _converted(t: Tables) -> Frame:
    """The first member of the new protocol among classic ones, and the last one's end.

    A conversion is part of the request that causes it: its line lies between the arrival of that
    heartbeat, which is stamped late, and its answer. An eviction has no request; then it must come
    at once.
    """
    return t.sql(
        """
        WITH stays AS (
            SELECT s.member, s.joined_at, coalesce(s.removed_at, :ended_at) AS removed_at,
                   s.removed_at IS NOT NULL AS gone, m.protocol
            FROM {memberships} s JOIN {members} m USING (member)
            WHERE s.joined_at IS NOT NULL
        ),
        turns AS (
            SELECT member, joined_at AS at, 'upgraded' AS wanted FROM stays
            WHERE protocol = 'consumer'
            UNION ALL
            SELECT member, removed_at, 'downgraded' FROM stays
            WHERE protocol = 'consumer' AND gone
        ),
        counted AS (
            SELECT u.member, u.at, u.wanted,
                   count_if(s.protocol <> 'consumer') AS classic,
                   count_if(s.protocol = 'consumer' AND s.member <> u.member) AS others
            FROM turns u LEFT JOIN stays s ON s.joined_at < u.at AND s.removed_at > u.at
            GROUP BY u.member, u.at, u.wanted
        ),
        asked AS (
            SELECT c.member, c.at, c.wanted, count(q.arrived_at) > 0 AS by_request,
                   timestampadd(MILLISECOND, -:slack_ms, coalesce(
                       min(q.arrived_at), timestampadd(MILLISECOND, -:start_ms, c.at))) AS from_at,
                   coalesce(max(q.processed_at),
                            timestampadd(MILLISECOND, :start_ms + :slack_ms, c.at)) AS to_at
            FROM counted c LEFT JOIN {requests} q
              ON q.client_id = c.member AND q.api = 'CONSUMER_GROUP_HEARTBEAT'
             AND q.generation = IF(c.wanted = 'upgraded', 0, -1)
             AND q.arrived_at <= timestampadd(MILLISECOND, :slack_ms, c.at)
             AND q.processed_at >= c.at
            WHERE c.classic > 0 AND c.others = 0
            GROUP BY c.member, c.at, c.wanted
        ),
        found AS (
            SELECT a.member, a.at, a.wanted, a.by_request, min(e.at) AS done_at,
                   min_by(e.text, e.at) AS text, min_by(e.evidence, e.at) AS evidence
            FROM asked a LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = a.wanted AND e.at >= a.from_at AND e.at <= a.to_at
            GROUP BY a.member, a.at, a.wanted, a.by_request
        )
        SELECT concat(member, IF(wanted = 'upgraded', ' joins', ' goes')) AS subject, at,
               done_at IS NOT NULL AS ok,
               abs(timestampdiff(MICROSECOND, at, done_at)) / 1e3 AS measured,
               coalesce(text, concat('the group was not ', wanted, ' with it')) AS why, evidence,
               CASE WHEN NOT by_request THEN at END AS guard_from,
               CASE WHEN NOT by_request
                    THEN timestampadd(MILLISECOND, :start_ms + :guard_ms, at) END AS guard_to
        FROM found
        """,
        start_ms=START_MS,
    )


def _goes_on_without_coordinator(t: Tables) -> Frame:
    """Members cut off from their coordinator alone that were evicted meanwhile.

    A member whose partitions are all led by that very broker cannot show whether it goes on.
    """
    return t.sql(
        """
        WITH cut AS (
            SELECT f.fault, f.resolved AS member, f.injected_at, f.healed_at, v.member_id,
                   v.broker, v.evicted_at, v.evidence
            FROM {fault_windows} f JOIN {evictions} v
              ON v.member = f.resolved AND v.evicted_at >= f.injected_at
             AND v.evicted_at <= coalesce(f.healed_at, :ended_at)
            WHERE f.kind = 'isolate' AND get_json_object(f.parameters, '$.of_broker') IS NOT NULL
        ),
        polled AS (
            SELECT c.fault, c.member_id, coalesce(sum(d.count), 0) AS records
            FROM cut c LEFT JOIN {deliveries} d
              ON d.member = c.member AND d.polled_at > c.evicted_at
             AND d.polled_at < coalesce(c.healed_at, :ended_at)
            GROUP BY c.fault, c.member_id
        ),
        committed AS (
            SELECT c.fault, c.member_id, count_if(j.error_code = 0) AS commits
            FROM cut c LEFT JOIN {commits_judged} j
              ON j.member_id = c.member_id AND j.removed_at = c.evicted_at
            GROUP BY c.fault, c.member_id
        ),
        led AS (
            SELECT fault, member_id, bool_and(leader = broker) AS by_it
            FROM (
                SELECT c.fault, c.member_id, c.broker, o.topic, o.partition,
                       max_by(p.leader, p.at) AS leader
                FROM cut c JOIN {ownership} o
                  ON o.member_id = c.member_id AND o.from_at <= c.evicted_at
                 AND coalesce(o.to_at, :ended_at) >= c.evicted_at
                JOIN {topology} p
                  ON p.topic = o.topic AND p.partition = o.partition AND p.at <= c.evicted_at
                GROUP BY ALL
            )
            GROUP BY fault, member_id
        ),
        contact AS (
            SELECT c.fault, c.member_id, min(q.arrived_at) AS at,
                   min_by(q.error_code, q.arrived_at) AS error_code
            FROM cut c LEFT JOIN {requests} q
              ON q.member_id = c.member_id AND q.arrived_at > c.evicted_at
             AND q.api = 'CONSUMER_GROUP_HEARTBEAT'
            GROUP BY c.fault, c.member_id
        )
        SELECT concat(c.member, ' without its coordinator') AS subject, c.evicted_at AS at,
               CASE WHEN p.records = 0 AND l.by_it AND k.commits = 0 THEN NULL
                    ELSE p.records > 0 AND k.commits = 0
                         AND coalesce(x.error_code IN (25, 110), false) END AS ok,
               p.records AS measured, 1 AS bound_low, CAST(NULL AS DOUBLE) AS bound_high,
               CASE WHEN p.records = 0 AND l.by_it AND k.commits = 0
                    THEN 'its coordinator leads all of its partitions'
                    WHEN p.records = 0 THEN 'got no record after the coordinator had evicted it'
                    WHEN k.commits > 0 THEN concat(k.commits, ' commits of it were accepted')
                    WHEN x.at IS NULL THEN 'never came back to the coordinator'
                    WHEN x.error_code NOT IN (25, 110)
                    THEN concat('first answered with error ', x.error_code)
                    ELSE concat('went on after its eviction; first answered with error ',
                                x.error_code) END AS why,
               c.evidence
        FROM cut c JOIN polled p USING (fault, member_id) JOIN committed k USING (fault, member_id)
        JOIN contact x USING (fault, member_id) LEFT JOIN led l USING (fault, member_id)
        """
    )


def _refused_settings(t: Tables) -> Frame:
    """Consumers that were made with one setting too many, and one with none."""
    return t.sql(
        """
        WITH made AS (
            SELECT step, sent_at, error_code, get_json_object(expected, '$.refused') AS setting,
                   get_json_object(answer, '$.said') AS said
            FROM {calls} WHERE rule = 'X26'
        )
        SELECT step AS subject, sent_at AS at,
               CASE WHEN setting IS NULL THEN error_code = 0
                    ELSE error_code <> 0 AND contains(said, setting) END AS ok,
               CASE WHEN error_code = 0 THEN 'accepted' ELSE concat('refused: ', said) END AS why
        FROM made
        """
    )


# Commits of scripted members: which epoch the coordinator had told the member, and in which it had
# given it the partition (null: the partition is no longer its own).
_SCRIPTED_COMMITS = """
    WITH asked AS (
        SELECT step, sent_at, generation AS epoch, error_code,
               CAST(get_json_object(expected, '$.member_epoch') AS INT) AS member_epoch,
               CAST(get_json_object(expected, '$.assignment_epoch') AS INT) AS assignment_epoch
        FROM {calls} WHERE rule = 'X22' AND api = 'OFFSET_COMMIT'
    ),
    judged AS (
        SELECT *, CASE WHEN :exact THEN epoch = member_epoch
                       ELSE epoch <= member_epoch
                            AND coalesce(epoch >= assignment_epoch, epoch = member_epoch) END
                      AS welcome
        FROM asked
    )
    SELECT step AS subject, sent_at AS at, error_code = IF(welcome, 0, 113) AS ok,
           error_code AS measured, IF(welcome, 0, 113) AS bound_low,
           IF(welcome, 0, 113) AS bound_high,
           concat('epoch ', epoch, ' of a member in epoch ', member_epoch,
                  coalesce(concat(', partition given in epoch ', assignment_epoch),
                           ', partition taken'), ', answered with error ', error_code) AS why
    FROM judged
"""


def _commits_need_the_epoch(t: Tables) -> Frame:
    return t.sql(_SCRIPTED_COMMITS, exact=True)


def _commits_need_the_assignment(t: Tables) -> Frame:
    return t.sql(_SCRIPTED_COMMITS, exact=False)


_KIP_848 = ("consumer",)

SESSION = Rule(
    id="X19",
    title="The broker's session timeout decides in KIP-848",
    statement=(
        "A member whose last heartbeat is group.consumer.session.timeout.ms ago is fenced, neither "
        "earlier nor later, and the group epoch is bumped."
    ),
    source="KIP-848; group.consumer.session.timeout.ms",
    unit="ms",
    things="evictions",
    measures="after the last heartbeat",
    examine=evicted_on_time,
    protocols=_KIP_848,
)
RECONCILIATION = Rule(
    id="X20",
    title="A partition is given when its owner has let it go",
    statement=(
        "The coordinator gives a partition to its next owner only after the former one has "
        "acknowledged the revocation or is gone."
    ),
    source="KIP-848, Reconciliation of the group",
    unit="ms",
    things="hand-overs",
    measures="after it was let go",
    examine=_handed_over_when_released,
    protocols=_KIP_848,
)
REBALANCE_TIMEOUT = Rule(
    id="X21",
    title="Who does not acknowledge a revocation is fenced",
    statement=(
        "A member that goes on heartbeating without acknowledging a revocation is fenced when its "
        "rebalance timeout (max.poll.interval.ms) has passed."
    ),
    source="KIP-848, Rebalance timeout",
    unit="ms",
    things="unacknowledged revocations",
    measures="from the revocation to the fencing",
    examine=_unacknowledged_is_fenced,
    broker=True,
    protocols=_KIP_848,
)
COMMIT_EPOCH = Rule(
    id="X22",
    title="A commit carries the member's epoch (documented, outdated)",
    statement=(
        "A commit whose epoch is not the member's present one is refused with STALE_MEMBER_EPOCH."
    ),
    source="KIP-848, OffsetCommit API (before Kafka 4.3)",
    unit="error code",
    things="commits over the wire",
    measures="answered",
    examine=_commits_need_the_epoch,
    broker=True,
    protocols=_KIP_848,
)
COMMIT_ASSIGNMENT_EPOCH = Rule(
    id="X22-assignment",
    title="A commit carries an epoch since the partition was given",
    statement=(
        "A commit is accepted with any epoch from the one in which the member was given the "
        "partition to its present one, and else refused with STALE_MEMBER_EPOCH."
    ),
    source="KIP-1251 (since Kafka 4.3)",
    unit="error code",
    things="commits over the wire",
    measures="answered",
    examine=_commits_need_the_assignment,
    broker=True,
    protocols=_KIP_848,
)
FENCED_RETURNS = Rule(
    id="X23",
    title="A fenced member comes back with epoch 0",
    statement=(
        "A member that is told that it is fenced or unknown gives its partitions up, and joins "
        "again under its own id with epoch 0."
    ),
    source="KIP-848, Member epoch; FENCED_MEMBER_EPOCH",
    unit="ms",
    things="fenced members",
    measures="until it joined again",
    examine=_fenced_comes_back,
    protocols=_KIP_848,
)
TARGET_BATCHED = Rule(
    id="X24",
    title="Target assignments are computed in batches",
    statement=(
        "A target assignment is computed with the first heartbeat after the assignment interval "
        "(1 s), and no sooner after the one before."
    ),
    source="group.consumer.assignment.interval.ms (since Kafka 4.3)",
    unit="ms",
    things="target assignments",
    measures="after the group epoch was bumped",
    examine=_target_is_batched,
    broker=True,
    protocols=_KIP_848,
)
TARGET_AT_ONCE = Rule(
    id="X24-at-once",
    title="A join computes its target assignment at once (documented, outdated)",
    statement="The heartbeat by which a member joins computes the new target assignment itself.",
    source="KIP-848, Assignment process (before Kafka 4.3)",
    unit="ms",
    things="joins",
    measures="after the group epoch was bumped",
    examine=_target_at_once,
    broker=True,
    protocols=_KIP_848,
)
CONVERSION = Rule(
    id="X25",
    title="A classic group is converted and converted back",
    statement=(
        "The first member of the consumer protocol converts a classic group with its join, and "
        "when the last one goes while classic members stay the group is classic again."
    ),
    source="KIP-848, Upgrade; group.consumer.migration.policy",
    unit="ms",
    things="conversions",
    measures="apart from the join or the departure",
    examine=_converted,
    broker=True,
    protocols=CLASSIC,  # of the group; single members differ
)
REFUSED_SETTINGS = Rule(
    id="X26",
    title="Clients refuse what the broker decides in KIP-848",
    statement=(
        "With group.protocol=consumer a client refuses session.timeout.ms, heartbeat.interval.ms "
        "and partition.assignment.strategy, librdkafka group.protocol.type too."
    ),
    source="KIP-848, Consumer configurations; librdkafka CONFIGURATION.md",
    unit="",
    things="consumers made",
    measures="",
    examine=_refused_settings,
    protocols=_KIP_848,
)
WITHOUT_COORDINATOR = Rule(
    id="X27",
    title="Without its coordinator a member goes on, and is fenced at the first contact",
    statement=(
        "A member that cannot reach its coordinator goes on fetching, even when it has been "
        "evicted; no commit of it is accepted, and the first answer fences it."
    ),
    source="KIP-848; librdkafka INTRODUCTION.md, consumer group protocol",
    unit="records",
    things="members cut off from their coordinator",
    measures="delivered after the eviction",
    examine=_goes_on_without_coordinator,
    protocols=_KIP_848,
)
