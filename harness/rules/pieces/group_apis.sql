-- What a coordinator answers to joins, heartbeats and leaves, right and wrong, in every state.

-- let ANSWERED
--   Columns of an answer against the one that it must be; that is known only if the state is, too.
CASE WHEN must IS NULL THEN 'the group changed meanwhile'
     WHEN error_code IS NULL THEN 'was not answered' END AS unknown,
CASE WHEN error_code <> must
     THEN clause('was answered ', error_code, ', not ', must, ', in state ', state_before)
     END AS wrong,
concat('answered ', error_code, ' in state ', state_before) AS note

-- let PROBED_ANSWERS
--   Every call of one API against the error code that `must` (a query's expression) gives.
WITH judged AS (SELECT *, {MUST} AS must FROM {probed} WHERE api = '{API}' AND {WHERE})
SELECT subject, sent_at AS at, {ANSWERED} FROM judged

-- let IDENTITY
--   What a member that says who it is must be answered: the coordinator looks at its instance id,
--   its member id and its generation, in this order (ClassicGroup.validateMember and its callers).
WHEN instance_id IS NOT NULL AND owner IS NULL THEN :UNKNOWN_MEMBER_ID
WHEN instance_id IS NOT NULL AND owner <> member_id THEN :FENCED_INSTANCE_ID
WHEN NOT known THEN :UNKNOWN_MEMBER_ID
WHEN generation <> generation_now THEN :ILLEGAL_GENERATION
