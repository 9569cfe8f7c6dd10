"""Whether a run's own record suffices to judge it by: what other rules take for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Need, Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from harness.tables.base import Tables

# A frozen or isolated member's last requests may be on their way for a moment.
_SETTLE_MS = 1_000
# A member that joined this short before the drain may have found nothing to read.
_LATE_MS = 10_000


def _faults_bit(t: Tables) -> DataFrame:
    """Faults, each against what the other side recorded while it was active.

    `ok` is null where the fault did not take effect, or nobody else saw it: then what the run
    shows of it is no evidence. It is false where the other side saw the opposite.
    """
    return t.sql(
        """
        WITH active AS (
            SELECT *, timestampadd(MILLISECOND, :settle_ms, injected_at) AS settled_at,
                   coalesce(healing_at, healed_at, :drained_at) AS over_at
            FROM {fault_windows}
        ),
        seen AS (
            SELECT a.fault, count_if(NOT y.alive) AS down
            FROM active a LEFT SEMI JOIN {broker_faults} b
              -- One that is cut off from its peers still answers the observer.
              ON b.fault = a.fault AND b.kind <> 'isolate-broker'
            LEFT JOIN {topology} y
              ON y.what = 'broker' AND a.resolved = concat('broker-', y.broker)
             AND y.at >= a.injecting_at AND y.at <= timestampadd(SECOND, 30, a.over_at)
            GROUP BY a.fault
        ),
        heard AS (
            SELECT a.fault,
                   -- Cut off from one broker only, a member can still ask others for it.
                   count_if(r.arrived_at > a.settled_at AND r.arrived_at < a.over_at
                            AND (r.api <> 'FIND_COORDINATOR'
                                 OR get_json_object(a.parameters, '$.of_broker') IS NULL))
                       AS requests,
                   count_if(r.error_code = 0 AND (r.api = 'JOIN_GROUP'
                       OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0)) AS joins,
                   count_if(r.api = 'LEAVE_GROUP'
                            OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0) AS leaves
            FROM active a LEFT JOIN {requests} r
              ON r.client_id = a.resolved AND r.arrived_at >= a.injecting_at
            GROUP BY a.fault
        ),
        -- The older of two with one instance id, or in KIP-848 the newer.
        fenced AS (
            SELECT a.fault, count(r.arrived_at) AS times
            FROM active a JOIN {members} m ON m.member = a.resolved
            LEFT JOIN {requests} r
              ON r.instance_id = m.instance_id AND r.arrived_at >= a.injecting_at
             AND (r.error_code = 82 AND r.client_id = m.member
                  OR r.error_code = 111 AND r.client_id <> m.member)
            WHERE a.kind = 'start-duplicate' GROUP BY a.fault
        ),
        stalls AS (
            SELECT a.fault, e.member, e.event_at AS at, e.duration_ms
            FROM active a JOIN {client_events} e
              ON e.member = a.resolved
             AND (a.kind = 'stall-consumer' AND e.event = 'stall_started'
                  OR a.kind = 'stall-callback' AND e.event = 'callback_stall_started')
             AND e.event_at >= timestampadd(SECOND, -5, a.injecting_at)
        ),
        -- Records a second of the member behind a narrow link, during and before it.
        narrowed AS (
            SELECT a.fault,
                   sum(d.count) FILTER (WHERE d.polled_at > settled_at AND d.polled_at < over_at)
                       / timestampdiff(MICROSECOND, settled_at, over_at) * 1e6 AS during,
                   sum(d.count) FILTER (WHERE d.polled_at >= :steady_at
                                          AND d.polled_at < injecting_at)
                       / timestampdiff(MICROSECOND, :steady_at, injecting_at) * 1e6 AS before
            FROM active a JOIN {deliveries} d ON d.member = a.resolved
            WHERE a.kind = 'bandwidth' AND over_at > settled_at AND injecting_at > :steady_at
            GROUP BY a.fault, settled_at, over_at, injecting_at
        ),
        polls AS (
            SELECT s.fault, count(d.polled_at) AS polls
            FROM stalls s LEFT JOIN {deliveries} d
              ON d.member = s.member AND d.polled_at > timestampadd(MILLISECOND, :slack_ms, s.at)
             AND d.polled_at < timestampadd(MILLISECOND, s.duration_ms - :slack_ms, s.at)
            GROUP BY s.fault
        ),
        verdicts AS (
            SELECT a.*,
                   CASE WHEN injected_at IS NULL AND failed_at IS NOT NULL
                        THEN concat('could not be injected: ',
                                    coalesce(a.evidence, 'no reason told'))
                        WHEN injected_at IS NULL THEN 'was planned but never injected'
                        WHEN took_effect IS NULL THEN 'nothing proved that it took effect'
                        WHEN NOT took_effect THEN concat('took no effect: ',
                                                         coalesce(a.evidence, 'no reason told'))
                        WHEN s.down = 0 THEN 'the observer never saw its broker gone'
                        WHEN kind = 'start-consumer' AND h.joins = 0
                        THEN 'no join of it reached a coordinator'
                        WHEN kind = 'close-consumer' AND h.leaves = 0
                             AND m.instance_id IS NULL AND m.sabotage IS NULL
                        THEN 'no leave of it reached a coordinator'
                        WHEN kind = 'start-duplicate' AND coalesce(d.times, 0) = 0
                        THEN 'no coordinator refused one of the two'
                        WHEN kind IN ('stall-consumer', 'stall-callback') AND p.polls IS NULL
                        THEN 'the member never told of its stall' END AS unknown,
                   CASE WHEN kind IN ('kill-consumer', 'freeze-consumer', 'bounce-consumer')
                             AND h.requests > 0
                        THEN concat(h.requests, ' requests of it arrived all the same')
                        WHEN kind IN ('stall-consumer', 'stall-callback') AND p.polls > 0
                        THEN concat(p.polls, ' polls returned while it was to be stalled')
                        WHEN kind = 'isolate' AND h.requests > 0
                        THEN concat(h.requests, ' requests came through its isolated link')
                        WHEN n.during >= n.before
                        THEN concat('it read ', round(n.during), ' records a second through its ',
                                    'narrow link, and ', round(n.before), ' before')
                   END AS wrong
            FROM active a JOIN heard h USING (fault) LEFT JOIN seen s USING (fault)
            LEFT JOIN polls p USING (fault) LEFT JOIN narrowed n USING (fault)
            LEFT JOIN fenced d USING (fault)
            LEFT JOIN {members} m ON m.member = a.resolved
        )
        SELECT concat(fault, coalesce(concat(' of ', resolved), '')) AS subject,
               coalesce(injected_at, injecting_at, planned_at) AS at,
               CASE WHEN unknown IS NULL THEN wrong IS NULL END AS ok,
               coalesce(unknown, wrong, evidence, 'took effect') AS why
        FROM verdicts
        UNION ALL
        SELECT 'schedule', max(planned_at), NULL,
               concat(count(*), ' of ', :faults, ' declared faults are on record')
        FROM {fault_windows} HAVING count(*) < :faults AND count(*) > 0
        """,
        settle_ms=_SETTLE_MS,
    )


def _everyone_worked(t: Tables) -> DataFrame:
    """The producer, and each consumer; who never owned a partition had nothing to work on.

    That is so for a member too many, for one that came just before the end, and for one that was
    refused because its instance id was in use; nor has one that is told to begin nowhere.
    """
    return t.sql(
        """
        WITH read AS (
            SELECT member, sum(count) AS records FROM {deliveries} GROUP BY member
        ),
        owned AS (SELECT member, count(*) AS times FROM {ownership} GROUP BY member),
        refused AS (SELECT DISTINCT client_id AS member FROM {requests} WHERE error_code = 111),
        crowd AS (SELECT count(*) AS consumers FROM {members} WHERE role = 'consumer')
        SELECT m.member AS subject, m.started_at AS at,
               coalesce(r.records, 0) > 0
                   OR o.times IS NULL AND (c.consumers > :partitions OR x.member IS NOT NULL)
                   OR coalesce(get_json_object(m.settings, "$['auto.offset.reset']"), '') = 'none'
                   OR m.started_at > timestampadd(MILLISECOND, -:late_ms, :drained_at) AS ok,
               coalesce(r.records, 0) AS measured, 1 AS bound_low,
               CASE WHEN r.records > 0 THEN concat(r.records, ' records delivered')
                    WHEN o.times IS NULL AND c.consumers > :partitions
                    THEN 'idle: more members than partitions'
                    WHEN o.times IS NULL AND x.member IS NOT NULL
                    THEN 'refused: its instance id was in use'
                    WHEN get_json_object(m.settings, "$['auto.offset.reset']") = 'none'
                    THEN 'began nowhere: its auto.offset.reset is none'
                    WHEN m.started_at > timestampadd(MILLISECOND, -:late_ms, :drained_at)
                    THEN 'started just before the end'
                    ELSE 'not one record was delivered to it' END AS why
        FROM {members} m LEFT JOIN read r USING (member) LEFT JOIN owned o USING (member)
        LEFT JOIN refused x USING (member) CROSS JOIN crowd c WHERE m.role = 'consumer'
        UNION ALL
        SELECT 'producer', min(first_sent_at),
               coalesce(sum(count) FILTER (WHERE outcome = 'acknowledged'), 0) > 0,
               coalesce(sum(count) FILTER (WHERE outcome = 'acknowledged'), 0), 1,
               concat(coalesce(sum(count) FILTER (WHERE outcome = 'acknowledged'), 0),
                      ' records acknowledged')
        FROM {sends}
        """,
        late_ms=_LATE_MS,
    )


def _read_to_the_end(t: Tables) -> DataFrame:
    return t.sql(
        """
        WITH ends AS (
            SELECT topic, partition, max_by(end_offset, at) AS end_offset, max(at) AS at
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic
            GROUP BY topic, partition
        ),
        reads AS (
            SELECT topic, partition, max(last_offset) + 1 AS position
            FROM {deliveries} WHERE processed_at IS NOT NULL GROUP BY topic, partition
        )
        SELECT concat(e.topic, '-', e.partition) AS subject, e.at,
               e.end_offset = 0 OR coalesce(r.position >= e.end_offset, false) AS ok,
               greatest(0, e.end_offset - coalesce(r.position, 0)) AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, 0 AS bound_high,
               concat('read to ', coalesce(r.position, 0), ' of ', e.end_offset) AS why
        FROM ends e LEFT JOIN reads r ON r.topic = e.topic AND r.partition = e.partition
        """
    )


def _machine_on_time(t: Tables) -> DataFrame:
    """All ticks in one row; the judge makes it null if one was late where a timing was judged."""
    return t.sql(
        """
        SELECT 'clock ticks' AS subject, max_by(at, late_ms) AS at, true AS ok,
               max(late_ms) AS measured,
               concat(count_if(late_ms > :slack_ms), ' of ', count(*), ' ticks later than ',
                      :slack_ms, ' ms, none where a timing was judged') AS why
        FROM {host} HAVING count(*) > 0
        """
    )


def _record_is_whole(t: Tables) -> DataFrame:
    """Journals, and the coordinator's view. A killed process may leave its last frame cut off."""
    return t.sql(
        """
        SELECT concat('journal of ', member) AS subject, coalesce(ended_at, started_at) AS at,
               CASE WHEN journal_frames > 0
                     AND (NOT journal_torn OR coalesce(`end` = 'killed', false))
                    THEN true END AS ok,
               journal_frames AS measured, 1 AS bound_low,
               CASE WHEN coalesce(journal_frames, 0) = 0 THEN 'empty'
                    WHEN journal_torn AND `end` = 'killed' THEN 'its last frame was cut by SIGKILL'
                    WHEN journal_torn THEN 'torn, although its process was not killed'
                    WHEN journal_torn IS NULL THEN 'nobody said whether it is whole'
                    ELSE 'whole' END AS why
        FROM {members}
        UNION ALL
        SELECT 'request log', max(answered_at), CASE WHEN count(*) > 0 THEN true END, count(*), 1,
               'requests of the group' FROM {requests} WHERE `group` = :group
        UNION ALL
        SELECT 'coordinator log', max(at), CASE WHEN count(*) > 0 THEN true END, count(*), 1,
               'lines of the group' FROM {coordinator_events} WHERE `group` = :group
        """
    )


