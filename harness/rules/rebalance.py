"""How a rebalance begins, runs and ends at the coordinator."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import A_BROKER, A_MEMBER, Groups, Rule

# What a coordinator takes to start a rebalance after the line that caused it (measured: 1 ms).
START_MS: Final = 10
# What it takes first to make a group of KIP-848 a classic one when its last modern member leaves,
# which it does in the same step (GroupMetadataManager, convertToClassicGroup; measured: 62 ms, of
# code that runs once).
CONVERT_MS: Final = 100
# What it may take longer for the first epoch of KIP-848 that it ever starts, in code that it has
# never run before (GroupMetadataManager, metadata hash). Measured from the first member's join: 0.2
# to 2.2 ms in 18 runs and 101 ms in one, in which this machine was on time, and the broker logged
# nothing else for 84 ms.
FIRST_MS: Final = 250
# How long close() may take once the coordinator has answered that the member left: connections are
# ended, and Java asks each leader to forget what it fetched. Measured in 508 closes: up to 0.14 s.
CLOSED_MS: Final = 1_000

# The coordinator's lines that cause a rebalance.
_HEARD: Final = """
    SELECT concat(event, ' ', member_id) AS subject, at, at AS cause_at, rebalancing,
           next_start_at AS started_at, next_reason AS reason, false AS silent, broker, evidence
    FROM {group_steps} WHERE event IN
"""
# Those that make a member of somebody who was none: not members that a group of another protocol
# takes over, nor a static member of KIP-848 in the place of the one that it was.
_NEWCOMERS: Final = """
    SELECT concat(event, ' ', member_id) AS subject, at, at AS cause_at, rebalancing,
           next_start_at AS started_at, next_reason AS reason, false AS silent, broker, evidence
    FROM (
        SELECT *, lag(event) OVER (PARTITION BY member_id ORDER BY at) AS event_before
        FROM {group_steps}
        WHERE event IN ('member_added', 'evicted', 'left', 'replaced', 'fenced')
    ) LEFT ANTI JOIN (
        SELECT evidence AS replacing FROM {coordinator_events}
        WHERE event = 'member_added' AND text LIKE '%to replace the existing member %'
    ) ON replacing = evidence
    WHERE event = 'member_added' AND event_before IS DISTINCT FROM 'member_added'
"""
# Static members that closed; they do not tell the coordinator.
_SILENT: Final = """
    SELECT concat(c.member, ' (close)'), c.event_at, c.event_at, false,
           min(g.at), min(struct(g.at, g.reason)).reason, true, NULL, NULL
    FROM {client_events} c
    JOIN {members} m ON m.member = c.member AND m.instance_id IS NOT NULL
    LEFT JOIN {coordinator_events} g
      ON g.`group` = :group AND g.event = 'rebalance_started' AND g.at >= c.event_at
    WHERE c.event = 'closing' AND c.event_at < :stopped_at
    GROUP BY c.member, c.event_at
