-- A partition is assigned after its owner has released it
-- The coordinator assigns a partition to its next owner only after the former one has acknowledged
-- the revocation or is gone.
-- why: Two members that have a partition at the same time process its records twice.
-- source: KIP-848, Reconciliation of the group
-- id: X20 | rows: hand-overs | unit: ms | measured: after the release | low: was assigned before
--   its former owner released it | protocols: consumer
--
-- Law: a coordinator gives a partition that it has taken from a member to another one only after a
-- heartbeat that names what that member owns without it, be it the one that is answered, or after
-- the member has left.

{GIVEN_AND_TAKEN}, held AS (
    SELECT g.part, g.stay, g.member, g.processed_at AS at, g.removed_at, g.evidence,
           min(a.acked_at) AS acked_at
    FROM given g LEFT JOIN acked a ON same(a, g, stay, part) AND a.arrived_at > g.arrived_at
    GROUP BY ALL
), followed AS (
    SELECT *, lag(struct(member, stay, acked_at, removed_at)) OVER (
        PARTITION BY part ORDER BY at, stay, evidence) AS former
    FROM held
), released AS (
    SELECT *, least(former.acked_at, former.removed_at) AS released_at
    FROM followed WHERE former.stay <> stay
)
SELECT concat(part.topic, '-', part.partition, ' to ', member) AS subject, at,
       ms_between(released_at, at) AS measured, -:slack_ms AS bound_low,
       IF(released_at IS NULL, clause('was given while ', former.member, ' still had it'), NULL)
           AS wrong,
       concat(former.member, IF(released_at = former.acked_at,
                                ' acknowledged the revocation', ' was gone')) AS note,
       evidence
FROM released
