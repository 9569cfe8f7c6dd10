-- Fetches of a partition, each with the offset that it was for.
--
-- Law: Of all that a program reads only the topic that it is fed counts. What it writes for itself
-- and reads again, as Kafka Streams does with its repartition topics, are its own records.
--
-- In a fetch session (KIP-227) a client names a partition again only when its position has changed.
-- So one that was given back to it, and begins where it was, is in the answer alone.

SELECT member, topic, partition, bytes, end_offset, arrived_at, answered_at, evidence,
       last_value(fetch_offset, true) OVER (
           PARTITION BY member, topic, partition ORDER BY arrived_at, answered_at)
           AS fetch_offset
FROM {fetches} WHERE member IS NOT NULL AND topic = :topic AND partition IS NOT NULL
