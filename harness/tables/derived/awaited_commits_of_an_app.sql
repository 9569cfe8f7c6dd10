-- It is not known for which answers a program waits.

SELECT member, started_at AS asked_at, ended_at AS answered_at FROM {members} WHERE false
