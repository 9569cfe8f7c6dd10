"""That one broker at a time coordinates a group."""

from typing import Final

from harness.rules.rule import Rule

# How long a group's first coordinator has been it before its first line: who looked it up joined at
# once. What was so earlier is on no log (a cluster that starts on a busy machine changed it).
BEFORE_MS: Final = 1_000
# How much later than its successor has loaded the group a broker that is being shut down may learn
# of it, and how late a line of what it answered until then may be stamped.
KNOWS_MS: Final = 1_000
# How long before and after a new coordinator has loaded the group other brokers may learn of it.
# All read the log of the controller. Measured: 0.7 s sooner, and never later.
LEARNS_MS: Final = 3_000
# Faults that end a broker's process: of one that is paused, the kernel still takes connections. One
# that starts reads who leads what before it serves anybody.
ENDS_PROCESS: Final = """
    (f.killed OR coalesce(f.evidence LIKE 'direct listener of %: refused after %'
                          OR f.evidence LIKE 'direct listener of %: cut after %', false))
"""


@Rule(
    "X39",
    title="A group has one coordinator at a time",
    statement="Only the broker that coordinates the group accepts requests of its members; every "
    "other broker refuses them.",
    source="GroupCoordinatorService (NOT_COORDINATOR); KIP-848, ConsumerGroupHeartbeat",
    unit="calls",
    things="brokers",
    measures="accepted",
    matters="Two coordinators keep two lists of members and of positions, and each believes that "
    "its own members hold the partitions.",
    always=True,
)
def one_coordinator() -> str:
    """Per broker the calls of members that it accepted, and those outside its time in office.

    Its time begins with its first line about the group, or when it has loaded it, and ends when
    another has. A coordinator that was paused or cut off may answer heartbeats, and questions for
    positions, until it knows that another took over, a session after its return at the latest; it
    cannot write, so nothing else is excused. One that is shut down knows it within a second, and
    one that is started again coordinates nothing until it is told to. While it loads a group it
    answers heartbeats of the classic protocol blindly, and nothing else.
    """
    return """
        WITH accepted AS (
            SELECT broker, api, member, arrived_at, processed_at, evidence FROM {own_requests}
            WHERE api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP', 'OFFSET_COMMIT',
                          'OFFSET_FETCH', 'TXN_OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT')
              AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
              AND (api <> 'OFFSET_COMMIT' OR error_code = :NONE AND member_id IS NOT NULL)
              -- Whoever asks before there is a group asks its coordinator, of which no line tells.
              AND (api <> 'OFFSET_FETCH' OR arrived_at >= (SELECT min(from_at) FROM {tenures}))
        ), placed AS (
            SELECT a.broker, a.api, a.member, a.arrived_at, a.evidence,
                   count(t.tenure) AS tenures,
                   a.api IN ('HEARTBEAT', 'OFFSET_FETCH', 'CONSUMER_GROUP_HEARTBEAT')
                       AND count(f.fault) > 0 AS behind,
                   a.api = 'HEARTBEAT' AND count(l.tenure) > 0 AS loading
            FROM accepted a LEFT JOIN {tenures} t
              ON t.broker = a.broker AND a.processed_at >= after(-:slack_ms, t.from_at)
             AND (t.next_at IS NULL OR a.arrived_at <= after(:slack_ms, t.next_at))
            LEFT JOIN {tenures} k
              ON k.broker = a.broker AND k.next_at <= a.arrived_at
             AND a.arrived_at <= after(:KNOWS_MS, k.next_at)
            LEFT JOIN {broker_faults} f
              ON f.resolved = concat('broker-', a.broker) AND f.injecting_at <= a.processed_at
             AND IF({ENDS_PROCESS},
                    k.tenure IS NOT NULL AND a.arrived_at <= coalesce(f.healing_at, :ended_at),
                    a.arrived_at <= after(:session_ms, coalesce(f.healed_at, :ended_at)))
            LEFT JOIN {tenures} l
              ON l.broker = a.broker AND l.loaded AND l.from_at >= a.processed_at
             AND l.to_at_before <= a.processed_at
            GROUP BY a.broker, a.api, a.member, a.arrived_at, a.evidence
        ), judged AS (
            SELECT *, tenures = 0 AND NOT behind AND NOT loading AS wrongly FROM placed
        )
        SELECT concat('broker-', broker) AS subject, min(arrived_at) AS at, count(*) AS measured,
               CASE WHEN count_if(wrongly) > 0
                    THEN clause('accepted ', count_if(wrongly),
                                ' calls while it did not coordinate the group, the first: ',
                                min(CASE WHEN wrongly THEN struct(arrived_at, api, member) END).api)
                    END AS wrong,
               nullif(concat_ws('; ',
                   IF(count_if(tenures = 0 AND behind) > 0,
                      concat(count_if(tenures = 0 AND behind),
                             ' calls were answered before it knew of its successor'), NULL),
                   IF(count_if(tenures = 0 AND loading AND NOT behind) > 0,
                      concat(count_if(tenures = 0 AND loading AND NOT behind),
                             ' heartbeats were answered while it loaded the group'), NULL)), '')
                   AS note,
               min(CASE WHEN wrongly THEN struct(arrived_at, evidence) END).evidence AS evidence
        FROM judged GROUP BY broker
    """


