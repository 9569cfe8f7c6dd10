-- That a coordinator describes the group as it is.

-- let SEEN
--   What the observer was answered about the group, where no broker was broken just then.
WITH seen AS (
    SELECT s.at, s.state, s.members FROM {topology} s
    LEFT ANTI JOIN {unsettled} f
      ON f.from_at <= s.at AND f.to_at >= s.at
    WHERE s.what = 'group' AND s.`group` = :group AND coalesce(s.state, '') <> ''
)
