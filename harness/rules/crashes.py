"""When the crash of a consumer is noticed, and who gets its partitions."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBER, THE_GROUP, Rule

# session.timeout.ms where nobody sets it, since Kafka 3.0 and librdkafka 1.7.0.
DEFAULT_SESSION_MS: Final = 45_000
# And how often the coordinator lets members of KIP-848 heartbeat
# (group.consumer.heartbeat.interval.ms).
DEFAULT_HEARTBEAT_MS: Final = 5_000


@Rule(
    "R10",
    title="A crashed consumer's partitions go to the other members",
    statement="Every partition of a crashed consumer belongs to a live member within the session "
    "timeout plus one heartbeat interval plus one second.",
    source="document 000, consumer crash; document 002, rebalance conditions",
    unit="ms",
    things="partitions of crashed consumers",
    measures="from the crash to the next owner",
    too_high="was given to a live member too late",
    matters="This is how long a crash stops the processing of a partition.",
    delayed_by=THE_GROUP,
)
def orphans_are_given_away() -> str:
    """Partitions of crashed members, by the callbacks of their next owners.

    While a member is stalled it takes up nothing that it is given, and an eager rebalance waits for
    it. So a partition that was given to it in time may come to its next owner later.
    """
    return """
        WITH kills AS (
            SELECT resolved AS member, injecting_at, injected_at AS at FROM {fault_windows}
            WHERE killed AND ends_member AND took_effect
        ), orphans AS (
            SELECT k.member, k.injecting_at, k.at, o.topic, o.partition
            FROM kills k JOIN {ownership} o
              ON o.member = k.member AND o.from_at < k.at
             AND (o.to_at IS NULL OR o.ended_by = 'killed' OR o.to_at >= k.injecting_at)
        ), given AS (
            SELECT o.member, o.at, o.topic, o.partition, min(n.from_at) AS owned_at,
                   min_by(n.member, struct(n.from_at, n.member)) AS owner,
                   :session_ms + :heartbeat_ms + 1000 + :slack_ms AS high
            FROM orphans o LEFT JOIN {ownership} n
              ON same(n, o, topic, partition) AND n.member <> o.member
             -- A member that is to die in a transaction may give it up before that begins.
             AND n.from_at >= o.injecting_at
            GROUP BY o.member, o.at, o.topic, o.partition
        ), brought AS (
            -- The rebalance that gave it to its next owner.
            SELECT g.member, g.at, g.topic, g.partition,
                   max(struct(r.started_at, r.joined_at)) AS rebalance
            FROM given g JOIN {rebalances} r
              ON r.started_at < g.owned_at AND r.joined_at >= g.at
            GROUP BY g.member, g.at, g.topic, g.partition
        ), held AS (
            SELECT g.member, g.at, g.topic, g.partition, max(s.member) AS by
            FROM given g JOIN {busy} s ON s.reason = 'stall' AND s.member <> g.member
            LEFT JOIN {assignments} a
              ON same(a, g, topic, partition) AND same(a, s, member)
             AND a.at BETWEEN g.at AND after(g.high, g.at)
             AND a.at BETWEEN s.from_at AND coalesce(s.to_at, :ended_at)
            LEFT JOIN brought b
              ON same(b, g, member, at, topic, partition)
             AND b.rebalance.started_at <= after(g.high, g.at)
             AND b.rebalance.joined_at >= s.from_at
             AND b.rebalance.started_at <= coalesce(s.to_at, :ended_at)
            WHERE a.at IS NOT NULL OR b.at IS NOT NULL
            GROUP BY g.member, g.at, g.topic, g.partition
        )
        SELECT concat(g.topic, '-', g.partition) AS subject, g.at,
               ms_between(g.at, g.owned_at) AS measured, g.high AS bound_high,
               concat(h.by, ' was stalled, so that the partition could not be handed over in time')
                   AS excused,
               CASE WHEN g.owned_at IS NULL AND after(g.high, g.at) > :stopped_at
                    THEN 'the run ended before it was due' END AS unknown,
               CASE WHEN g.owned_at IS NULL THEN 'was given to no live member' END AS wrong,
               concat('from ', g.member, ' to ', g.owner) AS note,
               guard_from(after(g.high, g.at), g.owned_at) AS guard_from,
               guard_to(g.owned_at) AS guard_to
        FROM given g LEFT JOIN held h ON same(h, g, member, at, topic, partition)
    """


@Rule(
    "X11",
    title="By default a crash is noticed within 45 s",
    statement="A member without a session.timeout.ms of its own sends the coordinator one of 45 "
    "s, and is evicted 42 to 45 s after its crash, with heartbeats every 3 s.",
    source="KIP-735; session.timeout.ms",
    unit="ms",
    things="crashes",
    measures="from the crash to the eviction",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="The records of a crashed consumer with default settings wait that long.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def default_session() -> str:
    """Crashes of members that leave the session to their library, from the kill to the eviction.

    The last heartbeat before the kill can be as old as their interval, so the wait is shorter by
    up to that. The moment of a kill lies between the two marks of its fault.
    """
    return _defaults(
        "SELECT member, max(session_timeout_ms) AS told_ms FROM {joins} GROUP BY member",
        "from_json(m.settings, 'map<string, string>')['session.timeout.ms'] = 'unset'",
        ":DEFAULT_SESSION_MS",
        "told the coordinator a session of ",
    )


@Rule(
    "X19-default",
    title="By default a crash is noticed within 45 s in KIP-848",
    statement="With the brokers' default timers a member of KIP-848 is told to send a heartbeat "
    "every 5 s, and is fenced 40 to 45 s after its crash.",
    source="group.consumer.session.timeout.ms; group.consumer.heartbeat.interval.ms",
    unit="ms",
    things="crashes",
    measures="from the crash to the eviction",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="A group that moves to KIP-848 waits as long as before, whatever its clients had set.",
    broker=True,
    protocols=("consumer",),
    delayed_by=A_MEMBER,
)
def default_session_of_brokers() -> str:
    """The same where the run's timers are the defaults; a member is told its interval each time."""
    return _defaults(
        """SELECT member, max(CAST(get_json_object(detail, '$.heartbeat_interval_ms') AS INT))
                              AS told_ms
           FROM {consumer_heartbeats} WHERE error_code = :NONE AND generation >= 0
           GROUP BY member""",
        ":session_ms = :DEFAULT_SESSION_MS AND :heartbeat_ms = :DEFAULT_HEARTBEAT_MS",
        ":DEFAULT_HEARTBEAT_MS",
        "was told to heartbeat at an interval of ",
    )


