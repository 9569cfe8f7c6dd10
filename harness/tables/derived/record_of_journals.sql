-- One row per journal of the run.
--
-- Runs of before schema 4 say less of theirs, and of members' journals only. A program of another
-- owner keeps no journal; what the harness has written of it is one.

-- let MADE_FROM
--   Of one whose settings are damaged it is not known whose it is.
CASE role WHEN 'consumer' THEN 'client_events deliveries commits' WHEN 'producer' THEN 'sends' WHEN 'probe' THEN 'calls' WHEN 'observer' THEN 'topology host' WHEN 'faults' THEN 'faults' WHEN 'watchdog' THEN 'faults' WHEN 'output' THEN 'outputs' WHEN 'programs' THEN 'members effects' WHEN 'sink' THEN 'effects' WHEN 'written' THEN 'effects' ELSE 'client_events deliveries commits sends calls' END

-- query
SELECT concat('journal of ', journal) AS subject, last_at AS at,
       coalesce(frames, 0) AS measured,
       CASE WHEN frames IS NULL THEN 'is missing'
            WHEN frames = 0 THEN 'has no whole frame'
            WHEN torn AND NOT (coalesce(ending, '') = 'killed' AND cut)
            THEN clause('is torn behind frame ', frames)
            WHEN gaps > 0
            THEN clause('has frames missing, twice or out of order in ', gaps, ' places')
            WHEN ending IS NULL
            THEN 'does not say how it ended: its last frames may be missing'
            {ANOTHER} END AS unknown,
       CASE WHEN torn THEN 'SIGKILL cut off its last frame' END AS note,
       {MADE_FROM} AS files
FROM {journals}
UNION ALL
SELECT concat('journal of ', member), coalesce(ended_at, started_at), journal_frames,
       CASE WHEN coalesce(journal_frames, 0) = 0 THEN 'is empty'
            WHEN `end` = 'killed' THEN NULL
            WHEN journal_torn THEN 'is torn, although its process was not killed'
            WHEN journal_torn IS NULL THEN 'may be torn: nothing on record says whether'
            END,
       CASE WHEN journal_torn THEN 'SIGKILL cut off its last frame' END,
       IF(role = 'producer', 'sends', '{OF_CONSUMERS}')
FROM {members} CROSS JOIN (SELECT count(*) AS kept FROM {journals})
WHERE kept = 0 AND coalesce(client, '') <> 'app'