@Rule(
    "X66",
    title="All brokers name one coordinator",
    statement="Whichever broker is asked for the group's coordinator names the one that "
    "coordinates it, or says that there is none yet. The same broker describes the group.",
    source="document 000, FindCoordinator; KafkaApis.handleFindCoordinatorRequest",
    unit="answers",
    things="brokers",
    measures="that named another",
    too_high="named brokers that did not coordinate the group",
    matters="A member that is sent to the wrong broker is refused there, and asks again, for ever.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def names_the_coordinator() -> str:
    """Answers to lookups, and what the observer was told, beside who coordinated the group.

    A broker learns of a change from the controller, as its peers do: nothing is asked of answers
    while a broker is broken and until a session after it, within some seconds of another's taking
    over, nor of those long before the group's first line. Of a coordinator whose process ended all
    is known once another has loaded the group.
    """
    return """
        WITH answers AS (
            SELECT broker, coalesce(program, client_id) AS asker, arrived_at, processed_at,
                   evidence, CAST(get_json_object(detail, '$.coordinator') AS INT) AS named
            FROM {requests}
            WHERE `group` = :group AND api = 'FIND_COORDINATOR' AND error_code = :NONE
            UNION ALL
            SELECT NULL, 'observer', at, at, NULL, coordinator
            FROM {topology} WHERE what = 'group' AND `group` = :group AND coordinator IS NOT NULL
        ), changes AS (
            SELECT f.injecting_at AS from_at,
                   IF({ENDS_PROCESS} AND f.resolved LIKE 'broker-%',
                      after(:LEARNS_MS, least(coalesce(f.healed_at, :ended_at),
                                              coalesce(min(t.from_at), :ended_at))),
                      after(:session_ms, coalesce(f.healed_at, :ended_at))) AS to_at
            FROM {fault_windows} f LEFT JOIN {tenures} t
              ON t.loaded AND t.from_at > f.injecting_at AND t.broker <> t.broker_before
             AND f.resolved = concat('broker-', t.broker_before)
            WHERE f.breaks = 'broker' OR f.broker_gone
            GROUP BY f.fault, f.evidence, f.killed, f.resolved, f.injecting_at, f.healed_at
            UNION ALL
            SELECT after(-:LEARNS_MS, from_at), after(:LEARNS_MS, from_at) FROM {tenures}
            WHERE loaded
        ), placed AS (
            SELECT a.broker, a.asker, a.arrived_at, a.evidence, a.named, count(t.tenure) AS tenures
            FROM answers a
            LEFT SEMI JOIN {tenures} f
              ON f.tenure = 1 AND a.processed_at >= after(-:BEFORE_MS, f.from_at)
            LEFT ANTI JOIN changes c ON c.from_at <= a.processed_at AND c.to_at >= a.arrived_at
            LEFT JOIN {tenures} t
              ON t.broker = a.named AND (t.next_at IS NULL OR a.arrived_at < t.next_at)
             -- The first one coordinated the group before there was anything to log of it.
             AND (t.tenure = 1 OR a.processed_at >= t.from_at)
            GROUP BY a.broker, a.asker, a.arrived_at, a.evidence, a.named
        )
        SELECT coalesce(concat('answers of broker-', p.broker), 'descriptions') AS subject,
               coalesce(min(IF(p.tenures = 0, p.arrived_at, NULL)), min(p.arrived_at)) AS at,
               count_if(p.tenures = 0) AS measured, 0 AS bound_high,
               concat(count(*), ' answers; named ',
                      array_join(array_sort(collect_set(p.named)), ', ')) AS note,
               min(IF(p.tenures = 0, p.evidence, NULL)) AS evidence
        FROM placed p GROUP BY p.broker
    """
