"""Who gets how many partitions, and which: by the assignors of clients and of the broker."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

# Whole assignments with their sizes: those that give every partition that there is to somebody.
SPREAD: Final = """
    WITH given AS (
        SELECT broker, generation, member_id, count(DISTINCT topic, partition) AS size,
               min(at) AS at, min(evidence) AS evidence
        FROM {assignments} GROUP BY broker, generation, member_id
    ),
    -- A static member that came back later joined in the same generation, under another id.
    led AS (
        SELECT DISTINCT 'classic' AS protocol, d.joined_at, j.generation, j.member_id,
               coalesce(g.size, 0) AS size, g.at, g.evidence
        FROM {joins} j JOIN {generations} d
          ON same(d, j, broker, generation) AND d.event = 'stabilized'
         AND in_time_of(d, j.processed_at)
        JOIN {memberships} m ON m.member_id = j.member_id AND m.joined_at <= d.joined_at
        LEFT JOIN given g ON same(g, j, broker, generation, member_id)
    ), told AS (
        SELECT d.joined_at, d.generation, m.stay AS member_id, d.completed_at AS at,
               max(struct(b.processed_at, b.evidence, size(b.assigned) AS size))
                   FILTER (WHERE b.assigned IS NOT NULL) AS last,
               max(struct(b.processed_at, b.evidence)).evidence AS evidence,
               count_if(b.member_epoch = d.generation) > 0 AS heard
        FROM {rebalances} d
        JOIN {memberships} m ON m.joined_at <= d.joined_at
         AND (m.removed_at IS NULL OR m.removed_at > d.completed_at)
        LEFT JOIN {consumer_heartbeats} b
          ON b.member_id = m.member_id AND b.error_code = :NONE
         AND b.processed_at <= d.completed_at
         AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
        WHERE d.protocol = 'consumer' AND d.completed_at IS NOT NULL
        GROUP BY d.joined_at, d.generation, m.stay, d.completed_at
    ), sizes AS (
        SELECT protocol, joined_at, generation, min(at) AS at, min(evidence) AS evidence,
               count(*) AS members, sum(size) AS partitions, max(size) - min(size) AS spread,
               max(size) AS most, min(size) AS least, count_if(size = 0) AS idle,
               array_join(reverse(array_sort(collect_list(size))), '+') AS sizes,
               bool_and(heard) AS heard
        FROM (SELECT *, true AS heard FROM led
              UNION ALL
              SELECT 'consumer', joined_at, generation, member_id, coalesce(last.size, 0), at,
                     evidence, heard
              FROM told)
        GROUP BY protocol, joined_at, generation
    ),
    -- A topic may have grown, which the group may know before the observer does.
    grown AS (
        SELECT s.*, count(DISTINCT p.partition) AS known
        FROM sizes s LEFT JOIN {topology} p ON p.topic = :topic AND p.at <= s.at
        WHERE s.heard GROUP BY ALL
    ),
    whole AS (
        SELECT *, concat('generation ', generation) AS subject,
               concat(partitions, ' partitions for ', members, ' members: ', sizes) AS note
        FROM grown WHERE partitions >= greatest(:partitions, known)
    )
