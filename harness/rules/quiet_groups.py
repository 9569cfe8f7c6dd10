"""What a group does while nothing changes and nothing fails."""

from typing import Final

from harness.rules.rule import Rule

# fetch.max.wait.ms is 500 by default and a poll of the consumer program takes 200 ms at most.
# Measured over 68 runs: 995 ms at most, 1,190 ms on a machine that started JVMs meanwhile, and
# 1,654 ms where each batch is a transaction.
STILL_MS: Final = 2_500
# How long before the end of a change of its own a member is still busy with it.
BUSY_MS: Final = 2_000
# A commit that is waited for longer is what the partition waits for.
LONG_COMMIT_MS: Final = 1_000


@Rule(
    "X38",
    title="A quiet group reads all its partitions",
    statement=(
        "While nothing changes in the group and nothing fails, the records of each partition reach "
        "its member within 2.5 s of being acknowledged."
    ),
    source="fetch.max.wait.ms; KafkaConsumer.poll",
    unit="ms",
    things="partitions",
    measures="at most from the acknowledgement to the poll",
    too_high="stood still, although the group was well",
    matters="A partition that nobody reads shows in no rebalance and no error, only in its lag.",
    always=True,
)
def quiet_group_reads() -> str:
    """Per partition the longest time that a record waited in quiet time.

    From its acknowledgement, or from the end of the work on what came before it, to the poll that
    returned it. Times near a fault, a rebalance, a stall, or a commit that took long do not count.
    Neither do those in which the member got full batches of other partitions: it works off what has
    gathered, and a partition of which nothing has been fetched yet waits its turn.
    """
    return """
        WITH loud AS (
            SELECT injecting_at AS from_at,
                   after(:session_ms + :max_poll_ms,
                         coalesce(healed_at, IF(below_limits OR disturbs_heartbeats,
                                                :ended_at, injected_at))) AS to_at
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
            UNION ALL
            SELECT first_at, last_at FROM {episodes}
            UNION ALL
            SELECT event_at, after(coalesce(duration_ms, 0) + :BUSY_MS, event_at)
            FROM {client_events} WHERE event IN ('assigned', 'revoked', 'lost', 'closing',
                'stall_started', 'callback_stall_started')
            UNION ALL
            SELECT asked_at, coalesce(answered_at, :ended_at) FROM {awaited_commits}
            WHERE coalesce(answered_at, :ended_at) > after(:LONG_COMMIT_MS, asked_at)
        ), polled AS (
            SELECT g.topic, g.partition, g.from_at, g.to_at, p.member,
                   min(p.first_offset) AS first_offset
            FROM {gaps} g JOIN {progress} p
              ON p.topic = g.topic AND p.partition = g.partition AND p.polled_at = g.to_at
            WHERE g.to_at < :stopped_at
            GROUP BY g.topic, g.partition, g.from_at, g.to_at, p.member
        ), waits AS (
            SELECT p.topic, p.partition, greatest(p.from_at, s.last_answered_at) AS from_at,
                   p.to_at, p.member
            FROM polled p JOIN {sends} s
              ON s.topic = p.topic AND s.partition = p.partition AND s.outcome = 'acknowledged'
             AND s.first_offset <= p.first_offset AND s.last_offset >= p.first_offset
        ), full AS (
            SELECT d.member, d.polled_at
            FROM {deliveries} d JOIN {members} m USING (member)
            GROUP BY d.member, d.polled_at, d.poll, m.batch_records
            HAVING sum(d.count) >= m.batch_records
        ), longest AS (
            SELECT topic, partition, count(*) AS polls,
                   max(struct(greatest(0D, ms_between(from_at, to_at)) AS ms, from_at, to_at))
                       AS wait
            FROM waits w
            LEFT ANTI JOIN loud l ON l.from_at <= w.to_at AND l.to_at >= w.from_at
            LEFT ANTI JOIN full f
              ON f.member = w.member AND f.polled_at > w.from_at AND f.polled_at < w.to_at
            GROUP BY topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject, wait.to_at AS at, wait.ms AS measured,
               :STILL_MS AS bound_high, concat(polls, ' polls') AS note,
               IF(wait.ms > :STILL_MS, wait.from_at, NULL) AS guard_from, wait.to_at AS guard_to
        FROM longest
    """
