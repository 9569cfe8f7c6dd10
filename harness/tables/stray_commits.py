"""`stray_commits`: accepted commits of partitions that their member did not hold."""

from typing import Final

# A commit is on its way for a while, and its line is stamped late. No kept run has one that is more
# than 50 ms off; on a busy machine one run with a cut link had eight, which were not followed.
OFF_MS: Final = 2_000
# With these assignors a member gives up all that it has before it joins again. One whose assignor
# is none of them may have to give a partition up after it has its next part.
EAGER: Final = "('range', 'roundrobin', 'sticky', 'RoundRobinAssigner')"
COMMITTED: Final = """
            SELECT member, member_id, topic, partition, generation, arrived_at
            FROM {positions}
            WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
              AND error_code = :NONE AND request_error_code = :NONE
              AND member_id IS NOT NULL AND generation >= 0
"""


def stray_commits() -> str:
    """One row per commit and partition, by what the application of the member had been told.

    A broker that was paused, or a link that was cut, may hand on what had been sent long before.
    """
    return """
        WITH committed AS (
            {COMMITTED}
        ), astray AS (
            SELECT DISTINCT c.member, c.topic, c.partition, c.arrived_at
            FROM committed c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
             AND o.from_at <= after(:OFF_MS, c.arrived_at)
             AND (o.to_at IS NULL OR o.to_at >= after(-:OFF_MS, c.arrived_at))
        ), sent AS (
            -- What a fault held up on its way may have been sent when it began.
            SELECT c.member, c.topic, c.partition, c.arrived_at, min(d.from_at) AS at
            FROM astray c LEFT JOIN {disturbances} d
              ON coalesce(d.member = c.member, true) AND d.from_at <= c.arrived_at
             AND after(:OFF_MS, d.to_at) >= c.arrived_at
            GROUP BY c.member, c.topic, c.partition, c.arrived_at
        )
        SELECT c.member, c.topic, c.partition, c.arrived_at AS at
        FROM sent c LEFT ANTI JOIN {ownership} o ON same(o, c, member, topic, partition)
         AND o.from_at <= after(:OFF_MS, c.arrived_at)
         AND (o.to_at IS NULL OR o.to_at >= after(-:OFF_MS, c.at))
    """


def stray_commits_of_an_app() -> str:
    """The same by what the coordinator had given the member: exact, however late a commit comes.

    Law: An accepted commit is of a partition that the coordinator gave its member in the generation
    that the commit names, or in a later one by then; or, where members need not give up all before
    they join, in the one before.

    A commit is sent in a generation after the answer that says what it brings, and is accepted in
    that generation alone: so it does not matter when it comes. A member of KIP-848 may commit in
    its epoch what it had at any time of it, for it moves on once it has given up what it has to;
    an answer without an assignment leaves it what it had. Where the answer of the generation is on
    no record, because it was refused or its line is lost, nobody is accused.
    """
    return """
        WITH committed AS (
            {COMMITTED}
        ), syncs AS (
            SELECT member_id, generation, answered_at AS at, assigned,
                   lag(assigned) OVER (PARTITION BY member_id ORDER BY arrived_at, answered_at)
                       AS before
            FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
        ), eager AS (
            SELECT DISTINCT member_id, generation FROM {joins}
            WHERE coalesce(protocol_name IN {EAGER}, exists(assignors, a -> a IN {EAGER}), true)
        ), told AS (
            SELECT member_id, generation, at, assigned FROM syncs WHERE assigned IS NOT NULL
            UNION ALL
            SELECT s.member_id, s.generation, s.at, s.before
            FROM syncs s LEFT ANTI JOIN eager e ON same(e, s, member_id, generation)
            WHERE s.before IS NOT NULL
            UNION ALL
            SELECT member_id, member_epoch, answered_at, last_value(assigned, true) OVER (
                PARTITION BY member_id ORDER BY arrived_at, answered_at {SO_FAR})
            FROM {own_requests}
            WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND member_epoch > 0
        ), turns AS (
            SELECT member_id, generation,
                   lead(min(at)) OVER (PARTITION BY member_id ORDER BY generation) AS next_at
            FROM told WHERE assigned IS NOT NULL GROUP BY member_id, generation
        ), given AS (
            SELECT t.member_id, t.generation, p.topic, p.partition, min(t.at) AS at
            FROM told t LATERAL VIEW explode(assigned) AS p
            GROUP BY t.member_id, t.generation, p.topic, p.partition
        ), held AS (
            SELECT g.*, t.next_at FROM given g JOIN turns t ON same(t, g, member_id, generation)
        )
        SELECT c.member, c.topic, c.partition, c.arrived_at AS at
        FROM committed c JOIN turns t ON same(t, c, member_id, generation)
        LEFT ANTI JOIN held h ON same(h, c, member_id, topic, partition)
         AND h.generation >= c.generation
         AND (h.generation = c.generation OR h.at <= after(:slack_ms, c.arrived_at))
         AND (h.next_at IS NULL OR c.arrived_at <= after(:slack_ms, h.next_at))
    """


def handed() -> str:
    """Positions up to which a member had been given records, or that a broker had told it.

    Everybody may commit where a partition begins.
    """
    return """
        SELECT member, topic, partition, polled_at AS at, last_offset + 1 AS position
        FROM {deliveries}
        UNION ALL
        SELECT coalesce(program, client_id), p.topic, p.partition, arrived_at, p.committed
        FROM {requests} LATERAL VIEW explode(positions) AS p
        WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
          AND p.committed >= 0
        UNION ALL
        SELECT member, topic, partition, arrived_at, 0 FROM ({COMMITTED})
    """


def handed_of_an_app() -> str:
    """Nobody knows what a library has handed on of what it fetched; P2 is about the fetches."""
    return """
        SELECT member, topic, partition, at, first_offset AS position FROM {effects} WHERE false
    """
