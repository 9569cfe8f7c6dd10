-- A commit is answered within offsets.commit.timeout.ms
-- A coordinator answers a commit within offsets.commit.timeout.ms of its arrival, whether it could
-- be made or not.
-- why: A synchronous commit holds up its application for as long as this.
-- source: offsets.commit.timeout.ms; document 003, OFFSET_COMMIT
-- id: X61 | rows: members | unit: ms | measured: for the longest | high: was not answered in time |
--   delayed by: member, toxiproxy, brokers | kind: broker, in passing
--
-- An answer that times out has been through three queues, each of which may take the slack.

-- let WHAT = commit
-- let MOST = :commit_timeout_ms + 3 * :slack_ms

WITH waited AS (
    SELECT r.* FROM {own_requests} r LEFT ANTI JOIN {stopped_brokers} s
      ON s.broker = r.broker AND s.from_at <= r.answered_at AND s.to_at >= r.arrived_at
    WHERE r.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
), {LONGEST_WAIT}
