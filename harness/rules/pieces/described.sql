-- That a coordinator describes the group as it is.

-- let SEEN
--   What the observer was told of the group, where no broker was broken just then.
WITH seen AS (
    SELECT s.at, s.state, s.members FROM {topology} s
    LEFT ANTI JOIN {unsettled} f
      ON f.from_at <= s.at AND f.to_at >= s.at
    WHERE s.what = 'group' AND s.`group` = :group AND coalesce(s.state, '') <> ''
)

-- let BEHIND_MS = 1000
--   How long a coordinator may describe a group as it was: it tells what is replicated, and writes
--   an assignment before its answers. Over the kept runs it was 0.3 s at most.
