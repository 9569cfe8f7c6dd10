-- How long members wait for answers.

-- let LONGEST_WAIT
--   Each member's longest wait, of the requests `waited`. The query gives WHAT and MOST.
longest AS (
    SELECT member, count(*) AS requests,
           max(struct(ms_between(arrived_at, answered_at) AS ms, arrived_at, answered_at, evidence,
                      api)) AS worst
    FROM waited GROUP BY member
)
SELECT concat(member, ' (longest {WHAT})') AS subject, worst.arrived_at AS at,
       worst.ms AS measured, {MOST} AS bound_high,
       concat('for a ', worst.api, ', of ', requests, ' requests') AS note,
       worst.evidence AS evidence,
       worst.arrived_at AS guard_from, worst.answered_at AS guard_to
FROM longest
