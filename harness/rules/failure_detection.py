"""When the coordinator takes a member for dead, and what keeps it in its group."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rebalance import FIRST_MS  # noqa: F401 (a query names it)
from harness.rules.rule import A_MEMBER, Need, Rule

# How long after an eviction a rebalance is one that it started. Whether it started in time is for
# R20b and R20e, which withhold it where the broker had to wait for the machine.
FOLLOWED_MS: Final = 1_000

# Evictions, and whether the silence before one `may_be_short` of its session, or `may_be_long`,
# though it need not be, and is known less closely than the bounds are apart; `span` is a clause
# about that. `judged_ms` is the end of the silence that is judged: where it is known closely
# enough, the one within the bounds. A commit is answered when it is replicated, and has its effect
# before: it counts from its arrival, unless threads of its broker waited for a processor, together
# for as long as that time is: a few of a hundred always wait a little. What any broker waited is
# said, since all of them replicate a commit.
# Law: an eviction is accused only if no moment at which its last sign may have counted explains it.
WEIGHED: Final = """
    weighed AS (
        SELECT e.*,
               silence_least_ms < session_timeout_ms - :slack_ms
                   AND silence_ms >= session_timeout_ms - :slack_ms
                   AND silence_ms - silence_least_ms > 2 * :slack_ms
                   AND (last_seen_api = 'HEARTBEAT'
                        OR coalesce(h.ms > :slack_ms AND h.ms >= h.of_ms, false))
                   AS may_be_short,
               silence_least_ms <= session_timeout_ms + :slack_ms
                   AND silence_ms - silence_least_ms > 2 * :slack_ms
                   AND silence_ms > session_timeout_ms + :slack_ms AS may_be_long,
               CASE WHEN silence_ms <= session_timeout_ms + :slack_ms THEN silence_ms
                    WHEN silence_least_ms > session_timeout_ms + :slack_ms
                         OR silence_ms - silence_least_ms <= 2 * :slack_ms THEN silence_least_ms
                    ELSE silence_ms END AS judged_ms,
               clause(IF(h.all_ms > :slack_ms,
                         concat('this machine kept brokers waiting for a processor for ',
                                CAST(round(h.all_ms) AS INT), ' ms, and the member '), ''),
                      'was silent for ', CAST(round(silence_least_ms) AS INT), ' to ',
                      CAST(round(silence_ms) AS INT), ' ms: its last ', last_seen_api,
                      ' took effect within ',
                      CAST(round(silence_ms - silence_least_ms) AS INT),
                      ' ms, and nothing tells when') AS span
        FROM {evictions} e LEFT JOIN (
            SELECT e.member_id, e.evicted_at, sum(w.waited_ms) AS all_ms,
                   sum(w.waited_ms) FILTER (WHERE w.process = concat('broker-', e.broker)) AS ms,
                   sum(ms_between(w.from_at, w.at)) FILTER (
                       WHERE w.process = concat('broker-', e.broker)) AS of_ms
            FROM {evictions} e JOIN {waits} w
              ON w.process LIKE 'broker-%' AND w.at >= e.timer_started_at
             AND w.from_at <= after(-e.silence_least_ms, e.evicted_at)
            GROUP BY e.member_id, e.evicted_at
        ) h ON same(h, e, member_id, evicted_at)
    )
