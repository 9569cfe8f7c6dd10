"""What the loss of a broker means for a group."""

from harness.rules.rule import Rule

# From the intent on: a broker that is told to end hands over before it is gone.
BROKER_FAULTS = """
    WITH spans AS (
        SELECT fault AS span, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
               coalesce(healed_at, after(30000, injected_at)) AS to_at
        FROM {broker_faults} WHERE took_effect
    )
"""
# What changes neither members nor partitions: the time before the first fault, and faults below
# every limit. A controller coordinates nothing, and a cluster sees no lost lanes.
_DISTURBANCES = """
    WITH spans AS (
        SELECT fault AS span, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
               coalesce(healed_at, :drained_at) AS to_at
        FROM {fault_windows}
        WHERE took_effect AND below_limits
        UNION ALL
        SELECT '', IF(count(*) = 0, 'the whole run', 'before the first fault'), :steady_at,
               coalesce(min(injecting_at), :drained_at)
        FROM {fault_windows} HAVING :steady_at < coalesce(min(injecting_at), :drained_at)
    )
"""
# How often the group rebalanced within each of the `spans`, and the first of those rebalances.
REBALANCES = """
    , rebalanced AS (
        SELECT s.span, count(e.at) AS rebalances, min(struct(e.at, e.evidence, e.reason)) AS first
        FROM spans s LEFT JOIN {coordinator_events} e
          ON e.event IN ('rebalance_started', 'epoch_bumped') AND e.`group` = :group
         AND e.at >= s.from_at AND e.at <= s.to_at
        GROUP BY s.span
    )
"""


@Rule(
    "R11",
    title="A broker crash triggers a rebalance (documented, outdated)",
    statement=(
        "A broker that crashes, and with it a partition without a leader, triggers a rebalance."
    ),
    source="seed 000, broker crash; seed 002, rebalance conditions",
    unit="rebalances",
    things="broker faults",
    measures="while it was gone",
    too_low="the group did not rebalance",
    matters="Were it so, every restart of a broker would interrupt all consumers.",
)
def crash_rebalances() -> str:
    return """
        {BROKER_FAULTS}{REBALANCES}
        SELECT subject, from_at AS at, rebalances AS measured, 1 AS bound_low,
               concat('logged reason: ', first.reason) AS note, first.evidence AS evidence
        FROM spans JOIN rebalanced USING (span)
    """


def _no_rebalance(spans: str) -> str:
    """Per span of time: rebalances, and callbacks that took partitions away."""
    return f"""
        {spans}{REBALANCES}, callbacks AS (
            SELECT s.span, min(struct(c.event_at, c.member)).member AS member
            FROM spans s LEFT JOIN {{client_events}} c
              ON c.event IN ('revoked', 'lost') AND c.event_at >= s.from_at
             AND c.event_at <= s.to_at
            GROUP BY s.span
        )
        SELECT subject, from_at AS at, rebalances AS measured, 0 AS bound_high,
               CASE WHEN member IS NOT NULL
                    THEN clause('partitions were taken from ', member,
                                coalesce(concat('; logged reason: ', first.reason), ''))
                    END AS wrong,
               concat('logged reason: ', first.reason) AS note, first.evidence AS evidence
        FROM spans JOIN rebalanced USING (span) JOIN callbacks USING (span)
    """


@Rule(
    "R20d",
    title="A broker crash triggers no rebalance",
    statement=(
        "A broker that is gone changes nothing in the group: no rebalance, no callback; its "
        "partitions wait for their next leader."
    ),
    source="ConsumerCoordinator.MetadataSnapshot; rd_kafka_topic_info_cmp (counts and racks only)",
    unit="rebalances",
    things="broker faults",
    measures="while it was gone",
    too_high="the group rebalanced",
    matters="Brokers can be restarted one by one while consumers keep their partitions.",
)
def crash_does_not_rebalance() -> str:
    return _no_rebalance(BROKER_FAULTS)


@Rule(
    "R20f",
    title="Nothing else triggers a rebalance",
    statement=(
        "While no member comes, goes or falls silent for a session and no partition is added, the "
        "group neither rebalances nor takes a partition from anybody: not for a slow link, nor for "
        "a controller that is gone, nor by itself."
    ),
    source="seed 002, rebalance conditions (that there are no others)",
    unit="rebalances",
    things="stretches of time",
    measures="meanwhile",
    too_high="the group rebalanced",
    matters="A rebalance in a quiet group has a cause, so it is worth looking into.",
)
def nothing_else_rebalances() -> str:
    return _no_rebalance(_DISTURBANCES)


@Rule(
    "X12",
    title="A new coordinator keeps the members",
    statement=(
        "The broker that takes over a group loads its members: generation and assignments stay, "
        "and every session starts anew."
    ),
    source="GroupMetadataManager.onLoaded; group protocol, coordinator failover",
    unit="ms",
    things="members at a failover",
    measures="without a coordinator",
    matters="Consumers survive the loss of their coordinator; they only cannot commit meanwhile.",
)
def failover_keeps_members() -> str:
    """Members at each change of the coordinator to another broker.

    It begins with the fault that hit the former coordinator, else with the last sign that the
    former one was at work. A member that had died before then cannot be kept and is not examined.
    """
    return """
        WITH spans AS (
            SELECT t.tenure AS span, t.broker, t.from_at AS loaded_at,
                   coalesce(max(f.injected_at), t.to_at_before) AS from_at,
                   after(2000, t.from_at) AS to_at
            FROM {tenures} t LEFT JOIN {broker_faults} f
              ON f.resolved = concat('broker-', t.broker_before)
             AND f.injected_at <= t.from_at AND f.injected_at >= after(-60000, t.from_at)
            WHERE t.loaded AND coalesce(t.members > 0, true) AND t.broker <> t.broker_before
            GROUP BY t.tenure, t.broker, t.from_at, t.to_at_before
        ), kept AS (
            SELECT s.*, m.member, m.member_id FROM spans s JOIN {memberships} m
              ON m.joined_at < s.from_at AND (m.removed_at IS NULL OR m.removed_at >= s.from_at)
            LEFT ANTI JOIN {fault_windows} f
              ON f.resolved = m.member AND f.killed AND f.ends_member AND f.injecting_at <= s.to_at
        ), callbacks AS (
            SELECT k.span, k.member_id, min(struct(c.event_at, c.event)).event AS event
            FROM kept k LEFT JOIN {client_events} c
              ON c.member = k.member AND c.event IN ('revoked', 'lost')
             AND c.event_at >= k.from_at AND c.event_at <= k.to_at
            GROUP BY k.span, k.member_id
        )
        {REBALANCES}
        SELECT concat(k.member, ' at broker-', k.broker) AS subject, k.loaded_at AS at,
               ms_between(k.from_at, k.loaded_at) AS measured,
               CASE WHEN c.event IS NOT NULL THEN clause('had its assignment ', c.event)
                    WHEN r.rebalances > 0
                    THEN clause('had to rebalance',
                                coalesce(concat('; logged reason: ', r.first.reason), ''))
                    END AS wrong
        FROM kept k JOIN callbacks c USING (span, member_id) JOIN rebalanced r USING (span)
    """
