-- Whom a commit names: the member that makes it, or nobody.

-- let COMMITS_OF_MEMBERS
--   Commits of our own members that came to a coordinator, one row per request. One is of nobody
--   where it names no member, or no generation that a member can have. A program of somebody else's
--   does not show whether its library or its application asked, so it has none here.
WITH commits AS (
    SELECT r.member, m.commit, r.arrived_at AS at, r.error_code, r.evidence,
           r.member_id IS NULL OR coalesce(r.generation, -1) < 0 AS of_nobody,
           concat(IF(r.member_id IS NULL, 'no member', 'its member'), ' and ',
                  IF(coalesce(r.generation, -1) < 0, 'no generation',
                     concat('generation ', r.generation))) AS names
    FROM {own_requests} r JOIN {members} m ON m.member = r.member
    WHERE r.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND m.role = 'consumer'
      AND m.commit IS NOT NULL
)

-- let PER_MEMBER
SELECT member AS subject, coalesce(min(at) FILTER (WHERE of_nobody), min(at)) AS at,
       count_if(of_nobody) AS measured, 0 AS bound_high,
       coalesce(concat('the first of them names ',
                       min_by(concat(names, ', and was answered ',
                                     coalesce(string(error_code), 'nothing')),
                              struct(at, evidence)) FILTER (WHERE of_nobody)),
                concat(count(*), IF(count(*) = 1, ' commit', ' commits'), ' with its name'))
           AS note,
       coalesce(min_by(evidence, struct(at, evidence)) FILTER (WHERE of_nobody),
                min_by(evidence, struct(at, evidence))) AS evidence
FROM commits
