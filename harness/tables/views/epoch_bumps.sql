-- Bumps of the group epoch, each with the coordinator's line before it.
--
-- `event_before` is what that line is about, `named` the member id in it. Lines of one moment are
-- in the order of the log.

SELECT * FROM (
    SELECT *, lag(event) OVER w AS event_before, lag(member_id) OVER w AS named
    FROM {coordinator_events} WHERE `group` = :group
    WINDOW w AS (PARTITION BY `group` ORDER BY at, length(evidence), evidence)
) WHERE event = 'epoch_bumped'
