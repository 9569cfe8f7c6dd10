-- The revocation callback runs before the partition moves
-- The callback for revoked partitions runs before another member is assigned them.
-- why: The callback is the last chance to commit: without it the next owner repeats finished work.
-- source: document 001, rebalance listener; ConsumerRebalanceListener, onPartitionsRevoked
-- id: R15 | rows: moved partitions | unit: ms | measured: from the callback to the next assignment
--   | low: was assigned to another member before the callback of the member that had it | kind: of
--   applications
--
-- A member that is handed too late what it was given counts as the next owner, if another has the
-- partition by then and gives it up later.

WITH {GIVEN_UP}, {WOKEN}
SELECT g.subject, g.given_up_at AS at, ms_between(g.given_up_at, g.next_at) AS measured,
       0 AS bound_low, IF(count(w.member) > 0, '{LEFT_OVER}', NULL) AS excused
FROM given_up g LEFT JOIN woken w
  ON w.member = g.next_member AND w.from_at <= g.next_at AND w.to_at >= g.next_at
WHERE g.next_member <> g.member
GROUP BY g.subject, g.given_up_at, g.next_at
