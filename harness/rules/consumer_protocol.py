"""KIP-848, the members' side: fencing, commits by epoch, conversion, and what clients refuse."""

from harness.experiment import CLASSIC
from harness.rules.failure_detection import (
    FOLLOWED_MS,  # noqa: F401 (a query names it)
    WEIGHED,  # noqa: F401 (a query names it)
    evicted_on_time,
)
from harness.rules.rebalance import FIRST_MS, START_MS  # noqa: F401 (queries name them)
from harness.rules.rule import A_MEMBER, Need, Rule

_KIP_848 = ("consumer",)


@Rule(
    "X19",
    title="The broker sets the session timeout in KIP-848",
    statement="A member that has sent no heartbeat for group.consumer.session.timeout.ms is "
    "evicted, neither earlier nor later, and the group epoch is bumped.",
    source="KIP-848; group.consumer.session.timeout.ms",
    unit="ms",
    things="evictions",
    measures="after the last heartbeat",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="The broker decides for all groups how long a dead consumer's partitions stand still.",
    protocols=_KIP_848,
    delayed_by=A_MEMBER,
)
def evicted_by_broker_session() -> str:
    """As in the classic protocol."""
    return evicted_on_time()


@Rule(
    "X23",
    title="A fenced member comes back with epoch 0",
    statement="A member that is answered that it is fenced or unknown gives up its partitions, "
    "and joins again under its own id with epoch 0.",
    source="KIP-848, Member epoch; FENCED_MEMBER_EPOCH",
    unit="ms",
    things="fenced members",
    measures="until it joined again",
    matters="A consumer that was evicted during a pause works again without a restart.",
    needs=(Need.SESSION_END,),
    protocols=_KIP_848,
)
def fenced_comes_back() -> str:
    """Refusals: what the member did until it was in the group again.

    It may act on a refusal before the line is stamped from which its arrival counts back. Who holds
    nothing has nothing to give up, and no client calls back for that. Who is about to end need not
    come back.
    """
    return """
        WITH beats AS (
            SELECT *, error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH) AS out,
                   lag(error_code) OVER (PARTITION BY member_id ORDER BY arrived_at, evidence)
                       AS error_before
            FROM {consumer_heartbeats}
        ),
        -- The first answer by which a member learns that it is in the group no more.
        refused AS (
            SELECT * FROM beats
            WHERE out AND generation > 0
              AND coalesce(error_before NOT IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH), true)
        ), back AS (
            SELECT r.member_id, r.member, r.arrived_at, r.answered_at, r.error_code, r.evidence,
                   min(struct(b.arrived_at, b.member_id)) AS back
            FROM refused r LEFT JOIN beats b
              ON b.member = r.member AND b.generation = 0 AND b.error_code = :NONE
             AND b.arrived_at >= r.answered_at
            GROUP BY ALL
        ),
        -- What a member has from before its refusal until it is back, it has not given up.
        held AS (
            SELECT b.*, count(o.from_at) AS held
            FROM back b LEFT JOIN {ownership} o
              ON o.member = b.member AND o.from_at <= b.answered_at
             AND (o.to_at IS NULL OR o.to_at > b.back.arrived_at)
            GROUP BY ALL
        ), goings AS (
            SELECT member, event_at AS at FROM {client_events} WHERE event = 'closing'
            UNION ALL
            SELECT resolved, injecting_at FROM {fault_windows} WHERE ends_member
        ), going AS (
            SELECT h.*, count(g.at) > 0 AS goes
            FROM held h LEFT JOIN goings g
              ON g.member = h.member AND h.back.arrived_at IS NULL
             AND g.at >= after(-:session_ms, h.arrived_at)
             AND g.at <= after(:session_ms, h.arrived_at)
            GROUP BY ALL
        ), lost AS (
            SELECT b.*, min(c.event_at) AS lost_at
            FROM going b LEFT JOIN {client_events} c
              ON c.member = b.member AND c.event = 'lost'
             -- Its application hears of it at its next poll, perhaps when it has joined again.
             AND coalesce(c.observed_at, c.event_at) >= after(-:slack_ms, b.arrived_at)
             AND (b.back.arrived_at IS NULL OR c.event_at <= b.back.arrived_at)
            GROUP BY ALL
        )
        SELECT concat(member, ' (fenced)') AS subject, arrived_at AS at,
               ms_between(answered_at, back.arrived_at) AS measured,
               CASE WHEN back.arrived_at IS NULL AND arrived_at >= after(-2000, :stopped_at)
                    THEN 'the run ended before it could come back'
                    WHEN goes THEN 'it ended before it could come back' END AS unknown,
               CASE WHEN back.arrived_at IS NULL THEN 'did not come back'
                    WHEN back.member_id <> member_id THEN 'came back under another member id'
                    WHEN lost_at IS NULL AND held > 0
                    THEN 'came back without giving its partitions up' END AS wrong,
               concat('answered with error ', error_code) AS note, evidence
        FROM lost
    """


