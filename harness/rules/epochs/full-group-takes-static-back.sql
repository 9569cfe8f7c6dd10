-- A full group takes a static member back
-- A full group answers a join with a member's instance id like any other group: the join takes the
-- member's place once that member has left temporarily with epoch -2, because the group does not
-- grow.
-- why: A static member must not lose its place by a restart because the group is full.
-- source: KIP-848, Static Membership; group.consumer.max.size; KAFKA-20601
-- id: X40-full-static | rows: joins with the instance id of a member of a full group | unit: error
--   code | measured: in the answer | low: got another error code | high: got another error code |
--   protocols: consumer | kind: broker

-- let WHERE = {BACK_IN_A_FULL_GROUP} AND must <> :INVALID_REQUEST

{HEARTBEATS_ANSWERED}
