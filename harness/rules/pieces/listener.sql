-- What a rebalance listener is for: giving partitions up in order, and seeking a kept position.

-- let GIVEN_UP
--   Partitions that a member gave up in its callback, and who was given each next. Who had been
--   removed from the group before that was not told to give anything up: it found out too late.
handovers AS (
    SELECT topic, partition, member, to_at AS given_up_at, ended_by, removed_at,
           lead(member) OVER w AS next_member, lead(from_at) OVER w AS next_at,
           lead(to_at) OVER w AS next_to
    FROM {ownership} WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at, member)
), given_up AS (
    SELECT *, concat(topic, '-', partition, ' from ', member, ' to ', next_member) AS subject
    FROM handovers
    WHERE ended_by = 'revoked' AND next_member IS NOT NULL AND removed_at IS NULL
)
