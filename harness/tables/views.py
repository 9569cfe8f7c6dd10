"""Tables that several queries start from and that are too simple to be stored."""

from typing import Final

from harness.tables.stray_commits import handed, stray_commits
from harness.tables.vocabulary import Query


def own_requests() -> str:
    """Requests of the group under test, and not those of probes; `member` is who asked."""
    return "SELECT *, coalesce(program, client_id) AS member FROM {requests} WHERE `group` = :group"


def heard_requests() -> str:
    """Those of `own_requests` whose answers can have reached their member.

    A Java member that gives its coordinator up ends the connection as well, so an answer to a
    request of before reaches nobody (AbstractCoordinator.markCoordinatorUnknown). An answer may be
    why it gave it up, and its line is stamped late.
    """
    return """
        SELECT r.* FROM {own_requests} r LEFT ANTI JOIN {client_events} c
          ON c.member = r.member AND c.event = 'coordinator_lost'
         AND c.event_at > r.arrived_at AND c.event_at <= after(-:slack_ms, r.answered_at)
    """


def joins() -> str:
    """Accepted JoinGroup requests of the group under test, one row each, as `own_requests`."""
    return "SELECT * FROM {own_requests} WHERE api = 'JOIN_GROUP' AND error_code = :NONE"


def positions() -> str:
    """Positions in requests of the group under test, one row per request and partition.

    `api` says whether one was committed, read, looked up or deleted (history.schema, requests);
    `error_code` is the partition's own, `request_error_code` that of the whole request.
    """
    return """
        SELECT api, broker, coalesce(program, client_id) AS member, member_id, generation, p.topic,
               p.partition, p.committed, p.error_code, r.error_code AS request_error_code,
               arrived_at, processed_at, answered_at, evidence
        FROM {requests} r LATERAL VIEW explode(positions) AS p WHERE `group` = :group
    """


def accepted() -> str:
    """Positions that the coordinator accepted, one row per commit and partition."""
    return "SELECT * FROM {commits_judged} WHERE error_code = :NONE"


def stopped_brokers() -> str:
    """When a broker did nothing for a group, from the fault until it had worked off what waited.

    A second is left for that: 0.2 s were measured after 8.6 s, on a machine with other work.
    """
    return """
        SELECT CAST(substr(resolved, 8) AS INT) AS broker, injecting_at AS from_at,
               after(1000, coalesce(healed_at, :ended_at)) AS to_at
        FROM {broker_faults}
    """


def unsettled() -> str:
    """When a broker was broken, and a session after that: until then others may know less of it.

    A coordinator that was killed and never came back is over when another has loaded the group: one
    decision of the controller gives away all that the dead broker led.
    """
    return """
        SELECT f.injecting_at AS from_at,
               after(:session_ms, coalesce(f.healed_at, min(t.from_at), :ended_at)) AS to_at
        FROM {broker_faults} f LEFT JOIN {tenures} t
          ON f.killed AND t.loaded AND t.from_at > f.injecting_at AND t.broker <> t.broker_before
         AND f.resolved = concat('broker-', t.broker_before)
        GROUP BY f.fault, f.injecting_at, f.healed_at
    """


def disturbances() -> str:
    """When a fault held up heartbeats: of its `member`, or of everybody where that is null."""
    return """
        SELECT m.member, f.injecting_at AS from_at, coalesce(f.healed_at, :ended_at) AS to_at
        FROM {fault_windows} f LEFT JOIN {members} m ON m.member = f.resolved
        WHERE f.disturbs_heartbeats AND f.injecting_at IS NOT NULL
    """


def busy() -> str:
    """When the application of a member could not poll, one row per reason.

    `reason` is "commit" (it waits for the answer), "work" (on what a poll returned) or "stall".
    `to_at` is null where that never ended.
    """
    return """
        SELECT member, 'commit' AS reason, asked_at AS from_at, answered_at AS to_at FROM {commits}
        WHERE how IN ('sync', 'revoke', 'interval')
        UNION ALL
        SELECT member, 'work', polled_at, processed_at FROM {deliveries}
        UNION ALL
        SELECT member, 'stall', event_at, after(duration_ms, event_at) FROM {client_events}
        WHERE event = 'stall_started'
    """


def callbacks() -> str:
    """Partitions in callbacks of members, one row each.

    `event` is assigned, revoked or lost; `event_at` is when it was so, as far as the client library
    knows, and `at` when its application saw it.
    """
    return """
        SELECT member, event, event_at, coalesce(observed_at, event_at) AS at, p.topic, p.partition
        FROM {client_events} LATERAL VIEW explode(partitions) AS p
        WHERE event IN ('assigned', 'revoked', 'lost')
    """


def halts() -> str:
    """When a member began to close, or to stall, by itself."""
    return """
        SELECT member, event_at AS at, IF(event = 'closing', 'close', 'stall') AS what
        FROM {client_events} WHERE event IN ('closing', 'stall_started')
    """


def reads() -> str:
    """Records that members were given, with the columns of `deliveries`."""
    return "SELECT * FROM {deliveries}"


def awaited_commits() -> str:
    """Commits for whose answer the application waited, once for all their partitions."""
    return """
        SELECT DISTINCT member, asked_at, answered_at FROM {commits}
        WHERE how IN ('sync', 'revoke', 'interval')
    """


def unheard_commits() -> str:
    """Commits that a member asked for and that no coordinator has in its log."""
    return """
        SELECT c.topic, c.partition, c.member, c.committed, c.asked_at AS at, c.error_code
        FROM {commits} c LEFT ANTI JOIN {commits_judged} j
          ON same(j, c, member, topic, partition, committed)
        WHERE c.asked_at IS NOT NULL
    """


def consumer_heartbeats() -> str:
    """Heartbeats of KIP-848 by which members of the group under test join, stay and leave."""
    return """
        SELECT * FROM {own_requests}
        WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id IS NOT NULL
    """


def epoch_bumps() -> str:
    """Bumps of the group epoch, each with the coordinator's line before it.

    `event_before` is what that line is about, `named` the member id in it. Lines of one moment are
    in the order of the log.
    """
    return """
        SELECT * FROM (
            SELECT *, lag(event) OVER w AS event_before, lag(member_id) OVER w AS named
            FROM {coordinator_events} WHERE `group` = :group
            WINDOW w AS (PARTITION BY `group` ORDER BY at, length(evidence), evidence)
        ) WHERE event = 'epoch_bumped'
    """


# Each is part of every query that names it: none is computed or stored by itself.
VIEWS: Final[dict[str, Query]] = {
    "own_requests": own_requests,
    "heard_requests": heard_requests,
    "joins": joins,
    "positions": positions,
    "accepted": accepted,
    "stopped_brokers": stopped_brokers,
    "unsettled": unsettled,
    "disturbances": disturbances,
    "busy": busy,
    "callbacks": callbacks,
    "halts": halts,
    "reads": reads,
    "awaited_commits": awaited_commits,
    "unheard_commits": unheard_commits,
    "consumer_heartbeats": consumer_heartbeats,
    "epoch_bumps": epoch_bumps,
    "stray_commits": stray_commits,
    "handed": handed,
}
