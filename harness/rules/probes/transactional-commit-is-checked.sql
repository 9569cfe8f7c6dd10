-- TxnOffsetCommit is checked against member and generation
-- TxnOffsetCommit is accepted from a member in every state of its group, CompletingRebalance
-- included, and from a producer that names no member. A wrong member id (25), instance id (82) or
-- generation (22) is refused.
-- why: A producer without the group's metadata is never fenced: it commits positions of partitions
--   that others have by now.
-- source: KIP-98; KIP-447; ClassicGroup.validateOffsetCommit
-- id: X29-wire | rows: TxnOffsetCommits | unit: error code | protocols: classic | kind: broker
--
-- Every TxnOffsetCommit of a probe.

-- let OFFER_ANSWER
--   Who names no member, instance or generation is believed, whatever state the group is in, since
--   producers did not name any before KIP-447 (ClassicGroup.validateOffsetCommit).
CASE WHEN nobody THEN :NONE
     WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN :NONE
     WHEN state IS NULL THEN NULL
     WHEN state = 'Dead' THEN :ILLEGAL_GENERATION {IDENTITY} ELSE :NONE END

-- let WHERE = true
-- let API = TXN_OFFSET_COMMIT
-- let MUST = {OFFER_ANSWER}

-- query
{PROBED_ANSWERS}
