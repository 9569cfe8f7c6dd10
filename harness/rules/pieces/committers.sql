-- Whom a commit names: the member that makes it, or no member.

-- let COMMITS_OF_MEMBERS
--   Commits of our own members at a coordinator, one row per request. A commit is odd if it names
--   no member, or no generation that a member can have. Whether the library or the application of
--   a program asked for a commit is not on record.
WITH judged AS (
    SELECT r.member AS subject, m.commit, r.arrived_at AS at, r.evidence,
           IF(r.member_id IS NULL OR coalesce(r.generation, -1) < 0,
              concat(IF(r.member_id IS NULL, 'no member', 'its member'), ' and ',
                     IF(coalesce(r.generation, -1) < 0, 'no generation',
                        concat('generation ', r.generation)),
                     ', and was answered ', coalesce(string(r.error_code), 'nothing')),
              NULL) AS odd
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE r.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND m.role = 'consumer'
      AND m.commit IS NOT NULL
)

-- let NAMES
coalesce(concat('the first of them names ', {FIRST_ODD}),
         concat(count(*), IF(count(*) = 1, ' commit', ' commits'), ' with its name')) AS note
