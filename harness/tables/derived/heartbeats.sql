-- One row per heartbeat.
--
-- A gap is steady if nothing that may stretch it fell into it: both heartbeats were answered by one
-- broker for one generation without an error, and no fault of a broker, of the member's own link or
-- of its frozen process was active, in this gap or the one before it: a heartbeat that was held up
-- comes late, and the next one all the sooner after it. Those that were held up together, each read
-- within :slack_ms of the answer to the one before, count as one: a broker that goes on after a
-- pause may need more than that for the first. Stalled processing and members that join, leave or
-- crash do not count as such: heartbeats must not depend on them. A broker reads the next request
-- of a connection when it has answered the one before, so a gap is not steady either, nor is the
-- one after it, if a commit of the member was without an answer when the heartbeat had to have
-- come, and for about as long as it was late: 1.8 s in a group of two hundred on two cores.
--
-- A heartbeat of KIP-848 is timed by its arrival, for its answer waits until what the coordinator
-- wrote before is replicated. One that says what the member owns is sent out of turn, as is the one
-- after an answer that changes the assignment: gaps beside such are not steady.

{FOLLOWED}
-- By the minute: a day has too many commits of a member to look at each pair.
SELECT f.member_id, f.at, count(*) AS commits
FROM (SELECT *, explode(sequence(unix_seconds(before_at) DIV 60,
                                 unix_seconds(at) DIV 60)) AS minute
      FROM followed WHERE before_at IS NOT NULL) f
JOIN {requests} c
  ON same(c, f, member_id, broker) AND unix_seconds(c.answered_at) DIV 60 = f.minute
 AND c.arrived_at <= after(:heartbeat_ms + :cadence_ms, f.before_at)
 AND c.answered_at > after(:heartbeat_ms + :cadence_ms, f.before_at)
 AND c.answered_at <= f.at
 -- It has to be about as long as the heartbeat was late.
 AND ms_between(f.before_at, f.at) - ms_between(c.arrived_at, c.answered_at)
     <= :heartbeat_ms + 2 * :cadence_ms
WHERE c.api = 'OFFSET_COMMIT'
GROUP BY f.member_id, f.at
{JUDGED}
