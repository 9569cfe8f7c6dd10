"""KIP-848, the coordinator's side: when it computes targets, gives partitions and takes them."""

from harness.rules.rule import Groups, Rule

_KIP_848 = ("consumer",)

# What the coordinator gave and took, by the answers to heartbeats, one row per partition. An answer
# without an assignment changes nothing. `acked_at` is the first heartbeat after the answer whose
# owned partitions leave the taken one out: until then the partition is still the member's.
GIVEN_AND_TAKEN = """
    WITH stays AS (
        SELECT b.*, m.stay, m.removed_at, m.removed_by,
               coalesce(max(b.rebalance_timeout_ms) OVER (PARTITION BY b.member_id), :max_poll_ms)
                   AS limit_ms
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
          ON s.stay = t.stay AND s.arrived_at > t.arrived_at AND s.owned IS NOT NULL
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

    It lets go by a heartbeat that owns it no more after the partition was taken from it, or by
    leaving the group in whatever way.
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
            SELECT *, after(limit_ms + :slack_ms, processed_at) AS due_at FROM revoked
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
