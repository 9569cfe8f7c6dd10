-- When a process was asked to end.

SELECT member, told_at AS at, 'close' AS what FROM {members} WHERE told_at IS NOT NULL
