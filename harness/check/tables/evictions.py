"""`evictions`: members that the coordinator removed because their session ran out."""

from __future__ import annotations

from pyspark.sql import DataFrame

from harness.check.tables.base import Tables


def evictions(t: Tables) -> DataFrame:
    """One row per eviction, with the sign of life that its deadline counts from.

    A coordinator that loaded the group after that sign gave the member a full session again, so
    the timer starts at the later of both.
    """
    return t.sql(
        """
        WITH evicted AS (
            SELECT broker, at, member_id, evidence FROM {coordinator_events}
            WHERE `group` = :group AND event = 'evicted'
        ),
        seen AS (
            SELECT e.member_id, e.at AS evicted_at, max(s.armed_at) AS at,
                   max_by(s.api, s.armed_at) AS api,
                   max(s.generation) AS generation
            FROM evicted e JOIN {signs_of_life} s
              ON s.member_id = e.member_id AND s.armed_at <= e.at
            GROUP BY e.member_id, e.at
        ),
        loaded AS (
            SELECT e.member_id, e.at AS evicted_at, max(l.at) AS at
            FROM evicted e JOIN {coordinator_events} l
              ON l.broker = e.broker AND l.at <= e.at
            WHERE l.event = 'loaded' AND l.`group` = :group
            GROUP BY e.member_id, e.at
        ),
        joined AS (
            SELECT e.*, s.at AS last_seen_at, s.api AS last_seen_api, s.generation,
                   greatest(s.at, l.at) AS timer_started_at
            FROM evicted e
            LEFT JOIN seen s ON s.member_id = e.member_id AND s.evicted_at = e.at
            LEFT JOIN loaded l ON l.member_id = e.member_id AND l.evicted_at = e.at
        )
        SELECT :group AS `group`, m.member, j.member_id, j.broker, j.generation,
               j.at AS evicted_at, j.last_seen_at, j.last_seen_api, j.timer_started_at,
               timestampdiff(MICROSECOND, j.timer_started_at, j.at) / 1e3 AS silence_ms,
               coalesce(m.session_timeout_ms, :session_ms) AS session_timeout_ms, j.evidence
        FROM joined j LEFT JOIN {identities} m USING (member_id)
        ORDER BY evicted_at, member_id
        """
    )
