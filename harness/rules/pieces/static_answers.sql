-- KIP-848: what a coordinator answers to heartbeats of static members, right and wrong.

-- let BACK_IN_A_FULL_GROUP
--   A join with the instance id of a member, by another process than its own, in a full group.
epoch = 0 AND size >= :consumer_max_size AND NOT known AND owner IS NOT NULL
