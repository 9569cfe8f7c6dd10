-- What a coordinator answers to joins, heartbeats and leaves, right and wrong, in every state.

-- let ANSWERED
--   Columns of an answer against the one that it must be, which is known only if the state is, too.
CASE WHEN must IS NULL THEN 'the group changed in between'
     WHEN error_code IS NULL THEN 'was not answered' END AS unknown,
CASE WHEN error_code <> must
     THEN clause('was answered ', error_code, ', not ', must, ', in state ', state_before)
     END AS wrong,
concat('answered ', error_code, ' in state ', state_before) AS note
