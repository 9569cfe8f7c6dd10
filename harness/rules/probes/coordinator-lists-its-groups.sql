-- Each coordinator lists its own groups
-- ListGroups returns a group once, at its coordinator and nowhere else, with its state, and only if
-- that state was requested.
-- why: Only a tool that asks every broker sees all groups, and those of a dead broker are missing.
-- source: document 003, LIST_GROUPS; KIP-518
-- id: R28-list | rows: lists of groups | unit: answers | protocols: classic | kind: broker

WITH coordinators AS (
    SELECT `group`, max_by(broker, struct(answered_at, broker)) AS coordinator FROM {calls}
    WHERE api = 'JOIN_GROUP' AND error_code = :NONE GROUP BY `group`
), judged AS (
    SELECT p.*, filter(from_json(get_json_object(p.answer, '$.groups'),
                                 'array<struct<groupId:string,protocolType:string,'
                                 || 'groupState:string>>'),
                       one -> one.groupId = p.`group`) AS entries,
           get(entries, 0) AS found,
           from_json(get_json_object(p.request, '$.statesFilter'), 'array<string>') AS states,
           p.broker = c.coordinator
               AND coalesce(size(states) = 0 OR array_contains(states, p.state), true) AS must
    FROM {probed} p JOIN coordinators c USING (`group`) WHERE p.api = 'LIST_GROUPS'
)
SELECT concat(subject, ', broker ', broker) AS subject, sent_at AS at,
       IF(state IS NULL, 'the group changed in between', NULL) AS unknown,
       CASE WHEN error_code <> :NONE THEN clause('answered ', error_code)
            WHEN found IS NULL THEN IF(must, 'did not list the group', NULL)
            WHEN NOT must THEN 'listed a group of another broker or state'
            WHEN size(entries) > 1
            THEN clause('listed the group ', size(entries), ' times')
            WHEN NOT (found.groupState <=> state AND found.protocolType <=> 'consumer')
            THEN clause('listed the group as ', concat_ws(', ', found.protocolType,
                        found.groupState), ', not as consumer, ', state) END AS wrong,
       IF(found IS NULL, 'not listed', concat('listed as ', found.groupState)) AS note
FROM judged
