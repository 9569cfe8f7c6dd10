"""How often a client sends heartbeats, and how soon it repeats one that failed."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBER, A_MEMBERS_WRITE, Rule

# The longest gap in which no heartbeat was left out: a client whose timer has a coarse grid may be
# late by more than a short interval.
TWICE: Final = """
    greatest(2 * :heartbeat_ms - :cadence_early_ms, :heartbeat_ms + :cadence_ms)
"""


@Rule(
    "R09",
    title="A failed heartbeat is repeated after a backoff",
    statement="The heartbeat after a failed one is sent after a backoff, not after a whole "
    "heartbeat.interval.ms. The backoff is retry.backoff.ms, and grows to retry.backoff.max.ms "
    "with 20 % jitter.",
    source="document 000, Heartbeat; document 004, HeartbeatThread; KIP-580",
    unit="ms",
    things="failed heartbeats",
    measures="to the next heartbeat",
    too_high="repeated its heartbeat too late",
    matters="One lost heartbeat does not use up a third of the session.",
    clients=("java",),
    protocols=CLASSIC,
    delayed_by=A_MEMBERS_WRITE,
)
def retries_soon() -> str:
    """From the failure, or from when there was a coordinator again, to the next heartbeat.

    Several heartbeats that fail together are one thing. A member that has to join anew first, or
    closes, has nothing to repeat. An answer that reached nobody is no failure.

    While an application waits for the answer to a commit, it has the network connection that both
    threads share, up to a heartbeat.interval.ms at a time. Measured with 4.4.0 and an interval of
    2 s: heartbeats 4.0 s apart.
    """
    return """
        WITH failed AS (
            SELECT member, event_at AS at FROM {client_events} WHERE event = 'heartbeat_failed'
            UNION ALL
            SELECT member, answered_at FROM {heard_requests}
            WHERE api = 'HEARTBEAT' AND error_code IN (
                :COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
        ), retried AS (
            SELECT f.member, f.at, min(s.event_at) AS sent_at
            FROM failed f JOIN {client_events} s
              ON s.member = f.member AND s.event = 'heartbeat_sent' AND s.event_at > f.at
            GROUP BY f.member, f.at
        ), together AS (
            SELECT r.member, r.sent_at, max(r.at) AS at FROM retried r
            LEFT ANTI JOIN {client_events} c
              ON c.member = r.member AND c.event IN ('lost', 'revoked', 'assigned', 'closing')
             AND c.event_at > r.at AND c.event_at <= r.sent_at
            GROUP BY r.member, r.sent_at
        ), found AS (
            SELECT r.member, r.sent_at, r.at, greatest(r.at, max(c.event_at)) AS ready_at,
                   :retry_ms + :timer_late_ms + :slack_ms AS high
            FROM together r LEFT JOIN {client_events} c
              ON c.member = r.member AND c.event = 'coordinator_found'
             AND c.event_at > r.at AND c.event_at <= r.sent_at
            GROUP BY r.member, r.sent_at, r.at
        )
        SELECT f.member AS subject, sent_at AS at, ms_between(ready_at, sent_at) AS measured,
               high AS bound_high,
               CASE WHEN ms_between(ready_at, sent_at) > high AND c.member IS NOT NULL
                    THEN 'its application waited for a commit' END AS excused,
               IF(ready_at > at, 'since it found its coordinator again', 'since the failure')
                   AS note,
               CASE WHEN ms_between(ready_at, sent_at) > high THEN ready_at END AS guard_from,
               sent_at AS guard_to
        FROM found f LEFT JOIN {awaited_commits} c
          ON c.member = f.member AND c.asked_at <= after(high, ready_at)
         AND coalesce(c.answered_at >= after(high, ready_at), true)
    """


@Rule(
    "R14",
    title="Heartbeats keep their interval",
    statement="In a stable group each member sends a heartbeat every heartbeat.interval.ms, or up "
    "to one tick of its timer later (librdkafka: 500 ms, Java: 100 ms).",
    source="document 001, heartbeat; heartbeat.interval.ms",
    unit="ms",
    things="members per generation",
    measures="between heartbeats (mean)",
    too_low="sent its heartbeats too often",
    too_high="sent its heartbeats too rarely",
    matters="The interval and its delay decide how many lost heartbeats a session survives.",
    delayed_by=A_MEMBER,
)
def heartbeats_keep_their_interval() -> str:
    """Means over a generation with three intervals of steady time, however many heartbeats came.

    Two intervals between two heartbeats are one that was left out, which no mean has to show. So
    are two from the answer of a classic member's SyncGroup to its first heartbeat: in 184 runs,
    many beside other work, it came an interval and 710 ms later at most. A fault, another
    coordinator, or a commit without an answer may hold it up.

    A client sends no heartbeat before the interval since the one before is over (rd_interval, and
    AbstractCoordinator's Heartbeat). What makes one come early is how late the one before was, and
    a mean has that in it once; one late heartbeat of a busy machine does not count either. Nor is
    it the client's doing how long the first one waited at its coordinator to be worked on; or, in
    KIP-848, how late it came after one that was sent out of turn, for no steady gap has that in it.

    How late the first one was, the later ones tell: a line of the shortest interval allowed,
    through the least late of them, begins that much before it. It counts if it explains them. Two
    gaps at least and a quarter of all have to follow on that one, or the last, which came too soon,
    would excuse itself. No heartbeat is later than an interval, for then the next is left out.
    Measured at a load of 17 to 70: eight that arrived 1,343 to 30 ms late, the later the less.

    Law: a member sends no heartbeat before an interval is over since it sent the one before, and
    none later than a tick of its timer after that, however late either of them arrives.
    """
    return """
        WITH lined AS (
            SELECT *, sum(gap_ms - :heartbeat_ms + :cadence_early_ms) OVER w AS above_ms,
                   count(*) OVER w AS number,
                   count(*) OVER (PARTITION BY member_id, generation) AS gaps
            FROM {heartbeats} WHERE steady
            WINDOW w AS (PARTITION BY member_id, generation ORDER BY at, gap_ms DESC
                         ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ), steady AS (
            SELECT min(member) AS member, member_id, generation, count(*) AS gaps,
                   avg(gap_ms) AS ms,
                   min(after(-gap_ms, at)) AS from_at, max(at) AS at,
                   :heartbeat_ms - :cadence_early_ms AS low, :heartbeat_ms + :cadence_ms AS high,
                   max(CASE WHEN gap_ms > {TWICE}
                            THEN struct(gap_ms, at) END) AS left_out,
                   sum(gap_ms) AS gaps_ms,
                   least(max(IF(number <= gaps - greatest(2, gaps / 4), -above_ms, 0)),
                         :heartbeat_ms) AS line_ms,
                   array_join(array_sort(collect_set(concat('broker-', broker))), ' ') AS brokers
            FROM lined
            GROUP BY member_id, generation
            HAVING sum(gap_ms) >= 3 * :heartbeat_ms - 4 * :cadence_early_ms
                OR max(gap_ms) > {TWICE}
        ), waited AS (
            SELECT s.*,
                   coalesce(max(ms_between(r.arrived_at, r.processed_at)),
                            max(least(greatest(b.gap_ms - :heartbeat_ms, 0), :heartbeat_ms)), 0)
                       AS late_ms
            FROM steady s LEFT JOIN {requests} r
              ON r.member_id = s.member_id AND r.processed_at = s.from_at AND r.api = 'HEARTBEAT'
            LEFT JOIN {heartbeats} b
              ON b.member_id = s.member_id AND b.at = s.from_at AND :protocol = 'consumer'
            GROUP BY ALL
        ), synced AS (
            SELECT member, member_id, broker, generation, min(answered_at) AS at
            FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
            GROUP BY member, member_id, broker, generation
        ), first AS (
            SELECT s.member, s.member_id, s.broker, s.generation, s.at AS from_at, min(h.at) AS at,
                   min_by(h.broker, h.at) AS answered_by
            FROM synced s JOIN {heartbeats} h ON same(h, s, member_id, generation) AND h.at >= s.at
            GROUP BY s.member, s.member_id, s.broker, s.generation, s.at
        ), late AS (
            SELECT f.* FROM first f
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = f.member, true) AND d.from_at <= f.at AND d.to_at >= f.from_at
            LEFT ANTI JOIN {own_requests} c
              ON c.api = 'OFFSET_COMMIT' AND c.member_id = f.member_id
             AND c.arrived_at <= f.at AND c.answered_at >= f.from_at
             AND ms_between(c.arrived_at, c.answered_at) > :heartbeat_ms
            WHERE f.answered_by = f.broker AND ms_between(f.from_at, f.at) > {TWICE}
        )
        SELECT concat(member, ' in generation ', generation) AS subject, at, ms AS measured, low
                   AS bound_low, high AS bound_high,
               concat(gaps, IF(gaps = 1, ' steady gap', ' steady gaps')) AS note,
               -- What held the first one up was before it.
               CASE WHEN ms > high THEN from_at
                    WHEN ms < low THEN after(-:heartbeat_ms, from_at) END AS guard_from,
               at AS guard_to, CAST(NULL AS STRING) AS too_high, gaps AS timings,
               brokers AS on_the_way
        FROM (
            SELECT * EXCEPT (low),
                   low - IF(ms < low - late_ms / gaps AND ms >= low - line_ms / gaps,
                            line_ms, late_ms) / gaps AS low
            FROM waited
        )
        WHERE gaps_ms >= 3 * :heartbeat_ms - 4 * :cadence_early_ms
        UNION ALL
        SELECT concat(member, ' in generation ', generation, ' (one gap)'), left_out.at,
               left_out.gap_ms, NULL, {TWICE},
               'no heartbeat came in between', after(-left_out.gap_ms, left_out.at), left_out.at,
               -- Where the mean is too long as well it is the cadence, and not one wait.
               'left a heartbeat out', IF(ms > high, gaps, NULL), brokers
        FROM waited WHERE left_out IS NOT NULL
        UNION ALL
        SELECT concat(member, ' in generation ', generation, ' (the first)'), at,
               ms_between(from_at, at), NULL, {TWICE}, 'after its SyncGroup', from_at, at,
               'sent its first heartbeat too late', NULL, concat('broker-', broker)
        FROM late
    """
