-- Without enough in-sync replicas commits fail in time
-- No commit is accepted while the offsets topic has too few in-sync replicas, and each commit is
-- answered within offsets.commit.timeout.ms.
-- why: A commit that does not fail in time holds up its consumer.
-- source: offsets.commit.timeout.ms; min.insync.replicas
-- id: X28 | rows: commits | unit: ms | measured: to the refusal | high: was refused too late |
--   delayed by: brokers | kind: broker
--
-- Commits made while the replicas were too few, and those refused that came as a broker died.
--
-- One that was accepted in that moment may have come before, so it is not examined. An answer that
-- times out has been through three queues, each of which may take the slack: the broker's, the
-- coordinator's, and that again.

{TIMED}
SELECT r.subject, r.arrived_at AS at, r.ms AS measured,
       :commit_timeout_ms + 3 * :slack_ms AS bound_high,
       IF(r.error_code = :NONE, 'was accepted', NULL) AS wrong,
       concat('failed with error ', r.error_code) AS note,
       r.evidence, r.arrived_at AS guard_from, r.processed_at AS guard_to
FROM timed r JOIN unwritable u
  ON r.arrived_at <= u.to_at
 AND r.arrived_at >= IF(r.error_code = :NONE, u.from_at, u.injecting_at)
 -- A commit that waits while the broker comes back may be made after all.
 AND after(:commit_timeout_ms, r.arrived_at) <= u.to_at
WHERE r.api = 'OFFSET_COMMIT'