@Rule(
    "X27",
    title="A member without its coordinator goes on until it is fenced",
    statement="A member that cannot reach its coordinator goes on fetching, even after it was "
    "evicted. None of its commits is accepted, and the first answer fences it.",
    source="KIP-848; librdkafka INTRODUCTION.md, consumer group protocol",
    unit="records",
    things="members cut off from their coordinator",
    measures="delivered after the eviction",
    too_low="got no record after its eviction",
    matters="What it processes after its eviction is processed again by the next owner.",
    needs=(Need.SESSION_END,),
    protocols=_KIP_848,
)
def goes_on_without_coordinator() -> str:
    """Members cut off from their coordinator alone that were evicted meanwhile.

    A member whose partitions are all led by that very broker cannot show whether it goes on.
    """
    return """
        WITH cut AS (
            SELECT f.fault, f.resolved AS member, coalesce(f.healed_at, :ended_at) AS healed_at,
                   v.member_id, v.broker, v.evicted_at, v.evidence
            FROM {fault_windows} f JOIN {evictions} v
              ON v.member = f.resolved AND v.evicted_at >= f.injected_at
             AND v.evicted_at <= coalesce(f.healed_at, :ended_at)
            WHERE f.link_cut AND get_json_object(f.parameters, '$.of_broker') IS NOT NULL
        ), polled AS (
            SELECT c.*, coalesce(sum(d.count), 0) AS records
            FROM cut c LEFT JOIN {deliveries} d
              ON d.member = c.member AND d.polled_at > c.evicted_at AND d.polled_at < c.healed_at
            GROUP BY ALL
        ), committed AS (
            SELECT c.*, count(j.at) AS commits
            FROM polled c LEFT JOIN {accepted} j
              ON j.member_id = c.member_id AND j.removed_at = c.evicted_at
            GROUP BY ALL
        ), contact AS (
            SELECT c.*, min(struct(q.arrived_at, q.evidence, q.error_code)).error_code AS error_code
            FROM committed c LEFT JOIN {consumer_heartbeats} q
              ON q.member_id = c.member_id AND q.arrived_at > c.evicted_at
            GROUP BY ALL
        ), leaders AS (
            SELECT c.fault, c.member_id, c.broker, o.topic, o.partition,
                   max(struct(p.at, p.leader)).leader AS leader
            FROM cut c JOIN {ownership} o
              ON o.member_id = c.member_id AND o.from_at <= c.evicted_at
             AND coalesce(o.to_at, :ended_at) >= c.evicted_at
            LEFT JOIN {topology} p ON same(p, o, topic, partition) AND p.at <= c.evicted_at
            GROUP BY ALL
        ), led AS (
            SELECT fault, member_id, bool_and(coalesce(leader = broker, false)) AS by_it
            FROM leaders GROUP BY fault, member_id
        )
        SELECT concat(member, ' without its coordinator') AS subject, evicted_at AS at,
               records AS measured, 1 AS bound_low,
               CASE WHEN records = 0 AND commits = 0 AND by_it IS NULL
                    THEN 'it had no partition'
                    WHEN records = 0 AND commits = 0 AND by_it
                    THEN 'its coordinator leads all of its partitions' END AS unknown,
               CASE WHEN commits > 0
                    THEN clause('had commits accepted after its eviction: ', commits)
                    WHEN error_code IS NULL THEN 'never came back to the coordinator'
                    WHEN error_code NOT IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH)
                    THEN clause('was first answered with error ', error_code) END AS wrong,
               concat('first answered with error ', error_code) AS note, evidence
        FROM contact LEFT JOIN led USING (fault, member_id)
    """


