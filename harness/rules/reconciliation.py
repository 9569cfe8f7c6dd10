"""KIP-848: when the coordinator computes targets, gives partitions and takes them."""

from typing import Final

from harness.rules.rule import A_BROKER, A_MEMBER, Groups, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)

# How long after its callback a member may take to say what it owns, beside the work on a batch: a
# tick of its timer, and what lines are stamped late. Over the kept runs it took 0.2 s at most.
TELLS_WITHIN_MS: Final = 1_000

_KIP_848 = ("consumer",)

# What the coordinator gave and took, by the answers to heartbeats, one row per partition. An answer
# without an assignment changes nothing. `acked_at` is the first heartbeat, from the answered one
# on, whose owned partitions leave the taken one out: until then the partition is still the
# member's. One that names no owned partitions says nothing (CurrentAssignmentBuilder,
# ownsRevokedPartitions).
GIVEN_AND_TAKEN = """
    WITH stays AS (
        SELECT b.*, m.stay, m.removed_at, m.removed_by,
               CAST(coalesce(max(b.rebalance_timeout_ms) OVER (PARTITION BY b.member_id),
                             :max_poll_ms) AS BIGINT) AS limit_ms
        FROM {consumer_heartbeats} b JOIN {memberships} m
          ON m.member_id = b.member_id AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
         AND (m.until_at IS NULL OR b.arrived_at <= m.until_at)
        WHERE b.error_code = :NONE AND b.generation >= 0
    ), answers AS (
        SELECT *, lag(assigned) OVER (PARTITION BY stay ORDER BY arrived_at, evidence)
                      AS assigned_before
        FROM stays WHERE assigned IS NOT NULL
    ), given AS (
        SELECT *, explode(CASE WHEN assigned_before IS NULL THEN assigned
                               ELSE array_except(assigned, assigned_before) END) AS part
        FROM answers
    ), taken AS (
        SELECT *, explode(array_except(assigned_before, assigned)) AS part FROM answers
    ), acked AS (
        SELECT t.stay, t.part, t.member, t.arrived_at, t.processed_at, t.removed_at, t.removed_by,
               t.limit_ms, t.evidence, min(s.arrived_at) AS acked_at
        FROM taken t LEFT JOIN stays s
          ON s.stay = t.stay AND s.arrived_at >= t.arrived_at AND s.owned IS NOT NULL
         AND NOT array_contains(s.owned, t.part)
        GROUP BY ALL
    )
"""


@Rule(
    "X20",
    title="A partition is assigned after its owner has released it",
    statement="The coordinator assigns a partition to its next owner only after the former one "
    "has acknowledged the revocation or is gone.",
    source="KIP-848, Reconciliation of the group",
    unit="ms",
    things="hand-overs",
    measures="after the release",
    too_low="was assigned before its former owner released it",
    matters="Two members that have a partition at the same time process its records twice.",
    protocols=_KIP_848,
)
def given_when_released() -> str:
    """Each partition that another member had before.

    It lets go by a heartbeat that owns it no more, from the one on by whose answer the partition
    was taken from it, or by leaving the group in whatever way.

    Law: a coordinator gives a partition that it has taken from a member to another one only after
    a heartbeat that names what that member owns without it, be it the one that is answered.
    """
    return """
        {GIVEN_AND_TAKEN}, held AS (
            SELECT g.part, g.stay, g.member, g.processed_at AS at, g.removed_at, g.evidence,
                   min(a.acked_at) AS acked_at
            FROM given g LEFT JOIN acked a ON same(a, g, stay, part) AND a.arrived_at > g.arrived_at
            GROUP BY ALL
        ), followed AS (
            SELECT *, lag(struct(member, stay, acked_at, removed_at)) OVER (
                PARTITION BY part ORDER BY at, stay, evidence) AS former
            FROM held
        ), released AS (
            SELECT *, least(former.acked_at, former.removed_at) AS released_at
            FROM followed WHERE former.stay <> stay
        )
        SELECT concat(part.topic, '-', part.partition, ' to ', member) AS subject, at,
               ms_between(released_at, at) AS measured, -:slack_ms AS bound_low,
               CASE WHEN released_at IS NULL
                    THEN clause('was given while ', former.member, ' still had it') END AS wrong,
               concat(former.member, IF(released_at = former.acked_at,
                                        ' acknowledged the revocation', ' was gone')) AS note,
               evidence
        FROM released
    """


