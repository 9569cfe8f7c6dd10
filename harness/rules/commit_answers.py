"""How long a commit may take, and that its client reports what it was answered."""

from typing import Final

from harness.rules.rule import A_MEMBER, A_MEMBERS_WRITE, Rule

# In 228 runs without a broken broker the longest took 0.47 s, while clients started.
OVERLOADED_MS: Final = 1_000
TIMED_OUT: Final = -185  # librdkafka's own code, _TIMED_OUT
# Refusals that only a coordinator gives: no client reports one of these by itself, but Java
# REBALANCE_IN_PROGRESS.
REFUSALS: Final = """(:OFFSET_METADATA_TOO_LARGE, :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
    :REBALANCE_IN_PROGRESS, :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)"""


@Rule(
    "X59",
    title="A client reports the answer that it was given",
    statement="A commit that its coordinator accepted is not reported as refused, and one that it "
    "refused not as made, nor with another refusal, for each partition by itself. One that was "
    "accepted in time is not reported as timed out, nor left without a report.",
    source="KafkaConsumer.commitSync; rd_kafka_commit; OffsetCommitResponse",
    unit="commits",
    things="members",
    measures="reported otherwise",
    too_high="reported another answer than it was given",
    matters="An application that is told of a commit which was not made goes on, and its work is "
    "done twice; one that is told of a failure does it again itself.",
    in_passing=True,
    compares_clocks=True,
)
def reports_its_answers() -> str:
    """Commits that were asked for or reported, each beside the last answer on its way back.

    A client asks again by itself after an error that passes, and reports the last answer. An answer
    may be lost on a disturbed link, or with its process; its line with a broker that is killed.
    Java calls a commit that was refused while it has to join again REBALANCE_IN_PROGRESS, whatever
    it was answered. A refusal may be reported for all partitions of a request. A transaction may
    fail after its positions were accepted, but not by one of REFUSALS. Nobody knows when an
    automatic commit was asked for: it is reported as made if any answer before that says so.
    """
    return """
        WITH polled AS (
            SELECT member, max(polled_at) AS last_at FROM {deliveries} GROUP BY member
        ), asked AS (
            SELECT c.member, c.how, c.topic, c.partition, c.committed, c.asked_at, c.error_code,
                   coalesce(c.answered_at, after(-:commit_timeout_ms, p.last_at)) AS answered_at
            FROM {commits} c LEFT JOIN polled p ON p.member = c.member
            WHERE c.how <> 'external' AND (c.asked_at IS NOT NULL OR c.how = 'auto')
              AND coalesce(c.error_code >= 0 OR c.error_code = :TIMED_OUT, true)
        ), answered AS (
            SELECT a.member, a.how, a.topic, a.partition, a.committed, a.asked_at, a.answered_at,
                   a.error_code, count_if(p.error_code = :NONE) > 0 AS made,
                   max(struct(p.arrived_at, p.error_code, p.evidence, p.answered_at)) AS last
            FROM asked a JOIN {positions} p
              ON p.api = IF(a.how = 'transaction', 'TXN_OFFSET_COMMIT', 'OFFSET_COMMIT')
             AND same(p, a, member, topic, partition, committed)
             AND coalesce(p.arrived_at >= after(-:slack_ms, a.asked_at), true)
             AND p.arrived_at <= after(:slack_ms, a.answered_at)
            GROUP BY a.member, a.how, a.topic, a.partition, a.committed, a.asked_at, a.answered_at,
                     a.error_code
        ), unlogged AS (
            SELECT injecting_at AS from_at, coalesce(healed_at, :ended_at) AS to_at
            FROM {broker_faults} WHERE killed OR healed_at IS NULL
        ), unheard AS (
            SELECT a.member, a.answered_at, a.error_code
            FROM answered a
            LEFT ANTI JOIN {positions} p
              ON p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND same(p, a, member, error_code)
             AND coalesce(p.arrived_at >= after(-:slack_ms, a.asked_at), true)
             AND p.arrived_at <= after(:slack_ms, a.answered_at)
            LEFT ANTI JOIN unlogged u
              ON u.from_at <= a.answered_at
             AND u.to_at >= coalesce(a.asked_at, a.last.arrived_at)
            WHERE a.error_code IN {REFUSALS}
              AND (:client <> 'java' OR a.error_code <> :REBALANCE_IN_PROGRESS)
            GROUP BY a.member, a.answered_at, a.error_code
        ), compared AS (
            SELECT a.*,
                   u.member IS NOT NULL
                   OR CASE WHEN a.how = 'auto'
                           THEN a.error_code = :NONE AND NOT a.made AND a.broken = 0
                           ELSE a.error_code = :NONE AND a.last.error_code <> :NONE
                                OR a.error_code IN {REFUSALS} AND a.last.error_code = :NONE
                                OR coalesce(a.error_code = :TIMED_OUT, true)
                                   AND a.last.error_code = :NONE AND a.how <> 'transaction'
                                   AND a.last.answered_at <= after(-:slack_ms, a.answered_at)
                                   AND a.disturbed = 0 END AS otherwise
            FROM (SELECT a.*, count(d.from_at) AS disturbed, count(b.from_at) AS broken
                  FROM answered a LEFT JOIN {disturbances} d
                    ON coalesce(d.member = a.member, true) AND d.to_at >= a.asked_at
                   AND d.from_at <= after(:commit_timeout_ms, a.asked_at)
                  LEFT JOIN unlogged b
                    ON b.from_at <= a.answered_at AND b.to_at >= a.last.arrived_at
                  GROUP BY ALL) a
            LEFT JOIN unheard u
              ON same(u, a, member, answered_at, error_code)
        ), judged AS (
            SELECT member, count(*) AS commits, count_if(otherwise) AS times,
                   min(coalesce(asked_at, answered_at)) AS at,
                   min(struct(coalesce(asked_at, answered_at) AS at, topic, partition, committed,
                              error_code, last)) FILTER (WHERE otherwise) AS first
            FROM compared GROUP BY member
        )
        SELECT concat(member, ' (commits)') AS subject, coalesce(first.at, at) AS at,
               times AS measured, 0 AS bound_high,
               IF(times > 0, clause(coalesce(concat('reported error ', first.error_code),
                                             'reported nothing'), ' for ', first.topic, '-',
                                    first.partition, ' at ', first.committed,
                                    ', and was answered ', first.last.error_code), NULL) AS wrong,
               concat(commits, ' commits') AS note, first.last.evidence AS evidence
        FROM judged
    """


