-- Commits for whose answer the application waited, once for all their partitions.

SELECT DISTINCT member, asked_at, answered_at FROM {commits}
WHERE how IN ('sync', 'revoke', 'interval')
