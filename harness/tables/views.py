"""Tables that several queries start from and that are too simple to be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Recipe, Tables


def own_requests(t: Tables) -> Frame:
    """Requests of the group under test, and not those of probes; `member` is who asked."""
    return t.sql("SELECT *, client_id AS member FROM {requests} WHERE `group` = :group")


def joins(t: Tables) -> Frame:
    """Accepted JoinGroup requests of the group under test, one row each, as `own_requests`."""
    return t.sql("SELECT * FROM {own_requests} WHERE api = 'JOIN_GROUP' AND error_code = :NONE")


def positions(t: Tables) -> Frame:
    """Positions in requests of the group under test, one row per request and partition.

    `api` says whether one was committed, read, looked up or deleted (history.schema, requests);
    `error_code` is the partition's own, `request_error_code` that of the whole request.
    """
    return t.sql(
        """
        SELECT api, broker, client_id AS member, member_id, generation, p.topic, p.partition,
               p.committed, p.error_code, r.error_code AS request_error_code, arrived_at,
               processed_at, answered_at, evidence
        FROM {requests} r LATERAL VIEW explode(positions) AS p WHERE `group` = :group
        """
    )


def accepted(t: Tables) -> Frame:
    """Positions that the coordinator accepted, one row per commit and partition."""
    return t.sql("SELECT * FROM {commits_judged} WHERE error_code = :NONE")


def busy(t: Tables) -> Frame:
    """When the application of a member could not poll, one row per reason.

    `reason` is "commit" (it waits for the answer), "work" (on what a poll returned) or "stall".
    `to_at` is null where that never ended.
    """
    return t.sql(
        """
        SELECT member, 'commit' AS reason, asked_at AS from_at, answered_at AS to_at FROM {commits}
        WHERE how IN ('sync', 'revoke', 'interval')
        UNION ALL
        SELECT member, 'work', polled_at, processed_at FROM {deliveries}
        UNION ALL
        SELECT member, 'stall', event_at, after(duration_ms, event_at) FROM {client_events}
        WHERE event = 'stall_started'
        """
    )


# Each is part of every query that names it: none is computed or stored by itself.
VIEWS: Final[dict[str, Recipe]] = {
    "own_requests": own_requests,
    "joins": joins,
    "positions": positions,
    "accepted": accepted,
    "busy": busy,
}
