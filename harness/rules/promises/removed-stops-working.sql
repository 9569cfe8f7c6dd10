-- A program that was removed from the group stops working
-- A process that has learned of its removal processes nothing that it fetches from then on, and
-- none of its commits is accepted before it is in the group again. A program that does not show
-- what it processes must not fetch either.
-- why: A process that goes on without its membership processes records that belong to another.
-- source: kafka-chaos, programs under test
-- id: P9 | rows: removals that a process heard of | unit: records | measured: fetched outside the
--   group | high: fetched and used records after it knew of its removal | clients: app | headline:
--   work after removal
--
-- A process has heard of its removal when a request of the removed member was answered with an
-- error. A client that fetches while it joins again, and throws that away, does no harm.

-- let UNDER_WAY_MS = 300
--   A fetch that was on its way when its client heard that it is no member any more. Its line may
--   be stamped late.

{OUTSIDE}, heard AS (
    SELECT o.member, o.member_id, o.removed_at, o.back_at, o.evidence,
           min(r.answered_at) AS heard_at
    FROM outside o JOIN {own_requests} r ON same(r, o, member, member_id)
     AND r.arrived_at >= o.removed_at
     AND (o.back_at IS NULL OR r.arrived_at < o.back_at)
    WHERE r.error_code IN (:UNKNOWN_MEMBER_ID, :ILLEGAL_GENERATION, :FENCED_MEMBER_EPOCH,
                           :FENCED_INSTANCE_ID)
    GROUP BY ALL
), taken AS (
    SELECT f.*, h.removed_at, h.back_at
    FROM heard h JOIN {fetched} f
      ON f.member = h.member AND f.arrived_at > after(:UNDER_WAY_MS, h.heard_at)
     AND f.arrived_at < coalesce(h.back_at, :ended_at)
), used AS (
    SELECT t.member, t.removed_at,
           least(t.last_offset, e.last_offset)
               - greatest(t.first_offset, e.first_offset) + 1 AS records
    FROM taken t JOIN {effects} e ON same(e, t, member, topic, partition)
     AND e.first_offset <= t.last_offset AND e.last_offset >= t.first_offset
     AND e.at >= t.arrived_at AND e.at < coalesce(t.back_at, :ended_at)
    UNION ALL
    SELECT member, removed_at, last_offset - first_offset + 1 FROM taken
    WHERE NOT EXISTS (SELECT 1 FROM {effects})
), fetching AS (
    SELECT member, removed_at, sum(records) AS records FROM used
    GROUP BY member, removed_at
), committing AS (
    SELECT h.member, h.removed_at, count(*) AS times
    FROM heard h JOIN {accepted} a ON same(a, h, member, member_id) AND a.at > h.heard_at
     AND a.at < coalesce(h.back_at, :ended_at)
    GROUP BY h.member, h.removed_at
)
SELECT concat(h.member, ' (put out)') AS subject,
       h.heard_at AS at, coalesce(f.records, 0) AS measured, 0 AS bound_high,
       IF(c.times > 0, clause(c.times, ' commits of it were accepted'), NULL) AS wrong,
       h.evidence
FROM heard h LEFT JOIN fetching f ON same(f, h, member, removed_at)
LEFT JOIN committing c ON same(c, h, member, removed_at)
