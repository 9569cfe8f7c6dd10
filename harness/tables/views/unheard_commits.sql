-- Commits that a member asked for and that no coordinator has in its log.

SELECT c.topic, c.partition, c.member, c.committed, c.asked_at AS at, c.error_code
FROM {commits} c LEFT ANTI JOIN {commits_judged} j
  ON same(j, c, member, topic, partition, committed)
WHERE c.asked_at IS NOT NULL
