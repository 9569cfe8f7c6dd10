-- Partitions are spread evenly
-- The partitions of a topic are spread so that no member has two more than another: three
-- partitions on three members are one each, three on two are two and one. A member for whom none is
-- left is idle.
-- why: The member with the most partitions is the first to fall behind.
-- source: document 002, partition assignment
-- id: R22 | rows: whole assignments | unit: partitions | measured: between the member with the most
--   and the one with the fewest | high: gave a member at least two partitions more than another
--
-- Assignments, of a group leader or of the broker, that give every partition to somebody.
--
-- The first round of a cooperative move leaves partitions out on purpose and is not examined, and
-- neither is an epoch of KIP-848 that was overtaken before everybody had been told. There, each
-- member that the target was computed for counts with what it had been told when all of them had
-- heard of it. One that was gone by then has no part in it; where another has not heard of it,
-- nothing can be said.

{SPREAD}
SELECT subject, at, spread AS measured, 1 AS bound_high, note, evidence FROM whole
