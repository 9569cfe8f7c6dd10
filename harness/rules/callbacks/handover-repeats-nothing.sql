-- An orderly hand-over repeats no records
-- Records that a member had processed before it gave up their partition are not delivered to the
-- next owner, which may be the same member.
-- why: A commit in the callback makes a planned rebalance free of repeated work.
-- source: document 001, rebalance listener (commit in onPartitionsRevoked)
-- id: R15-repeats | rows: partitions given up | unit: records | measured: delivered again | high:
--   had records delivered again to its next owner | contradicted: all
--
-- Partitions given up, by what their next owners were given again while they had them. In an eager
-- group most come back to their owner, which reads the committed position anew.

WITH {GIVEN_UP}
SELECT m.subject, m.next_at AS at, coalesce(sum(r.count), 0) AS measured, 0 AS bound_high,
       concat('again from offset ', min(r.first_offset), ', where ',
              coalesce(string(min(r.committed)), 'nothing'), ' was committed') AS note
FROM given_up m LEFT JOIN {redeliveries} r
  ON same(r, m, topic, partition) AND r.member = m.next_member
 AND r.polled_at >= m.next_at AND (m.next_to IS NULL OR r.polled_at <= m.next_to)
 AND r.first_polled_at <= m.given_up_at
GROUP BY m.subject, m.next_at
