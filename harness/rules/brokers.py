"""What the loss of a broker means for a group."""

from typing import Final

from harness.rules.rule import Groups, Rule

# From the intent on: a broker that is told to end hands over before it is gone.
BROKER_FAULTS = """
    WITH spans AS (
        SELECT fault AS span, concat(fault, ' of ', resolved) AS subject, injecting_at AS from_at,
               coalesce(healed_at, after(30000, injected_at)) AS to_at
        FROM {broker_faults} WHERE took_effect
    )
"""
# How long a group may need to find out that a member is silent, or there again, beside a session.
FOUND_OUT_MS: Final = 1_000
# How often the group rebalanced within each of the `spans`, and the first of those rebalances, but
# for what members caused by themselves. `own` are the times in which one was broken by a fault of
# its own, and a session after, or ended in order; `elsewhere` those of the rebalances for such a
# member, by the coordinator's reason, for a process that joined for the first time, or for a topic
# that changed, until who asks for metadata next has seen it.
REBALANCES = """
    , own AS (
        SELECT resolved AS member, injecting_at AS from_at,
               after(:session_ms + :FOUND_OUT_MS, coalesce(healed_at, :ended_at)) AS to_at
        FROM {fault_windows} WHERE took_effect AND resolved LIKE 'member-%'
        UNION ALL
        SELECT member, at, :ended_at FROM {halts} WHERE what = 'close'
    ), named AS (
        SELECT e.at, e.evidence, e.event, e.reason,
               coalesce(b.named, nullif(regexp_extract(e.reason,
                   '([-_.\\\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), ''))
                   AS member_id
        FROM {coordinator_events} e LEFT JOIN {epoch_bumps} b ON same(b, e, at, evidence)
        WHERE e.`group` = :group AND e.event IN ('rebalance_started', 'epoch_bumped')
    ), firsts AS (
        SELECT member, min(struct(joined_at AS at, member_id)) AS joined
        FROM {memberships} WHERE joined_at IS NOT NULL GROUP BY member
    ), starts AS (
        SELECT n.at, n.evidence, n.reason,
               count(o.from_at) + count(f.member) + count(t.fault) > 0 AS elsewhere
        FROM named n LEFT JOIN {identities} i ON i.member_id = n.member_id
        LEFT JOIN own o ON o.member = i.member AND o.from_at <= n.at AND o.to_at >= n.at
        LEFT JOIN firsts f
          ON f.joined.member_id = n.member_id AND f.joined.at >= after(-:FOUND_OUT_MS, n.at)
         AND f.joined.at <= after(:slack_ms, n.at)
        LEFT JOIN {fault_windows} t
          ON t.breaks = 'topic' AND t.took_effect AND t.injecting_at <= n.at
         AND after(:metadata_refresh_ms + :heartbeat_ms + :FOUND_OUT_MS, t.injected_at) >= n.at
         AND (n.reason RLIKE '(?i)re-?join|updating metadata'
              OR n.event = 'epoch_bumped' AND n.member_id IS NULL)
        GROUP BY n.at, n.evidence, n.reason
    ), elsewhere AS (
        SELECT s.at AS from_at, coalesce(max(e.last_at), after(:session_ms, s.at)) AS to_at
        FROM starts s LEFT JOIN {episodes} e ON e.started_at = s.at
        WHERE s.elsewhere GROUP BY s.at
    ), others AS (
        -- Who gave something up joins again: that belongs to the rebalance before.
        SELECT s.* FROM starts s LEFT ANTI JOIN elsewhere x
          ON s.elsewhere OR s.reason RLIKE '(?i)re-?joining|updating metadata'
         AND x.from_at <= s.at AND x.to_at >= s.at
    ), rebalanced AS (
        SELECT s.span, count(e.at) AS rebalances, min(struct(e.at, e.evidence, e.reason)) AS first
        FROM spans s LEFT JOIN others e ON e.at >= s.from_at AND e.at <= s.to_at
        GROUP BY s.span
    )
"""


