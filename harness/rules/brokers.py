"""What the loss of a broker means for a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# From the intent on: a broker that is told to end hands over before it is gone.
_BROKER_FAULTS = """
    WITH down AS (
        SELECT fault, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
               coalesce(healed_at, timestampadd(SECOND, 30, injected_at)) AS to_at
        FROM {broker_faults} WHERE took_effect
    )
"""
# What changes neither members nor partitions: the time before the first fault, and faults below
# every limit. A controller coordinates nothing, and a cluster sees no lost lanes.
_DISTURBANCES = """
    WITH down AS (
        SELECT fault, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
               coalesce(healed_at, :drained_at) AS to_at
        FROM {fault_windows}
        WHERE took_effect
          AND (kind IN ('latency', 'bandwidth')
               OR kind = 'isolate-broker' AND get_json_object(parameters, '$.how') = 'lanes'
               OR kind IN ('kill-broker', 'pause-broker') AND resolved LIKE 'controller-%')
        UNION ALL
        SELECT '', IF(count(*) = 0, 'the whole run', 'before the first fault'), :steady_at,
               coalesce(min(injecting_at), :drained_at)
        FROM {fault_windows} HAVING :steady_at < coalesce(min(injecting_at), :drained_at)
    )
"""
_REBALANCES = """
    , started AS (
        SELECT d.fault, count(e.at) AS rebalances, min_by(e.reason, e.at) AS reason,
               min(e.evidence) AS evidence
        FROM down d LEFT JOIN {coordinator_events} e
          ON e.event IN ('rebalance_started', 'epoch_bumped') AND e.`group` = :group
         AND e.at >= d.from_at AND e.at <= d.to_at
        GROUP BY d.fault
    )
"""


def _crash_rebalances(t: Tables) -> Frame:
    return t.sql(
        _BROKER_FAULTS
        + _REBALANCES
        + """
        SELECT subject, from_at AS at, rebalances >= 1 AS ok,
               rebalances AS measured, 1 AS bound_low, CAST(NULL AS DOUBLE) AS bound_high,
               coalesce(reason, 'no rebalance while it was gone') AS why, evidence
        FROM down JOIN started USING (fault)
        """
    )


def _crash_does_not_rebalance(t: Tables) -> Frame:
    return _no_rebalance(t, _BROKER_FAULTS)


def _nothing_else_rebalances(t: Tables) -> Frame:
    return _no_rebalance(t, _DISTURBANCES)


def _no_rebalance(t: Tables, windows: str) -> Frame:
    return t.sql(
        windows
        + _REBALANCES
        + """
        , callbacks AS (
            SELECT d.fault, count(c.event) AS callbacks, min_by(c.member, c.event_at) AS member
            FROM down d LEFT JOIN {client_events} c
              ON c.event IN ('revoked', 'lost') AND c.event_at >= d.from_at
             AND c.event_at <= d.to_at
            GROUP BY d.fault
        )
        SELECT subject, from_at AS at,
               rebalances = 0 AND callbacks = 0 AS ok, rebalances AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               CASE WHEN rebalances > 0 THEN reason
                    WHEN callbacks > 0 THEN concat(member, ' had to give up partitions')
                    ELSE 'no rebalance and no callback meanwhile' END AS why,
               evidence
        FROM down JOIN started USING (fault) JOIN callbacks USING (fault)
        """
    )


def _failover_keeps_members(t: Tables) -> Frame:
    """Members at each change of the coordinator to another broker.

    It begins with the fault that hit the former coordinator, else with the last sign that the
    former one was at work. A member that had died before then cannot be kept and is not examined.
    """
    return t.sql(
        """
        WITH moves AS (
            SELECT t.tenure, t.broker, t.from_at AS loaded_at,
                   coalesce(max(f.injected_at), t.to_at_before) AS from_at,
                   timestampadd(MILLISECOND, 2000, t.from_at) AS to_at
            FROM {tenures} t LEFT JOIN {broker_faults} f
              ON f.resolved = concat('broker-', t.broker_before)
             AND f.injected_at <= t.from_at
             AND f.injected_at >= timestampadd(SECOND, -60, t.from_at)
            WHERE t.loaded AND coalesce(t.members > 0, true) AND t.broker <> t.broker_before
            GROUP BY t.tenure, t.broker, t.from_at, t.to_at_before
        ),
        kept AS (
            SELECT m.*, s.member, s.member_id FROM moves m JOIN {memberships} s
              ON s.joined_at < m.from_at AND (s.removed_at IS NULL OR s.removed_at >= m.from_at)
            LEFT ANTI JOIN {fault_windows} f
              ON f.resolved = s.member AND f.kind = 'kill-consumer' AND f.injecting_at <= m.to_at
        ),
        callbacks AS (
            SELECT k.tenure, k.member_id, count(c.event) AS callbacks,
                   min_by(c.event, c.event_at) AS event
            FROM kept k LEFT JOIN {client_events} c
              ON c.member = k.member AND c.event IN ('revoked', 'lost')
             AND c.event_at >= k.from_at AND c.event_at <= k.to_at
            GROUP BY k.tenure, k.member_id
        ),
        rebalanced AS (
            SELECT m.tenure, count(e.at) AS starts, min_by(e.reason, e.at) AS reason
            FROM moves m LEFT JOIN {coordinator_events} e
              ON e.event IN ('rebalance_started', 'epoch_bumped') AND e.`group` = :group
             AND e.at >= m.from_at AND e.at <= m.to_at
            GROUP BY m.tenure
        )
        SELECT concat(k.member, ' at broker-', k.broker) AS subject, k.loaded_at AS at,
               c.callbacks = 0 AND r.starts = 0 AS ok,
               timestampdiff(MICROSECOND, k.from_at, k.loaded_at) / 1e3 AS measured,
               CASE WHEN c.callbacks > 0 THEN concat('its assignment was ', c.event)
                    WHEN r.starts > 0 THEN r.reason
                    ELSE 'kept its member id and its assignment' END AS why
        FROM kept k JOIN callbacks c USING (tenure, member_id) JOIN rebalanced r USING (tenure)
        """
    )


CRASH_REBALANCES = Rule(
    id="R11",
    title="A broker crash triggers a rebalance (documented, outdated)",
    statement=(
        "A broker that crashes, and with it a partition without a leader, triggers a rebalance."
    ),
    source="seed 000, broker crash; seed 002, rebalance conditions",
    unit="rebalances",
    things="broker faults",
    measures="while it was gone",
    examine=_crash_rebalances,
)
CRASH_DOES_NOT = Rule(
    id="R20d",
    title="A broker crash triggers no rebalance",
    statement=(
        "A broker that is gone changes nothing in the group: no rebalance, no callback; its "
        "partitions wait for their next leader."
    ),
    source="ConsumerCoordinator.MetadataSnapshot; rd_kafka_topic_info_cmp (counts and racks only)",
    unit="rebalances",
    things="broker faults",
    measures="while it was gone",
    examine=_crash_does_not_rebalance,
)
NOTHING_ELSE = Rule(
    id="R20f",
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
    examine=_nothing_else_rebalances,
)
FAILOVER = Rule(
    id="X12",
    title="A new coordinator keeps the members",
    statement=(
        "The broker that takes over a group loads its members: generation and assignments stay, "
        "and every session starts anew."
    ),
    source="GroupMetadataManager.onLoaded; group protocol, coordinator failover",
    unit="ms",
    things="members at a failover",
    measures="without a coordinator",
    examine=_failover_keeps_members,
)
