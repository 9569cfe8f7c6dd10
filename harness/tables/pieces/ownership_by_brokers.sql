-- `ownership_by_brokers`: who held which partition, as brokers and processes show it.

-- let CALLS
--   By which a client keeps its place in the group: their answers tell it where it stands.
'JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT'
