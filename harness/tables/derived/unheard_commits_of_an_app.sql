-- A commit that reached no coordinator is not known.

SELECT topic, partition, member, committed, at, error_code FROM {commits_judged}
WHERE false
