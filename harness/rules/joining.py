"""How long the coordinator waits for members to join, and what keeps those who wait alive."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_BROKER, A_MEMBER, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)

# librdkafka asks to join at most once a second (rdkafka_cgrp.c, rkcg_join_intvl); the Java client
# does so in its next poll.
JOIN_INTERVAL_MS: Final = 1_000
# A member that is new to its group is dropped even while its JoinGroup waits, after so long
# (GroupMetadataManager, CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).
NEW_MEMBER_MS: Final = 300_000


@Rule(
    "X07",
    title="Only the first rebalance of an empty group waits",
    statement="A rebalance of an empty group lasts group.initial.rebalance.delay.ms, and as long "
    "again whenever a member joined meanwhile, up to the rebalance timeout. Any other rebalance "
    "is over when the last member has joined.",
    source="group.initial.rebalance.delay.ms; KIP-134",
    unit="ms",
    things="rebalances",
    measures="of waiting",
    too_low="did not wait for the delay",
    too_high="waited on although no member came",
    matters="The delay saves a starting fleet one rebalance per member, and makes every start of "
    "an empty group that much longer.",
    always=True,
    protocols=CLASSIC,
    delayed_by=A_BROKER,
)
def initial_delay() -> str:
    """Rebalances of an empty group, from their start; of others, from the last one waited for.

    The delay is looked at when it is over: if a member was added meanwhile, it begins again, up to
    the rebalance timeout. The first member's request began it, and the line about that may come
    late: the least that is demanded is counted from the request. A member that came within the
    slack of the end of a delay may or may not have been counted, so both are allowed. Only the
    number of delays is judged: how late a timer may be is for other rules, and a coordinator that
    had just started, on a machine that was starting a fleet, was 300 ms late. Such a machine makes
    a wait longer, never shorter, so only what is out of bounds is guarded against that. One that is
    stopped meanwhile looks at no timer.
    """
    return """
        WITH rounds AS (
            SELECT number, broker, generation, event, started_at, joined_at, evidence,
                   generation = 1 OR coalesce(lag(event) OVER (ORDER BY number) = 'emptied', false)
                       AS initial,
                   ms_between(started_at, joined_at) AS ms
            FROM {generations}
        ), ordered AS (
            SELECT broker, generation, arrived_at AS at, rebalance_timeout_ms,
                   row_number() OVER (PARTITION BY broker, generation
                                      ORDER BY arrived_at, evidence) AS turn
            FROM {joins}
        ), limits AS (
            SELECT broker, generation, min(rebalance_timeout_ms) AS least_ms,
                   max(rebalance_timeout_ms) AS most_ms, min(at) AS first_at
            FROM ordered GROUP BY broker, generation
        ), arrivals AS (
            SELECT r.number, ms_between(r.started_at, j.at) AS ms
            FROM rounds r JOIN ordered j ON same(j, r, broker, generation)
            WHERE r.initial AND j.turn > 1 AND j.at > after(-:STAMP_LATE_MS, r.started_at)
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
        ), delays AS (
            SELECT number, true AS sure, earliest AS delay FROM counted WHERE earliest = latest
            UNION
            SELECT number, false, explode(array_compact(array(earliest, latest))) FROM counted
        ),
        -- A delay goes on only if somebody came in each one before.
        extended AS (
            SELECT number, count_if(sure AND delay = place) AS least,
                   count_if(NOT sure AND delay = place) AS most
            FROM (SELECT *, row_number() OVER (PARTITION BY number, sure ORDER BY delay) AS place
                  FROM delays)
            GROUP BY number
        ), initial_waits AS (
            SELECT r.broker, r.generation, r.started_at, r.joined_at, r.evidence, r.ms,
                   -- The line that a rebalance starts is written after the timer was set.
                   least(:initial_delay_ms * (1 + coalesce(e.least, 0)),
                         coalesce(l.least_ms, :max_poll_ms)) - :slack_ms
                       - coalesce(greatest(0, ms_between(l.first_at, r.started_at)), 0) AS low,
                   least(:initial_delay_ms * (1 + coalesce(e.most, 0)),
                         coalesce(l.most_ms, :max_poll_ms))
                       + greatest(:initial_delay_ms - :slack_ms, :slack_ms) AS high
            FROM rounds r LEFT JOIN extended e USING (number)
            LEFT JOIN limits l ON same(l, r, broker, generation)
            WHERE r.initial AND r.event = 'stabilized' AND r.started_at IS NOT NULL
        ), steps AS (
            SELECT broker, at, CAST(NULL AS INT) AS generation FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('left', 'evicted', 'stragglers_removed',
                                                 'pending_evicted', 'member_added')
            UNION ALL
            SELECT broker, at, generation FROM ordered
        ), last_steps AS (
            -- The line of the join that completed a generation may be stamped after it.
            SELECT r.number, r.broker, r.generation, r.started_at, r.joined_at, r.evidence, r.ms,
                   least(r.joined_at, greatest(r.started_at, max(s.at))) AS last_at
            FROM rounds r LEFT JOIN steps s
              ON s.broker = r.broker AND s.at >= r.started_at
             AND (s.at <= r.joined_at
                  OR s.generation = r.generation AND s.at <= after(:STAMP_LATE_MS, r.joined_at))
            WHERE r.event = 'stabilized' AND r.started_at IS NOT NULL AND NOT r.initial
            GROUP BY ALL
        ), waits AS (
            SELECT broker, concat('generation ', generation, ' (of an empty group)') AS subject,
                   started_at, started_at AS from_at, joined_at, ms, low, high,
                   CAST(NULL AS STRING) AS too_high,
                   concat('the delay is ', :initial_delay_ms, ' ms') AS note, evidence
            FROM initial_waits
            UNION ALL
            -- Whom a rebalance waited for until its time-out, a line shows by removing them: a
            -- static member stays, and is waited for all the same. Timers count milliseconds: a
            -- wait of the whole delay is a delay.
            SELECT s.broker, concat('generation ', s.generation), s.started_at, s.last_at,
                   s.joined_at,
                   ms_between(s.last_at, s.joined_at), NULL, :initial_delay_ms - 1,
                   'went on after the last member had joined', NULL, s.evidence
            FROM last_steps s LEFT JOIN limits l ON same(l, s, broker, generation)
            WHERE :initial_delay_ms > 0
              AND (s.last_at > after(-:initial_delay_ms, s.joined_at)
                   OR s.ms < coalesce(l.most_ms, :max_poll_ms) - :slack_ms
                   OR NOT EXISTS (SELECT 1 FROM {memberships} WHERE instance_id IS NOT NULL))
        ), timed AS (
            SELECT w.*, count(b.broker) > 0 AS was_stopped
            FROM waits w LEFT JOIN {stopped_brokers} b
              ON b.broker = w.broker AND b.from_at <= w.joined_at AND b.to_at >= w.started_at
            GROUP BY ALL
        )
        SELECT subject, started_at AS at, ms AS measured, low AS bound_low, high AS bound_high,
               too_high, IF(was_stopped, 'its coordinator had been stopped', NULL) AS excused,
               note, evidence, IF(ms < low OR ms > high, from_at, NULL) AS guard_from,
               joined_at AS guard_to
        FROM timed
    """


@Rule(
    "X08-members",
    title="A dynamic member joins in two steps",
    statement="A dynamic member first gets an id and then joins with it, once each. A static "
    "member joins in one step.",
    source="KIP-394",
    unit="ms",
    things="joins",
    measures="from the id to the join",
    matters="Otherwise a JoinGroup that is sent again because its answer was lost would add a "
    "member without a process, and each rebalance would wait for it.",
    always=True,
    protocols=CLASSIC,
)
def two_steps() -> str:
    """Member ids that joined, by the coordinator's lines; static members, by their requests.

    An id that was given and never came back is no join; what becomes of it is not asked here. But
    one of ours that was given one and comes for another did not use it, which only an answer that
    was lost in a disturbance explains.
    """
    return """
        WITH asked AS (
            SELECT member, member_id, arrived_at, answered_at, evidence,
                   lead(arrived_at) OVER w AS next_at, lead(error_code) OVER w AS next_code,
                   lead(member_id) OVER w AS next_id, error_code, program
            FROM {own_requests} WHERE api = 'JOIN_GROUP'
            WINDOW w AS (PARTITION BY member ORDER BY arrived_at)
        ), unused AS (
            SELECT a.member, a.member_id, a.arrived_at AS at, a.evidence,
                   coalesce(min(m.member_id),
                            max(IF(a.next_code = :MEMBER_ID_REQUIRED AND a.next_id <> a.member_id
                                   AND a.next_at < after(:session_ms, a.answered_at),
                                   a.next_id, NULL))) AS other
            FROM asked a
            -- What it is in the group by already.
            LEFT JOIN {memberships} m
              ON m.member = a.member AND m.member_id <> a.member_id
             AND m.joined_at < a.arrived_at
             AND (m.removed_at IS NULL OR m.removed_at > after(:slack_ms, a.arrived_at))
            LEFT ANTI JOIN {own_requests} u
              ON u.member_id = a.member_id AND u.api = 'JOIN_GROUP'
             AND u.error_code <> :MEMBER_ID_REQUIRED
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = a.member, true)
             AND d.from_at <= coalesce(a.next_at, a.answered_at)
             AND after(:session_ms, d.to_at) >= a.arrived_at
            WHERE a.error_code = :MEMBER_ID_REQUIRED AND a.program IS NULL
            GROUP BY a.member, a.member_id, a.arrived_at, a.evidence
        ), dynamic AS (
            SELECT member_id, count_if(event = 'member_id_given') AS given,
                   count_if(event = 'member_added') AS added,
                   min(at) FILTER (WHERE event = 'member_id_given') AS given_at,
                   min(struct(at, evidence)) FILTER (WHERE event = 'member_added') AS first
            FROM {coordinator_events} e
            LEFT ANTI JOIN (SELECT DISTINCT member_id FROM {requests}
                            WHERE instance_id IS NOT NULL) s ON s.member_id = e.member_id
            WHERE `group` = :group AND event IN ('member_id_given', 'member_added')
              AND instance_id IS NULL
              -- Nor who joins a group of KIP-848, by whichever protocol.
              AND coalesce(reason, '') NOT LIKE '% joins the consumer group %'
            GROUP BY member_id HAVING count_if(event = 'member_added') > 0
        ), static AS (
            SELECT instance_id, count_if(error_code = :MEMBER_ID_REQUIRED) AS sent_back,
                   min(arrived_at) AS at, min(evidence) AS evidence
            FROM {own_requests} WHERE api = 'JOIN_GROUP' AND instance_id IS NOT NULL
            GROUP BY instance_id
        )
        SELECT concat('join of ', member_id) AS subject, first.at AS at,
               ms_between(given_at, first.at) AS measured,
               CASE WHEN given <> 1 OR added <> 1
                    THEN clause('was given its id ', given, ' times and added ', added, ' times')
                    WHEN given_at > first.at THEN 'was added before it was given its id'
                    END AS wrong,
               first.evidence AS evidence
        FROM dynamic
        UNION ALL
        SELECT concat('id of ', member_id), at, NULL,
               clause('was given to ', member, ' and not used; it had, or was given, ', other,
                      ' as well'), evidence
        FROM unused WHERE other IS NOT NULL
        UNION ALL
        SELECT concat('join of static ', instance_id), at, NULL,
               IF(sent_back > 0, concat('was sent back for an id ', sent_back, ' times'), NULL),
               evidence
        FROM static
    """


@Rule(
    "R03-members",
    title="A member whose join or sync waits is not evicted",
    statement="A member whose JoinGroup or SyncGroup the coordinator has not answered yet is not "
    "evicted, however long that takes. Only a member that is new to the group is dropped after "
    "five minutes.",
    source="document 000, GroupCoordinator (shouldKeepMemberAlive); GroupMetadataManager",
    unit="ms",
    things="requests that waited for longer than a session",
    measures="of waiting",
    too_high="was new to the group and was kept for longer than five minutes",
    matters="Otherwise a rebalance that waits for one slow member would evict all members that "
    "rejoined in time.",
    always=True,
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def parked_is_safe() -> str:
    """JoinGroups and SyncGroups answered after a session or more, and evictions in the midst.

    A member that was added is new until the first JoinGroup with its id is answered without an
    error. It has five minutes from then, which another JoinGroup does not lengthen: a heartbeat
    that is overdue then counts although it waits (ClassicGroupMember.hasSatisfiedHeartbeat). One
    that takes the place of a static member is not new.
    """
    return """
        WITH accepted AS (
            SELECT member_id, min(processed_at) AS at FROM {joins} GROUP BY member_id
        ), parked AS (
            SELECT r.member, r.api, r.broker, r.arrived_at, r.processed_at, r.evidence,
                   m.session_timeout_ms AS session_ms,
                   r.api = 'JOIN_GROUP' AND coalesce(a.at > r.arrived_at, true)
                       AND coalesce(m.joined_at <= after(:slack_ms, r.arrived_at), false) AS is_new,
                   ms_between(r.arrived_at, r.processed_at) AS ms,
                   after(:NEW_MEMBER_MS, m.joined_at) AS due_at,
                   -- One that is refused at once was not parked: its session ended as it came.
                   coalesce(m.removed_by = 'evicted' AND m.removed_at >= r.arrived_at
                            AND m.removed_at <= r.processed_at
                            AND ms_between(r.arrived_at, r.processed_at) > :slack_ms, false)
                       AS evicted, m.removed_at
            FROM {own_requests} r JOIN {memberships} m USING (member_id)
            LEFT JOIN accepted a ON a.member_id = r.member_id
            WHERE r.api IN ('JOIN_GROUP', 'SYNC_GROUP')
        ), examined AS (
            SELECT p.*, count(b.from_at) > 0 AS stopped,
                   p.is_new AND p.processed_at >= after(-:guard_ms, p.due_at) AS timed
            FROM parked p LEFT JOIN {stopped_brokers} b
              ON b.broker = p.broker AND b.from_at <= p.processed_at AND b.to_at >= p.due_at
            WHERE p.evicted OR p.ms > p.session_ms
            GROUP BY ALL
        )
        SELECT concat(member, ' (', api, ')') AS subject, arrived_at AS at, ms AS measured,
               -- A coordinator that is stopped looks at no timer.
               IF(is_new AND NOT stopped, ms_between(arrived_at, due_at) + :slack_ms, NULL)
                   AS bound_high,
               IF(evicted AND NOT (is_new AND removed_at >= after(-:slack_ms, due_at)),
                  'was evicted while its request waited', NULL) AS wrong,
               IF(evicted, 'was new to the group and was dropped after five minutes',
                  concat('its session is ', session_ms, ' ms')) AS note,
               evidence,
               IF(timed, after(-:guard_ms, due_at), NULL) AS guard_from,
               IF(timed, guard_to(processed_at), NULL) AS guard_to
        FROM examined
    """


@Rule(
    "R08-members",
    title="REBALANCE_IN_PROGRESS answers keep a member in the group",
    statement="A member whose heartbeats are answered REBALANCE_IN_PROGRESS keeps its place for "
    "as long as it goes on sending them.",
    source="document 000, GroupCoordinator; document 003, HEARTBEAT",
    unit="ms",
    things="members whose heartbeats were answered so for longer than a session",
    measures="between other signs of life",
    matters="A member that finishes a long batch while the others rebalance is not dropped, as "
    "long as it rejoins within max.poll.interval.ms.",
    always=True,
    protocols=CLASSIC,
)
def told_is_alive() -> str:
    """Stretches in which a member did nothing but have heartbeats answered REBALANCE_IN_PROGRESS.

    Examined are those that outlast a session: without these heartbeats it would have run out.
    """
    return """
        WITH marked AS (
            SELECT *, api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS AS told
            FROM {signs_of_life}
        ), signs AS (
            SELECT *, count_if(NOT told) OVER (
                PARTITION BY member_id ORDER BY armed_at, heard_at, evidence {SO_FAR}) AS stretch
            FROM marked
        ), stretches AS (
            SELECT member_id, stretch, min(heard_at) FILTER (WHERE NOT told) AS heard_at,
                   min(armed_at) FILTER (WHERE NOT told) AS from_at, count_if(told) AS times,
                   max(armed_at) FILTER (WHERE told) AS told_at,
                   -- Its answer can have waited for what was written before it.
                   max(armed_from_at) FILTER (WHERE told) AS told_from_at
            FROM signs GROUP BY member_id, stretch
        ), followed AS (
            SELECT s.*, m.member, m.session_timeout_ms AS session_ms, m.removed_at, m.removed_by,
                   lead(s.heard_at) OVER (PARTITION BY s.member_id ORDER BY s.stretch) AS next_at
            FROM stretches s JOIN {memberships} m USING (member_id)
        ), ended AS (
            SELECT *, coalesce(next_at, removed_at, told_at) AS to_at,
                   ms_between(from_at, coalesce(next_at, removed_at, told_at)) AS ms,
                   -- From the last of them to an eviction.
                   CASE WHEN next_at IS NULL AND removed_by = 'evicted'
                        THEN ms_between(told_from_at, removed_at) END AS evicted_ms
            FROM followed WHERE times > 0 AND from_at IS NOT NULL
        )
        SELECT concat(member, ' (told ', times, ' times)') AS subject, from_at AS at,
               ms AS measured, session_ms - :slack_ms AS bound_low,
               IF(evicted_ms < session_ms - :slack_ms,
                  'was evicted although its heartbeats were answered', NULL) AS wrong,
               IF(evicted_ms IS NULL, NULL,
                  'evicted when a session had passed since the last of them') AS note
        FROM ended x
        -- A coordinator that takes over gives everybody a session again.
        LEFT ANTI JOIN {tenures} l
          ON l.loaded AND l.from_at >= x.from_at AND l.from_at <= x.to_at
        WHERE x.ms > x.session_ms - :slack_ms
    """


@Rule(
    "R32-rejoin",
    title="A member told of a rebalance rejoins at its next poll",
    statement="A member that was told of a rebalance sends its JoinGroup when its application "
    "polls next. librdkafka may take one second longer, and a tick of its timer, since it sends at "
    "most one JoinGroup a second.",
    source="document 003, HEARTBEAT; document 004, poll and ensureActiveGroup",
    unit="ms",
    things="members told of a rebalance",
    measures="from the next poll to JoinGroup",
    too_high="rejoined too late",
    matters="A rebalance lasts until the slowest member has finished its batch, and "
    "max.poll.records bounds that batch.",
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def rejoins_when_told() -> str:
    """Members told of a rebalance by a heartbeat, from when their application could poll next.

    It cannot while it works on a batch, waits for the answer to a commit, or stalls. Nor does
    being told count while the callback of its last assignment is still to come: librdkafka lets
    that answer go, and waits for the next. An answer that reached nobody does not count. Where the
    coordinator that told it was gone before it joined, nothing is shown: a JoinGroup that waits
    there is on no record.
    """
    return """
        WITH assigned AS (
            SELECT member, generation, min(event_at) AS at FROM {client_events}
            WHERE event = 'assigned' GROUP BY member, generation
        ), told AS (
            SELECT r.member_id, r.member, r.broker, r.generation,
                   min(r.answered_at) AS told_at, min(r.evidence) AS evidence
            FROM {heard_requests} r LEFT JOIN assigned a ON same(a, r, member, generation)
            WHERE r.api = 'HEARTBEAT' AND r.error_code = :REBALANCE_IN_PROGRESS
              AND coalesce(a.at < r.answered_at, true)
            GROUP BY r.member_id, r.member, r.broker, r.generation
        ), joined AS (
            SELECT t.*, min(r.arrived_at) AS arrived_at
            FROM told t LEFT JOIN {requests} r
              ON r.member_id = t.member_id AND r.api = 'JOIN_GROUP' AND r.arrived_at >= t.told_at
            GROUP BY ALL
        ), polled AS (
            SELECT j.*, greatest(j.told_at, max(b.to_at)) AS polled_at
            FROM joined j LEFT JOIN {busy} b
              ON b.member = j.member AND b.from_at <= j.told_at AND b.to_at > j.told_at
            GROUP BY ALL
        ),
        -- Who left or was removed instead of joining again is not examined.
        staying AS (
            SELECT p.*, ms_between(p.polled_at, p.arrived_at) AS ms,
                   :JOIN_INTERVAL_MS + :timer_late_ms + :slack_ms AS most_ms
            FROM polled p LEFT JOIN {memberships} m USING (member_id)
            LEFT ANTI JOIN {tenures} t
              ON t.next_at > p.told_at
             AND t.next_at <= coalesce(p.arrived_at, :stopped_at)
            WHERE p.arrived_at IS NOT NULL
               OR m.removed_at IS NULL
                  AND after(:JOIN_INTERVAL_MS + :timer_late_ms + :slack_ms, p.polled_at)
                      < :stopped_at
        )
        SELECT concat(member, ' after generation ', generation) AS subject, told_at AS at,
               ms AS measured, most_ms AS bound_high,
               IF(arrived_at IS NULL, 'never joined again', NULL) AS wrong,
               concat('joined ', CAST(round(ms_between(told_at, arrived_at)) AS INT),
                      ' ms after it was told') AS note,
               evidence, IF(ms > most_ms, after(-:guard_ms, polled_at), NULL) AS guard_from,
               guard_to(arrived_at) AS guard_to
        FROM staying
    """