"""


def evicted_on_time() -> str:
    """Evictions, and members that should have been evicted while their coordinator worked.

    A member may also be removed while a rebalance is under way already; then no second one starts.
    A coordinator that is stopped sees no timer end, and works off what has waited when it goes on.

    Law: an eviction is too early if the most that the silence can have been is less than a session,
    too late if the least is more, on time if both are within the bound, and else cannot be judged.
    """
    return """
        WITH {WEIGHED}, evicted AS (
            SELECT e.*, s.rebalancing OR coalesce(
                       ms_between(s.at, s.next_start_at)
                           <= :FOLLOWED_MS + IF(:protocol = 'consumer', :FIRST_MS, 0), false)
                       AS followed,
                   b.broker IS NOT NULL AS was_stopped
            FROM weighed e JOIN {group_steps} s
              ON s.event = 'evicted' AND s.member_id = e.member_id AND s.at = e.evicted_at
            LEFT JOIN {stopped_brokers} b
              ON b.broker = e.broker AND e.evicted_at BETWEEN b.from_at AND b.to_at
        )
        SELECT concat(coalesce(member, member_id), ' (eviction)') AS subject, evicted_at AS at,
               judged_ms AS measured, session_timeout_ms - :slack_ms AS bound_low,
               session_timeout_ms + :slack_ms AS bound_high,
               CASE WHEN timer_started_at IS NULL
                    THEN 'no sign of life before the eviction is on record'
                    WHEN (may_be_short OR may_be_long AND NOT was_stopped)
                         AND (followed OR was_stopped) THEN span END AS unknown,
               CASE WHEN NOT followed AND NOT was_stopped
                    THEN 'no rebalance started after the eviction' END AS wrong,
               CASE WHEN was_stopped AND silence_ms > session_timeout_ms
                    THEN 'its coordinator had been stopped' END AS excused,
               'was evicted too early' AS too_low, 'was evicted too late' AS too_high,
               concat('last heard by ', last_seen_api,
                      IF(round(silence_least_ms) < round(silence_ms),
                         concat(', ', CAST(round(silence_least_ms) AS INT), ' to ',
                                CAST(round(silence_ms) AS INT), ' ms before'), '')) AS note,
               evidence,
               guard_from(after(session_timeout_ms, timer_started_at), evicted_at) AS guard_from,
               guard_to(evicted_at) AS guard_to
        FROM evicted
        UNION ALL
        SELECT concat(coalesce(member, member_id), ' (silence)'), to_at, ms, session_timeout_ms,
               session_timeout_ms + :slack_ms, NULL, NULL, NULL, NULL,
               'was silent for longer than its session, and was not evicted', NULL, NULL,
               after(session_timeout_ms - :guard_ms, from_at),
               after(session_timeout_ms + :slack_ms, from_at)
        FROM {silences}
        WHERE ms > session_timeout_ms + :slack_ms AND ended_by IN ('sign', 'end')
    """


@Rule(
    "R01",
    title="A silent member is evicted when its session ends",
    statement="A member that sends nothing for its session timeout is removed from the group, "
    "neither earlier nor later, and a rebalance starts.",
    source="document 000, GroupCoordinator; document 003, HEARTBEAT; session.timeout.ms",
    unit="ms",
    things="evictions",
    measures="after the last sign of life",
    matters="Nobody processes a dead member's partitions until it is evicted.",
    needs=(Need.SESSION_END, Need.WORKING_COORDINATOR),
    protocols=CLASSIC,  # in KIP-848 the broker has the timer: X19
    delayed_by=A_MEMBER,
)
def silent_is_evicted() -> str:
    return evicted_on_time()


@Rule(
    "R02",
    title="Every accepted request restarts the session timer",
    statement="Each accepted heartbeat, join, sync or commit restarts the member's session timer. "
    "The member is evicted if, and only if, it is silent for a whole session timeout.",
    source="document 000, GroupCoordinator (completeAndScheduleNextHeartbeatExpiration)",
    unit="ms",
    things="member ids",
    measures="of silence at most",
    too_high="was not evicted although its session had run out",
    matters="Evicting a live member costs a rebalance, and its unfinished batch is repeated.",
    needs=(Need.WORKING_COORDINATOR,),
    delayed_by=A_MEMBER,
)
def session_is_rearmed() -> str:
    """The longest silence that each member id survived; evictions must not come before the end.

    The longest silence of a member id that survived none ended in its eviction. R01 judges whether
    that was late, so it has no bound here.

    Law: no silence that surely was longer than a session is survived, and none that surely was
    shorter ends in an eviction.
    """
    return """
        WITH {WEIGHED}, longest AS (
            SELECT member_id, min(member) AS member, max(session_timeout_ms) AS session_ms,
                   max(ms) FILTER (WHERE ended_by <> 'evicted') AS survived_ms,
                   count_if(ended_by = 'evicted' AND ms < session_timeout_ms - :slack_ms) AS early,
                   max(struct(ms, to_at, from_at)) AS silence, count(*) AS silences
            FROM {silences} GROUP BY member_id
        )
        SELECT concat(coalesce(member, member_id), ' (', member_id, ')') AS subject,
               silence.to_at AS at, coalesce(survived_ms, silence.ms) AS measured,
               CASE WHEN survived_ms IS NOT NULL THEN session_ms + :slack_ms END AS bound_high,
               CASE WHEN early > 0
                    THEN 'was evicted although its session had not run out' END AS wrong,
               IF(early = 0 AND coalesce(survived_ms <= session_ms + :slack_ms, true), u.span,
                  NULL) AS unknown,
               concat('longest of ', silences, ' silences') AS note,
               guard_from(after(session_ms, silence.from_at), silence.to_at) AS guard_from,
               silence.to_at AS guard_to
        FROM longest LEFT JOIN (
            SELECT member_id, min(span) AS span FROM weighed WHERE may_be_short
            GROUP BY member_id) u USING (member_id)
    """


@Rule(
    "R16",
    title="Each of the three timers has an effect of its own",
    statement="The coordinator removes a member only after session.timeout.ms without a sign of "
    "life. A member leaves by itself only when it closes, or after max.poll.interval.ms without a "
    "poll. heartbeat.interval.ms decides neither.",
    source="document 001, session.timeout.ms, heartbeat.interval.ms and max.poll.interval.ms",
    unit="ms",
    things="removals",
    measures="of silence, or without a poll",
    too_low="was removed before one of its timers ran out",
    matters="A user who raises the wrong one of the three timers goes on losing members.",
    protocols=CLASSIC,
)
def three_timers() -> str:
    """Each removal needs the timer that it is made by, but for one of a member that closes.

    Law: who is removed was silent for a session, or unpolled for a max.poll.interval.ms, or closes.
    """
    return """
        WITH {WEIGHED}, removed AS (
            SELECT r.member, r.member_id, r.removed_at AS at, r.removed_by = 'evicted' AS evicted,
                   r.evidence, m.session_timeout_ms - :slack_ms AS session_ms,
                   m.max_poll_interval_ms - :poll_ms - :slack_ms AS limit_ms
            FROM {memberships} r JOIN {members} m USING (member)
            WHERE r.removed_by IN ('evicted', 'left')
        ), reasons AS (
            SELECT r.*, e.silence_ms, IF(e.may_be_short, e.span, NULL) AS span,
                   count_if(c.event = 'closing') > 0 AS closing,
                   max(ms_between(c.event_at, r.at)) FILTER (
                       WHERE c.event IN ('stall_started', 'callback_stall_started')
                       AND after(c.duration_ms, c.event_at) >= r.at) AS unpolled_ms
            FROM removed r LEFT JOIN weighed e USING (member_id)
            LEFT JOIN {client_events} c
              ON c.member = r.member
             AND c.event IN ('closing', 'stall_started', 'callback_stall_started')
             AND c.event_at <= after(:rounding_ms, r.at)
            GROUP BY ALL
        )
        SELECT concat(member, IF(evicted, ' (evicted)', ' (left)')) AS subject, at,
               IF(evicted, silence_ms, unpolled_ms) AS measured,
               CASE WHEN evicted THEN session_ms WHEN NOT closing THEN limit_ms END AS bound_low,
               CASE WHEN evicted AND silence_ms IS NULL
                    THEN 'no sign of life before the eviction is on record'
                    WHEN evicted THEN span END AS unknown,
               CASE WHEN NOT evicted AND NOT closing AND unpolled_ms IS NULL
                    THEN 'left the group, although it neither closed nor stalled' END AS wrong,
               CASE WHEN NOT evicted AND closing THEN 'it was closing' END AS note, evidence
        FROM reasons
    """
