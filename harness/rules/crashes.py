"""When the crash of a consumer is noticed, and who gets its partitions."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

# session.timeout.ms where nobody sets it, since Kafka 3.0 and librdkafka 1.7.0.
DEFAULT_SESSION_MS: Final = 45_000


@Rule(
    "R10",
    title="A crashed consumer's partitions go to the others",
    statement=(
        "Every partition of a crashed consumer belongs to a live member within the session "
        "timeout, one heartbeat and one second."
    ),
    source="seed 000, consumer crash; seed 002, rebalance conditions",
    unit="ms",
    things="orphaned partitions",
    measures="from the crash to the next owner",
    too_high="was given to a live member too late",
    matters="This is how long a crash stops the processing of a partition.",
)
def orphans_are_given_away() -> str:
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
              ON n.topic = o.topic AND n.partition = o.partition AND n.member <> o.member
             -- A member that is to die in a transaction may give it up before that begins.
             AND n.from_at >= o.injecting_at
            GROUP BY o.member, o.at, o.topic, o.partition
        )
        SELECT concat(topic, '-', partition) AS subject, at, ms_between(at, owned_at) AS measured,
               high AS bound_high,
               CASE WHEN owned_at IS NULL AND after(high, at) > :stopped_at
                    THEN 'the run ended before it was due' END AS unknown,
               CASE WHEN owned_at IS NULL THEN 'was given to no live member' END AS wrong,
               concat('from ', member, ' to ', owner) AS note,
               guard_from(after(high, at), owned_at) AS guard_from, guard_to(owned_at) AS guard_to
        FROM given
    """


@Rule(
    "X11",
    title="With default timers a crash is noticed within 45 s",
    statement=(
        "A member that sets no session tells the coordinator one of 45 s, and is evicted 42 to "
        "45 s after its crash, with heartbeats every 3 s."
    ),
    source="KIP-735; session.timeout.ms",
    unit="ms",
    things="crashes",
    measures="from the crash to the eviction",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="Whoever keeps the defaults waits that long for the records of a crashed consumer.",
    broker=True,
    protocols=CLASSIC,
)
def default_session() -> str:
    """Crashes of members that leave the session to their library, from the kill to the eviction.

    The last heartbeat before the kill can be as old as their interval, so the wait is shorter by
    up to that. The moment of a kill lies between the two marks of its fault.
    """
    return """
        WITH told AS (
            SELECT member, max(session_timeout_ms) AS told_ms FROM {joins} GROUP BY member
        ), crashes AS (
            SELECT f.resolved AS member, f.injecting_at AS at, e.evicted_at, e.evidence,
                   t.told_ms, :DEFAULT_SESSION_MS AS session_ms,
                   :DEFAULT_SESSION_MS - :heartbeat_ms - :cadence_ms AS low,
                   :DEFAULT_SESSION_MS + :slack_ms + ms_between(f.injecting_at, f.injected_at)
                       AS high
            FROM {fault_windows} f JOIN {members} m ON m.member = f.resolved
            LEFT JOIN told t ON t.member = f.resolved
            LEFT JOIN {evictions} e ON e.member = f.resolved AND e.evicted_at >= f.injecting_at
            WHERE f.killed AND f.ends_member AND f.took_effect
              AND from_json(m.settings, 'map<string, string>')['session.timeout.ms'] = 'unset'
        )
        SELECT concat(member, ' (crash)') AS subject, at, ms_between(at, evicted_at) AS measured,
               low AS bound_low, high AS bound_high,
               CASE WHEN evicted_at IS NULL AND after(high, at) > :stopped_at
                    THEN 'the run ended before it was due' END AS unknown,
               CASE WHEN told_ms <> session_ms
                    THEN clause('told the coordinator a session of ', told_ms, ' ms')
                    WHEN evicted_at IS NULL THEN 'was not evicted' END AS wrong,
               concat('it told the coordinator a session of ', told_ms, ' ms') AS note, evidence,
               guard_from(after(session_ms, at), evicted_at) AS guard_from,
               guard_to(evicted_at) AS guard_to
        FROM crashes
    """
