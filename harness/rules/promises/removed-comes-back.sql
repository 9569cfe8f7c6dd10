-- A program that was removed from the group comes back
-- A process that the coordinator evicted or fenced joins the group again. Or it ends with an exit
-- code other than 0, so that its supervisor notices.
-- why: A process that stays outside the group does no work, unnoticed.
-- source: kafka-chaos, programs under test
-- id: P8 | rows: removals of running processes | unit: ms | measured: until it was back, or had
--   ended | clients: app | headline: coming back
--
-- It has 30 s for it, from when it could know.

{OUTSIDE}
SELECT concat(member, ' (put out)') AS subject,
       removed_at AS at,
       ms_between(knows_at, coalesce(least(back_at, gone_at), gone_at)) AS measured,
       CASE WHEN back_at IS NULL AND exit_code = 0 AND ended_at < :stopped_at
                 AND told_at IS NULL
            THEN 'ended with exit code 0, so that no supervisor starts it again'
            WHEN back_at IS NULL AND gone_at IS NULL
                 AND after(:BACK_MS, knows_at) < :stopped_at
            THEN clause('was not back after ',
                        round(ms_between(knows_at, :stopped_at) / 1e3, 1), ' s') END AS wrong,
       CASE WHEN back_at IS NULL AND gone_at IS NULL
                 AND after(:BACK_MS, knows_at) >= :stopped_at
            THEN 'the run ended before it had to be back' END AS unknown,
       CASE WHEN back_at IS NOT NULL THEN 'joined again'
            ELSE clause('ended with exit code ', exit_code) END AS note,
       evidence
FROM outside