def _defaults(told: str, unset: str, default_ms: str, words: str) -> str:
    """Crashes of members without timers of their own, and what each told or was told of one."""
    return f"""
        WITH told AS ({told}), crashes AS (
            SELECT f.resolved AS member, f.injecting_at AS at, e.evicted_at, e.evidence,
                   t.told_ms, :DEFAULT_SESSION_MS AS session_ms,
                   :DEFAULT_SESSION_MS - :heartbeat_ms - :cadence_ms AS low,
                   :DEFAULT_SESSION_MS + :slack_ms + ms_between(f.injecting_at, f.injected_at)
                       AS high
            FROM {{fault_windows}} f JOIN {{members}} m ON m.member = f.resolved
            LEFT JOIN told t ON t.member = f.resolved
            LEFT JOIN {{evictions}} e ON e.member = f.resolved AND e.evicted_at >= f.injecting_at
            WHERE f.killed AND f.ends_member AND f.took_effect AND {unset}
        )
        SELECT concat(member, ' (crash)') AS subject, at, ms_between(at, evicted_at) AS measured,
               low AS bound_low, high AS bound_high,
               CASE WHEN evicted_at IS NULL AND after(high, at) > :stopped_at
                    THEN 'the run ended before it was due' END AS unknown,
               CASE WHEN told_ms <> {default_ms} THEN clause('{words}', told_ms, ' ms')
                    WHEN evicted_at IS NULL THEN 'was not evicted' END AS wrong,
               concat('it {words}', told_ms, ' ms') AS note, evidence,
               guard_from(after(session_ms, at), evicted_at) AS guard_from,
               guard_to(evicted_at) AS guard_to
        FROM crashes
    """
