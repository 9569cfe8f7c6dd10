-- Positions that the coordinator accepted, one row per commit and partition.

SELECT * FROM {commits_judged} WHERE error_code = :NONE
