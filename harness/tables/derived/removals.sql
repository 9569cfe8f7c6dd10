-- One row per removal of a member id, and when the same id was back, if it ever was.

SELECT * FROM (
    SELECT *, lead(joined_at) OVER (
        PARTITION BY member_id ORDER BY removed_at NULLS LAST) AS back_at
    FROM {memberships})
WHERE removed_at IS NOT NULL
