-- A member that lost its coordinator keeps looking for it
-- A member whose coordinator is dead repeats its lookup: Java at the latest every
-- retry.backoff.max.ms with 20 % jitter, librdkafka every 1,000 ms.
-- why: The time between two lookups adds to the outage after a coordinator has failed.
-- source: retry.backoff.max.ms; KIP-580; librdkafka rdkafka_cgrp.c (rd_kafka_cgrp_serve)
-- id: R05-lookup | rows: members without a coordinator | unit: ms | measured: between lookups at
--   most | high: waited too long between two lookups | protocols: classic | delayed by: member,
--   toxiproxy, brokers
--
-- Gaps between one member's lookups while its coordinator is dead; both of its threads ask. The
-- first counts from the death, at the latest when the kill was through. A timer that is looked at
-- late may be so at both ends of a gap. While another broker is gone too a question may be on no
-- record.

{LOOKUPS}{BEREFT}
asked AS (
    SELECT b.fault, b.member, l.arrived_at AS at,
           coalesce(lag(l.arrived_at) OVER (PARTITION BY b.fault, b.member
                                            ORDER BY l.arrived_at),
                    least(b.gone_at, l.arrived_at)) AS from_at
    FROM bereft b JOIN lookups l
      ON l.member = b.member AND l.arrived_at > b.at AND l.arrived_at <= b.heartbeat_at
), longest AS (
    SELECT fault, member, count(*) AS lookups, :lookup_ms + 4 * :slack_ms AS high,
           max(struct(ms_between(from_at, at) AS ms, at, from_at)) AS gap
    FROM asked a LEFT ANTI JOIN {fault_windows} w
      ON w.broker_gone AND w.fault <> a.fault AND w.injecting_at <= a.at
     AND coalesce(w.healed_at, :ended_at) >= a.from_at
    GROUP BY fault, member
)
SELECT concat(member, ' after ', fault) AS subject, gap.at, gap.ms AS measured,
       high AS bound_high, concat('longest gap of ', lookups, ' lookups') AS note,
       IF(gap.ms > high, gap.from_at, NULL) AS guard_from, gap.at AS guard_to
FROM longest
