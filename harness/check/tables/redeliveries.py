"""`redeliveries`: records that were delivered more than once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from harness.check.tables.base import Tables

# Ranges are joined within buckets of offsets: wide enough that a poll's range falls into one or
# two, narrow enough that few others share it.
_BUCKET: Final = 1_024


def redeliveries(t: Tables) -> DataFrame:
    """One row per delivered range that repeats records of earlier ranges of its partition.

    Only ranges below the highest position reached before them are compared with the others.
    `committed` is the last position the coordinator accepted before the second delivery; null if
    there was none. A zombie, a member that the coordinator had removed by then, gives its
    application what it had fetched before: that is explained by its removal, whatever the new
    owner has committed meanwhile.
    """
    return t.sql(
        """
        WITH ranges AS (
            SELECT *, explode(sequence(first_offset DIV :bucket, last_offset DIV :bucket)) AS bucket
            FROM {progress}
        ),
        repeated AS (
            SELECT a.topic, a.partition, a.member, a.polled_at, a.poll,
                   min(greatest(a.first_offset, b.first_offset)) AS first_offset,
                   max(least(a.last_offset, b.last_offset)) AS last_offset,
                   any_value(a.member_id) AS member_id,
                   max_by(b.member, b.polled_at) AS first_member,
                   max(b.polled_at) AS first_polled_at
            FROM ranges a JOIN ranges b
              ON b.topic = a.topic AND b.partition = a.partition AND b.bucket = a.bucket
             AND (b.polled_at < a.polled_at OR b.polled_at = a.polled_at AND b.poll < a.poll)
             AND b.first_offset <= a.last_offset AND b.last_offset >= a.first_offset
            WHERE a.first_offset <= a.reached
            GROUP BY a.topic, a.partition, a.member, a.polled_at, a.poll
        ),
        mixed AS (
            SELECT *, CAST(NULL AS BIGINT) AS committed, polled_at AS at FROM repeated
            UNION ALL
            SELECT topic, partition, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, committed,
                   at
            FROM {accepted} WHERE EXISTS (SELECT 1 FROM repeated)
        ),
        ordered AS (
            SELECT *, last_value(committed, true) OVER (
                PARTITION BY topic, partition ORDER BY at, committed NULLS LAST
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS known
            FROM mixed
        )
        SELECT topic, partition, first_offset, last_offset, last_offset - first_offset + 1 AS count,
               first_member, first_polled_at, o.member, polled_at, known AS committed,
               m.removed_at IS NOT NULL AS zombie,
               known IS NULL OR first_offset >= known OR m.removed_at IS NOT NULL AS explained
        FROM ordered o LEFT JOIN {removals} m
          ON m.member_id = o.member_id AND m.removed_at <= polled_at
         AND (m.back_at IS NULL OR polled_at < m.back_at)
        WHERE first_offset IS NOT NULL
        ORDER BY polled_at, topic, partition
        """,
        bucket=_BUCKET,
    )
