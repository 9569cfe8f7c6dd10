-- range and roundrobin assign predictably
-- The assignment follows from the order of the member ids. range gives each member a run of
-- consecutive partitions, the first members one more if they do not divide evenly; roundrobin deals
-- the partitions out in turn.
-- why: A restarted member gets a new id, and so other partitions.
-- source: document 001, SyncGroup; RangeAssignor, RoundRobinAssignor; rdkafka_range_assignor.c
-- id: R22-assignor | rows: members of generations assigned by range or roundrobin | unit:
--   partitions | measured: that belong to another member | high: was given partitions that its
--   assignor gives to another member | protocols: classic | kind: in passing
--
-- Each member's partitions against those that are its by the assignor that was chosen. Another
-- library may order members otherwise, so `:client` is our own.
--
-- Assignors order members by what their client compares: instance ids where all are static, else
-- member ids (Java's MemberInfo, librdkafka's rd_kafka_group_member_cmp). A group of static and
-- dynamic members is ordered otherwise by each client, and left out.

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
), due AS (
    SELECT o.*, s.topic, a.at, a.evidence, a.partition,
           s.partitions DIV o.members AS least, s.partitions % o.members AS more
    FROM ordered o JOIN sizes s ON s.number = o.number
     -- How many there are shows only where every partition was given.
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
