"""That a coordinator describes the group as it is."""

from typing import Final

from harness.rules.rule import A_BROKER, Rule

# How long a coordinator may describe a group as it was: it tells what is replicated, and writes an
# assignment before its answers. Over the kept runs it was 0.3 s at most.
BEHIND_MS: Final = 1_000

# What the observer was told of the group, where no broker was broken just then.
SEEN: Final = """
    WITH seen AS (
        SELECT s.at, s.state, s.members FROM {topology} s
        LEFT ANTI JOIN {unsettled} f
          ON f.from_at <= s.at AND f.to_at >= s.at
        WHERE s.what = 'group' AND s.`group` = :group AND coalesce(s.state, '') <> ''
    )
"""


@Rule(
    "X55",
    title="A group is described with the members that it has",
    statement="Whoever asks the coordinator to describe the group is told of its members, and "
    "that it is empty, or that there is no such group, only when it has none.",
    source="document 003, DESCRIBE_GROUPS; KIP-848, ConsumerGroupDescribe",
    unit="members",
    things="descriptions",
    measures="told of",
    too_low="tells of fewer members than the group had",
    too_high="tells of more members than the group had",
    matters="With a wrong description, monitoring raises a false alarm, or none.",
    broker=True,
    in_passing=True,
    delayed_by=A_BROKER,
)
def told_of_its_members() -> str:
    """What the observer was told, beside who was in the group by the coordinator's lines."""
    return """
        {SEEN}, changes AS (
            SELECT count(*) AS converted FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
        ), counted AS (
            SELECT s.at, s.state, s.members,
                   count_if(m.joined_at < after(-:BEHIND_MS, s.at)
                            AND (m.removed_at IS NULL OR m.removed_at > after(:guard_ms, s.at)))
                       AS surely,
                   count(m.member_id) AS perhaps
            FROM seen s LEFT JOIN {memberships} m
              ON m.joined_at <= after(:guard_ms, s.at)
             AND (m.removed_at IS NULL OR m.removed_at >= after(-:BEHIND_MS, s.at))
            GROUP BY s.at, s.state, s.members
        )
        SELECT concat(state, ' with ', members, ' members') AS subject, at, members AS measured,
               surely AS bound_low, perhaps AS bound_high,
               IF(state IN ('Empty', 'Dead') AND surely > 0,
                  clause('was told of a group that was ', lower(state), ' when it had ', surely,
                         ' members'), NULL) AS wrong,
               concat(surely, ' to ', perhaps, ' members by the coordinator''s log') AS note,
               IF(members NOT BETWEEN surely AND perhaps, after(-:BEHIND_MS, at), NULL)
                   AS guard_from, at AS guard_to
        FROM counted CROSS JOIN changes WHERE converted = 0
    """


@Rule(
    "X55-state",
    title="A group is described in the state that it is in",
    statement="Whoever asks the coordinator to describe a group of the classic protocol is told "
    "the state that it is in: PreparingRebalance until all have joined, CompletingRebalance until "
    "its leader has assigned, then Stable, and Empty when it has no members.",
    source="document 003, group states; ClassicGroupState",
    unit="",
    things="states seen",
    matters="A monitor that reads the group's state sees every rebalance, and no false one.",
    broker=True,
    protocols=("eager", "cooperative"),
    in_passing=True,
    delayed_by=A_BROKER,
)
def told_its_state() -> str:
    """States that the observer was told, beside those that the coordinator's lines give.

    Any that the group was in within the time by which a description may be behind is right.
    """
    return """
        {SEEN}, changes AS (
            SELECT count(*) AS converted FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
        ), steps AS (
            SELECT at, CASE event WHEN 'rebalance_started' THEN 'PreparingRebalance'
                                  WHEN 'stabilized' THEN 'CompletingRebalance'
                                  WHEN 'assignment_received' THEN 'Stable'
                                  ELSE 'Empty' END AS state,
                   lead(at) OVER (PARTITION BY 1 ORDER BY at, length(evidence), evidence) AS until
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('rebalance_started', 'stabilized',
                                                 'assignment_received', 'emptied')
        ), judged AS (
            SELECT s.at, s.state, s.members, count_if(t.state = s.state) AS times,
                   count(t.at) AS known,
                   array_join(array_sort(collect_set(t.state)), ', ') AS states
            FROM seen s LEFT JOIN steps t
              ON t.at <= after(:guard_ms, s.at)
             AND (t.until IS NULL OR t.until >= after(-:BEHIND_MS, s.at))
            GROUP BY s.at, s.state, s.members
        ), first AS (
            SELECT min(at) AS at FROM steps
        ), told AS (
            SELECT j.at, j.state, j.members, j.states,
                   CASE WHEN j.times > 0 THEN NULL
                        WHEN j.state IN ('Dead', 'Empty') AND (j.states = 'Empty'
                             OR coalesce(f.at >= after(-:BEHIND_MS, j.at), true)) THEN NULL
                        WHEN j.known = 0 THEN 'was seen before the group was made'
                        ELSE clause('was seen when the group was in ', j.states) END AS wrong
            FROM judged j CROSS JOIN first f CROSS JOIN changes WHERE converted = 0
        )
        SELECT concat(state, ' with ', members, ' members') AS subject, at, wrong,
               concat('by the coordinator''s log: ', states) AS note,
               IF(wrong IS NULL, NULL, after(-:BEHIND_MS, at)) AS guard_from, at AS guard_to
        FROM told
    """
