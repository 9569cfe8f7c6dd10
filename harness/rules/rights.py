"""What brokers answer to a member whose user has lost a right, or its credentials."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

TOPIC_AUTHORIZATION_FAILED: Final = 29
# When a member's user lacked an ACL: every broker had refused it by `gone_from_at`, and none had
# been told to let it in again by `gone_to_at`. In between these and the other two it depends.
LOST: Final = """
    WITH lost AS (
        SELECT fault, resolved AS member,
               coalesce(get_json_object(parameters, '$.how'), 'group') AS lost,
               injecting_at AS from_at, after(:slack_ms, injected_at) AS gone_from_at,
               coalesce(healing_at, :ended_at) AS gone_to_at,
               coalesce(healed_at, :ended_at) AS to_at
        FROM {fault_windows} WHERE kind = 'delete-acl' AND took_effect
    )
"""


@Rule(
    "X43",
    title="Who may not use the group is refused",
    statement=(
        "While a user has no right to a group, a broker refuses each call about that group with "
        "GROUP_AUTHORIZATION_FAILED; while the user has it, none is refused so."
    ),
    source="Kafka documentation, security, authorization and ACLs (READ and DESCRIBE on GROUP)",
    unit="",
    things="calls",
    matters=(
        "A refused heartbeat is no sign of life: the member is put out when its session ends, "
        "whether or not its client says so."
    ),
    broker=True,
)
def refused_the_group() -> str:
    """Calls made while the right was gone for certain, and all that were refused at other times."""
    return """
        {LOST}, calls AS (
            SELECT member, api, arrived_at, processed_at, error_code, evidence
            FROM {own_requests} WHERE error_code IS NOT NULL
        )
        SELECT concat(c.member, ' ', c.api) AS subject, c.arrived_at AS at,
               IF(c.error_code <> :GROUP_AUTHORIZATION_FAILED,
                  clause('was answered with error ', c.error_code, ' while its user had no right ',
                         'to the group'), NULL) AS wrong,
               CAST(NULL AS STRING) AS note, c.evidence
        FROM calls c JOIN lost l
          ON l.member = c.member AND l.lost = 'group'
         AND c.arrived_at >= l.gone_from_at AND c.processed_at <= l.gone_to_at
        UNION ALL
        SELECT concat(c.member, ' ', c.api), c.arrived_at,
               'was refused the group, to which its user had every right', NULL, c.evidence
        FROM calls c LEFT ANTI JOIN lost l
          ON l.member = c.member AND l.lost = 'group'
         AND c.processed_at >= l.from_at AND c.arrived_at <= l.to_at
        WHERE c.error_code = :GROUP_AUTHORIZATION_FAILED
    """


@Rule(
    "X43-topic",
    title="Who may not read the topic keeps its partitions",
    statement=(
        "A member whose user has no right to the topic, but to the group, has its heartbeats "
        "accepted, and each of its commits refused with TOPIC_AUTHORIZATION_FAILED."
    ),
    source="Kafka documentation, security, authorization and ACLs (READ on TOPIC)",
    unit="",
    things="calls",
    matters="Nobody reads its partitions, and no rebalance gives them to a member who may.",
    broker=True,
    protocols=CLASSIC,  # in KIP-848 a heartbeat may name the topics, which is then a question too
)
def refused_the_topic() -> str:
    """Heartbeats and commits while the right to the topic was gone for certain."""
    return """
        {LOST}
        SELECT concat(c.member, ' ', c.api) AS subject, c.arrived_at AS at,
               CASE WHEN c.api = 'HEARTBEAT'
                         AND c.error_code IN (:GROUP_AUTHORIZATION_FAILED,
                                              :TOPIC_AUTHORIZATION_FAILED)
                    THEN clause('was refused with error ', c.error_code, ', although its user had ',
                                'the right to the group')
                    WHEN c.api = 'OFFSET_COMMIT' AND c.error_code <> :TOPIC_AUTHORIZATION_FAILED
                    THEN clause('was answered with error ', c.error_code, ' while its user had no ',
                                'right to the topic') END AS wrong,
               concat('was answered with error ', c.error_code) AS note, c.evidence
        FROM {own_requests} c JOIN lost l
          ON l.member = c.member AND l.lost = 'topic'
         AND c.arrived_at >= l.gone_from_at AND c.processed_at <= l.gone_to_at
        WHERE c.api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND c.error_code IS NOT NULL
    """


@Rule(
    "X44",
    title="A connection outlives its user's credentials by connections.max.reauth.ms at most",
    statement=(
        "A broker with connections.max.reauth.ms serves no connection for longer than that after "
        "its last login, so a user without credentials is cut off within that time."
    ),
    source="connections.max.reauth.ms; KIP-368",
    unit="ms",
    things="users whose credentials were deleted",
    measures="from the deletion to the last request that was served",
    too_high="was still served when each of its connections had to log in again",
    matters="Without that setting, 0 by default, who is closed out stays in as long as it likes.",
    broker=True,
)
def cut_off() -> str:
    """Requests of the member's group, on any of its connections.

    Every broker had refused a login of the user by the time that counts as the deletion, so no
    connection can have been logged in after it.
    """
    return """
        WITH deleted AS (
            SELECT fault, resolved, injected_at, coalesce(healing_at, :ended_at) AS to_at
            FROM {fault_windows}
            WHERE kind = 'delete-credentials' AND took_effect AND :reauth_ms > 0
        ), served AS (
            SELECT d.fault, count(r.arrived_at) AS requests,
                   max(struct(r.arrived_at, r.evidence)) AS last
            FROM deleted d LEFT JOIN {own_requests} r
              ON r.member = d.resolved AND r.arrived_at > d.injected_at AND r.arrived_at < d.to_at
            GROUP BY d.fault
        )
        SELECT d.resolved AS subject, d.injected_at AS at,
               coalesce(ms_between(d.injected_at, s.last.arrived_at), 0) AS measured,
               :reauth_ms + :slack_ms AS bound_high,
               concat(s.requests, ' requests were served meanwhile') AS note,
               s.last.evidence AS evidence,
               after(:reauth_ms - :guard_ms, d.injected_at) AS guard_from,
               after(:reauth_ms + :slack_ms, d.injected_at) AS guard_to
        FROM deleted d JOIN served s USING (fault)
    """
