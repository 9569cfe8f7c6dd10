"""What a rebalance takes away: everything (eager), or only what moves (KIP-429)."""

from harness.experiment import CLASSIC
from harness.rules.rule import THE_GROUP, Groups, Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)

_COOPERATIVE = ("cooperative",)


@Rule(
    "R15-all",
    title="A rebalance takes every partition away (documented for eager)",
    statement="In a rebalance each member gives up all its partitions before it gets its new "
    "assignment.",
    source="document 001, rebalance phases and its listener; PartitionAssignor, EAGER",
    unit="partitions",
    things="members per rebalance",
    measures="kept through the rebalance",
    too_high="did not give up all its partitions",
    matters="The whole group stops consuming for as long as such a rebalance lasts.",
    protocols=CLASSIC,
    contradicted=(Groups(protocol="cooperative"),),
)
def all_is_revoked() -> str:
    """Members that went through a rebalance with partitions, and how many they kept meanwhile."""
    return """
        WITH spans AS (
            SELECT DISTINCT g.broker, g.generation, g.started_at, g.joined_at, j.member
            FROM {generations} g JOIN {joins} j ON same(j, g, broker, generation)
             AND j.arrived_at <= after(:STAMP_LATE_MS, g.joined_at)
             AND in_time_of(g, j.processed_at)
            WHERE g.event = 'stabilized' AND g.started_at IS NOT NULL
        ), held AS (
            SELECT s.generation, s.member, s.started_at, count(*) AS held,
                   count_if(o.to_at IS NULL
                            -- Brokers write whole milliseconds, cut off; clients do not.
                            OR o.to_at > after(:rounding_ms, s.joined_at)) AS kept
            FROM spans s JOIN {ownership} o
              ON o.member = s.member AND o.from_at < s.started_at
             AND (o.to_at IS NULL OR o.to_at > s.started_at) AND o.removed_at IS NULL
            GROUP BY s.generation, s.member, s.started_at
        )
        SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
               kept AS measured, 0 AS bound_high,
               concat('gave up ', held - kept, ' of ', held) AS note
        FROM held
    """


@Rule(
    "X01",
    title="A cooperative rebalance revokes only what moves",
    statement="In a cooperative rebalance a member gives up only partitions that another member "
    "gets.",
    source="KIP-429; CooperativeStickyAssignor",
    unit="ms",
    things="partitions given up",
    measures="until another member had it",
    matters="A partition that is revoked without moving stops for nothing, and its cache is "
    "thrown away.",
    protocols=_COOPERATIVE,
)
def only_moved_is_revoked() -> str:
    """Partitions that a member was told to give up, and who had each next.

    What a member gives up because it closes is not examined. The group leader decides twice: to
    have a partition given up, and to whom it goes. Where members or partitions came or went
    between, the second may differ from the first.

    Nor is what a member loses: nobody told it to give that up, so the leader did not decide twice.
    Whether two had it at one time is for `R21` and `R21-delivery`, which count it as held until the
    application heard of the loss; whether the loss had a cause, for `R20f`.
    """
    return """
        WITH given_up AS (
            SELECT o.member, o.topic, o.partition, o.to_at AS at
            FROM {ownership} o LEFT ANTI JOIN {client_events} c
              ON c.member = o.member AND c.event = 'closing' AND c.event_at <= o.to_at
            WHERE o.ended_by = 'revoked'
        ), followed AS (
            SELECT g.member, g.topic, g.partition, g.at, min(struct(o.from_at, o.member)) AS next
            FROM given_up g LEFT JOIN {ownership} o
              ON same(o, g, topic, partition) AND o.from_at >= g.at
            GROUP BY g.member, g.topic, g.partition, g.at
        ), first_given AS (
            SELECT topic, partition, min(at) AS at FROM {assignments} GROUP BY topic, partition
        ), changes AS (
            SELECT joined_at AS at, true AS of_members FROM {memberships} UNION ALL
            SELECT removed_at, true FROM {memberships} UNION ALL
            SELECT at, false FROM first_given
        ), decided AS (
            SELECT f.member, f.topic, f.partition, f.at, f.next,
                   max(a.at) AS decided_at
            FROM followed f LEFT JOIN {assignments} a ON a.at <= f.at
            GROUP BY f.member, f.topic, f.partition, f.at, f.next
        ), judged AS (
            SELECT d.member, d.topic, d.partition, d.at, d.next, count(c.at) > 0 AS changed
            FROM decided d LEFT JOIN changes c
              -- With members that come or go before it, the leader's decision is refused.
              ON (c.at > coalesce(d.decided_at, d.at)
                  OR c.of_members AND c.at = coalesce(d.decided_at, d.at))
             AND c.at <= d.next.from_at
            GROUP BY d.member, d.topic, d.partition, d.at, d.next
        )
        SELECT concat(member, ' gave up ', topic, '-', partition) AS subject, at,
               ms_between(at, next.from_at) AS measured,
               IF(next.member IS NULL, 'no member had it again before the run ended', NULL)
                   AS unknown,
               IF(next.member = member AND NOT changed, 'got the same partition back', NULL)
                   AS wrong,
               concat(next.member, ' had it next',
                      IF(next.member = member, ', after the group had changed', '')) AS note
        FROM judged
    """


