-- A removed member cannot commit
-- Commits of a removed member are refused, and records that it had not committed are delivered
-- again.
-- why: Work that a removed member finishes late is done twice, so it has to be idempotent.
-- source: document 002, session.timeout.ms; CommitFailedException
-- id: R19 | rows: commits after a removal and partitions left uncommitted | unit: error code |
--   measured: in the answer | needs: max poll end
--
-- Commits of member ids that had been removed, and what they had read but not committed.
--
-- Who left by closing gave its partitions back first and is not examined. A commit that its client
-- never got an answer to counts by what the coordinator says, if it reached it at all. So does one
-- that the client made by itself: when it did, only the coordinator tells. What is kept elsewhere
-- than with the coordinator (external, transaction) is not known here, so nothing is said of work
-- that it may cover. A commit that had arrived by the removal covers its records even if it was
-- answered later, and may cover them if its write timed out: what is replicated then counts all the
-- same. A line is stamped late, so it may seem to have come just after.

{REMOVED_CANNOT_COMMIT}
