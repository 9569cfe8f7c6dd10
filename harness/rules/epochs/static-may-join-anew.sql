-- A static member may join anew at any time
-- A heartbeat with epoch 0 of a static member of the group is accepted with its member id and
-- instance id, whatever epoch that member is in.
-- why: Where this does not hold, a static member that never got the answer to its join is refused
--   with UNRELEASED_INSTANCE_ID (111), because it holds the instance id itself.
-- source: KIP-848, Member epoch (a fenced member rejoins with epoch 0)
-- id: X40-rejoin-static | rows: joins of static members with their own member id | unit: error code
--   | measured: in the answer | low: got another error code | high: got another error code |
--   protocols: consumer | kind: broker

-- let WHERE = found = 'a join anew of a static member'

{HEARTBEATS_ANSWERED}