FAULTS_BIT = Rule(
    id="E01",
    title="Every fault took effect",
    statement=(
        "Each declared fault was injected and took effect, as seen by another path than the one "
        "that injected it."
    ),
    source="kafka-chaos, evidence",
    unit="",
    things="faults",
    measures="",
    examine=_faults_bit,
    evidence=True,
    needs=(Need.FAULTS,),
)
EVERYONE_WORKED = Rule(
    id="E02",
    title="Every client worked",
    statement="The producer had records acknowledged, and records were delivered to each member.",
    source="kafka-chaos, evidence",
    unit="records",
    things="clients",
    measures="each",
    examine=_everyone_worked,
    evidence=True,
)
READ_TO_THE_END = Rule(
    id="E03",
    title="Everything was read",
    statement="At the end of the run the members had read each partition to its end.",
    source="kafka-chaos, evidence",
    unit="records",
    things="partitions",
    measures="left unread",
    examine=_read_to_the_end,
    evidence=True,
)
MACHINE_ON_TIME = Rule(
    id="E04",
    title="The machine kept time",
    statement="The machine's own clock ticks ran on time wherever a timing was judged.",
    source="kafka-chaos, evidence",
    unit="ms",
    things="records of the machine's clock",
    measures="late at most",
    examine=_machine_on_time,
    evidence=True,
    clock=True,
)
RECORD_IS_WHOLE = Rule(
    id="E05",
    title="The record is whole",
    statement="No journal is torn except by SIGKILL, and the coordinator's view is not empty.",
    source="kafka-chaos, evidence",
    unit="rows",
    things="journals and logs",
    measures="each",
    examine=_record_is_whole,
    evidence=True,
)
