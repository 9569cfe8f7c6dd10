-- The broker checks a subscribed regular expression
-- A heartbeat that subscribes to an invalid RE2 expression is answered INVALID_REGULAR_EXPRESSION
-- (128) and creates no member. A valid expression is accepted.
-- why: The broker's syntax is not Java's: an expression that worked before may be refused.
-- source: KIP-848, SubscribedTopicRegex; GroupMetadataManager.maybeUpdateRegularExpressions
-- id: X40-regex | rows: heartbeats that subscribe by a regular expression | unit: error code |
--   measured: in the answer | low: got another error code | high: got another error code |
--   protocols: consumer | kind: broker

-- let WHERE = regex IS NOT NULL AND must IN (:NONE, :INVALID_REGULAR_EXPRESSION)

{HEARTBEATS_ANSWERED}
