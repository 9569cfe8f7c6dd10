-- One row per time that no member processed a partition, between two members' (or one's) polls.
--
-- From the end of the work on all that was delivered before to the next poll with records; but from
-- no earlier than a record beyond all that was sent, by the range that the producer noted it in:
-- one that its broker took late waited as well.
--
-- Law: A partition stands still only while a record that no member has read waits for one.

WITH followed AS (
    SELECT topic, partition, busy_until, polled_at AS to_at, reached,
           lag(member) OVER w AS old_member, lag(member_id) OVER w AS old_member_id,
           member AS new_member, member_id AS new_member_id
    FROM {progress}
    WINDOW w AS (PARTITION BY topic, partition ORDER BY polled_at, poll)
), waited AS (
    -- A day has millions of both, so each is set before the ranges that go further: to
    -- join the two would look at every pair of them.
    SELECT *, min(sent_at) OVER (PARTITION BY topic, partition
                                 ORDER BY reached DESC, to_at NULLS LAST {SO_FAR}) AS due_at
    FROM (
        SELECT *, CAST(NULL AS TIMESTAMP) AS sent_at FROM followed
        UNION ALL
        SELECT topic, partition, NULL, NULL, last_offset, NULL, NULL, NULL, NULL,
               first_sent_at
        FROM {sends} WHERE outcome = 'acknowledged'
    )
), begun AS (
    SELECT topic, partition,
           IF(due_at > after(:PAUSE_MS, busy_until), due_at, busy_until) AS from_at, to_at,
           old_member, old_member_id, new_member, new_member_id
    FROM waited
)
SELECT *, ms_between(from_at, to_at) AS ms
FROM begun WHERE from_at < to_at