"""


def _starts(causes: str) -> str:
    """What should start a rebalance, and how long it took to."""
    return f"""
        WITH causes AS ({causes}), timed AS (
            -- Where members are being waited for already, nothing needs to start.
            SELECT c.*, b.broker IS NOT NULL AS was_stopped,
                   IF(rebalancing, NULL,
                      IF(reason LIKE 'Downgrade group %', :CONVERT_MS, 0) + :START_MS + :slack_ms)
                       AS most_ms,
                   CASE WHEN NOT rebalancing THEN ms_between(cause_at, started_at) END AS ms,
                   started_at = f.first_at AS is_first
            FROM causes c LEFT JOIN {{stopped_brokers}} b
              ON b.broker = c.broker AND c.cause_at BETWEEN b.from_at AND b.to_at
            LEFT JOIN (
                SELECT broker, min(at) AS first_at FROM {{coordinator_events}}
                WHERE event = 'epoch_bumped' GROUP BY broker
            ) f ON f.broker = c.broker
        )
        SELECT subject, at, ms AS measured, most_ms AS bound_high,
               CASE WHEN cause_at IS NULL THEN 'never left, by the coordinator''s log'
                    WHEN silent AND ms IS NULL
                    THEN 'did not announce that it leaves, and no rebalance started after it'
                    WHEN NOT rebalancing AND ms IS NULL THEN 'no rebalance started after it'
                    END AS wrong,
               CASE WHEN was_stopped AND ms IS NOT NULL THEN 'its coordinator had been stopped'
                    WHEN is_first AND ms > most_ms AND ms <= most_ms + :FIRST_MS
                    THEN 'it was the first rebalance that its coordinator ever started'
                    END AS excused,
               CASE WHEN rebalancing THEN 'a rebalance was under way already'
                    WHEN silent
                    THEN concat('a static member does not announce that it leaves; ', reason)
                    ELSE concat('the coordinator''s reason: ', reason) END AS note,
               evidence,
               -- The coordinator writes both lines of what it heard: a machine that stood still can
               -- only have made the time between them longer.
               IF(rebalancing OR NOT silent AND ms <= most_ms, NULL, cause_at) AS guard_from,
               after(:START_MS + :guard_ms, cause_at) AS guard_to
        FROM timed
    """


@Rule(
    "R12",
    title="One leader per generation",
    statement="In each generation one member that joined it is the leader and sends the "
    "assignment once. The leader keeps its role as long as it rejoins.",
    source="document 001, JoinGroup phase",
    unit="assignments",
    things="generations",
    measures="received",
    too_low="was never given an assignment by its leader",
    too_high="was given more than one assignment",
    matters="Members wait in SyncGroup for the leader's assignment: without a leader nobody "
    "consumes, and two leaders may disagree about who owns which partition.",
    protocols=CLASSIC,  # in KIP-848 the coordinator assigns: X24
)
def one_assignment() -> str:
    """Generations of which somebody was given a part, or that had time for it.

    The group leader stays while it is among those who rejoined under the same member id. A static
    member stays in the group for its session without joining.
    """
    return """
        WITH kept AS (
            SELECT g.number, count(m.member_id) AS static
            FROM {generations} g JOIN {memberships} m
              ON m.instance_id IS NOT NULL AND m.joined_at <= g.joined_at
             AND (m.removed_at IS NULL OR m.removed_at >= g.joined_at)
            GROUP BY g.number
        ), joined AS (
            SELECT broker, generation, collect_set(member_id) AS member_ids
            FROM {joins} GROUP BY broker, generation
        ), led AS (
            SELECT g.*, array_contains(j.member_ids, g.leader) AS leader_joined,
                   array_contains(j.member_ids, g.leader_before) AS former_joined,
                   -- Whoever joined it, whenever: lines of joins may be stamped late (R12-all).
                   coalesce(size(j.member_ids), 0) AS told, coalesce(k.static, 0) AS static
            FROM {generations} g
            LEFT JOIN joined j ON same(j, g, broker, generation)
            LEFT JOIN kept k ON k.number = g.number
            WHERE g.event = 'stabilized' AND g.members > 0
              -- Without an assignment: only if somebody has one, or nothing came between.
              AND (g.times > 0 OR g.answered > 0
                   OR g.next_started_at IS NULL AND g.broker_after IS NULL)
        )
        SELECT concat('generation ', generation) AS subject, joined_at AS at, times AS measured,
               1 AS bound_low, 1 AS bound_high,
               CASE WHEN times = 0 AND answered = 0 AND joined_at >= after(-1000, :stopped_at)
                    THEN 'the run ended before the leader answered'
                    WHEN times > 0 AND leader_joined IS NULL
                    THEN 'no join of this generation is on record' END AS unknown,
               CASE WHEN size(leaders) > 1
                    THEN clause('its members were told of ', size(leaders), ' leaders: ',
                                array_join(array_sort(leaders), ' and '))
                    WHEN times > 0 AND NOT leader_joined
                    THEN clause('its leader ', leader, ' had not joined it')
                    WHEN times > 0 AND size(leaders) = 1 AND leader <> element_at(leaders, 1)
                    THEN clause('its assignment came from ', leader, ', although ',
                                element_at(leaders, 1), ' led it')
                    WHEN joined > 0 AND told + static < members
                    THEN clause('has ', members, ' members, of whom ', told, ' joined it')
                    WHEN times > 0 AND former_joined AND leader <> leader_before
                         AND generation_before < generation
                    THEN clause('the former leader ', leader_before, ' rejoined and was replaced')
                    END AS wrong,
               concat('led by ', leader) AS note, evidence
        FROM led
    """


@Rule(
    "R20a",
    title="A new member starts a rebalance",
    statement="A member that joins a group starts a rebalance, unless one is in progress.",
    source="document 002, rebalance conditions; document 001, triggers",
    unit="ms",
    things="new members",
    measures="until the rebalance started",
    too_high="was followed by a rebalance too late",
    matters="A new member gets partitions only in a rebalance; until then it adds no capacity.",
    delayed_by=A_BROKER,
)
def new_member_starts_one() -> str:
    return _starts(_NEWCOMERS)


@Rule(
    "R20b",
    title="A departure starts a rebalance",
    statement="A member that leaves or is evicted starts a rebalance at once, unless one is in "
    "progress.",
    source="document 002, rebalance conditions; document 003, LEAVE_GROUP",
    unit="ms",
    things="departures",
    measures="until the rebalance started",
    too_high="was followed by a rebalance too late",
    matters="Nobody consumes the partitions of a member that is gone until a rebalance moves them.",
    contradicted=(Groups(static=True),),
    delayed_by=A_BROKER,
)
def departure_starts_one() -> str:
    """What the coordinator was told or noticed, and static members that closed and told nobody."""
    return _starts(_HEARD + "('left', 'evicted') UNION ALL" + _SILENT)


@Rule(
    "R20e",
    title="The end of a member's session starts a rebalance",
    statement="A member whose session runs out is evicted, and a rebalance starts at once, unless "
    "one is in progress.",
    source="document 002, rebalance conditions (session.timeout.ms)",
    unit="ms",
    things="evictions",
    measures="until the rebalance started",
    too_high="was followed by a rebalance too late",
    matters="The outage after a crash lasts session.timeout.ms at least; a late rebalance makes "
    "it longer.",
    protocols=CLASSIC,
    delayed_by=A_BROKER,
)
def eviction_starts_one() -> str:
    return _starts(_HEARD + "('evicted')")


@Rule(
    "R32",
    title="Heartbeat answers tell members of a rebalance",
    statement="The coordinator answers each member's next heartbeat with REBALANCE_IN_PROGRESS, "
    "and the member rejoins.",
    source="document 003, HEARTBEAT",
    unit="ms",
    things="members told of a rebalance",
    measures="after the rebalance started",
    too_high="learned of the rebalance too late",
    matters="A rebalance waits for every member, so heartbeat.interval.ms is part of each outage.",
    protocols=CLASSIC,  # in KIP-848 heartbeats carry the assignment itself: X20
    delayed_by=A_MEMBER,
)
def told_by_heartbeat() -> str:
    """Members of the generation before that rejoined and had not caused the rebalance.

    A member that rejoined before its next heartbeat (the second round of a cooperative rebalance)
    did not need to be told and is not examined, nor is one whose heartbeats a fault held up. A
    heartbeat that had come before the rebalance began may be answered without an error after that:
    some milliseconds, or as long as it has to wait for what was written before it.
    """
    return """
        WITH rejoined AS (
            -- The first join of a generation: a follower that joins anew later is told at once
            -- that it has this generation already.
            SELECT b.number, b.generation, b.started_at, j.member_id, j.member,
                   min(j.arrived_at) AS arrived_at
            FROM {generations} b
            JOIN {joins} j
              ON same(j, b, broker, generation) AND in_time_of(b, j.processed_at)
            JOIN {joins} p ON p.broker = b.broker AND p.generation = b.generation_before
             AND p.member_id = j.member_id
            WHERE b.event = 'stabilized' AND b.broker = b.broker_before
              AND j.arrived_at > b.started_at AND NOT contains(coalesce(b.reason, ''), j.member_id)
            GROUP BY b.number, b.generation, b.started_at, j.member_id, j.member
        ), told AS (
            SELECT r.number, r.generation, r.started_at, r.member_id, r.member, r.arrived_at,
                   min(h.processed_at) FILTER (WHERE h.error_code = :REBALANCE_IN_PROGRESS)
                       AS told_at,
                   count_if(h.error_code = :NONE
                            AND h.arrived_at > after(:slack_ms, r.started_at)) AS misled
            FROM rejoined r
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = r.member, true)
             AND d.from_at <= r.arrived_at AND d.to_at >= r.started_at
            JOIN {own_requests} h
              ON h.api = 'HEARTBEAT' AND h.member_id = r.member_id
             AND h.processed_at >= r.started_at AND h.processed_at <= r.arrived_at
            GROUP BY ALL
        )
        SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
               ms_between(started_at, told_at) AS measured,
               :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
               IF(misled > 0, clause('was not told of the rebalance in answers to its heartbeats, ',
                                     misled, ' of them'), NULL) AS wrong,
               after(-:guard_ms, started_at) AS guard_from,
               guard_to(coalesce(told_at, arrived_at)) AS guard_to
        FROM told WHERE told_at IS NOT NULL OR misled > 0
    """


@Rule(
    "R33",
    title="Generations count up by one and pass through all states",
    statement="Each completed join gives the group the next generation, whichever broker "
    "coordinates it. A generation is prepared, then completed by the members' joins, then stable "
    "with the leader's assignment.",
    source="document 003, group states",
    unit="generations",
    things="generations",
    measures="above the generation before",
    too_low="repeats a generation or goes back",
    too_high="skips generations",
    matters="Commits are fenced by the generation: a number that comes twice lets a former owner "
    "commit over the new one.",
    protocols=CLASSIC,  # group epochs of KIP-848 are passed over: X24
)
def generations_count_up() -> str:
    """Steps between generations, each through all states.

    The coordinator's log shows each change of state: the group is being prepared, all have
    joined, the leader's assignment is there. A generation that was overtaken before its leader gave
    one does not show that last, and is not stored: a coordinator that takes over begins from the
    one before and uses the number again. A group that nobody is in is forgotten with its positions
    (GroupMetadataManager.maybeDeleteGroup): it begins anew.
    """
    return """
        WITH steps AS (
            SELECT *, lag(times) OVER (ORDER BY number) AS times_before FROM {generations}
        )
        SELECT concat('generation ', generation) AS subject, joined_at AS at,
               generation - generation_before AS measured,
               IF(broker <> broker_before AND times_before = 0, 0, 1) AS bound_low, 1 AS bound_high,
               CASE WHEN started_at IS NULL THEN 'was never prepared'
                    WHEN event = 'stabilized' AND answered > 0 AND times = 0
                    THEN 'was given to members before its leader had assigned anything'
                    WHEN broker_after = broker AND synced_at > next_started_at
                    THEN 'was assigned only when the next was being prepared' END AS wrong,
               IF(generation = 1 AND members_before = 0,
                  'the group was empty, was forgotten and began anew', NULL) AS excused,
               concat('after generation ', generation_before) AS note, evidence
        FROM steps WHERE generation_before IS NOT NULL
    """


@Rule(
    "X14",
    title="close() leaves the group at once",
    statement="A dynamic member that closes sends LeaveGroup, and the rebalance of the others "
    "starts at once, not after a session.",
    source="KIP-62; KafkaConsumer.close; rd_kafka_consumer_close",
    unit="ms",
    things="closed members",
    measures="from leaving to the rebalance",
    too_high="left, and the rebalance started too late",
    matters="A deploy with a clean close costs no session timeout; without it each restart leaves "
    "partitions unread for that long.",
    delayed_by=A_MEMBER,
)
def close_leaves() -> str:
    """Members that were in the group when they closed; those that had left before are passed over.

    Static members are to stay silent, and are not examined.
    """
    closings = """
        SELECT concat(c.member, ' (close)') AS subject, c.at, g.at AS cause_at, g.rebalancing,
               g.next_start_at AS started_at, g.next_reason AS reason, false AS silent, g.broker,
               g.evidence
        FROM (SELECT c.member, c.event_at AS at,
                     max(struct(s.joined_at, s.member_id)).member_id AS member_id
              FROM {client_events} c JOIN {memberships} s
                ON s.member = c.member AND s.joined_at <= c.event_at
               AND (s.removed_at IS NULL OR s.removed_at >= c.event_at)
              WHERE c.event = 'closing' AND s.instance_id IS NULL
              GROUP BY c.member, c.event_at) c
        LEFT JOIN {group_steps} g
          ON g.event = 'left' AND g.member_id = c.member_id AND g.at >= c.at
    """
    return _starts(closings)


@Rule(
    "X107",
    title="close() returns once the member has left",
    statement="A process that closes its member goes on within a second after the coordinator has "
    "answered that the member left.",
    source="KafkaConsumer.close; rd_kafka_consumer_close",
    unit="ms",
    things="members that closed",
    measures="after the answer to the leave",
    too_high="returned from close() too late",
    matters="A process that hangs in close() is killed by its deploy, which then takes that long.",
    in_passing=True,
    compares_clocks=True,
    delayed_by=A_MEMBER,
)
def close_returns() -> str:
    """Members whose process ended as closed, by what they recorded of it.

    Java waits for brokers that it cannot reach, and an answer may be on its way on a slow link: how
    long it took is not asked where a fault held up heartbeats, or had until a session before.
    """
    return """
        WITH closings AS (
            SELECT m.member, max(IF(c.event = 'closing', c.event_at, NULL)) AS closing_at,
                   max(IF(c.event = 'closed', c.event_at, NULL)) AS closed_at,
                   max(m.ended_at) AS ended_at
            FROM {members} m LEFT JOIN {client_events} c USING (member)
            WHERE m.role = 'consumer' AND m.client <> 'app' AND m.`end` = 'closed'
            GROUP BY m.member
        ), answered AS (
            SELECT c.member, max(r.answered_at) AS left_at,
                   min_by(r.evidence, struct(r.answered_at, r.evidence)) AS evidence
            FROM closings c JOIN {own_requests} r
              ON r.member = c.member AND r.arrived_at >= after(-:slack_ms, c.closing_at)
             AND r.error_code = :NONE
             AND (r.api = 'LEAVE_GROUP'
                  OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = c.member, true)
             AND d.from_at <= coalesce(c.closed_at, :ended_at)
             AND d.to_at >= after(-:session_ms, c.closing_at)
            GROUP BY c.member
        )
        SELECT c.member AS subject, coalesce(c.closed_at, c.closing_at, c.ended_at) AS at,
               ms_between(a.left_at, c.closed_at) AS measured, :CLOSED_MS + :slack_ms AS bound_high,
               CASE WHEN c.closed_at IS NULL
                    THEN 'ended as closed, and its close() had never returned' END AS wrong,
               IF(c.closed_at IS NOT NULL AND a.left_at IS NULL,
                  'it had no leave to wait for, or a fault held up its answers', NULL) AS excused,
               a.evidence,
               IF(c.closed_at IS NULL, NULL, a.left_at) AS guard_from,
               IF(a.left_at IS NULL, NULL, guard_to(c.closed_at)) AS guard_to
        FROM closings c LEFT JOIN answered a USING (member)
    """
