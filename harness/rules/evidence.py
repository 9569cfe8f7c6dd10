"""Whether a run's own record suffices to judge it by: what other rules take for granted."""

from harness.rules.rule import Need, Rule

# A frozen or isolated member's last requests may be on their way for a moment.
SETTLE_MS = 1_000
# A member that joined this short before the drain may have found nothing to read.
LATE_MS = 10_000
# How long it may take from a fault that starts a member until its process runs. Measured: 0.8 s.
START_LATE_MS = 10_000


@Rule(
    "E01",
    title="Every fault took effect",
    statement="Each declared fault was injected, and its effect was seen by another path than the "
    "one that injected it, on the member that it names. Its phases are on record once each, and in "
    "their order.",
    source="kafka-chaos, evidence",
    unit="",
    things="faults",
    measures="",
    matters="A run whose fault had no effect shows only how the group works undisturbed.",
    evidence=True,
    without_journals=True,
    needs=(Need.FAULTS,),
)
def faults_took_effect() -> str:
    """Faults, each against what the other side recorded while it was active.

    `unknown` where the fault did not take effect, or nobody else saw it: then what the run shows
    of it is no evidence. `wrong` where the other side saw the opposite, or where its phases are out
    of order: other rules take from them when something was broken.

    What could not be injected or healed is tried again, and has phases twice.
    """
    return """
        WITH active AS (
            SELECT *, after(:SETTLE_MS, injected_at) AS settled_at,
                   coalesce(healing_at, healed_at, :drained_at) AS over_at,
                   lead(injecting_at) OVER (PARTITION BY resolved ORDER BY injecting_at) AS next_at
            FROM {fault_windows}
        ), phases AS (
            SELECT fault, phase, at, array_position(
                       array('planned', 'injecting', 'injected', 'healing', 'healed'), phase)
                       AS place
            FROM {faults} WHERE at IS NOT NULL
        ), marks AS (
            SELECT *, lag(phase) OVER w AS before, lag(place) OVER w AS place_before,
                   lag(at) OVER w AS before_at
            FROM phases WINDOW w AS (PARTITION BY fault ORDER BY at, place)
        ), turned AS (
            -- A step of a deploy is not planned by itself.
            SELECT fault, min(struct(at, phase, before, before_at)) AS first,
                   bool_or(coalesce(place < place_before, false)) AS back
            FROM marks m LEFT ANTI JOIN phases f ON f.fault = m.fault AND f.phase = 'failed'
            WHERE place <> place_before + 1 OR place_before IS NULL AND place > 2
            GROUP BY fault
        ), gone AS (
            -- One that is cut off from its peers still answers the observer.
            SELECT a.* FROM active a LEFT SEMI JOIN {broker_faults} b
              ON b.fault = a.fault AND b.proof = 'observer'
        ), seen AS (
            SELECT a.fault, count_if(NOT y.alive) AS down
            FROM gone a LEFT JOIN {topology} y
              ON y.what = 'broker' AND a.resolved = concat('broker-', y.broker)
             AND y.at >= a.injecting_at AND y.at <= after(30000, a.over_at)
            GROUP BY a.fault
        ), answered AS (
            SELECT a.fault, count(*) AS requests FROM gone a JOIN {requests} r
              ON a.resolved = concat('broker-', r.broker)
             AND r.processed_at > a.settled_at AND r.processed_at < a.over_at
            GROUP BY a.fault
        ), heard AS (
            SELECT a.fault,
                   -- Cut off from one broker only, a member can still ask others for it.
                   -- What a member says as it leaves may lie at a busy broker for seconds.
                   count_if(r.arrived_at > a.settled_at AND r.arrived_at < a.over_at
                       AND NOT (a.ends_member AND NOT a.killed AND (r.api = 'LEAVE_GROUP'
                            OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0))
                       AND (r.api <> 'FIND_COORDINATOR'
                            OR get_json_object(a.parameters, '$.of_broker') IS NULL)) AS requests,
                   count_if(r.error_code = :NONE AND (r.api = 'JOIN_GROUP'
                       OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0)) AS joins,
                   -- Everybody leaves as the run ends.
                   count_if(coalesce(r.arrived_at <= a.over_at, true) AND (r.api = 'LEAVE_GROUP'
                            OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)) AS leaves
            FROM active a LEFT JOIN {requests} r
              ON coalesce(r.program, r.client_id) = a.resolved AND r.arrived_at >= a.injecting_at
            GROUP BY a.fault
        ), elsewhere AS (
            -- What is seen of a member or its link names it; of two with one instance id, either.
            SELECT a.fault,
                   CASE WHEN proof <> 'fenced' AND resolved RLIKE '^member-[0-9]+$'
                             AND evidence RLIKE 'member-[0-9]'
                             AND NOT concat(evidence, ' ') RLIKE concat(resolved, '[^0-9]')
                        THEN clause('what was seen of it is of another member: ', evidence)
                        WHEN proof = 'join' AND m.started_at < after(-:slack_ms, injecting_at)
                        THEN clause('the member ran already, ',
                                    round(ms_between(m.started_at, injecting_at) / 1e3, 1),
                                    ' s before the fault') END AS why
            FROM active a LEFT JOIN {members} m ON m.member = a.resolved
        ),
        -- The older of two with one instance id, or in KIP-848 the newer.
        fenced AS (
            SELECT a.fault, count(r.arrived_at) AS times
            FROM active a JOIN {members} m ON m.member = a.resolved
            LEFT JOIN {requests} r
              ON r.instance_id = m.instance_id AND r.arrived_at >= a.injecting_at
             AND (r.error_code = :FENCED_INSTANCE_ID AND r.client_id = m.member
                  OR r.error_code = :UNRELEASED_INSTANCE_ID AND r.client_id <> m.member)
            WHERE a.proof = 'fenced' GROUP BY a.fault
        ), polls AS (
            SELECT a.fault, count(d.polled_at) AS polls
            FROM active a JOIN {client_events} e
              ON e.member = a.resolved
             AND (a.proof = 'stall' AND e.event = 'stall_started'
                  OR a.proof = 'callback stall' AND e.event = 'callback_stall_started')
             AND e.event_at >= after(-5000, a.injecting_at)
            LEFT JOIN {deliveries} d
              ON d.member = e.member AND d.polled_at > after(:slack_ms, e.event_at)
             AND d.polled_at < after(e.duration_ms - :slack_ms, e.event_at)
            GROUP BY a.fault
        ), went_on AS (
            SELECT a.fault, count(*) AS polls FROM active a JOIN {deliveries} d
              ON d.member = a.resolved AND d.polled_at > a.settled_at AND d.polled_at < a.over_at
            WHERE a.proof = 'silence' AND a.breaks = 'member' GROUP BY a.fault
        ),
        -- Records a second of the member behind a narrow link, during and before it.
        narrowed AS (
            SELECT a.fault,
                   sum(d.count) FILTER (WHERE d.polled_at > settled_at AND d.polled_at < over_at)
                       / ms_between(settled_at, over_at) * 1e3 AS during,
                   sum(d.count) FILTER (WHERE d.polled_at >= :steady_at
                                          AND d.polled_at < injecting_at)
                       / ms_between(:steady_at, injecting_at) * 1e3 AS before
            FROM active a JOIN {deliveries} d ON d.member = a.resolved
            WHERE a.proof = 'slower' AND over_at > settled_at AND injecting_at > :steady_at
            GROUP BY a.fault, settled_at, over_at, injecting_at
        )
        SELECT concat(fault, coalesce(concat(' of ', resolved), '')) AS subject,
               coalesce(injected_at, injecting_at, planned_at) AS at,
               CASE WHEN injected_at IS NULL AND failed_at IS NOT NULL
                    THEN clause('could not be injected: ',
                                coalesce(a.evidence, 'no reason is on record'))
                    WHEN injected_at IS NULL THEN 'was planned but never injected'
                    WHEN took_effect IS NULL THEN 'was not proved to have taken effect'
                    WHEN NOT took_effect
                    THEN clause('took no effect: ', coalesce(a.evidence, 'no reason is on record'))
                    WHEN e.why IS NOT NULL THEN NULL
                    WHEN s.down = 0 THEN 'the observer never saw that the broker was gone'
                    WHEN proof = 'join' AND h.joins = 0
                    THEN 'no coordinator accepted a join of the member'
                    -- One name may be started twice: its last start is on record.
                    WHEN proof = 'join' AND next_at IS NULL
                         AND m.started_at > after(:START_LATE_MS, injecting_at)
                    THEN clause('the member was started ',
                                round(ms_between(injecting_at, m.started_at) / 1e3, 1),
                                ' s after the fault')
                    WHEN proof = 'leave' AND h.leaves = 0
                         AND m.instance_id IS NULL AND m.sabotage IS NULL
                    THEN 'no leave of the member reached a coordinator'
                    WHEN proof = 'fenced' AND coalesce(d.times, 0) = 0
                    THEN 'no coordinator refused one of the two processes'
                    WHEN stalls AND p.polls IS NULL
                    THEN 'the member recorded no stall'
                    WHEN n.during IS NOT NULL AND n.before IS NULL
                    THEN 'the member had read nothing before' END AS unknown,
               CASE WHEN t.fault IS NOT NULL
                    THEN clause('has its phases out of order: ', t.first.phase, ' after ',
                                coalesce(t.first.before, 'nothing'))
                    WHEN e.why IS NOT NULL THEN e.why
                    WHEN proof = 'silence' AND breaks = 'member'
                         AND h.requests > 0
                    THEN clause(h.requests, ' requests of the member arrived during the fault')
                    WHEN b.requests > 0
                    THEN clause('the broker processed ', b.requests, ' requests during the fault')
                    WHEN w.polls > 0
                    THEN clause(w.polls, ' polls of the member returned records during the fault')
                    WHEN stalls AND p.polls > 0
                    THEN clause(p.polls, ' polls of the member returned records during its stall')
                    WHEN proof = 'silence' AND h.requests > 0
                    THEN clause(h.requests, ' requests came through the isolated link')
                    WHEN n.during >= n.before
                    THEN clause('the member read ', round(n.during), ' records a second through ',
                                'the narrow link, and ', round(n.before), ' before') END AS wrong,
               a.evidence AS note,
               -- Where somebody set the time of day, stamps are in no order; but none is missing.
               IF(t.back, t.first.before_at, NULL) AS guard_from, t.first.at AS guard_to
        FROM active a JOIN heard h USING (fault) LEFT JOIN seen s USING (fault)
        LEFT JOIN answered b USING (fault)
        LEFT JOIN polls p USING (fault) LEFT JOIN narrowed n USING (fault)
        LEFT JOIN fenced d USING (fault) LEFT JOIN went_on w USING (fault)
        LEFT JOIN {members} m ON m.member = a.resolved
        LEFT JOIN turned t USING (fault) LEFT JOIN elsewhere e USING (fault)
        UNION ALL
        SELECT 'schedule', max(planned_at),
               concat(count(*), ' of ', :faults, ' declared faults are on record'), NULL, NULL,
               NULL, NULL
        FROM {fault_windows} HAVING count(*) < :faults AND count(*) > 0
    """