@Rule(
    "X21",
    title="A member that does not acknowledge a revocation is fenced",
    statement="A member that sends heartbeats without acknowledging a revocation is fenced when "
    "its rebalance timeout (max.poll.interval.ms) has passed.",
    source="KIP-848, Rebalance timeout",
    unit="ms",
    things="unacknowledged revocations",
    measures="from the revocation to the fencing",
    too_low="was fenced too early",
    too_high="was fenced too late",
    matters="The next owner waits this long for a member that is stuck in its callback.",
    broker=True,
    protocols=_KIP_848,
    delayed_by=A_MEMBER,
)
def fenced_without_acknowledgement() -> str:
    """Revocations that were not acknowledged within the member's rebalance timeout.

    The timer starts between the arrival of the heartbeat that is answered with less and that
    answer. A member that was removed for another reason before its time was up is not examined.
    """
    return """
        {GIVEN_AND_TAKEN}, revoked AS (
            SELECT stay, member, arrived_at, processed_at, removed_at, removed_by, limit_ms,
                   evidence, max(coalesce(acked_at, timestamp'9999-01-01')) AS acked_at
            FROM acked GROUP BY ALL
        ), timed AS (
            SELECT *, after(:slack_ms, after(limit_ms, processed_at)) AS due_at FROM revoked
        )
        SELECT concat(member, ' (revocation)') AS subject, arrived_at AS at,
               ms_between(arrived_at, removed_at) AS measured, limit_ms - :slack_ms AS bound_low,
               ms_between(arrived_at, due_at) AS bound_high,
               CASE WHEN removed_at IS NULL
                    THEN 'neither acknowledged the revocation nor was fenced'
                    WHEN removed_by <> 'fenced'
                    THEN clause('was not fenced, but ', removed_by) END AS wrong,
               evidence,
               guard_from(after(limit_ms, arrived_at), coalesce(removed_at, due_at)) AS guard_from,
               guard_to(coalesce(removed_at, due_at)) AS guard_to
        FROM timed
        WHERE removed_by = 'fenced' AND removed_at < acked_at
           OR least(acked_at, coalesce(removed_at, :stopped_at)) > due_at
    """


@Rule(
    "X24",
    title="Target assignments are computed in batches",
    statement="The coordinator computes a target assignment at the first heartbeat after the "
    "assignment interval (1 s), and never sooner than that after the one before.",
    source="group.consumer.assignment.interval.ms (since Kafka 4.3)",
    unit="ms",
    things="target assignments",
    measures="after the group epoch was bumped",
    too_low="was computed too soon",
    too_high="was passed over by a heartbeat that came when it was due",
    matters="Members that start together share one computation, and a single join waits for it.",
    broker=True,
    since="4.3",
    protocols=_KIP_848,
    delayed_by=A_BROKER,
)
def target_is_batched() -> str:
    """Group epochs with a target: how long after the first bump it was computed.

    It is due with the bump, or an interval after the target before where that is later. A
    coordinator looks whether one is due only when a member heartbeats
    (GroupMetadataManager.maybeUpdateTargetAssignment). So the bound is the first heartbeat that
    came after that time, and was accepted: where nobody is in the group, or nobody can send one, a
    target waits for as long as that lasts. The interval counts from when the target before was
    done, and its line is written after that: a broker that waits for a processor in between makes
    the next seem early. Where the coordinator has changed, what it was told last may be lost.
    """
    return """
        WITH ordered AS (
            SELECT *, lag(joined_at) OVER w AS before_at, lag(broker) OVER w AS broker_before
            FROM {epochs} WINDOW w AS (PARTITION BY 1 ORDER BY joined_at, generation)
        ), timed AS (
            SELECT *, greatest(started_at, after(:assignment_interval_ms, before_at)) AS due_at,
                   broker = broker_before
                       AND started_at < after(:assignment_interval_ms - :slack_ms, before_at)
                       AS waits
            FROM ordered
        ), heard AS (
            SELECT t.*, min(h.processed_at) AS heard_at
            FROM timed t LEFT JOIN {consumer_heartbeats} h
              ON h.broker = t.broker AND h.generation >= 0 AND h.error_code = :NONE
             AND h.arrived_at > after(:slack_ms, t.due_at)
            GROUP BY ALL
        )
        SELECT concat('epoch ', generation) AS subject, joined_at AS at,
               ms_between(started_at, joined_at) AS measured,
               IF(waits, ms_between(started_at, before_at) + :assignment_interval_ms - :slack_ms,
                  NULL) AS bound_low,
               ms_between(started_at, heard_at) + :slack_ms AS bound_high,
               CASE WHEN started_at IS NULL
                    THEN 'when its group epoch was bumped is not on record' END AS unknown,
               clause('was computed ', CAST(round(ms_between(before_at, joined_at)) AS INT),
                      ' ms after the one before') AS too_low,
               concat('reason of the bump: ', reason) AS note,
               evidence,
               IF(waits, least(started_at, after(-:guard_ms, before_at)), started_at)
                   AS guard_from,
               guard_to(joined_at) AS guard_to
        FROM heard
    """


