"""`heartbeats`: every heartbeat that the coordinator answered, and the gap before it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from harness.check.tables.base import Tables


def heartbeats(t: Tables) -> DataFrame:
    """One row per heartbeat.

    A gap is steady if nothing that may stretch it fell into it: both heartbeats were answered by
    one broker for one generation without an error, and no fault of the network, of a broker or of
    a frozen process was active. Stalled processing and members that join, leave or crash do not
    count as such: heartbeats must not depend on them.
    """
    return t.sql(
        """
        WITH disturbed AS (
            SELECT collect_list(struct(injecting_at AS `from`,
                                       coalesce(healed_at, :ended_at) AS `to`)) AS windows
            FROM {fault_windows}
            WHERE injecting_at IS NOT NULL
              AND kind IN ('latency', 'bandwidth', 'isolate', 'freeze-consumer', 'kill-broker',
                           'pause-broker')
        ),
        followed AS (
            SELECT `group`, client_id AS member, member_id, generation, broker,
                   processed_at AS at, error_code, lag(processed_at) OVER w AS before_at,
                   lag(broker) OVER w AS broker_before, lag(generation) OVER w AS generation_before,
                   lag(error_code) OVER w AS error_before
            FROM {requests}
            WHERE `group` = :group AND api = 'HEARTBEAT' AND member_id IS NOT NULL
            WINDOW w AS (PARTITION BY member_id ORDER BY processed_at, arrived_at)
        )
        SELECT `group`, member, member_id, generation, broker, at,
               timestampdiff(MICROSECOND, before_at, at) / 1e3 AS gap_ms, error_code,
               before_at IS NOT NULL AND error_code = 0 AND error_before = 0
                   AND broker = broker_before AND generation = generation_before
                   AND NOT exists(windows, w -> w.`from` <= at AND w.`to` >= before_at) AS steady
        FROM followed CROSS JOIN disturbed
        """
    )