@Rule(
    "X100",
    title="A member commits only what its application asks for",
    statement="Where commits are not automatic, no commit is made that the member's application "
    "did not ask for.",
    source="enable.auto.commit; KafkaConsumer, Manual Offset Control",
    unit="commits",
    things="members",
    measures="that nobody asked for",
    too_high="made commits that its application did not ask for",
    matters="A commit behind the application's back covers records that it has not worked on yet: "
    "if it crashes then, they are lost.",
    in_passing=True,
    compares_clocks=True,
)
def commits_what_it_is_asked_for() -> str:
    """Accepted commits of members that were not killed, each beside what was asked for before.

    In 184 runs all of 86,000 such commits had been asked for. What a killed member asked for last
    may have got no further than the broker.
    """
    return """
        WITH made AS (
            SELECT p.member, p.topic, p.partition, p.committed, p.arrived_at, p.evidence
            FROM {positions} p JOIN {members} m ON m.member = p.member
            WHERE p.api = 'OFFSET_COMMIT' AND p.error_code = :NONE
              AND p.request_error_code = :NONE
              AND m.role = 'consumer' AND m.commit <> 'auto' AND m.`end` <> 'killed'
        ), unasked AS (
            SELECT a.member, count(*) AS times,
                   min(struct(a.arrived_at, a.topic, a.partition, a.committed, a.evidence)) AS first
            FROM made a LEFT ANTI JOIN {commits} c
              ON same(c, a, member, topic, partition, committed)
             AND coalesce(c.asked_at <= after(:slack_ms, a.arrived_at), true)
            GROUP BY a.member
        ), totals AS (
            SELECT member, count(*) AS commits, min(arrived_at) AS at FROM made GROUP BY member
        )
        SELECT concat(t.member, ' (commits asked for)') AS subject,
               coalesce(u.first.arrived_at, t.at) AS at, coalesce(u.times, 0) AS measured,
               0 AS bound_high,
               concat(t.commits, ' commits',
                      coalesce(concat('; the first that nobody asked for is of ', u.first.topic,
                                      '-', u.first.partition, ' at ', u.first.committed), ''))
                   AS note,
               u.first.evidence AS evidence
        FROM totals t LEFT JOIN unasked u ON u.member = t.member
    """


