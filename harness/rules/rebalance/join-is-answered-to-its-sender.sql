-- A join is answered to who asked, for what all offer
-- A JoinGroup that names a member id is answered with that id. The answer has the protocol type
-- that it asked with, and a protocol that all members of the generation have offered, the same for
-- all. A SyncGroup is answered with the protocol that it names.
-- why: A client takes over the id in the answer, and computes or reads assignments by the protocol
--   in it.
-- source: document 001, JoinGroup; ClassicGroup.selectProtocol; KIP-559
-- id: X109 | rows: answers to JoinGroup and SyncGroup | unit: answers | protocols: classic | kind:
--   broker, in passing

{JOINED}, agreed AS (
    SELECT j.*, NOT exists(j.offers, o -> o.name = j.protocol) AS strange,
           count_if(NOT exists(o.other_offers, p -> p.name = j.protocol)) AS without,
           max(o.other_protocol) FILTER (WHERE o.other_protocol <> j.protocol)
               AS other_protocol
    FROM joined j LEFT JOIN others o ON same(o, j, subject, sent_at, member_id)
    GROUP BY ALL
), synced AS (
    SELECT concat(step, ' (', `group`, ')') AS subject, sent_at,
           get_json_object(request, '$.protocolType') AS asked_type,
           get_json_object(answer, '$.protocolType') AS given_type,
           get_json_object(request, '$.protocolName') AS asked,
           get_json_object(answer, '$.protocolName') AS given
    FROM {calls} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
)
SELECT subject, sent_at AS at,
       CASE WHEN named <> member_id
            THEN clause('named the member id ', named, ' and was answered ', member_id)
            WHEN asked_type <> given_type
            THEN clause('asked as ', asked_type, ' and was answered as ', given_type)
            WHEN strange OR without > 0
            THEN clause('was answered ', protocol, ', which not all members offer')
            WHEN other_protocol IS NOT NULL
            THEN clause('was answered ', protocol, ' and another ', other_protocol)
            END AS wrong
FROM agreed
UNION ALL
SELECT subject, sent_at,
       CASE WHEN asked_type <> given_type
            THEN clause('asked as ', asked_type, ' and was answered as ', given_type)
            WHEN asked <> given
            THEN clause('named ', asked, ' and was answered ', given) END
FROM synced
