-- A commit needs an epoch since the partition was assigned
-- A commit is accepted with any epoch from that in which the member was assigned the partition to
-- its current one. Any other commit is refused with STALE_MEMBER_EPOCH.
-- why: A rebalance of other partitions does not make a commit fail.
-- source: KIP-1251 (since Kafka 4.3)
-- id: X22-assignment | rows: commits of a probe | unit: error code | measured: in the answer | low:
--   got another error code | high: got another error code | protocols: consumer | since: 4.3 |
--   kind: broker

-- let EXACT = false

{SCRIPTED_COMMITS}