"""


@Rule(
    "R22",
    title="Partitions are spread evenly",
    statement="The partitions of a topic are spread so that no member has two more than another: "
    "three partitions on three members are one each, three on two are two and one. A member for "
    "whom none is left is idle.",
    source="document 002, partition assignment",
    unit="partitions",
    things="whole assignments",
    measures="between the member with the most and the one with the fewest",
    too_high="gave a member at least two partitions more than another",
    matters="The member with the most partitions is the first to fall behind.",
)
def evenly() -> str:
    """Assignments, of a group leader or of the broker, that give every partition to somebody.

    The first round of a cooperative move leaves partitions out on purpose and is not examined, and
    neither is an epoch of KIP-848 that was overtaken before everybody had been told. There, each
    member that the target was computed for counts with what it had been told when all of them had
    heard of it. One that was gone by then has no part in it; where another has not heard of it,
    nothing can be said.
    """
    return """
        {SPREAD}
        SELECT subject, at, spread AS measured, 1 AS bound_high, note, evidence FROM whole
    """


@Rule(
    "R22-each",
    title="With as many partitions as members, each member has one",
    statement="Each member has one partition where a topic has as many partitions as its group "
    "has members.",
    source="document 002, consumers and partitions",
    unit="partitions",
    things="assignments of as many partitions as members",
    measures="for the member with the most",
    too_high="gave a member more than one",
    matters="No further member can share the work.",
    in_passing=True,
)
def one_each() -> str:
    return """
        {SPREAD}
        SELECT subject, at, most AS measured, 1 AS bound_low, 1 AS bound_high, note, evidence
        FROM whole WHERE members = partitions AND :client <> 'app'
    """


@Rule(
    "R22-more",
    title="With more partitions than members, some have one more",
    statement="Where a topic has more partitions than its group has members, each member has at "
    "least one, and none has two more than another.",
    source="document 002, consumers and partitions",
    unit="partitions",
    things="assignments of more partitions than members",
    measures="for the member with the fewest",
    too_low="left a member without a partition",
    matters="A member with one partition more has more work, and falls behind first.",
    in_passing=True,
)
def one_more() -> str:
    return """
        {SPREAD}
        SELECT subject, at, least AS measured, 1 AS bound_low,
               IF(spread > 1, clause('gave one member ', spread, ' more than another'), NULL)
                   AS wrong,
               note, evidence
        FROM whole WHERE members < partitions AND :client <> 'app'
    """


@Rule(
    "R22-idle",
    title="With more members than partitions, some are idle",
    statement="Where a group has more members than its topic has partitions, as many members as "
    "there are partitions have one each, and the others have none.",
    source="document 002, consumers and partitions; consuming threads and partitions",
    unit="members",
    things="assignments of fewer partitions than members",
    measures="without a partition",
    too_low="left fewer members idle than there are surplus members",
    too_high="left more members idle than there are surplus members",
    matters="A surplus consumer costs memory and heartbeats, and does nothing until another "
    "member goes.",
    in_passing=True,
)
def idle() -> str:
    return """
        {SPREAD}
        SELECT subject, at, idle AS measured, members - partitions AS bound_low,
               members - partitions AS bound_high, note, evidence
        FROM whole WHERE members > partitions AND :client <> 'app'
    """


# Members in the order in which assignors take them, by what their client compares: instance ids
# where all are static, else member ids (Java's MemberInfo, librdkafka's rd_kafka_group_member_cmp).
# A group of static and dynamic members is ordered otherwise by each client, and left out.
ORDERED: Final = """
    WITH joined AS (
        SELECT g.number, g.members AS known, j.broker, j.generation, j.member_id,
               max(j.protocol_name) AS assignor, max(j.instance_id) AS instance_id
        FROM {joins} j JOIN {generations} g
          ON same(g, j, broker, generation) AND g.event = 'stabilized'
         AND j.arrived_at <= after(:slack_ms, g.joined_at) AND in_time_of(g, j.processed_at)
        GROUP BY g.number, g.members, j.broker, j.generation, j.member_id
    ), ordered AS (
        SELECT *, count(*) OVER w AS members, count(instance_id) OVER w AS static,
               row_number() OVER (PARTITION BY number
                                  ORDER BY coalesce(instance_id, member_id)) - 1 AS place
        FROM joined WINDOW w AS (PARTITION BY number)
    ), sizes AS (
        SELECT g.number, a.topic, count(DISTINCT a.partition) AS partitions,
               max(a.partition) + 1 AS upto
        FROM {assignments} a JOIN {generations} g
          ON same(g, a, broker, generation) AND in_time_of(g, a.at)
        GROUP BY g.number, a.topic
    )