@Rule(
    "X61",
    title="A commit is answered within offsets.commit.timeout.ms",
    statement="A coordinator answers a commit within offsets.commit.timeout.ms of its arrival, "
    "whether it could be made or not.",
    source="offsets.commit.timeout.ms; document 003, OFFSET_COMMIT",
    unit="ms",
    things="members",
    measures="for the longest",
    too_high="was not answered in time",
    matters="A synchronous commit holds up its application for as long as this.",
    broker=True,
    in_passing=True,
    delayed_by=A_MEMBERS_WRITE,
)
def commits_are_answered() -> str:
    """Each member's longest wait for a commit; a broker that was stopped answers nobody.

    An answer that times out has been through three queues, each of which may take the slack (X28).
    """
    return """
        WITH waited AS (
            SELECT r.member, r.arrived_at, r.answered_at, r.evidence,
                   ms_between(r.arrived_at, r.answered_at) AS ms
            FROM {own_requests} r
            LEFT ANTI JOIN {stopped_brokers} s
              ON s.broker = r.broker AND s.from_at <= r.answered_at AND s.to_at >= r.arrived_at
            WHERE r.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
        ), longest AS (
            SELECT member, count(*) AS commits, max(struct(ms, arrived_at, answered_at, evidence))
                       AS worst
            FROM waited GROUP BY member
        )
        SELECT concat(member, ' (longest commit)') AS subject, worst.arrived_at AS at,
               worst.ms AS measured, :commit_timeout_ms + 3 * :slack_ms AS bound_high,
               concat('of ', commits, ' commits') AS note, worst.evidence AS evidence,
               worst.arrived_at AS guard_from, worst.answered_at AS guard_to
        FROM longest
    """


@Rule(
    "X75",
    title="A coordinator that works answers within a second",
    statement="A coordinator that works answers each heartbeat, leave and question for positions "
    "within a second, whatever its group does. So does a broker that is asked who coordinates it.",
    source="GroupCoordinatorService.heartbeat; GroupMetadataManager.classicGroupHeartbeat",
    unit="ms",
    things="members",
    measures="for an answer",
    too_high="waited too long for an answer",
    matters="A member hears of a rebalance, or of its removal, no sooner than by the answer to its "
    "heartbeat, and cannot begin to read before it has its positions.",
    broker=True,
    in_passing=True,
    delayed_by=A_MEMBER,
)
def answers_in_time() -> str:
    """Each member's longest wait for an answer; a broker that was stopped answers nobody.

    Before the group's first line a broker may have to make the offsets topic, and does everything
    for the first time. In KIP-848 a heartbeat that changes the group waits until that is written,
    and a broker's fault may keep replicas from writing.
    """
    return """
        WITH began AS (
            SELECT min(from_at) AS at FROM {tenures}
        ), waited AS (
            SELECT r.member, r.api, r.arrived_at, r.answered_at, r.evidence,
                   ms_between(r.arrived_at, r.answered_at) AS ms
            FROM {own_requests} r JOIN began b ON b.at IS NULL OR r.arrived_at >= b.at
            LEFT ANTI JOIN {unsettled} u
              ON u.from_at <= r.answered_at AND u.to_at >= r.arrived_at
            WHERE r.api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT', 'LEAVE_GROUP', 'OFFSET_FETCH',
                            'FIND_COORDINATOR')
        ), longest AS (
            SELECT member, count(*) AS requests,
                   max(struct(ms, arrived_at, answered_at, evidence, api)) AS worst
            FROM waited GROUP BY member
        )
        SELECT concat(member, ' (longest wait)') AS subject, worst.arrived_at AS at,
               worst.ms AS measured, :OVERLOADED_MS + :slack_ms AS bound_high,
               concat('for a ', worst.api, ', of ', requests, ' requests') AS note,
               worst.evidence AS evidence,
               worst.arrived_at AS guard_from, worst.answered_at AS guard_to
        FROM longest
    """