@Rule(
    "E02",
    title="Every client worked",
    statement="The producer had records acknowledged, and each member was given records.",
    source="kafka-chaos, evidence",
    unit="records",
    things="clients",
    measures="each",
    too_low="was given no record",
    matters="A client that did nothing proves nothing: rules hold for it because nothing happened.",
    evidence=True,
    without_journals=True,
)
def everyone_worked() -> str:
    """The producer, and each consumer; who never owned a partition had nothing to work on.

    That is so for a member too many, for one that came just before the end, and for one that was
    refused because its instance id was in use; nor has one that is told to begin nowhere.
    """
    return """
        WITH read AS (
            SELECT member, sum(count) AS records FROM {reads} GROUP BY member
        ),
        owned AS (SELECT DISTINCT member FROM {ownership}),
        refused AS (
            SELECT DISTINCT coalesce(program, client_id) AS member FROM {requests}
            WHERE error_code = :UNRELEASED_INSTANCE_ID
        ),
        crowd AS (SELECT count(*) AS consumers FROM {members} WHERE role = 'consumer')
        SELECT m.member AS subject, m.started_at AS at, coalesce(r.records, 0) AS measured,
               1 AS bound_low,
               CASE WHEN r.records IS NULL AND m.started_at IS NULL
                    THEN 'recorded nothing, not even its start' END AS unknown,
               CASE WHEN c.consumers > :partitions
                    THEN 'was idle: there were more members than partitions'
                    WHEN o.member IS NULL AND x.member IS NOT NULL
                    THEN 'was refused: its instance id was in use'
                    WHEN get_json_object(m.settings, "$['auto.offset.reset']") IN ('none', 'error')
                    THEN clause('had no position to begin at: its auto.offset.reset is ',
                                get_json_object(m.settings, "$['auto.offset.reset']"))
                    WHEN m.started_at > after(-:LATE_MS, :drained_at)
                    THEN 'started just before the end' END AS excused,
               CAST(NULL AS STRING) AS too_low
        FROM {members} m LEFT JOIN read r USING (member) LEFT JOIN owned o USING (member)
        LEFT JOIN refused x USING (member) CROSS JOIN crowd c WHERE m.role = 'consumer'
        UNION ALL
        SELECT 'producer', min(first_sent_at),
               coalesce(sum(count) FILTER (WHERE outcome = 'acknowledged'), 0), 1, NULL, NULL,
               'had no record acknowledged'
        FROM {sends}
    """