"""


@Rule(
    "R22-assignor",
    title="range and roundrobin assign predictably",
    statement="The assignment follows from the order of the member ids. range gives each member a "
    "run of consecutive partitions, the first members one more if they do not divide evenly; "
    "roundrobin deals the partitions out in turn.",
    source="document 001, SyncGroup; RangeAssignor, RoundRobinAssignor; rdkafka_range_assignor.c",
    unit="partitions",
    things="members of generations assigned by range or roundrobin",
    measures="that belong to another member",
    too_high="was given partitions that its assignor gives to another member",
    matters="A restarted member gets a new id, and so other partitions.",
    protocols=CLASSIC,
    in_passing=True,
)
def as_worked_out() -> str:
    """Each member's partitions against those that are its by the assignor that was chosen.

    `:client` is our own: what another library calls range may order its members otherwise.
    """
    return """
        {ORDERED}, due AS (
            SELECT o.number, o.generation, o.member_id, o.assignor, o.place, o.members,
                   s.topic, s.partitions, a.at, a.evidence, a.partition,
                   s.partitions DIV o.members AS least, s.partitions % o.members AS more
            FROM ordered o JOIN sizes s ON s.number = o.number
             -- Only a topic of which every partition was given tells how many there are.
             AND s.upto = s.partitions
            LEFT JOIN {assignments} a ON same(a, o, broker, generation) AND a.topic = s.topic
             AND a.member_id = o.member_id
            WHERE o.assignor IN ('range', 'roundrobin') AND o.static IN (0, o.members)
             -- The leader also assigns to a static member that did not join in time and is kept.
              AND o.members = o.known AND :client <> 'app'
        ), owners AS (
            SELECT *,
                   CASE WHEN assignor = 'roundrobin' THEN partition % members
                        WHEN partition < more * (least + 1) THEN partition DIV (least + 1)
                        ELSE more + (partition - more * (least + 1)) DIV greatest(least, 1) END
                       AS owner,
                   least + IF(place < more, 1, 0) AS size
            FROM due
        )
        SELECT concat(member_id, ' in generation ', generation) AS subject,
               coalesce(min(at), max(at)) AS at,
               count(DISTINCT IF(owner <> place, partition, NULL)) AS measured, 0 AS bound_high,
               IF(count(DISTINCT partition) <> max(size),
                  clause('was given ', count(DISTINCT partition), ' partitions instead of ',
                         max(size)), NULL) AS wrong,
               concat(max(assignor), ', number ', max(place) + 1, ' of ', max(members), ': ',
                      coalesce(array_join(array_sort(collect_set(partition)), ' '), 'none'))
                   AS note,
               min(evidence) AS evidence
        FROM owners GROUP BY number, generation, member_id, topic
    """


# Members of a sticky assignor that stay through an assignment: what they had, and have still.
STICKY: Final = """
    WITH chosen AS (
        SELECT broker, generation, max(protocol_name) AS assignor, CAST(NULL AS INT) AS members
        FROM {joins} GROUP BY broker, generation
        UNION ALL
        SELECT broker, generation, assignor, members FROM {epochs}
    ), sticky AS (
        -- A classic generation that ended before its leader had assigned anything is none.
        SELECT g.broker, g.generation, g.joined_at, g.members, g.evidence, c.assignor,
               IF(c.assignor = 'uniform', g.generation_before,
                  lag(g.generation) OVER (PARTITION BY 1 ORDER BY g.joined_at))
                   AS generation_before
        FROM {generations} g JOIN chosen c ON same(c, g, broker, generation)
        WHERE (c.assignor = 'uniform' OR c.assignor = 'cooperative-sticky' AND g.answered > 0)
          AND g.members > 0 AND :client <> 'app'
    ), targets AS (
        SELECT broker, generation, lead(at) OVER (PARTITION BY 1 ORDER BY at) AS next_at
        FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
    ), followed AS (
        -- Members that reached the epoch of a target, or whose SyncGroup was accepted. A member
        -- that was told of a later one instead never had it.
        SELECT DISTINCT coalesce(member_epoch, generation) AS generation, member_id
        FROM {requests}
        WHERE `group` = :group AND error_code = 0
          AND api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
    ), unsure AS (
        -- Whoever was answered while the next target was computed may have been told of that one.
        SELECT DISTINCT t.broker, t.generation
        FROM targets t JOIN {requests} r
          ON r.`group` = :group AND r.error_code = 0 AND r.assigned IS NOT NULL
         AND r.api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
         AND coalesce(r.member_epoch, r.generation) <= t.generation
         AND r.arrived_at < t.next_at AND r.processed_at >= t.next_at
    ), sure AS (
        SELECT s.* FROM sticky s LEFT ANTI JOIN unsure u
          ON u.broker = s.broker AND u.generation IN (s.generation, s.generation_before)
    ), given AS (
        SELECT partition, min(generation) AS generation
        FROM {assignments} WHERE topic = :topic GROUP BY partition
    ), known AS (
        -- A leader's metadata may be older than the growth of a topic, so only partitions that
        -- were given to somebody count.
        SELECT s.generation, s.joined_at,
               greatest(:partitions, count(DISTINCT g.partition)) AS partitions
        FROM sure s LEFT JOIN given g ON g.generation <= s.generation
        GROUP BY s.generation, s.joined_at
    ), before AS (
        SELECT s.broker, s.generation, s.joined_at, s.members, s.evidence, b.member_id,
               b.member, b.instance_id, b.topic, b.partition
        FROM sure s JOIN {assignments} b ON b.generation = s.generation_before
        -- Who is in the group still; one that left and came back was given nothing before.
        JOIN {memberships} m
          ON m.member_id = b.member_id AND m.joined_at <= s.joined_at
         AND m.joined_at <= after(:slack_ms, b.at)
         AND (m.removed_at IS NULL OR m.removed_at > s.joined_at)
        JOIN followed f ON same(f, b, generation, member_id)
        WHERE b.topic = :topic
    ), compared AS (
        SELECT b.member, b.member_id, b.broker, b.generation, b.joined_at, b.members, b.evidence,
               b.instance_id, count(*) AS had, count(a.partition) AS kept
        FROM before b LEFT JOIN {assignments} a
          ON same(a, b, generation, member_id, topic, partition)
        GROUP BY ALL
    )
