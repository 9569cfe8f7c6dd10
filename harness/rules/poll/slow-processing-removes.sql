-- Slow processing removes a consumer (documented, outdated)
-- A consumer that takes longer than session.timeout.ms to process what it polled is removed from
-- the group.
-- why: Raising session.timeout.ms does not help slow processing; max.poll.interval.ms does.
-- source: document 002, session.timeout.ms; outdated since KIP-62
-- id: R18 | rows: stalls longer than the session and shorter than max.poll.interval.ms | unit: ms |
--   measured: without a poll | needs: stall within max poll | contradicted: all

{SLOW}
SELECT concat(s.member, ' (stall)') AS subject, s.at,
       coalesce(min(ms_between(s.at, r.removed_at)), s.duration_ms) AS measured,
       CASE WHEN count(r.member_id) = 0
            THEN clause('stayed in the group through ', CAST(round(s.duration_ms) AS INT),
                        ' ms without a poll') END AS wrong,
       concat('removed: ', min_by(r.removed_by, struct(r.removed_at, r.removed_by))) AS note
FROM slow s LEFT JOIN {memberships} r
  ON r.member = s.member AND r.removed_at >= s.at
 AND r.removed_at <= after(:slack_ms, s.to_at)
GROUP BY s.member, s.at, s.duration_ms
