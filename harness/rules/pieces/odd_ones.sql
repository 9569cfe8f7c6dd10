-- What is odd among the things of a subject: how many, and the first of them.

-- let FIRST_ODD = min(struct(at, evidence, odd)) FILTER (WHERE odd IS NOT NULL).odd

-- let ODD_ONES
--   Of `judged`: subject, at, evidence, and `odd`, a clause or null. SAYS are further columns.
SELECT subject, coalesce(min(at) FILTER (WHERE odd IS NOT NULL), min(at)) AS at,
       count(odd) AS measured, 0 AS bound_high, {SAYS},
       coalesce(min_by(evidence, struct(at, evidence)) FILTER (WHERE odd IS NOT NULL),
                min_by(evidence, struct(at, evidence))) AS evidence
FROM judged
