"""How many of the members' requests, and of their refusals, the rules about answers judge.

What a rule leaves out is no row of it, so that a run in which most was left out looks as clean as
one in which all was looked at. Each answered request of a member is counted here, and whether one
of two rules judges its answer: `coordinator/is-one-at-a-time` what was accepted, and
`coordinator/refusal-has-a-reason` what was refused. What a program is refused no rule judges: its
client may do as it likes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from harness.experiment import APP
from harness.tables.base import Tables
from harness.tables.source import Unreadable

# Leaving out follows the two rules: near a broker's fault what may be for want of a replica, and
# whatever names no generation where only that could be why.
_QUERY: Final = """
WITH asked AS (
    SELECT r.api, r.member, r.member_id, r.generation, r.error_code, r.arrived_at, r.evidence,
           after(-:slack_ms, r.arrived_at) AS from_at, after(:slack_ms, r.processed_at) AS to_at,
           r.error_code NOT IN (:NONE, :MEMBER_ID_REQUIRED) AS refused
    FROM {own_requests} r JOIN {members} m ON m.member = r.member AND m.role = 'consumer'
    WHERE r.error_code IS NOT NULL
      AND r.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP', 'OFFSET_COMMIT',
                    'OFFSET_FETCH', 'TXN_OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT')
), near AS (
    SELECT DISTINCT a.member, a.arrived_at, a.evidence
    FROM asked a JOIN {unsettled} u ON u.from_at <= a.to_at AND u.to_at >= a.from_at
    WHERE a.error_code = :COORDINATOR_NOT_AVAILABLE OR a.api = 'TXN_OFFSET_COMMIT'
), judged AS (
    SELECT a.refused,
           CASE WHEN NOT a.refused THEN a.api <> 'OFFSET_COMMIT' OR a.member_id IS NOT NULL
                WHEN n.member IS NOT NULL THEN false
                WHEN a.error_code = :REBALANCE_IN_PROGRESS
                  OR a.api NOT IN ('JOIN_GROUP', 'LEAVE_GROUP', 'OFFSET_FETCH',
                                   'CONSUMER_GROUP_HEARTBEAT')
                     AND a.error_code IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION,
                                          :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
                THEN coalesce(a.member_id IS NOT NULL AND a.generation > 0, false)
                     AND a.api <> 'JOIN_GROUP'
                ELSE true END AS judged
    FROM asked a LEFT JOIN near n ON same(n, a, member, arrived_at, evidence)
)
SELECT 'requests' AS what, count(*) AS answered, count_if(judged) AS judged FROM judged
UNION ALL
SELECT 'refusals', count_if(refused), count_if(refused AND judged) FROM judged
"""


def counted(tables: Tables) -> list[dict[str, Any]]:
    """The rows of the table `answers`; none for a program, or where the request log is lost."""
    if tables.run.client == APP:
        return []
    with suppress(Unreadable):  # the verdicts say why
        rows: list[dict[str, Any]] = tables.answer(lambda: _QUERY).toArrow().to_pylist()
        return sorted(rows, key=lambda row: str(row["what"]), reverse=True)
    return []
