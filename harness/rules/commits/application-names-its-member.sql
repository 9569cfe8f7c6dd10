-- A commit by the application names its member
-- A commit that the application asks for names the member id and the generation (in KIP-848 the
-- epoch) of its member. A client that has lost its place in the group refuses the commit and sends
-- nothing.
-- why: The answer to such a commit depends on the group: mostly UNKNOWN_MEMBER_ID (25), the fatal
--   FENCED_INSTANCE_ID (82) if the group still has a static member of that name, and no error from
--   an empty group if no generation is named.
-- source: KafkaConsumer.commitSync (CommitFailedException); ConsumerCoordinator,
--   sendOffsetCommitRequest
-- id: X41-asked | rows: members whose application commits | unit: commits | measured: without a
--   valid member id and generation | high: made commits without a valid member id and generation |
--   contradicted: librdkafka eager; librdkafka cooperative; java consumer | kind: of applications,
--   in passing
--
-- After max.poll.interval.ms or its own session librdkafka drops its member id and keeps its
-- generation (rd_kafka_cgrp_max_poll_interval_check_tmr_cb). Java's client of KIP-848 has epoch -1
-- then. Both send what an application commits before its next poll.

-- let SAYS = {NAMES}

{COMMITS_OF_MEMBERS} {ODD_ONES} WHERE commit <> 'auto' GROUP BY subject