@Rule(
    "X24-at-once",
    title="A join computes its target at once (documented, outdated)",
    statement="The coordinator computes the new target assignment in the heartbeat by which a "
    "member joins.",
    source="KIP-848, Assignment process (before Kafka 4.3)",
    unit="ms",
    things="joins",
    measures="after the group epoch was bumped",
    matters="Where this does not hold, a new member gets its partitions only after a later "
    "heartbeat.",
    broker=True,
    protocols=_KIP_848,
    contradicted=(Groups(),),
)
def target_at_once() -> str:
    """Joins: whether the target of their epoch was computed before that heartbeat was answered.

    A request's line is stamped late, and its arrival counts back from there: the coordinator's own
    lines may seem to come first.
    """
    return """
        WITH joined AS (
            SELECT b.generation, b.at, b.evidence, min(c.at) AS computed_at,
                   max(q.processed_at) AS answered_at
            FROM {epoch_bumps} b LEFT JOIN {coordinator_events} c
              ON c.event = 'target_computed' AND c.`group` = :group
             AND c.generation = b.generation AND c.at >= b.at
            LEFT JOIN {consumer_heartbeats} q
              ON q.member_id = b.named AND q.generation = 0 AND q.processed_at >= b.at
             AND q.arrived_at <= after(:slack_ms, b.at)
            WHERE b.event_before = 'member_added'
            GROUP BY ALL
        )
        SELECT concat('epoch ', generation) AS subject, at,
               ms_between(at, computed_at) AS measured,
               CASE WHEN computed_at IS NOT NULL AND answered_at IS NULL
                    THEN 'the answer to the join is not on record' END AS unknown,
               CASE WHEN computed_at IS NULL
                    THEN 'was passed over: the next epoch came before its assignment'
                    WHEN computed_at > answered_at
                    THEN 'was computed by a later heartbeat' END AS wrong,
               evidence
        FROM joined
    """


