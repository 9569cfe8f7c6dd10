"""What stands in for members' journals where the members are programs of somebody else's.

Each has the name and the columns of what it stands in for, and is made from what brokers logged,
from what the program showed, and from what the harness saw of its processes.
"""

from typing import Final

from harness.tables.heartbeats import heartbeats_of_an_app
from harness.tables.ownership_by_brokers import ownership_by_brokers
from harness.tables.stray_commits import handed_of_an_app, stray_commits_of_an_app
from harness.tables.vocabulary import Query


def asked() -> str:
    """Fetches of a partition, each with the offset that it was for.

    Law: Of all that a program reads only the topic that it is fed counts.
    What it writes for itself and reads again, as Kafka Streams does with its repartition and
    changelog topics, are nobody's records but its own.

    In a fetch session (KIP-227) a client names a partition again only when its position has
    changed. So one that was given back to it, and begins where it was, is in the answer alone.
    """
    return """
        SELECT member, topic, partition, bytes, end_offset, arrived_at, answered_at, evidence,
               last_value(fetch_offset, true) OVER (
                   PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
                   AS fetch_offset
        FROM {fetches} WHERE member IS NOT NULL AND topic = :topic AND partition IS NOT NULL
    """


def fetched() -> str:
    """Records that a member fetched, one row per fetch that brought some.

    `last_offset` is known from the member's next fetch of the partition. Where there is none, or
    it goes back, the member got at most what there was: `exact` is false. An answer after which a
    member asks for the same again brought it nothing.
    """
    return """
        WITH followed AS (
            SELECT *, lead(fetch_offset) OVER (
                PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
                AS next_offset
            FROM {asked}
        )
        SELECT member, topic, partition, fetch_offset AS first_offset,
               IF(next_offset > fetch_offset, least(next_offset, end_offset), end_offset) - 1
                   AS last_offset,
               coalesce(next_offset > fetch_offset, false) AS exact, arrived_at, answered_at,
               evidence
        FROM followed
        WHERE bytes > 0 AND fetch_offset < end_offset
          AND (next_offset IS NULL OR next_offset <> fetch_offset)
    """


def reads() -> str:
    """Records that a program showed to have processed; or else those that it fetched."""
    return """
        WITH seen AS (
            SELECT member, topic, partition, first_offset, last_offset, at FROM {effects}
            UNION ALL
            SELECT member, topic, partition, first_offset, last_offset, answered_at FROM {fetched}
            WHERE NOT EXISTS (SELECT 1 FROM {effects})
        ), held AS (
            SELECT s.member, s.topic, s.partition, s.first_offset, s.last_offset, s.at,
                   max_by(o.member_id, o.from_at) AS member_id,
                   max_by(o.generation, o.from_at) AS generation
            FROM seen s LEFT JOIN {ownership_by_brokers} o ON same(o, s, member, topic, partition)
             AND o.from_at <= s.at
            GROUP BY s.member, s.topic, s.partition, s.first_offset, s.last_offset, s.at
        )
        SELECT member, row_number() OVER (
                   PARTITION BY member ORDER BY at, topic, partition, first_offset) AS poll,
               topic, partition, first_offset, last_offset,
               last_offset - first_offset + 1 AS count, member_id, generation,
               at AS polled_at, at AS processed_at
        FROM held
    """


def advances() -> str:
    """How far a program shows that it has processed a partition; or else how far it has committed.

    `position` is the next record to process, and `how` says which of both is meant.
    """
    return """
        SELECT topic, partition, last_offset + 1 AS position, at, 'processed' AS how FROM {effects}
        UNION ALL
        SELECT topic, partition, committed, at, 'committed' FROM {accepted}
        WHERE NOT EXISTS (SELECT 1 FROM {effects})
    """


def callbacks() -> str:
    """What its members' callbacks would tell, at the moments at which brokers gave and took."""
    return """
        SELECT member, 'assigned' AS event, from_at AS event_at, from_at AS at, topic, partition
        FROM {ownership_by_brokers}
        UNION ALL
        SELECT member, 'revoked', to_at, to_at, topic, partition
        FROM {ownership_by_brokers}
        WHERE to_at IS NOT NULL AND ended_by NOT IN ('killed', 'failed')
    """


def halts() -> str:
    """When a process was asked to end."""
    return """
        SELECT member, told_at AS at, 'close' AS what FROM {members} WHERE told_at IS NOT NULL
    """


def awaited_commits() -> str:
    """Nobody knows for which answers a program waits."""
    return """
        SELECT member, started_at AS asked_at, ended_at AS answered_at FROM {members} WHERE false
    """


def unheard_commits() -> str:
    """Nobody knows of a commit that reached no coordinator."""
    return """
        SELECT topic, partition, member, committed, at, error_code FROM {commits_judged}
        WHERE false
    """


OF_AN_APP: Final[dict[str, Query]] = {
    "ownership": ownership_by_brokers,
    "asked": asked,
    "fetched": fetched,
    "reads": reads,
    "advances": advances,
    "callbacks": callbacks,
    "halts": halts,
    "awaited_commits": awaited_commits,
    "unheard_commits": unheard_commits,
    "heartbeats": heartbeats_of_an_app,
    "stray_commits": stray_commits_of_an_app,
    "handed": handed_of_an_app,
}
