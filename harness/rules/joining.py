"""How long the coordinator waits for members to join, and what keeps those who wait alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# librdkafka asks to join at most once a second (rdkafka_cgrp.c, rkcg_join_intvl); the Java client
# does so in its next poll.
JOIN_INTERVAL_MS: Final = 1_000
# A member that is new to its group is dropped even while its JoinGroup waits, after so long
# (GroupMetadataManager, CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).
NEW_MEMBER_MS: Final = 300_000


def _initial_delay(t: Tables) -> Frame:
    """Rebalances of an empty group, from their start; of others, from the last one waited for.

    The delay is looked at when it is over: if a member was added meanwhile, it begins again, up to
    the rebalance timeout. The first member's request began it, and the line that tells of that may
    come late: the least that is demanded is counted from the request. A member that came within the
    slack of the end of a delay may or may not have been counted, so both are allowed. What is told
    apart is how many delays there were: how late a timer may be is for other rules to say, and a
    coordinator that has just started, on a machine that starts a fleet, was 300 ms late. Such a
    machine makes a wait longer, never shorter, so only what is out of bounds is guarded against
    that.
    """
    return t.sql(
        """
        WITH rounds AS (
            SELECT number, broker, generation, event, started_at, joined_at, evidence,
                   generation = 1 OR coalesce(lag(event) OVER (ORDER BY number) = 'emptied', false)
                       AS initial
            FROM {generations}
        ),
        joins AS (
            SELECT broker, generation, arrived_at AS at, rebalance_timeout_ms,
                   row_number() OVER (PARTITION BY broker, generation ORDER BY arrived_at) AS turn
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
        ),
        limits AS (
            SELECT broker, generation, min(rebalance_timeout_ms) AS least_ms,
                   max(rebalance_timeout_ms) AS most_ms, min(at) AS first_at
            FROM joins GROUP BY broker, generation
        ),
        arrivals AS (
            SELECT r.number,
                   timestampdiff(MICROSECOND, r.started_at, j.at) / 1e3 AS ms
            FROM rounds r JOIN joins j ON j.broker = r.broker AND j.generation = r.generation
            WHERE r.initial AND j.turn > 1
              AND j.at > timestampadd(MILLISECOND, -:slack_ms, r.started_at)
        ),
        -- In which of the delays, counted from 1, each came: the earliest and the latest that can
        -- be. Who came with the first may have come before the first delay began.
        counted AS (
            SELECT number,
                   CASE WHEN ms > :slack_ms THEN
                        CAST(ceil((ms - :slack_ms) / nullif(:initial_delay_ms, 0)) AS INT) END
                       AS earliest,
                   greatest(1, CAST(ceil((ms + :slack_ms) / nullif(:initial_delay_ms, 0)) AS INT))
                       AS latest
            FROM arrivals
        ),
        -- A delay goes on only if somebody came in each one before.
        sure AS (
            SELECT number, count_if(earliest = place) AS times
            FROM (SELECT number, earliest,
                         dense_rank() OVER (PARTITION BY number ORDER BY earliest) AS place
                  FROM (SELECT DISTINCT number, earliest FROM counted WHERE earliest = latest))
            GROUP BY number
        ),
        possible AS (
            SELECT number, count_if(step = place) AS times
            FROM (SELECT number, step, dense_rank() OVER (PARTITION BY number ORDER BY step)
                      AS place
                  FROM (SELECT DISTINCT number, explode(array_compact(array(earliest, latest)))
                                   AS step
                        FROM counted))
            GROUP BY number
        ),
        waited AS (
            SELECT r.*, timestampdiff(MICROSECOND, r.started_at, r.joined_at) / 1e3 AS ms,
                   -- The line that tells of the start is written after the timer was set.
                   least(:initial_delay_ms * (1 + coalesce(s.times, 0)),
                         coalesce(l.least_ms, :max_poll_ms)) - :slack_ms
                       - coalesce(greatest(0, timestampdiff(MICROSECOND, l.first_at, r.started_at)
                                              / 1e3), 0) AS low,
                   least(:initial_delay_ms * (1 + coalesce(p.times, 0)),
                         coalesce(l.most_ms, :max_poll_ms))
                       + greatest(:initial_delay_ms - :slack_ms, :slack_ms) AS high
            FROM rounds r LEFT JOIN sure s USING (number) LEFT JOIN possible p USING (number)
            LEFT JOIN limits l ON l.broker = r.broker AND l.generation = r.generation
            WHERE r.initial AND r.event = 'stabilized' AND r.started_at IS NOT NULL
        ),
        steps AS (
            SELECT broker, at, CAST(NULL AS INT) AS generation FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('left', 'evicted', 'stragglers_removed',
                                                 'pending_evicted', 'member_added')
            UNION ALL
            SELECT broker, at, generation FROM joins
        ),
        last_steps AS (
            -- Requests are stamped when they are logged, some milliseconds late: the join that
            -- completed a generation may be told after it.
            SELECT r.number, r.broker, r.generation, r.started_at, r.joined_at, r.evidence,
                   least(r.joined_at, greatest(r.started_at, max(s.at))) AS last_at
            FROM rounds r LEFT JOIN steps s
              ON s.broker = r.broker AND s.at >= r.started_at
             AND (s.at <= r.joined_at
                  OR s.generation = r.generation
                     AND s.at <= timestampadd(MILLISECOND, :slack_ms, r.joined_at))
            WHERE r.event = 'stabilized' AND r.started_at IS NOT NULL AND NOT r.initial
            GROUP BY ALL
        ),
        -- Whom a rebalance waited for until its time-out, a line tells by removing them: a static
        -- member stays, and is waited for all the same.
        prompt AS (
            SELECT s.*, timestampdiff(MICROSECOND, last_at, joined_at) / 1e3 AS ms
            FROM last_steps s LEFT JOIN limits l
              ON l.broker = s.broker AND l.generation = s.generation
            WHERE last_at > timestampadd(MILLISECOND, -:initial_delay_ms, joined_at)
               OR timestampdiff(MICROSECOND, started_at, joined_at) / 1e3
                      < coalesce(l.most_ms, :max_poll_ms) - :slack_ms
               OR NOT EXISTS (SELECT 1 FROM {memberships} WHERE instance_id IS NOT NULL)
        )
        SELECT concat('generation ', generation, ' (of an empty group)') AS subject,
               started_at AS at, ms BETWEEN low AND high AS ok,
               ms AS measured, low AS bound_low, high AS bound_high,
               CASE WHEN ms < low THEN 'did not wait for the delay'
                    WHEN ms > high THEN 'waited on although nobody came'
                    ELSE concat('waited ', CAST(round(ms / nullif(:initial_delay_ms, 0)) AS INT),
                                ' times the delay of ', :initial_delay_ms, ' ms') END AS why,
               evidence,
               CASE WHEN ms NOT BETWEEN low AND high THEN started_at END
                   AS guard_from, joined_at AS guard_to
        FROM waited
        UNION ALL
        SELECT concat('generation ', generation), started_at, ms < :initial_delay_ms, ms, NULL,
               :initial_delay_ms,
               CASE WHEN ms < :initial_delay_ms
                    THEN 'over when the last had joined, without a delay'
                    ELSE 'went on after the last had joined' END,
               evidence, CASE WHEN ms >= :initial_delay_ms THEN last_at END, joined_at
        FROM prompt WHERE :initial_delay_ms > 0
        """,
    )


def _two_steps(t: Tables) -> Frame:
    """Member ids that joined, by the coordinator's lines; static members, by their requests.

    An id that was given and never came back is no join; what becomes of it is not asked here.
    """
    return t.sql(
        """
        WITH told AS (
            SELECT member_id, count_if(event = 'member_id_given') AS given,
                   count_if(event = 'member_added') AS added,
                   min(at) FILTER (WHERE event = 'member_id_given') AS given_at,
                   min(at) FILTER (WHERE event = 'member_added') AS added_at,
                   min_by(evidence, at) FILTER (WHERE event = 'member_added') AS evidence
            FROM {coordinator_events} e
            LEFT ANTI JOIN (SELECT DISTINCT member_id FROM {requests}
                            WHERE instance_id IS NOT NULL) s ON s.member_id = e.member_id
            WHERE `group` = :group AND event IN ('member_id_given', 'member_added')
              AND instance_id IS NULL
              -- Nor who joins a group of KIP-848, by whichever protocol.
              AND coalesce(reason, '') NOT LIKE '% joins the consumer group %'
            GROUP BY member_id HAVING count_if(event = 'member_added') > 0
        ),
        fixed AS (
            SELECT instance_id, count_if(error_code = 79) AS sent_back, min(arrived_at) AS at,
                   min(evidence) AS evidence
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND instance_id IS NOT NULL
            GROUP BY instance_id
        )
        SELECT concat('join of ', member_id) AS subject, added_at AS at,
               given = 1 AND added = 1 AND given_at <= added_at AS ok,
               timestampdiff(MICROSECOND, given_at, added_at) / 1e3 AS measured,
               CASE WHEN given = 1 AND added = 1 AND given_at <= added_at
                    THEN 'was given its id, and came back with it'
                    ELSE concat('was given its id ', given, ' times and added ', added, ' times')
                    END AS why, evidence
        FROM told
        UNION ALL
        SELECT concat('join of static ', instance_id), at, sent_back = 0, NULL,
               CASE WHEN sent_back = 0 THEN 'joined in one step'
                    ELSE concat('was sent back for an id ', sent_back, ' times') END, evidence
        FROM fixed
        """
    )


def _parked_is_safe(t: Tables) -> Frame:
    """JoinGroups and SyncGroups answered after a session or more, and evictions in the midst."""
    return t.sql(
        """
        WITH parked AS (
            SELECT r.member_id, r.client_id AS member, r.api, r.arrived_at, r.processed_at,
                   r.evidence, m.session_timeout_ms AS session_ms,
                   timestampdiff(MICROSECOND, r.arrived_at, r.processed_at) / 1e3 AS ms,
                   coalesce(m.removed_by = 'evicted' AND m.removed_at >= r.arrived_at
                            AND m.removed_at <= r.processed_at, false) AS evicted,
                   timestampdiff(MICROSECOND, r.arrived_at, m.removed_at) / 1e3 AS evicted_ms
            FROM {requests} r JOIN {memberships} m USING (member_id)
            WHERE r.`group` = :group AND r.api IN ('JOIN_GROUP', 'SYNC_GROUP')
        )
        SELECT concat(member, ' (', api, ')') AS subject, arrived_at AS at,
               NOT evicted OR evicted_ms >= :new_member_ms - :slack_ms AS ok, ms AS measured,
               CASE WHEN evicted AND evicted_ms >= :new_member_ms - :slack_ms
                    THEN 'new to the group, and dropped after five minutes'
                    WHEN evicted THEN 'evicted while its request waited'
                    ELSE concat('not evicted, although its session is ', session_ms, ' ms')
                    END AS why, evidence
        FROM parked WHERE evicted OR ms > session_ms
        """,
        new_member_ms=NEW_MEMBER_MS,
    )


def _told_is_alive(t: Tables) -> Frame:
    """Stretches in which a member did nothing but have heartbeats answered REBALANCE_IN_PROGRESS.

    Examined are those that outlast a session: without these heartbeats it would have run out.
    """
    return t.sql(
        """
        WITH signs AS (
            SELECT member_id, heard_at, armed_at, armed_from_at,
                   api = 'HEARTBEAT' AND error_code = 27 AS told,
                   count_if(NOT (api = 'HEARTBEAT' AND error_code = 27)) OVER (
                       PARTITION BY member_id ORDER BY armed_at, heard_at
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stretch
            FROM {signs_of_life}
        ),
        stretches AS (
            SELECT member_id, stretch, min(heard_at) FILTER (WHERE NOT told) AS heard_at,
                   min(armed_at) FILTER (WHERE NOT told) AS from_at, count_if(told) AS times,
                   max(armed_at) FILTER (WHERE told) AS told_at,
                   -- Its answer can have waited for what was written before it.
                   max(armed_from_at) FILTER (WHERE told) AS told_from_at
            FROM signs GROUP BY member_id, stretch
        ),
        followed AS (
            SELECT s.*, m.member, m.session_timeout_ms AS session_ms, m.removed_at, m.removed_by,
                   lead(s.heard_at) OVER (PARTITION BY s.member_id ORDER BY s.stretch) AS next_at
            FROM stretches s JOIN {memberships} m USING (member_id)
        ),
        ended AS (
            SELECT *, coalesce(next_at, removed_at, told_at) AS to_at,
                   coalesce(next_at IS NULL AND removed_by = 'evicted', false) AS evicted
            FROM followed WHERE times > 0 AND from_at IS NOT NULL
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, from_at, to_at) / 1e3 AS ms,
                   timestampdiff(MICROSECOND, told_from_at, to_at) / 1e3 AS after_ms
            FROM ended
        )
        SELECT concat(member, ' (told ', times, ' times)') AS subject, from_at AS at,
               NOT (evicted AND after_ms < session_ms - :slack_ms) AS ok, ms AS measured,
               session_ms - :slack_ms AS bound_low,
               CASE WHEN evicted AND after_ms < session_ms - :slack_ms
                    THEN 'evicted although its heartbeats were answered'
                    WHEN evicted THEN 'evicted only when a session had passed since the last one'
                    ELSE 'alive by these heartbeats alone' END AS why
        FROM timed x
        -- A coordinator that takes over gives everybody a session again.
        LEFT ANTI JOIN {tenures} l
          ON l.loaded AND l.from_at >= x.from_at AND l.from_at <= x.to_at
        WHERE x.ms > x.session_ms - :slack_ms
        """
    )


def _rejoins_when_told(t: Tables) -> Frame:
    """Members told of a rebalance by a heartbeat, from when their application could poll next.

    It cannot while it works on a batch, waits for the answer to a commit, or stalls. Nor does
    being told count while the callback of its last assignment is still to come: librdkafka lets
    that answer go, and waits for the next.
    """
    return t.sql(
        """
        WITH assigned AS (
            SELECT member, generation, min(event_at) AS at FROM {client_events}
            WHERE event = 'assigned' GROUP BY member, generation
        ),
        told AS (
            SELECT r.member_id, any_value(r.client_id) AS member, r.broker, r.generation,
                   min(r.answered_at) AS told_at, min(r.evidence) AS evidence
            FROM {requests} r LEFT JOIN assigned a
              ON a.member = r.client_id AND a.generation = r.generation
            WHERE r.`group` = :group AND r.api = 'HEARTBEAT' AND r.error_code = 27
              AND coalesce(a.at <= r.answered_at, true)
            GROUP BY r.member_id, r.broker, r.generation
        ),
        joined AS (
            SELECT t.*, min(r.arrived_at) AS arrived_at
            FROM told t LEFT JOIN {requests} r
              ON r.member_id = t.member_id AND r.api = 'JOIN_GROUP' AND r.arrived_at > t.told_at
            GROUP BY ALL
        ),
        busy AS (
            SELECT member, asked_at AS from_at, answered_at AS to_at FROM {commits}
            WHERE how IN ('sync', 'revoke', 'interval')
            UNION ALL
            SELECT member, polled_at, processed_at FROM {deliveries}
            UNION ALL
            SELECT member, event_at,
                   timestampadd(MICROSECOND, CAST(duration_ms * 1e3 AS BIGINT), event_at)
            FROM {client_events} WHERE event = 'stall_started'
        ),
        polled AS (
            SELECT j.member_id, j.member, j.generation, j.told_at, j.arrived_at, j.evidence,
                   greatest(j.told_at, max(b.to_at)) AS polled_at
            FROM joined j LEFT JOIN busy b
              ON b.member = j.member AND b.from_at <= j.told_at AND b.to_at > j.told_at
            GROUP BY ALL
        ),
        -- Who left or was removed instead of joining again has nothing to say here.
        staying AS (
            SELECT p.*, timestampdiff(MICROSECOND, p.polled_at, p.arrived_at) / 1e3 AS ms
            FROM polled p LEFT JOIN {memberships} m USING (member_id)
            WHERE p.arrived_at IS NOT NULL
               OR m.removed_at IS NULL
                  AND timestampadd(MILLISECOND, :join_ms + :slack_ms, p.polled_at) < :stopped_at
        )
        SELECT concat(member, ' after generation ', generation) AS subject, told_at AS at,
               coalesce(ms <= :join_ms + :slack_ms, false) AS ok, ms AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :join_ms + :slack_ms AS bound_high,
               CASE WHEN arrived_at IS NULL THEN 'never joined again'
                    ELSE concat('joined ',
                                CAST(round(timestampdiff(MICROSECOND, told_at, arrived_at) / 1e3)
                                     AS INT), ' ms after it was told') END AS why,
               evidence,
               CASE WHEN ms > :join_ms + :slack_ms
                    THEN timestampadd(MILLISECOND, -:guard_ms, polled_at) END AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, arrived_at) AS guard_to
        FROM staying
        """,
        join_ms=JOIN_INTERVAL_MS,
    )


INITIAL_DELAY = Rule(
    id="X07",
    title="The first rebalance of an empty group waits, and no other",
    statement=(
        "A rebalance of an empty group lasts group.initial.rebalance.delay.ms, and as long again "
        "whenever a member came meanwhile, up to the rebalance timeout; any other is over when "
        "the last member has joined."
    ),
    source="group.initial.rebalance.delay.ms; KIP-134",
    unit="ms",
    things="rebalances",
    measures="waited",
    examine=_initial_delay,
    always=True,
    protocols=CLASSIC,
)
TWO_STEPS = Rule(
    id="X08-members",
    title="A dynamic member joins in two steps",
    statement=(
        "A dynamic member is first given an id and then joins with it, once each; a static member "
        "joins in one step."
    ),
    source="KIP-394",
    unit="ms",
    things="joins",
    measures="from the id to the join",
    examine=_two_steps,
    always=True,
    protocols=CLASSIC,
)
PARKED = Rule(
    id="R03-members",
    title="A member whose request waits is not evicted",
    statement=(
        "A member whose JoinGroup or SyncGroup waits at the coordinator is not evicted, however "
        "long that takes (a new member: five minutes)."
    ),
    source="seed 000, GroupCoordinator (shouldKeepMemberAlive); GroupMetadataManager",
    unit="ms",
    things="requests that waited for longer than a session",
    measures="waited",
    examine=_parked_is_safe,
    always=True,
    protocols=CLASSIC,
)
TOLD_IS_ALIVE = Rule(
    id="R08-members",
    title="A heartbeat answered REBALANCE_IN_PROGRESS is a sign of life",
    statement=(
        "A member whose heartbeats are answered REBALANCE_IN_PROGRESS keeps its place for as long "
        "as it goes on heartbeating."
    ),
    source="seed 000, GroupCoordinator; seed 003, HEARTBEAT",
    unit="ms",
    things="members that lived on such heartbeats for longer than a session",
    measures="between other signs of life",
    examine=_told_is_alive,
    always=True,
    protocols=CLASSIC,
)
REJOINS = Rule(
    id="R32-rejoin",
    title="A member that was told rejoins with its next poll",
    statement=(
        "A member told of a rebalance sends JoinGroup when its application polls next, within the "
        "second that librdkafka keeps between two of them."
    ),
    source="seed 003, HEARTBEAT; seed 004, poll and ensureActiveGroup",
    unit="ms",
    things="members told",
    measures="from the next poll to JoinGroup",
    examine=_rejoins_when_told,
    protocols=CLASSIC,
)
