"""What brokers answer to a member whose user has lost a right, or its credentials."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_MEMBERS_WRITE, Party, Rule

TOPIC_AUTHORIZATION_FAILED: Final = 29
# What each fault took from a member's user: the right that its way names, or, where it has no ways,
# all of them at once, since nobody lets the user in. An older journal names the way only where its
# experiment does. Every broker had refused the user by `gone_from_at`, and none had been told to
# let it in again by `gone_to_at`. In between these and the other two it depends.
LOST: Final = """
    WITH lost AS (
        SELECT fault, resolved AS member,
               coalesce(get_json_object(parameters, '$.way'),
                        get_json_object(parameters, '$.how')) AS lost,
               injecting_at AS from_at, injected_at, after(:slack_ms, injected_at) AS gone_from_at,
               coalesce(healing_at, :ended_at) AS gone_to_at,
               coalesce(healed_at, :ended_at) AS to_at
        FROM {fault_windows} WHERE breaks = 'rights' AND took_effect
    )
"""


@Rule(
    "X43",
    title="A user without a right to the group is refused",
    statement="A broker refuses each request about a group with GROUP_AUTHORIZATION_FAILED while "
    "the user has no right to the group, and none with that error while the user has it.",
    source="Kafka documentation, security, authorization and ACLs (READ and DESCRIBE on GROUP)",
    unit="",
    things="requests",
    matters="A refused heartbeat does not keep its member alive: the member is evicted when its "
    "session ends, whether or not its client reports the error.",
    broker=True,
)
def refused_the_group() -> str:
    """Calls made while the right was gone for certain, and all that were refused."""
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
         -- A client may give up at the first refusal, before anybody else has seen one.
         AND c.arrived_at >= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.from_at,
                                l.gone_from_at)
         AND c.processed_at <= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.to_at,
                                  l.gone_to_at)
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
    title="A user without a right to the topic keeps its partitions",
    statement="A member whose user has a right to the group but not to the topic has its "
    "heartbeats accepted, and each of its commits refused with TOPIC_AUTHORIZATION_FAILED.",
    source="Kafka documentation, security, authorization and ACLs (READ on TOPIC)",
    unit="",
    things="requests",
    matters="Nobody reads its partitions, and no rebalance gives them to a member that may.",
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
    title="Deleted credentials expire within connections.max.reauth.ms",
    statement="A broker with connections.max.reauth.ms serves no connection for longer than that "
    "after its last login, so a user without credentials is cut off within that time.",
    source="connections.max.reauth.ms; KIP-368",
    unit="ms",
    things="users whose credentials were deleted",
    measures="from the deletion to the last request that was served",
    too_high="was still served after each of its connections had to log in again",
    matters="Without that setting (default: 0) a user whose credentials were deleted stays "
    "connected for as long as it likes.",
    broker=True,
    delayed_by=(*A_MEMBERS_WRITE, Party.CONTROLLER),
)
def cut_off() -> str:
    """Requests of the member's group, on any of its connections.

    Every broker had refused a login of the user by the time that counts as the deletion, so no
    connection can have been logged in after it.
    """
    return """
        {LOST}, deleted AS (
            SELECT * FROM lost WHERE lost IS NULL AND :reauth_ms > 0
        ), served AS (
            SELECT d.fault, count(r.arrived_at) AS requests,
                   max(struct(r.arrived_at, r.evidence)) AS last
            FROM deleted d LEFT JOIN {own_requests} r
              ON r.member = d.member AND r.arrived_at > d.injected_at
             AND r.arrived_at < d.gone_to_at
            GROUP BY d.fault
        )
        SELECT d.member AS subject, d.injected_at AS at,
               coalesce(ms_between(d.injected_at, s.last.arrived_at), 0) AS measured,
               :reauth_ms + :slack_ms AS bound_high,
               concat(s.requests, ' requests were served meanwhile') AS note,
               s.last.evidence AS evidence,
               after(:reauth_ms - :guard_ms, d.injected_at) AS guard_from,
               after(:reauth_ms + :slack_ms, d.injected_at) AS guard_to
        FROM deleted d JOIN served s USING (fault)
    """