@Rule(
    "X01-two",
    title="A cooperative move takes two generations",
    statement="A partition that moves between two members belongs to nobody for one generation: "
    "the first rebalance takes it away, the next one assigns it.",
    source="KIP-429",
    unit="generations",
    things="partitions moved",
    measures="from one assignment to the next",
    too_low="moved without a generation in which it had no owner",
    matters="The old owner has to let go before the new one begins, or both process the same "
    "records.",
    protocols=_COOPERATIVE,
)
def moves_in_two() -> str:
    """Partitions that went from one member to another while both were in the group.

    What its member had lost before it joined that generation was nobody's then: it is named in no
    JoinGroup as owned, so it may be given at once (KIP-429, onPartitionsLost).
    """
    return """
        WITH given AS (
            SELECT generation, member_id, coalesce(instance_id, member) AS member, topic, partition,
                   evidence, at
            FROM {assignments}
        ), followed AS (
            SELECT *, lag(struct(member, member_id, generation, at)) OVER (
                PARTITION BY topic, partition ORDER BY at, generation, member_id, evidence)
                AS before
            FROM given
        ), moved AS (
            SELECT f.*, min(j.arrived_at) AS joined_at
            FROM followed f JOIN {joins} j
              ON j.generation = f.generation AND j.member_id = f.before.member_id
            -- Whoever was never told what its leader gave it has not had it.
            LEFT SEMI JOIN {own_requests} s
              ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE
             AND s.member_id = f.before.member_id AND s.generation = f.before.generation
            WHERE f.member <> f.before.member
            GROUP BY ALL
        ), ended AS (
            SELECT m.*, count(o.to_at) AS lost
            FROM moved m LEFT JOIN {ownership} o
              ON o.member_id = m.before.member_id AND same(o, m, topic, partition)
             AND o.ended_by = 'lost'
             AND o.to_at >= m.before.at AND o.to_at <= m.joined_at
            GROUP BY ALL
        )
        SELECT concat(topic, '-', partition, ' from ', before.member, ' to ', member) AS subject,
               at, generation - before.generation AS measured, 2 AS bound_low,
               IF(lost > 0, 'had been lost by its owner before it joined again', NULL) AS excused,
               concat('given to ', before.member, ' in generation ', before.generation,
                      ' and to ', member, ' in ', generation) AS note,
               evidence
        FROM ended
    """


@Rule(
    "X01-kept",
    title="A partition that its member keeps is not interrupted",
    statement="A partition that its member keeps through a cooperative rebalance stands still no "
    "longer than between rebalances.",
    source="KIP-429",
    unit="ms",
    things="partitions kept",
    measures="of standstill",
    too_high="stood still for longer than at any time between rebalances",
    matters="Cooperative rebalancing exists so that kept partitions are consumed without a break.",
    protocols=_COOPERATIVE,
    delayed_by=THE_GROUP,
)
def kept_goes_on() -> str:
    """Partitions whose owner kept them through a rebalance, and how long each stood still in it.

    Measured against the longest time that any partition stood still in this run while no rebalance
    was under way. The longest of few is longer than the longest of many now and then: so only a
    standstill counts that lasted for half of its member's wait in the join phase, to its end, and
    only if that wait was longer than the pauses that there are without one. Others are excused.
    """
    return """
        WITH spans AS (
            SELECT generation, joined_at, started_at,
                   coalesce(completed_at, joined_at) AS completed_at
            FROM {generations} WHERE started_at IS NOT NULL AND members > 0
        ), pauses AS (
            SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
                   ms_between(busy_until, polled_at) AS ms
            FROM {progress} WHERE busy_until < polled_at
        ), calm AS (
            SELECT max(p.ms) AS ms FROM pauses p LEFT ANTI JOIN spans s
              ON p.from_at <= s.completed_at AND p.to_at >= s.started_at
            WHERE p.from_at > (SELECT min(completed_at) FROM spans)
        ), kept AS (
            SELECT s.*, o.topic, o.partition, min(o.member) AS member
            FROM spans s JOIN {ownership} o
              ON o.from_at < s.started_at AND (o.to_at IS NULL OR o.to_at > s.completed_at)
             AND o.removed_at IS NULL
            JOIN {assignments} a
              ON a.generation = s.generation AND same(a, o, topic, partition, member)
            GROUP BY ALL
        ), waits AS (
            SELECT generation, member, max(processed_at) AS to_at,
                   max(ms_between(arrived_at, processed_at)) AS ms,
                   after(max(ms_between(arrived_at, processed_at)) / 2, max(arrived_at))
                       AS middle_at
            FROM {joins} GROUP BY generation, member
        ), measured AS (
            SELECT k.*, coalesce(st.ms, 0) AS ms, w.ms AS waited_ms,
                   count_if(p.from_at <= w.middle_at AND p.to_at >= w.to_at) > 0 AS through
            FROM kept k LEFT JOIN {standstills} st
              ON same(st, k, generation, joined_at, topic, partition)
            LEFT JOIN pauses p ON same(p, k, topic, partition) AND p.ms = st.ms
             AND p.from_at <= k.completed_at AND p.to_at >= k.started_at
            LEFT JOIN waits w ON same(w, k, generation, member)
            GROUP BY ALL
        )
        SELECT concat(topic, '-', partition, ' in generation ', generation) AS subject,
               joined_at AS at, m.ms AS measured, c.ms + :slack_ms AS bound_high,
               IF(c.ms IS NULL, 'no pause between rebalances is on record to compare with', NULL)
                   AS unknown,
               CASE WHEN NOT through
                    THEN 'did not stand still until its member''s wait in the join phase was over'
                    WHEN waited_ms < c.ms
                    THEN clause('its member waited in the join phase for only ',
                                CAST(round(waited_ms) AS INT), ' ms') END AS excused,
               concat('kept by ', member, '; the longest pause between rebalances took ',
                      CAST(round(c.ms) AS INT), ' ms') AS note,
               after(-:guard_ms, started_at) AS guard_from, guard_to(completed_at) AS guard_to
        FROM measured m CROSS JOIN calm c
    """
