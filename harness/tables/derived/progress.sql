-- Deliveries, each with how far its partition had been read and processed before it.
--
-- A partition is busy with a batch for the time declared for its records at most: a member that
-- takes longer stands still, and so does its partition, whatever the member believes.

WITH worked AS (
    SELECT d.*, least(coalesce(d.processed_at, d.polled_at),
               after(m.process_us * d.count / 1e3, d.polled_at)) AS worked_to
    FROM {reads} d LEFT JOIN {members} m USING (member)
)
SELECT member, poll, topic, partition, first_offset, last_offset, polled_at, processed_at,
       member_id, max(last_offset) OVER before AS reached,
       max(worked_to) OVER before AS busy_until
FROM worked
WINDOW before AS (PARTITION BY topic, partition ORDER BY polled_at, poll {BEFORE})