# Commits of scripted members: which epoch the coordinator had told the member, and in which it had
# given it the partition (null: the partition is no longer its own).
SCRIPTED_COMMITS = """
    WITH asked AS (
        SELECT step, sent_at, generation AS epoch, error_code,
               CAST(get_json_object(expected, '$.member_epoch') AS INT) AS member_epoch,
               CAST(get_json_object(expected, '$.assignment_epoch') AS INT) AS assignment_epoch
        FROM {calls} WHERE rule = 'X22' AND api = 'OFFSET_COMMIT'
    ), due AS (
        SELECT *, IF(epoch = member_epoch
                     OR NOT :exact AND epoch < member_epoch AND epoch >= assignment_epoch,
                     :NONE, :STALE_MEMBER_EPOCH) AS due
        FROM asked
    )
    SELECT step AS subject, sent_at AS at, error_code AS measured, due AS bound_low,
           due AS bound_high,
           concat('epoch ', epoch, ' of a member in epoch ', member_epoch, ', partition ',
                  coalesce(concat('given in epoch ', assignment_epoch), 'taken'),
                  ', answered with error ', error_code) AS note
    FROM due
"""


@Rule(
    "X22",
    title="A commit needs the member's current epoch (documented, outdated)",
    statement="A commit with an epoch other than the member's current one is refused with "
    "STALE_MEMBER_EPOCH.",
    source="KIP-848, OffsetCommit API (before Kafka 4.3)",
    unit="error code",
    things="commits of a probe",
    measures="in the answer",
    too_low="got another error code",
    too_high="got another error code",
    matters="Where this holds, a commit that crosses a change of the epoch fails, and its records "
    "come twice.",
    broker=True,
    protocols=_KIP_848,
)
def commits_need_the_epoch() -> str:
    return SCRIPTED_COMMITS.replace(":exact", "true")


@Rule(
    "X22-assignment",
    title="A commit needs an epoch since the partition was assigned",
    statement="A commit is accepted with any epoch from that in which the member was assigned the "
    "partition to its current one. Any other commit is refused with STALE_MEMBER_EPOCH.",
    source="KIP-1251 (since Kafka 4.3)",
    unit="error code",
    things="commits of a probe",
    measures="in the answer",
    too_low="got another error code",
    too_high="got another error code",
    matters="A rebalance of other partitions does not make a commit fail.",
    broker=True,
    since="4.3",
    protocols=_KIP_848,
)
def commits_need_the_assignment() -> str:
    return SCRIPTED_COMMITS.replace(":exact", "false")