@Rule(
    "R11",
    title="A broker crash triggers a rebalance (documented, outdated)",
    statement="A broker that crashes, and so leaves a partition without a leader, triggers a "
    "rebalance.",
    source="document 000, broker crash; document 002, rebalance conditions",
    unit="rebalances",
    things="broker faults",
    measures="while the broker was gone",
    too_low="the group did not rebalance",
    matters="If this were true, every restart of a broker would interrupt all consumers.",
    contradicted=(Groups(),),
)
def crash_rebalances() -> str:
    """Law: a rebalance is the broker's doing unless the coordinator names a cause of its own."""
    return """
        {BROKER_FAULTS}{REBALANCES}
        SELECT subject, from_at AS at, rebalances AS measured, 1 AS bound_low,
               concat('logged reason: ', first.reason) AS note, first.evidence AS evidence
        FROM spans JOIN rebalanced USING (span)
    """


def _no_rebalance(spans: str) -> str:
    """Per span of time: rebalances, and callbacks that took partitions away.

    Law: neither is the broker's doing where the coordinator's reason, or the callback, is of a
    member that was broken or ended by itself, of a process that joined for the first time, or of
    one that saw a topic change.
    """
    return f"""
        {spans}{REBALANCES}, callbacks AS (
            SELECT s.span, min(struct(c.event_at, c.member)).member AS member
            FROM spans s LEFT JOIN (
                SELECT c.member, c.event_at FROM {{client_events}} c
                LEFT ANTI JOIN elsewhere x ON x.from_at <= after(:slack_ms, c.event_at)
                 AND x.to_at >= after(-:slack_ms, c.event_at)
                LEFT ANTI JOIN own o ON o.member = c.member AND o.from_at <= c.event_at
                 AND o.to_at >= c.event_at
                WHERE c.event IN ('revoked', 'lost')
            ) c ON c.event_at >= s.from_at AND c.event_at <= s.to_at
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
    statement="A broker that is gone causes no rebalance and no callback; its partitions wait for "
    "their next leader.",
    source="ConsumerCoordinator.MetadataSnapshot; rd_kafka_topic_info_cmp (counts and racks only)",
    unit="rebalances",
    things="broker faults",
    measures="while the broker was gone",
    too_high="the group rebalanced",
    matters="Brokers can be restarted one by one while consumers keep their partitions.",
    # Not where sessions end before another coordinator is there. R20f asks for every cause.
    contradicted=(Groups(),),
)
def crash_does_not_rebalance() -> str:
    return _no_rebalance(BROKER_FAULTS)


@Rule(
    "X12",
    title="A new coordinator keeps the members",
    statement="The broker that takes over a group loads its members: generation and assignments "
    "stay, and every session starts anew.",
    source="GroupMetadataManager.onLoaded; group protocol, coordinator failover",
    unit="ms",
    things="members at a failover",
    measures="without a coordinator",
    matters="Consumers survive the loss of their coordinator, but cannot commit meanwhile.",
)
def failover_keeps_members() -> str:
    """Members at each change of the coordinator, to another broker or to the same one again.

    It begins with the fault that hit the former coordinator, else with the last sign that the
    former one was at work. A member that had died before then cannot be kept and is not examined.
    One that had been given its part was stored with it, so the next coordinator has to load it, by
    the number of members that it logs, and to know it.
    However long it was silent before, its session ends no sooner than one after the group was
    loaded; that it does end then is a matter of R01 and X19.

    A librdkafka member counts its session too, from its last answered heartbeat, and where that
    ends before another coordinator has answered it, it gives all up by itself (R06-librdkafka). A
    rebalance that was under way goes on: who was told of it, or waited in it, joins again.
    """
    return """
        WITH spans AS (
            SELECT t.tenure AS span, t.broker, t.from_at AS loaded_at, t.next_at, t.members,
                   coalesce(max(f.injected_at), t.to_at_before) AS from_at,
                   after(2000, t.from_at) AS to_at
            FROM {tenures} t LEFT JOIN {broker_faults} f
              ON f.resolved = concat('broker-', t.broker_before)
             AND f.injected_at <= t.from_at AND f.injected_at >= after(-60000, t.from_at)
            WHERE t.loaded AND coalesce(t.members > 0, true) AND t.broker_before IS NOT NULL
            GROUP BY t.tenure, t.broker, t.from_at, t.to_at_before, t.next_at, t.members
        ), kept AS (
            SELECT s.*, m.member, m.member_id, m.removed_at,
                   CASE WHEN m.removed_by = 'evicted' AND m.removed_at >= s.loaded_at
                        THEN ms_between(s.loaded_at, m.removed_at) END AS evicted_ms,
                   coalesce(m.session_timeout_ms, :session_ms) AS session_ms
            FROM spans s JOIN {memberships} m
              ON m.joined_at < s.from_at AND (m.removed_at IS NULL OR m.removed_at >= s.from_at)
            LEFT ANTI JOIN {fault_windows} f
              ON f.resolved = m.member AND f.killed AND f.ends_member AND f.injecting_at <= s.to_at
        ), callbacks AS (
            SELECT k.span, k.member_id, k.from_at, k.loaded_at, k.session_ms,
                   min(struct(c.event_at, c.event)) AS first
            FROM kept k LEFT JOIN {client_events} c
              ON c.member = k.member AND c.event IN ('revoked', 'lost')
             AND c.event_at >= k.from_at AND c.event_at <= k.to_at
            GROUP BY k.span, k.member_id, k.from_at, k.loaded_at, k.session_ms
        ), timed_out AS (
            SELECT c.span, c.member_id, min(e.event_at) AS at
            FROM callbacks c JOIN kept k USING (span, member_id) JOIN {client_events} e
              ON e.member = k.member AND e.event = 'session_timed_out'
             AND e.event_at >= after(-c.session_ms, c.from_at)
             AND e.event_at <= after(:rounding_ms,
                                     coalesce(c.first.event_at, after(2000, c.loaded_at)))
            LEFT ANTI JOIN {own_requests} h
              ON h.member_id = k.member_id AND h.api = 'HEARTBEAT' AND h.error_code = :NONE
             AND h.answered_at > after(:slack_ms - c.session_ms, e.event_at)
             -- One that came just before was on its way still.
             AND h.answered_at <= after(-:slack_ms, e.event_at)
            GROUP BY c.span, c.member_id
        ), under_way AS (
            SELECT s.span FROM spans s JOIN {coordinator_events} e
              ON e.`group` = :group AND e.at < s.from_at
             AND e.event IN ('rebalance_started', 'assignment_received', 'emptied')
            GROUP BY s.span
            HAVING max_by(e.event, struct(e.at, e.event)) = 'rebalance_started'
        ), given AS (
            SELECT member_id, min(answered_at) AS at FROM {own_requests}
            WHERE error_code = :NONE AND (api = 'SYNC_GROUP'
                  OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation > 0)
            GROUP BY member_id
        ), stored AS (
            SELECT k.*, count(*) OVER (PARTITION BY k.span) AS stored
            FROM kept k JOIN given g ON g.member_id = k.member_id AND g.at < k.from_at
        ), unknown AS (
            SELECT k.span, k.member_id, min(struct(r.arrived_at, r.api)) AS first
            FROM stored k JOIN {own_requests} r ON same(r, k, member_id, broker)
             AND r.error_code = :UNKNOWN_MEMBER_ID AND r.arrived_at >= k.loaded_at
             AND (k.removed_at IS NULL OR r.processed_at < k.removed_at)
             AND (k.next_at IS NULL OR r.processed_at < k.next_at)
            GROUP BY k.span, k.member_id
        )
        {REBALANCES}, of_others AS (
            SELECT DISTINCT c.span, c.member_id
            FROM callbacks c JOIN elsewhere x
              ON x.from_at <= after(:slack_ms, c.first.event_at)
             AND x.to_at >= after(-:slack_ms, c.first.event_at)
        )
        SELECT concat(k.member, ' at broker-', k.broker) AS subject, k.loaded_at AS at,
               ms_between(k.from_at, k.loaded_at) AS measured,
               CASE WHEN u.first IS NOT NULL
                    THEN clause('was not known to the next coordinator, by its answer to ',
                                u.first.api)
                    WHEN l.stored > l.members
                    THEN clause('is one of ', l.stored, ' stored members, of whom the next ',
                                'coordinator loaded ', l.members)
                    WHEN k.evicted_ms < k.session_ms - :slack_ms
                    THEN clause('was evicted ', CAST(round(k.evicted_ms) AS INT),
                                ' ms after the group was loaded, with a session of ',
                                k.session_ms, ' ms')
                    WHEN c.first.event IS NOT NULL AND o.at IS NULL AND w.span IS NULL
                         AND x.span IS NULL
                    THEN clause('had its assignment ', c.first.event)
                    WHEN r.rebalances > 0 AND p.at IS NULL AND w.span IS NULL
                    THEN clause('had to rebalance',
                                coalesce(concat('; logged reason: ', r.first.reason), ''))
                    END AS wrong,
               CASE WHEN o.at IS NOT NULL
                    THEN clause('its own session had ended ',
                                CAST(abs(round(ms_between(o.at, k.loaded_at))) AS INT),
                                IF(o.at > k.loaded_at, ' ms after', ' ms before'),
                                ' the group was loaded')
                    WHEN w.span IS NOT NULL THEN 'a rebalance was under way' END AS note
        FROM kept k JOIN callbacks c USING (span, member_id) JOIN rebalanced r USING (span)
        LEFT JOIN unknown u USING (span, member_id)
        LEFT JOIN of_others x USING (span, member_id)
        LEFT JOIN stored l USING (span, member_id)
        LEFT JOIN timed_out o USING (span, member_id)
        LEFT JOIN under_way w USING (span)
        LEFT JOIN (SELECT span, min(at) AS at FROM timed_out GROUP BY span) p USING (span)
    """


# What a member fetched before the leader was gone it may still hand out, as fast as it works.
FETCHED_MS = 1_000


@Rule(
    "R11-idle",
    title="A member gets no records of a partition without a leader",
    statement="A member keeps a partition that has no leader, and gets no records of it except "
    "those that it had fetched before.",
    source="document 000, broker crash (an idle consumer)",
    unit="records",
    things="partitions without a leader",
    measures="handed out without a leader",
    too_high="handed out records that it could not have fetched",
    matters="A partition with a single replica stops until its broker is back.",
    broker=True,
)
def idle_without_leader() -> str:
    """Partitions that nobody led for longer than the time in which what was fetched is over."""
    return """
        WITH seen AS (
            SELECT topic, partition, at, leader < 0 AS alone,
                   lag(leader < 0) OVER (PARTITION BY topic, partition ORDER BY at) AS alone_before
            FROM {topology} WHERE what = 'partition' AND topic = :topic AND leader IS NOT NULL
        ), turns AS (
            SELECT topic, partition, alone, at AS from_at,
                   lead(at) OVER (PARTITION BY topic, partition ORDER BY at) AS to_at
            FROM seen WHERE alone_before IS NULL OR alone <> alone_before
        ), leaderless AS (
            SELECT topic, partition, from_at, coalesce(to_at, :ended_at) AS to_at
            FROM turns
            WHERE alone AND ms_between(from_at, coalesce(to_at, :ended_at)) > 2 * :FETCHED_MS
        ), held AS (
            SELECT l.topic, l.partition, l.from_at, l.to_at, min(o.member) AS member
            FROM leaderless l LEFT JOIN {ownership} o
              ON same(o, l, topic, partition) AND o.from_at <= l.from_at
             AND (o.to_at IS NULL OR o.to_at > l.from_at)
            GROUP BY l.topic, l.partition, l.from_at, l.to_at
        )
        SELECT concat(h.topic, '-', h.partition, ' of ', coalesce(h.member, 'nobody')) AS subject,
               h.from_at AS at, coalesce(sum(d.count), 0) AS measured, 0 AS bound_high,
               concat('without a leader for ', ms_between(h.from_at, h.to_at), ' ms') AS note
        FROM held h LEFT JOIN {deliveries} d ON same(d, h, topic, partition)
         AND d.polled_at > after(:FETCHED_MS, h.from_at)
         -- The observer may be late to see that there is a leader again.
         AND d.polled_at < after(-:FETCHED_MS, h.to_at)
        GROUP BY h.topic, h.partition, h.member, h.from_at, h.to_at
    """