@Rule(
    "X96",
    title="A member's epoch is raised once it has given up what was taken",
    statement="A member that has to give up partitions keeps its epoch until it has acknowledged "
    "that. Every other one is brought up to the newest target by its next heartbeat. A partition "
    "that was taken from a member comes back to it only with a later target. A member that joins "
    "is told its part, even if it is empty.",
    source="KIP-848, Reconciliation of the group; CurrentAssignmentBuilder; "
    "GroupMetadataManager.consumerGroupHeartbeat",
    unit="heartbeats",
    things="members",
    measures="answered with another epoch or part",
    too_high="was answered with another epoch or part than its own",
    matters="The coordinator takes a member that has its new epoch for one that has let go, and "
    "gives its partitions away.",
    broker=True,
    protocols=_KIP_848,
    since="4.2",  # before, who gave up one part was raised, whatever else was to go (KAFKA-19974)
    in_passing=True,
    compares_clocks=True,
)
def raised_when_released() -> str:
    """Answers to each stay of a member, by what was taken from it and by the targets there were.

    A target is the newest as soon as the same coordinator has told anybody its epoch: a target
    that could not be written is undone, and no member is told of it. An answer that never came was
    an answer, so what a member was told last counts beside what it names. A group that changes its
    protocol is not examined.

    Law: an answer that takes partitions from a member raises its epoch to the newest target exactly
    if its request names what it owns, and none of these; else a later one that does so raises it.
    """
    return """
        {GIVEN_AND_TAKEN}, changed AS (
            SELECT count(*) AS times FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
        ), held AS (
            SELECT stay, arrived_at AS from_at,
                   max(coalesce(acked_at, timestamp'9999-01-01')) AS to_at
            FROM acked GROUP BY stay, arrived_at
        ), told AS (
            SELECT broker, member_epoch, min(processed_at) AS at
            FROM stays GROUP BY broker, member_epoch
        ), back AS (
            SELECT g.stay, g.arrived_at, g.evidence, g.part, g.member_epoch,
                   max_by(struct(t.member_epoch AS epoch, t.broker, t.arrived_at AS at),
                          t.arrived_at) AS t
            FROM given g JOIN taken t ON same(t, g, stay, part) AND t.arrived_at < g.arrived_at
            GROUP BY g.stay, g.arrived_at, g.evidence, g.part, g.member_epoch
        ), known AS (
            SELECT b.stay, b.arrived_at, b.evidence, b.part, b.member_epoch, b.t.epoch AS epoch,
                   coalesce(max(f.member_epoch), 0) AS target
            FROM back b LEFT JOIN told f
              ON f.broker = b.t.broker AND f.at < after(-:slack_ms, b.t.at)
            GROUP BY ALL
        ), returned AS (
            -- Taken by the newest target, where others knew it, or else by one that came just then.
            SELECT k.stay, k.arrived_at, k.evidence, any_value(k.part) AS part
            FROM known k LEFT JOIN {coordinator_events} c
              ON c.`group` = :group AND c.event = 'target_computed'
             AND c.generation > greatest(k.epoch, k.target) AND c.generation <= k.member_epoch
            GROUP BY k.stay, k.arrived_at, k.evidence, k.part, k.epoch, k.target
            HAVING count(DISTINCT c.generation) < IF(k.target > k.epoch, 1, 2)
        ), beats AS (
            SELECT *, lag(member_epoch) OVER (PARTITION BY stay ORDER BY arrived_at, evidence)
                          AS told
            FROM stays
        ), placed AS (
            SELECT b.stay, b.member, b.member_id, b.arrived_at, b.evidence, b.member_epoch,
                   greatest(b.generation, coalesce(b.told, 0)) AS epoch,
                   b.generation > 0 AS stayed, b.assigned IS NULL AS untold,
                   count(h.from_at) > 0 AS holds
            FROM beats b LEFT JOIN held h
              ON h.stay = b.stay AND h.from_at <= b.arrived_at AND h.to_at > b.arrived_at
            GROUP BY ALL
        ), newest AS (
            SELECT b.stay, b.arrived_at, b.evidence, max(t.member_epoch) AS epoch
            FROM beats b JOIN told t
              ON t.broker = b.broker AND t.at < after(-:slack_ms, b.arrived_at)
            GROUP BY b.stay, b.arrived_at, b.evidence
        ), judged AS (
            SELECT p.*,
                   CASE WHEN p.stayed AND p.holds AND p.member_epoch > p.epoch
                        THEN concat('was raised to epoch ', p.member_epoch,
                                    ' before it had given up what was taken from it')
                        WHEN p.stayed AND NOT p.holds AND p.member_epoch < n.epoch
                        THEN concat('was left in epoch ', p.member_epoch,
                                    ' when others had been told ', n.epoch)
                        WHEN NOT p.stayed AND p.untold
                        THEN 'joined, and was told of no part'
                        WHEN r.part IS NOT NULL
                        THEN concat('was given ', r.part.topic, '-', r.part.partition,
                                    ' back without another target') END AS odd
            FROM placed p CROSS JOIN changed c
            LEFT JOIN newest n ON same(n, p, stay, arrived_at, evidence)
            LEFT JOIN returned r ON same(r, p, stay, arrived_at, evidence)
            WHERE c.times = 0
        )
        SELECT concat(min(member), ' (', stay, ')') AS subject,
               coalesce(min(arrived_at) FILTER (WHERE odd IS NOT NULL), min(arrived_at)) AS at,
               count(odd) AS measured, 0 AS bound_high,
               min_by(odd, struct(arrived_at, evidence)) FILTER (WHERE odd IS NOT NULL) AS wrong,
               concat(count(*), ' answers') AS note,
               coalesce(min_by(evidence, struct(arrived_at, evidence))
                            FILTER (WHERE odd IS NOT NULL),
                        min_by(evidence, struct(arrived_at, evidence))) AS evidence
        FROM judged GROUP BY stay
    """