@Rule(
    "X25",
    title="A classic group is converted to KIP-848 and back",
    statement="The first member of KIP-848 converts a classic group with its join. When the last "
    "such member goes while classic members stay, the group is classic again.",
    source="KIP-848, Upgrade; group.consumer.migration.policy",
    unit="ms",
    things="conversions",
    measures="between the conversion and the join or departure",
    matters="Consumers can move to the new protocol, and back, one at a time and without a stop.",
    broker=True,
    protocols=CLASSIC,  # of the group; single members differ
    delayed_by=A_MEMBER,
)
def converted() -> str:
    """The first member of the new protocol among classic ones, and the last one's end.

    A conversion is part of the request that causes it: its line lies between the arrival of that
    heartbeat, which is stamped late, and its answer. An eviction has no request; then it must come
    at once.
    """
    return """
        WITH stays AS (
            SELECT s.member, s.joined_at, coalesce(s.removed_at, :ended_at) AS removed_at,
                   s.removed_at IS NOT NULL AS gone, m.protocol = 'consumer' AS modern
            FROM {memberships} s JOIN {members} m USING (member)
            WHERE s.joined_at IS NOT NULL
        ), turns AS (
            SELECT member, joined_at AS at, 'upgraded' AS wanted FROM stays WHERE modern
            UNION ALL
            SELECT member, removed_at, 'downgraded' FROM stays WHERE modern AND gone
        ), counted AS (
            SELECT u.member, u.at, u.wanted
            FROM turns u LEFT JOIN stays s ON s.joined_at < u.at AND s.removed_at > u.at
            GROUP BY u.member, u.at, u.wanted
            HAVING count_if(NOT s.modern) > 0 AND count_if(s.modern AND s.member <> u.member) = 0
        ), asked AS (
            SELECT c.member, c.at, c.wanted, IF(count(q.arrived_at) > 0, NULL, c.at) AS unasked_at,
                   after(-:slack_ms, coalesce(min(q.arrived_at), after(-:START_MS, c.at)))
                       AS from_at,
                   coalesce(max(q.processed_at), after(:START_MS + :slack_ms, c.at)) AS to_at
            FROM counted c LEFT JOIN {consumer_heartbeats} q
              ON q.member = c.member AND q.generation = IF(c.wanted = 'upgraded', 0, -1)
             AND q.arrived_at <= after(:slack_ms, c.at) AND q.processed_at >= c.at
            GROUP BY c.member, c.at, c.wanted
        ), found AS (
            SELECT a.member, a.at, a.wanted, a.unasked_at,
                   min(struct(e.at, e.evidence, e.text)) AS done
            FROM asked a LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = a.wanted AND e.at >= a.from_at AND e.at <= a.to_at
            GROUP BY ALL
        )
        SELECT concat(member, IF(wanted = 'upgraded', ' joins', ' goes')) AS subject, at,
               abs(ms_between(at, done.at)) AS measured,
               CASE WHEN done.at IS NULL
                    THEN clause('the group was not ', wanted, ' with it') END AS wrong,
               done.text AS note, done.evidence,
               unasked_at AS guard_from, guard_to(after(:START_MS, unasked_at)) AS guard_to
        FROM found
    """


@Rule(
    "X26",
    title="Clients refuse settings that the broker decides in KIP-848",
    statement="A client with group.protocol=consumer refuses session.timeout.ms, "
    "heartbeat.interval.ms and partition.assignment.strategy; librdkafka refuses "
    "group.protocol.type too.",
    source="KIP-848, Consumer configurations; librdkafka CONFIGURATION.md",
    unit="",
    things="consumers created",
    measures="",
    matters="A client that is configured with a timer without effect fails at its start.",
    protocols=_KIP_848,
)
def refused_settings() -> str:
    """Consumers that were made with one setting too many, and one with none."""
    return """
        WITH made AS (
            SELECT step, sent_at, error_code, get_json_object(expected, '$.refused') AS setting,
                   get_json_object(answer, '$.said') AS said
            FROM {calls} WHERE rule = 'X26'
        )
        SELECT step AS subject, sent_at AS at,
               CASE WHEN setting IS NULL AND error_code <> 0 THEN 'was refused without cause'
                    WHEN setting IS NOT NULL AND error_code = 0 THEN 'was accepted'
                    WHEN NOT contains(said, setting)
                    THEN clause('was refused for another reason: ', said) END AS wrong,
               CASE WHEN error_code IS NULL THEN 'was never answered'
                    WHEN error_code <> 0 AND said IS NULL
                    THEN 'was refused without a reason' END AS unknown,
               CASE WHEN error_code <> 0 THEN concat('refused: ', said) END AS note
        FROM made
    """
