-- A commit needs the member's current epoch (documented, outdated)
-- A commit with an epoch other than the member's current one is refused with STALE_MEMBER_EPOCH.
-- why: Where this holds, a commit that crosses a change of the epoch fails, and its records come
--   twice.
-- source: KIP-848, OffsetCommit API (before Kafka 4.3)
-- id: X22 | rows: commits of a probe | unit: error code | measured: in the answer | low: got
--   another error code | high: got another error code | protocols: consumer | kind: broker

-- let EXACT = true

{SCRIPTED_COMMITS}