@Rule(
    "X105",
    title="A member says at once what it has given up",
    statement="When its callback for a revocation is over, a member sends a heartbeat that names "
    "the partitions that are left to it. It does not wait until its next heartbeat is due.",
    source="KIP-848, Client-side reconciliation; AbstractMembershipManager (ACKNOWLEDGING); "
    "rdkafka_cgrp.c (rd_kafka_cgrp_consumer_expedite_next_heartbeat)",
    unit="ms",
    things="revocations",
    measures="from the callback to the heartbeat",
    too_high="was told to the coordinator too late",
    matters="Until then nobody reads the partition: its next owner is given it only after that.",
    protocols=_KIP_848,
    in_passing=True,
    compares_clocks=True,
    delayed_by=A_MEMBER,
)
def tells_what_it_has_given_up() -> str:
    """Revocations in members that went on undisturbed and said what they own.

    It counts from when the member could send one: a heartbeat that waits for its answer, and a
    commit or batch that the application is at, come first. Java hands over what else it was given
    before it says so, which takes another poll. Who leaves first, or is refused, is not examined.
    """
    return """
        WITH hindered AS (
            SELECT member, event_at AS from_at, after(duration_ms, event_at) AS to_at
            FROM {client_events} WHERE event IN ('stall_started', 'callback_stall_started')
            UNION ALL
            SELECT coalesce(d.member, m.member), d.from_at, d.to_at
            FROM {disturbances} d JOIN {members} m ON coalesce(d.member = m.member, true)
            UNION ALL
            SELECT m.member, u.from_at, u.to_at FROM {unsettled} u CROSS JOIN {members} m
        ), revoked AS (
            SELECT c.member, coalesce(c.observed_at, c.event_at) AS at,
                   coalesce(m.process_us * m.batch_records / 1e3, 0) AS batch_ms
            FROM {client_events} c JOIN {members} m USING (member)
            WHERE c.event = 'revoked' AND size(c.partitions) > 0
        ), told AS (
            SELECT r.member, r.at, r.batch_ms,
                   min(struct(h.arrived_at, h.evidence)) FILTER (
                       WHERE h.generation > 0 AND h.owned IS NOT NULL
                         AND h.arrived_at >= after(-:slack_ms, r.at)) AS told,
                   min(h.arrived_at) FILTER (
                       WHERE h.generation <= 0 OR coalesce(h.error_code <> :NONE, true)) AS out_at,
                   max(h.answered_at) FILTER (
                       WHERE h.arrived_at < after(-:slack_ms, r.at) OR h.owned IS NULL
                         AND h.arrived_at <= after(:STAMP_LATE_MS, r.at)) AS heard_at
            FROM revoked r JOIN {consumer_heartbeats} h
              ON h.member = r.member AND h.answered_at >= after(-:slack_ms, r.at)
            GROUP BY r.member, r.at, r.batch_ms
        ), timed AS (
            SELECT t.member, t.at, t.told.arrived_at AS told_at, t.told.evidence AS evidence,
                   greatest(t.at, t.heard_at, max(b.to_at)) AS from_at,
                   :TELLS_WITHIN_MS + t.batch_ms AS most_ms
            FROM told t LEFT JOIN {busy} b
              ON b.member = t.member AND b.from_at <= after(:slack_ms, t.at)
             AND (b.to_at IS NULL OR b.to_at > t.at)
            LEFT ANTI JOIN hindered s
              ON s.member = t.member AND s.from_at <= t.told.arrived_at AND s.to_at >= t.at
            WHERE t.told IS NOT NULL AND coalesce(t.out_at > t.told.arrived_at, true)
            GROUP BY t.member, t.at, t.told, t.heard_at, t.batch_ms
            HAVING count_if(b.from_at IS NOT NULL AND b.to_at IS NULL) = 0
        )
        SELECT concat(member, ' (revocation)') AS subject, at,
               ms_between(from_at, told_at) AS measured, most_ms AS bound_high, evidence,
               IF(ms_between(from_at, told_at) > most_ms, after(-:guard_ms, from_at), NULL)
                   AS guard_from,
               guard_to(told_at) AS guard_to
        FROM timed
    """