@Rule(
    "E03",
    title="Every partition was read to its end",
    statement="The members had read each partition to its end when the run ended.",
    source="kafka-chaos, evidence",
    unit="records",
    things="partitions",
    measures="left unread",
    too_high="was not read to its end",
    matters="Lost and repeated records can be counted only where the partition was read.",
    evidence=True,
)
def read_to_the_end() -> str:
    return """
        WITH ends AS (
            SELECT topic, partition, max_by(end_offset, struct(at, end_offset)) AS end_offset,
                   max(at) AS at
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic
            GROUP BY topic, partition
        ), reads AS (
            SELECT topic, partition, max(last_offset) + 1 AS position
            FROM {deliveries} WHERE processed_at IS NOT NULL GROUP BY topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject, at,
               greatest(0, end_offset - coalesce(position, 0)) AS measured, 0 AS bound_high,
               concat('read to offset ', coalesce(position, 0), ' of ', end_offset) AS note
        FROM ends LEFT JOIN reads USING (topic, partition)
    """


@Rule(
    "E04",
    title="The machine kept time",
    statement="The machine's clock ticks came on time wherever a timing was judged.",
    source="kafka-chaos, evidence",
    unit="ms",
    things="records of the machine's clock",
    measures="late at most",
    matters="A delay of this machine looks just like a delay of Kafka.",
    evidence=True,
    clock=True,
)
def machine_on_time() -> str:
    """All ticks in one row; the judge makes it null where the machine spoilt a timing."""
    return """
        WITH other AS (
            SELECT count_if(what = 'set') AS sets,
                   max(late_ms) FILTER (WHERE what = 'set') AS set_ms,
                   max(late_ms) FILTER (WHERE what = 'unseen') AS unseen_ms
            FROM {late_ticks}
        ), ticks AS (
            SELECT max_by(at, struct(late_ms, at)) AS at, max(late_ms) AS measured,
                   concat(count_if(late_ms > :slack_ms), ' of ', count(*), ' ticks came more than ',
                          :slack_ms, ' ms late') AS note
            FROM {host} HAVING count(*) > 0
        )
        SELECT 'clock ticks' AS subject, at, measured,
               concat(note,
                      CASE WHEN sets > 0
                           THEN clause('; the time of day was set ', sets, ' times, by ',
                                       round(set_ms), ' ms at most') ELSE '' END,
                      CASE WHEN unseen_ms > 0
                           THEN clause('; ticks are missing for ', round(unseen_ms), ' ms')
                           ELSE '' END) AS note
        FROM ticks CROSS JOIN other
    """


@Rule(
    "E05",
    title="The record is complete",
    statement="Every journal and every broker's log of the run is complete from its beginning to "
    "its end, and contains everything that another one refers to. A killed process closes no "
    "journal: that the end of its journal is whole is told by what brokers got from it.",
    source="kafka-chaos, evidence",
    unit="rows",
    things="journals and logs",
    measures="each",
    matters="An event that is missing from the record looks as if it had never happened.",
    evidence=True,
    without_journals=True,
    of_record=True,
)
def record_is_whole() -> str:
    """Journals, brokers' logs, and both held against each other (tables/record.py)."""
    return """
        SELECT subject, at, measured, 1 AS bound_low, unknown, note FROM {record_of_journals}
        UNION ALL
        SELECT subject, at, measured, 1, unknown, note FROM {record_of_logs}
        UNION ALL
        SELECT subject, at, measured, 1, unknown, note FROM {record_of_group}
    """
