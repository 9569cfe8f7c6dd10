-- An assignor that the broker does not have is refused
-- A heartbeat that names an assignor other than the broker's own (uniform, range) is answered
-- UNSUPPORTED_ASSIGNOR (112), whatever else it says. A heartbeat that names one of these is not.
-- why: A client whose group.remote.assignor names an unknown one fails at once.
-- source: KIP-848, ConsumerGroupHeartbeat; group.consumer.assignors
-- id: X40-assignor | rows: heartbeats that name an assignor | unit: error code | measured: in the
--   answer | low: got another error code | high: got another error code | protocols: consumer |
--   kind: broker

-- let WHERE = assignor IS NOT NULL AND must <> :INVALID_REQUEST

{HEARTBEATS_ANSWERED}
