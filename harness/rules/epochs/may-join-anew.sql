-- A member may join anew at any time
-- A heartbeat with epoch 0 of a member of the group is accepted, whatever epoch that member is in.
-- why: A client that never got the answer to its join can join again, and is not locked out.
-- source: KIP-848, Member epoch (a fenced member rejoins with epoch 0); KAFKA-19233 (4.2)
-- id: X40-rejoin | rows: joins of members | unit: error code | measured: in the answer | low: got
--   another error code | high: got another error code | protocols: consumer | kind: broker
--
-- Dynamic members; of a static one the instance id is checked first.

-- let WHERE = found = 'a join anew'

{HEARTBEATS_ANSWERED}
