"""`stops`: how long each partition stood still, and where that time went."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from harness.tables.base import Tables

_BUCKET_S: Final = 10  # gaps are joined with episodes and faults within buckets of time


def episodes(t: Tables) -> DataFrame:
    """One row per generation: the episode it belongs to, which is one change and all it led to.

    A rebalance goes on with the episode before it if it began before that was over, or if a member
    caused it that had just given something up, as the second round of a cooperative rebalance.
    `first_at` and `last_at` are the episode's; what the harness does to end a run is none. An epoch
    of KIP-848 that was overtaken before everybody had been told is not over before the next.
    """
    return t.sql(
        """
        WITH ordered AS (
            SELECT generation, coordinator, trigger, trigger_member, trigger_member_id, protocol,
                   members_before, members_after, started_at, joined_at,
                   coalesce(completed_at, IF(protocol = 'consumer', lead(started_at) OVER w, NULL),
                            joined_at, started_at) AS ended_at,
                   row_number() OVER w AS number, lag(started_at) OVER w AS started_before,
                   lag(coordinator) OVER w AS coordinator_before
            FROM {rebalances} WHERE started_at IS NOT NULL AND started_at < :stopped_at
            WINDOW w AS (PARTITION BY 1 ORDER BY started_at, generation)
        ),
        gave_up AS (
            SELECT o.number, count(*) AS times
            FROM ordered o JOIN {client_events} e
              ON e.member = o.trigger_member AND e.event IN ('revoked', 'lost')
             AND size(e.partitions) > 0
             AND e.event_at BETWEEN o.started_before AND o.started_at
            WHERE o.trigger = 'rejoin' AND o.protocol <> 'eager'
            GROUP BY o.number
        ),
        marked AS (
            SELECT o.*,
                   CASE WHEN g.times > 0 OR o.started_at <= max(o.ended_at) OVER (
                            PARTITION BY 1 ORDER BY o.number
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                        THEN 0 ELSE 1 END AS opens
            FROM ordered o LEFT JOIN gave_up g USING (number)
        ),
        grouped AS (
            SELECT *, sum(opens) OVER (PARTITION BY 1 ORDER BY number) AS episode FROM marked
        )
        SELECT episode, generation, number, coordinator, coordinator_before, trigger,
               trigger_member, trigger_member_id, members_before, members_after, started_at,
               joined_at, ended_at, min(started_at) OVER w AS first_at,
               max(ended_at) OVER w AS last_at,
               row_number() OVER (PARTITION BY episode ORDER BY number) AS round
        FROM grouped WINDOW w AS (PARTITION BY episode)
        """
    )


def gaps(t: Tables) -> DataFrame:
    """One row per time that nobody processed a partition, between two members' (or one's) polls.

    From the end of the work on all that was delivered before to the next poll with records.
    """
    return t.sql(
        """
        WITH followed AS (
            SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
                   lag(member) OVER w AS old_member, lag(member_id) OVER w AS old_member_id,
                   member AS new_member, member_id AS new_member_id
            FROM {progress}
            WINDOW w AS (PARTITION BY topic, partition ORDER BY polled_at, poll)
        )
        SELECT *, timestampdiff(MICROSECOND, from_at, to_at) / 1e3 AS ms
        FROM followed WHERE from_at < to_at
        """
    )


def disturbed_gaps(t: Tables) -> DataFrame:
    """The gaps that overlap an episode or a fault, once for each, and when the gap ended for whom.

    `assigned_at` is when the new owner was given the partition, if within the gap; null if nobody
    was. `episode` is null for a row that is about a fault, and `whose` is what the fault happened
    to.
    """
    return t.sql(
        """
        WITH windows AS (
            SELECT DISTINCT episode, CAST(NULL AS STRING) AS fault, CAST(NULL AS STRING) AS whose,
                   first_at AS began_at, last_at AS over_at
            FROM {episodes}
            UNION ALL
            SELECT NULL, fault, resolved, injecting_at, coalesce(healed_at, failed_at, injected_at)
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
        ),
        spread AS (
            SELECT *, explode(sequence(unix_seconds(began_at) DIV :bucket_s,
                                       unix_seconds(over_at) DIV :bucket_s)) AS bucket
            FROM windows
        ),
        spread_gaps AS (
            SELECT *, explode(sequence(unix_seconds(from_at) DIV :bucket_s,
                                       unix_seconds(to_at) DIV :bucket_s)) AS bucket
            FROM {gaps}
        ),
        around AS (
            SELECT DISTINCT w.episode, w.fault, w.whose, w.began_at, g.topic, g.partition,
                   g.from_at, g.to_at, g.ms, g.old_member, g.old_member_id, g.new_member,
                   g.new_member_id
            FROM spread w JOIN spread_gaps g
              ON g.bucket = w.bucket AND g.from_at <= w.over_at AND g.to_at >= w.began_at
        ),
        given AS (
            SELECT member, coalesce(observed_at, event_at) AS at, p.topic, p.partition
            FROM {client_events} LATERAL VIEW explode(partitions) AS p WHERE event = 'assigned'
        )
        SELECT a.episode, a.fault, a.whose, a.began_at, a.topic, a.partition, a.from_at, a.to_at,
               a.ms, a.old_member, a.old_member_id, a.new_member, a.new_member_id,
               max(g.at) AS assigned_at
        FROM around a LEFT JOIN given g
          ON g.member = a.new_member AND g.topic = a.topic AND g.partition = a.partition
         AND g.at BETWEEN a.from_at AND a.to_at
        GROUP BY ALL
        """,
        bucket_s=_BUCKET_S,
    )


def stop_gaps(t: Tables) -> DataFrame:
    """The gap that each row of `stops` is about: `usual_ms` is the longest one of quiet times.

    A gap that spans several episodes belongs to the last that had begun when the new owner got the
    partition. Of an episode's gaps of a partition the longest counts in which it was given to
    somebody; else the longest, unless a fault that touches it explains it better: such a one is a
    stop without a rebalance, where it is longer than usual. So is a gap that no episode touches,
    whoever got the partition: a static member that came back. Of several faults the one of the old
    owner itself counts, or else the last.
    """
    return t.sql(
        """
        WITH quiet AS (
            SELECT max(g.ms) AS usual_ms
            FROM {gaps} g LEFT ANTI JOIN {disturbed_gaps} d
              ON d.topic = g.topic AND d.partition = g.partition AND d.from_at = g.from_at
        ),
        seen AS (
            SELECT *, max(CASE WHEN episode IS NOT NULL AND began_at <= coalesce(assigned_at, to_at)
                               THEN began_at END) OVER w AS last_began_at,
                   count(fault) OVER w > 0 AS faulty, count(episode) OVER w = 0 AS alone
            FROM {disturbed_gaps} WINDOW w AS (PARTITION BY topic, partition, from_at)
        ),
        sorted AS (
            SELECT s.*, q.usual_ms,
                   s.faulty AND (s.assigned_at IS NULL OR s.alone)
                       AND s.ms > coalesce(q.usual_ms, 0) + :slack_ms AS by_fault
            FROM seen s CROSS JOIN quiet q
        ),
        candidates AS (
            SELECT *, CASE WHEN by_fault THEN concat(from_at) ELSE concat(episode) END AS about
            FROM sorted
            WHERE CASE WHEN by_fault THEN fault IS NOT NULL
                       ELSE episode IS NOT NULL AND began_at = last_began_at END
        ),
        ranked AS (
            SELECT *, row_number() OVER (
                PARTITION BY by_fault, about, topic, partition
                ORDER BY assigned_at IS NOT NULL DESC, ms DESC,
                         coalesce(whose = old_member, false) DESC, began_at DESC) AS place
            FROM candidates
        )
        SELECT episode, fault, began_at, topic, partition, from_at, to_at, ms, old_member,
               old_member_id, new_member, new_member_id, assigned_at, usual_ms
        FROM ranked WHERE place = 1
        """
    )


def stop_subjects(t: Tables) -> DataFrame:
    """`stop_gaps` with whom each is about, what caused it and when the coordinator noticed.

    Where the old owner was removed in the episode, its own removal counts, and not the one that
    began the rebalance. `cause` is the fault, "stall" or "close" where the subject itself stopped;
    else what the rebalance's trigger is. `told_id` is the member whose way through the rebalance
    is followed: the old owner's, or the new one's where the old one is gone.
    """
    return t.sql(
        """
        WITH begun AS (
            SELECT *, lag(first_at) OVER (PARTITION BY 1 ORDER BY episode) AS before_at
            FROM {episodes} WHERE round = 1
        ),
        about AS (
            SELECT g.*, e.trigger, e.before_at, m.removed_at,
                   CASE WHEN m.removed_at IS NULL THEN e.trigger_member ELSE g.old_member END
                       AS subject,
                   CASE WHEN m.removed_at IS NULL THEN e.trigger_member_id ELSE g.old_member_id END
                       AS subject_id,
                   coalesce(m.removed_at, e.first_at) AS noticed_at,
                   concat('broker-', e.coordinator_before) AS coordinator_before,
                   CASE WHEN m.removed_at IS NULL THEN g.old_member_id ELSE g.new_member_id END
                       AS told_id
            FROM {stop_gaps} g LEFT JOIN begun e ON e.episode = g.episode
            LEFT JOIN {memberships} m
              ON m.member_id = g.old_member_id AND m.removed_at <= e.last_at
             AND (e.before_at IS NULL OR m.removed_at > e.before_at)
        ),
        happened AS (
            SELECT resolved AS who, injecting_at AS at, kind AS what FROM {fault_windows}
            WHERE injecting_at IS NOT NULL
            UNION ALL
            SELECT member, event_at, CASE event WHEN 'closing' THEN 'close' ELSE 'stall' END
            FROM {client_events} WHERE event IN ('closing', 'stall_started')
        ),
        causes AS (
            SELECT a.topic, a.partition, a.from_at,
                   max_by(h.at, struct(h.who = a.subject, h.at)) AS cause_at,
                   max_by(h.what, struct(h.who = a.subject, h.at)) AS cause
            FROM about a JOIN happened h
              ON h.who IN (a.subject, a.coordinator_before) AND h.at <= a.noticed_at
             AND (a.before_at IS NULL OR h.at > a.before_at)
            GROUP BY a.topic, a.partition, a.from_at
        ),
        arrivals AS (
            SELECT a.topic, a.partition, a.from_at, min(r.arrived_at) AS at
            FROM about a JOIN {requests} r ON r.client_id = a.subject
            WHERE r.api = 'JOIN_GROUP' AND a.trigger = 'join' AND r.arrived_at <= a.noticed_at
              AND (a.before_at IS NULL OR r.arrived_at > a.before_at)
            GROUP BY a.topic, a.partition, a.from_at
        ),
        leaders AS (
            -- A stop without a rebalance: what the observer saw of the partition's leader.
            SELECT a.topic, a.partition, a.from_at, min(s.at) AS at
            FROM about a JOIN
                 (SELECT topic, partition, at, leader,
                         lag(leader) OVER (PARTITION BY topic, partition ORDER BY at)
                             AS leader_before
                  FROM {topology} WHERE what = 'partition') s
              ON s.topic = a.topic AND s.partition = a.partition AND s.leader <> s.leader_before
             AND s.leader >= 0 AND s.at BETWEEN a.began_at AND a.to_at
            WHERE a.episode IS NULL
            GROUP BY a.topic, a.partition, a.from_at
        )
        SELECT a.episode, a.trigger, a.topic, a.partition, a.from_at, a.to_at, a.ms, a.usual_ms,
               a.old_member, a.old_member_id, a.new_member, a.new_member_id, a.assigned_at,
               a.told_id, a.removed_at IS NULL AS told_old,
               CASE WHEN a.episode IS NULL THEN f.resolved ELSE a.subject END AS subject,
               CASE WHEN a.episode IS NULL THEN f.kind ELSE coalesce(c.cause, a.trigger) END
                   AS cause,
               CASE WHEN a.episode IS NULL THEN a.began_at
                    ELSE coalesce(c.cause_at, v.last_seen_at, r.at) END AS cause_at,
               CASE WHEN a.episode IS NULL THEN l.at ELSE a.noticed_at END AS noticed_at
        FROM about a
        LEFT JOIN causes c
          ON c.topic = a.topic AND c.partition = a.partition AND c.from_at = a.from_at
        LEFT JOIN arrivals r
          ON r.topic = a.topic AND r.partition = a.partition AND r.from_at = a.from_at
        LEFT JOIN leaders l
          ON l.topic = a.topic AND l.partition = a.partition AND l.from_at = a.from_at
        LEFT JOIN {evictions} v ON v.member_id = a.subject_id AND v.evicted_at = a.noticed_at
        LEFT JOIN {fault_windows} f ON f.fault = a.fault
        """
    )


def stop_moments(t: Tables) -> DataFrame:
    """`stop_subjects` with the moments of the rebalance that are on record for each.

    `generation` is the one in which the partition was given to its new owner, `rounds` how many
    the episode had until then. In the consumer protocol (KIP-848) nobody joins: `revoked_at` is
    when the coordinator heard that the old owner had let go, and `synced_at` when its answer gave
    the partition to the new one.
    """
    return t.sql(
        """
        WITH rounds AS (
            SELECT s.topic, s.partition, s.from_at, max_by(e.generation, e.number) AS generation,
                   max_by(e.coordinator, e.number) AS broker, max(e.round) AS rounds,
                   max_by(e.joined_at, e.number) AS joined_at
            FROM {stop_subjects} s JOIN {episodes} e ON e.episode = s.episode
            WHERE e.round = 1 OR s.assigned_at IS NULL
               OR IF(:protocol = 'consumer', e.started_at, e.joined_at)
                  <= timestampadd(MILLISECOND, :rounding_ms, s.assigned_at)
            GROUP BY s.topic, s.partition, s.from_at
        ),
        placed AS (
            SELECT s.*, r.generation, r.broker, r.rounds,
                   CASE WHEN :protocol <> 'consumer' THEN r.joined_at END AS joined_at
            FROM {stop_subjects} s LEFT JOIN rounds r
              ON r.topic = s.topic AND r.partition = s.partition AND r.from_at = s.from_at
        ),
        given_up AS (
            SELECT s.topic, s.partition, s.from_at, max(e.at) AS given_up_at
            FROM placed s JOIN
                 (SELECT member, coalesce(observed_at, event_at) AS at, p.topic, p.partition
                  FROM {client_events} LATERAL VIEW explode(partitions) AS p
                  WHERE event IN ('revoked', 'lost')) e
              ON e.member = s.old_member AND e.topic = s.topic AND e.partition = s.partition
             AND e.at <= s.assigned_at
             AND e.at >= coalesce(s.cause_at, s.noticed_at, s.from_at)
            GROUP BY s.topic, s.partition, s.from_at
        ),
        joins AS (
            SELECT broker, generation, member_id, client_id, arrived_at
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
        ),
        last_joins AS (
            SELECT broker, generation, max_by(client_id, arrived_at) AS waited_for
            FROM joins GROUP BY broker, generation
        ),
        rejoined AS (
            SELECT s.topic, s.partition, s.from_at, max(j.arrived_at) AS rejoined_at
            FROM placed s JOIN joins j
              ON j.broker = s.broker AND j.generation = s.generation AND j.member_id = s.told_id
            GROUP BY s.topic, s.partition, s.from_at
        ),
        let_go AS (
            SELECT s.*, g.given_up_at, j.rejoined_at,
                   CASE WHEN s.told_old THEN coalesce(g.given_up_at, j.rejoined_at)
                        ELSE j.rejoined_at END AS stopped_at
            FROM placed s LEFT JOIN given_up g
              ON g.topic = s.topic AND g.partition = s.partition AND g.from_at = s.from_at
            LEFT JOIN rejoined j
              ON j.topic = s.topic AND j.partition = s.partition AND j.from_at = s.from_at
        ),
        answers AS (
            SELECT member_id, client_id, api, error_code, arrived_at, processed_at, owned, assigned
            FROM {requests}
            WHERE `group` = :group
              AND (api = 'SYNC_GROUP' AND error_code = 0 OR api = 'HEARTBEAT' AND error_code = 27
                   OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0
                      AND (owned IS NOT NULL OR assigned IS NOT NULL))
        ),
        answered AS (
            SELECT l.topic, l.partition, l.from_at,
                   max(a.processed_at) FILTER (
                       WHERE a.member_id = l.told_id AND a.processed_at >= l.noticed_at
                         AND a.processed_at <= coalesce(l.stopped_at, l.to_at)
                         AND (a.api = 'HEARTBEAT' OR l.told_old
                              AND NOT coalesce(exists(a.assigned, p -> p.topic = l.topic
                                               AND p.partition = l.partition), true))) AS heard_at,
                   min(a.arrived_at) FILTER (
                       WHERE a.api = 'CONSUMER_GROUP_HEARTBEAT' AND a.member_id = l.told_id
                         AND l.told_old AND a.arrived_at >= l.given_up_at
                         AND NOT coalesce(exists(a.owned, p -> p.topic = l.topic
                                          AND p.partition = l.partition), true)) AS revoked_at,
                   max(a.processed_at) FILTER (
                       WHERE a.client_id = l.new_member AND a.processed_at <= l.assigned_at
                         AND a.processed_at >= l.noticed_at
                         AND coalesce(exists(a.assigned, p -> p.topic = l.topic
                                      AND p.partition = l.partition), false)) AS synced_at
            FROM let_go l JOIN answers a
              ON a.client_id IN (l.old_member, l.new_member) AND a.processed_at >= l.noticed_at
             AND a.arrived_at <= l.to_at
            GROUP BY l.topic, l.partition, l.from_at
        )
        SELECT l.*, o.waited_for, a.synced_at,
               CASE WHEN :protocol <> 'consumer' OR l.told_old THEN a.heard_at
                    ELSE a.synced_at END AS heard_at,
               CASE WHEN :protocol <> 'consumer' THEN l.stopped_at
                    WHEN l.told_old THEN a.revoked_at ELSE a.synced_at END AS revoked_at
        FROM let_go l LEFT JOIN answered a
          ON a.topic = l.topic AND a.partition = l.partition AND a.from_at = l.from_at
        LEFT JOIN last_joins o ON o.broker = l.broker AND o.generation = l.generation
        """
    )


def stops(t: Tables) -> DataFrame:
    """One row per episode and partition, and one per fault and partition that it stopped.

    The parts are the times between the moments, as far as they lie within the stop: a member that
    goes on until it hears of a rebalance does not stand still while it has not heard. A part whose
    beginning or end is not on record is null, and its time is in `other_ms`; so is the time after
    the cause of a stop without a rebalance, but for what the observer saw of a new leader. A
    partition that nobody took away or gave anew was only waited for: `idle_ms`, less the time in
    which its member waited for the answer to a synchronous commit: `commit_ms`.
    """
    return t.sql(
        """
        WITH steps AS (
            -- `least` passes over a null, which here must stay one.
            SELECT *,
                   CASE WHEN episode IS NOT NULL AND assigned_at IS NULL THEN to_at
                        WHEN cause_at IS NULL THEN from_at
                        ELSE greatest(from_at, least(cause_at, to_at)) END AS at_cause,
                   CASE WHEN noticed_at IS NOT NULL THEN least(noticed_at, to_at) END AS at_notice,
                   CASE WHEN heard_at IS NOT NULL THEN least(heard_at, to_at) END AS at_heard,
                   CASE WHEN revoked_at IS NOT NULL THEN least(revoked_at, to_at) END AS at_revoked,
                   CASE WHEN joined_at IS NOT NULL THEN least(joined_at, to_at) END AS at_joined
            FROM {stop_moments}
        ),
        -- A broker answers one connection's requests in order, so a commit waits behind the parked
        -- JoinGroup of its own member, and a member that waits for its commit does not poll.
        blocked AS (
            SELECT s.topic, s.partition, s.from_at,
                   sum(timestampdiff(MICROSECOND, greatest(s.waits_from_at, c.asked_at),
                                     least(s.to_at, c.answered_at))) / 1e3 AS blocked_ms
            FROM (SELECT *, IF(episode IS NULL, at_cause, from_at) AS waits_from_at FROM steps) s
            JOIN (SELECT DISTINCT member, asked_at, answered_at FROM {commits}
                  WHERE how IN ('sync', 'revoke', 'interval')) c
              ON c.member = s.old_member AND c.asked_at < s.to_at
             AND c.answered_at > s.waits_from_at
            WHERE s.assigned_at IS NULL AND s.old_member = s.new_member
              AND (s.episode IS NOT NULL OR s.noticed_at IS NULL)
            GROUP BY s.topic, s.partition, s.from_at
        ),
        in_order AS (
            SELECT *, greatest(at_cause, at_notice) AS p1,
                   greatest(at_cause, at_notice, at_heard) AS p2,
                   greatest(at_cause, at_notice, at_heard, at_revoked) AS p3,
                   greatest(at_cause, at_notice, at_heard, at_revoked, at_joined) AS p4,
                   greatest(at_cause, at_notice, at_heard, at_revoked, at_joined, assigned_at)
                       AS p5,
                   assigned_at IS NOT NULL AS handed, blocked_ms
            FROM steps LEFT JOIN blocked USING (topic, partition, from_at)
        ),
        parts AS (
            SELECT *,
                   timestampdiff(MICROSECOND, from_at, at_cause) / 1e3
                       - IF(episode IS NULL, 0, coalesce(blocked_ms, 0)) AS idle_ms,
                   CASE WHEN NOT handed THEN blocked_ms END AS commit_ms,
                   CASE WHEN (handed OR episode IS NULL)
                             AND cause_at IS NOT NULL AND at_notice IS NOT NULL
                        THEN timestampdiff(MICROSECOND, at_cause, p1) / 1e3 END AS detection_ms,
                   CASE WHEN handed AND heard_at IS NOT NULL
                        THEN timestampdiff(MICROSECOND, p1, p2) / 1e3 END AS notice_ms,
                   CASE WHEN handed AND heard_at IS NOT NULL AND revoked_at IS NOT NULL
                        THEN timestampdiff(MICROSECOND, p2, p3) / 1e3 END AS revoke_ms,
                   CASE WHEN handed AND revoked_at IS NOT NULL AND joined_at IS NOT NULL
                        THEN timestampdiff(MICROSECOND, p3, p4) / 1e3 END AS join_ms,
                   CASE WHEN handed AND coalesce(joined_at, CASE WHEN :protocol = 'consumer'
                                                            THEN revoked_at END) IS NOT NULL
                        THEN timestampdiff(MICROSECOND, p4, p5) / 1e3 END AS sync_ms,
                   CASE WHEN handed THEN timestampdiff(MICROSECOND, p5, to_at) / 1e3
                        WHEN episode IS NULL AND at_notice IS NOT NULL
                        THEN timestampdiff(MICROSECOND, p1, to_at) / 1e3 END AS first_fetch_ms
            FROM in_order
        ),
        again AS (
            SELECT s.topic, s.partition, s.from_at, sum(r.count) AS records
            FROM {redeliveries} r JOIN
                 (SELECT topic, partition, from_at, to_at,
                         lead(to_at) OVER (PARTITION BY topic, partition ORDER BY to_at) AS next_at
                  FROM {stop_gaps}) s
              ON s.topic = r.topic AND s.partition = r.partition AND r.polled_at >= s.to_at
             AND (s.next_at IS NULL OR r.polled_at < s.next_at)
            GROUP BY s.topic, s.partition, s.from_at
        )
        SELECT :group AS `group`, CAST(p.episode AS INT) AS episode, p.generation,
               CAST(coalesce(p.rounds, 0) AS INT) AS rounds, :protocol AS protocol, p.trigger,
               p.cause, p.subject, p.topic, p.partition, p.old_member, p.new_member, p.waited_for,
               p.from_at, p.cause_at, p.noticed_at, p.heard_at, p.given_up_at, p.revoked_at,
               p.rejoined_at, p.joined_at, p.synced_at, p.assigned_at, p.to_at, p.ms, p.usual_ms,
               handed OR p.ms > coalesce(p.usual_ms, 0) + :slack_ms AS stopped,
               p.idle_ms, p.commit_ms, p.detection_ms, p.notice_ms, p.revoke_ms, p.join_ms,
               p.sync_ms, p.first_fetch_ms,
               round(p.ms - p.idle_ms - coalesce(p.commit_ms, 0) - coalesce(p.detection_ms, 0)
                     - coalesce(p.notice_ms, 0) - coalesce(p.revoke_ms, 0) - coalesce(p.join_ms, 0)
                     - coalesce(p.sync_ms, 0) - coalesce(p.first_fetch_ms, 0), 3) AS other_ms,
               coalesce(a.records, 0) AS redelivered
        FROM parts p LEFT JOIN again a
          ON a.topic = p.topic AND a.partition = p.partition AND a.from_at = p.from_at
        ORDER BY p.from_at, p.topic, p.partition
        """
    )
