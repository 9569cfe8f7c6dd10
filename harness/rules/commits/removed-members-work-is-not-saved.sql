-- Automatic commits do not save the work of a removed member
-- Automatic commits of a removed member are refused, and records that it had not committed are
-- delivered again.
-- why: Work that takes longer than the limit is done twice, with automatic commits too.
-- source: document 002, session.timeout.ms (enable.auto.commit, auto.offset.reset)
-- id: R19-auto | rows: commits after a removal and partitions left uncommitted | unit: error code |
--   measured: in the answer | clients: java | protocols: classic
--
-- As where the application commits.

SELECT * FROM ({REMOVED_CANNOT_COMMIT}) WHERE :commit = 'auto'
