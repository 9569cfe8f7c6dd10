-- Nobody knows of a commit that reached no coordinator.

SELECT topic, partition, member, committed, at, error_code FROM {commits_judged}
WHERE false
