-- That a coordinator describes the group as it is.

-- let SEEN
--   What the observer was answered about the group.
WITH seen AS (
    SELECT at, state, members FROM {topology}
    WHERE what = 'group' AND `group` = :group AND coalesce(state, '') <> ''
)
