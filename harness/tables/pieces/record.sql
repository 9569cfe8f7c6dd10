-- Whether what a run has on record is whole, one row per journal or log: `at` (its end), `measured`
-- (how many frames or rows it has), `unknown` (what of it is missing; null where it is whole), and
-- `files`, the history files that are made from it, in one text.

-- let ANOTHER
WHEN changed THEN 'is not as the run left it'
WHEN first_at < after(-:APART_MS, :started_at) OR last_at > after(:APART_MS, :ended_at)
THEN 'is of another time than the run'

-- let APART_MS = 1000
--   Stamps are of one machine's time of day, which may be corrected a little between two processes.

-- let OF_CONSUMERS = client_events deliveries commits

-- let QUIET_MS = 5000
--   How long a broker that answers the observer may be without a line of it in its request log. The
--   observer looks at every broker again after 200 ms, and waits 500 ms at most for an answer; in
--   76 recorded runs, paused brokers and all, 1.9 s was the longest time.