"""


@Rule(
    "R22-sticky",
    title="A sticky assignor leaves members their partitions",
    statement="With cooperative-sticky, or the broker's uniform assignor, a member that stays "
    "keeps its partitions, up to its share.",
    source="KIP-54; CooperativeStickyAssignor; KIP-848, uniform assignor",
    unit="partitions",
    things="members that stay through an assignment",
    measures="kept",
    too_low="kept fewer of its partitions than its share",
    matters="A partition that stays needs no new owner, no new position and no new cache.",
    protocols=("cooperative", "consumer"),
    in_passing=True,
)
def sticks() -> str:
    """What members had by the assignment before, and have still, where the assignor is sticky.

    Their share is what everybody gets if all is spread evenly.
    """
    return """
        {STICKY}
        SELECT concat(c.member, ' in generation ', c.generation) AS subject, c.joined_at AS at,
               c.kept AS measured, least(c.had, k.partitions DIV c.members) AS bound_low,
               concat('of ', c.had, ' that it had; ', k.partitions, ' partitions for ', c.members,
                      ' members') AS note, c.evidence
        FROM compared c JOIN known k ON same(k, c, generation, joined_at)
    """


@Rule(
    "R22-moves",
    title="A sticky assignor moves no more partitions than necessary",
    statement="With cooperative-sticky, or the broker's uniform assignor, as many partitions stay "
    "with their members as an even spread allows. Where shares differ by one, the members that "
    "have the larger shares keep them.",
    source="KIP-54 (as many assignments as possible are preserved); AbstractStickyAssignor; "
    "UniformHomogeneousAssignmentBuilder (KAFKA-18688, since Kafka 4.1)",
    unit="partitions",
    things="assignments that follow another one",
    measures="moved that could have stayed",
    too_high="moved partitions that could have stayed",
    matters="A partition that moves without need stops for a moment, and its new owner has no "
    "cache for it.",
    protocols=("cooperative", "consumer"),
    in_passing=True,
)
def moves_no_more() -> str:
    """The most that can be kept: each its share, and as many a partition more as there are.

    What members had is known where the assignment before was told to all of them, nobody has lost
    it by itself since, and, in KIP-848, no target was passed over; a static member may have come
    back as another process. A topic that has grown is not examined: its leader may not know yet.
    """
    return """
        {STICKY}, settled AS (
            SELECT g.broker, g.generation, g.joined_at, p.joined_at AS before_at
            FROM {generations} g JOIN {generations} p
              ON p.broker = g.broker AND p.generation = g.generation_before
            JOIN {rebalances} r
              ON r.coordinator = g.broker AND r.generation = g.generation
             AND r.completed_at IS NOT NULL
            JOIN {rebalances} q
              ON q.coordinator = p.broker AND q.generation = p.generation
             AND q.completed_at IS NOT NULL AND q.completed_at <= g.joined_at
            WHERE p.event = 'target_computed' OR p.answered >= p.members
        ), sums AS (
            SELECT c.broker, c.generation, c.joined_at, c.members, k.partitions,
                   min(c.evidence) AS evidence, sum(c.had) AS had, sum(c.kept) AS kept,
                   sum(least(c.had, k.partitions DIV c.members))
                       + least(k.partitions % c.members,
                               count_if(c.had > k.partitions DIV c.members)) AS most,
                   count(c.instance_id) AS static
            FROM compared c JOIN known k ON same(k, c, generation, joined_at)
            GROUP BY c.broker, c.generation, c.joined_at, c.members, k.partitions
        ), lost AS (
            SELECT s.broker, s.generation, count(e.event_at) AS times
            FROM settled s LEFT JOIN {client_events} e
              ON e.event = 'lost' AND e.event_at >= s.before_at AND e.event_at <= s.joined_at
            GROUP BY s.broker, s.generation
        )
        SELECT concat('generation ', s.generation) AS subject, s.joined_at AS at,
               s.most - s.kept AS measured, 0 AS bound_high,
               concat('of ', s.had, ' that members had ', s.kept, ' stayed, and ', s.most,
                      ' can; ', s.partitions, ' partitions for ', s.members, ' members') AS note,
               s.evidence
        FROM sums s JOIN settled t ON same(t, s, broker, generation, joined_at)
        JOIN lost l ON same(l, s, broker, generation) AND l.times = 0
        WHERE s.static = 0 AND s.partitions = :partitions
    """
