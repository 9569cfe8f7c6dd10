-- A client makes automatic commits only as a member
-- An automatic commit names the member id and the generation (in KIP-848 the epoch) of the member
-- that makes it. A client that has lost its place in the group makes none until it has joined
-- again.
-- why: A static member's commit without its member id is refused with FENCED_INSTANCE_ID (82). Its
--   client takes that for another process with its instance id, and stops for good.
-- source: OffsetCommitRequest, MemberId and GenerationIdOrMemberEpoch; librdkafka #5585
-- id: X41 | rows: members with automatic commits | unit: commits | measured: without a valid member
--   id and generation | high: made commits without a valid member id and generation | kind: always,
--   of applications

-- let SAYS = {NAMES}

{COMMITS_OF_MEMBERS} {ODD_ONES} WHERE commit = 'auto' GROUP BY subject
