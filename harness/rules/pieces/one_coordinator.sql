-- That one broker at a time coordinates a group.

-- let LEARNS_MS = 3000
--   How long before and after a new coordinator has loaded the group other brokers may learn of it.
--   All read the log of the controller. Measured: 0.7 s sooner, and never later.

-- let ENDS_PROCESS
--   Faults that end a broker's process: of a paused one the kernel still takes connections. One
--   that starts reads who leads what before it serves any request.
(f.killed OR coalesce(f.evidence LIKE 'direct listener of %: refused after %'
                      OR f.evidence LIKE 'direct listener of %: cut after %', false))
