"""Static members of KIP-848: they leave for now with epoch -2, and are refused while they run."""

from harness.rules.rule import Rule
from harness.rules.static_members import (  # noqa: F401 (queries name them)
    CLOSINGS,
    SESSIONS_OF_CLOSED,
)

_KIP_848 = ("consumer",)

# Until when a join may seem to arrive that found a member `o` still there. The join that replaced
# it did, even where it seems later: a request's line is written, and stamped, after its answer.
SEEN_AS_GONE = "after(IF(o.removed_by = 'replaced', :slack_ms, 0), o.removed_at)"

# Stays of static members that left for now (epoch -2), and since when.
LEFT_FOR_NOW = """
    gone AS (
        SELECT m.stay, m.member_id, m.instance_id, m.removed_at, m.removed_by,
               min(b.arrived_at) AS at
        FROM {consumer_heartbeats} b JOIN {memberships} m
          ON m.member_id = b.member_id AND m.instance_id IS NOT NULL
         AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
         AND (m.removed_at IS NULL OR b.arrived_at < m.removed_at)
        WHERE b.generation = -2 AND b.error_code = :NONE
        GROUP BY ALL
    )
"""


@Rule(
    "X02-epoch",
    title="A static member on temporary leave keeps its partitions",
    statement="In KIP-848 a process that joins with the instance id of a member that left "
    "temporarily (epoch -2) takes that member's place: group epoch and partitions stay the same.",
    source="KIP-848, Static membership; group.instance.id",
    unit="ms",
    things="processes that took a static member's place",
    measures="from joining to having the partitions",
    matters="A restart within the session timeout moves no partition to another member.",
    protocols=_KIP_848,
)
def back_without_epoch() -> str:
    """The first to join under the instance id of a member that had left for now.

    From that leaving until the new process has its partitions no group epoch may be bumped because
    of the two. One that comes with other metadata is because of the topics. A process that asks an
    unready coordinator asks again.
    """
    return """
        WITH {LEFT_FOR_NOW},
        steps AS (
            SELECT at, named, lag(reason) OVER (PARTITION BY 1 ORDER BY at) <> reason AS by_topics
            FROM {epoch_bumps}
        ), given AS (
            SELECT member_id, processed_at AS at, answered_at,
                   array_sort(transform(assigned, p -> concat(p.topic, '-', p.partition))) AS parts
            FROM {consumer_heartbeats} WHERE error_code = :NONE AND assigned IS NOT NULL
        ), had AS (
            SELECT o.*, max(struct(g.at, g.parts)).parts AS had
            FROM gone o LEFT JOIN given g ON g.member_id = o.member_id AND g.at <= o.at
            GROUP BY ALL
        ), asked AS (
            SELECT o.*, min(struct(b.arrived_at AS at, b.member_id, b.member, b.error_code,
                                   b.processed_at, b.evidence)) AS new
            FROM had o JOIN {consumer_heartbeats} b
              ON b.instance_id = o.instance_id AND b.member_id <> o.member_id
             AND b.generation = 0 AND b.arrived_at > o.at
             AND b.error_code NOT IN
                 (:COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
             AND (o.removed_at IS NULL OR b.arrived_at < {SEEN_AS_GONE})
            GROUP BY ALL
        ), got AS (
            SELECT a.*, min(struct(g.at, g.answered_at, g.parts)) AS got
            FROM asked a LEFT JOIN given g ON g.member_id = a.new.member_id AND g.at >= a.new.at
            GROUP BY ALL
        ), bumped AS (
            SELECT g.*, count(e.at) AS changes,
                   count_if(e.at IS NOT NULL
                            AND coalesce(e.named IN (g.member_id, g.new.member_id),
                                         NOT coalesce(e.by_topics, false))) AS bumps
            FROM got g LEFT JOIN steps e
              ON e.at >= g.at AND e.at <= g.got.answered_at
            GROUP BY ALL
        ), compared AS (
            SELECT *, coalesce(removed_by = 'replaced', false) AS replaced,
                   IF(got.parts <> had, concat('was given ', array_join(got.parts, ' '), ', not ',
                                               array_join(had, ' ')), NULL) AS changed
            FROM bumped
        )
        SELECT concat(instance_id, ' (', new.member, ')') AS subject, new.at,
               ms_between(new.at, got.answered_at) AS measured,
               CASE WHEN NOT replaced AND removed_at <= new.processed_at
                    THEN 'the session ended while it joined'
                    WHEN new.error_code <> :NONE OR NOT replaced THEN NULL
                    WHEN had IS NULL THEN 'what it had before is not on record'
                    WHEN changed IS NOT NULL AND changes > bumps
                    THEN clause(changed, ', but other members came or went') END AS unknown,
               CASE WHEN new.error_code <> :NONE
                    THEN clause('was refused with error ', new.error_code)
                    WHEN NOT replaced THEN 'did not take the place of the other'
                    WHEN got.parts IS NULL THEN 'was never given partitions'
                    WHEN bumps > 0 THEN 'was followed by a new group epoch'
                    ELSE changed END AS wrong,
               concat('given ', array_join(got.parts, ' ')) AS note, new.evidence
        FROM compared
    """


@Rule(
    "X03-epoch",
    title="A static member closes with epoch -2",
    statement="A static member of KIP-848 that closes sends epoch -2, which means that it leaves "
    "temporarily. Nothing changes until another process takes its place, or its session ends.",
    source="KIP-848, Static membership; ConsumerGroupHeartbeatRequest.MemberEpoch",
    unit="ms",
    things="closed static members",
    measures="after the last sign of life",
    too_low="was evicted too early",
    too_high="was evicted too late",
    matters="Nobody processes its partitions until it is back or its session ends.",
    protocols=_KIP_848,
)
def close_leaves_for_now() -> str:
    """Static members that closed while the run went on: their last heartbeat, and what it changed.

    The session runs on from the last heartbeat before.
    """
    return """
        WITH {LEFT_FOR_NOW},
        {CLOSINGS},
        goodbyes AS (
            SELECT c.*, max(struct(b.arrived_at, b.evidence, b.generation, b.error_code)) AS last
            FROM closings c LEFT JOIN {consumer_heartbeats} b
              ON b.member_id = c.member_id AND b.arrived_at >= c.at
            GROUP BY ALL
        ), bumped AS (
            SELECT o.stay, count(*) AS bumps
            FROM gone o JOIN {epoch_bumps} e
              ON e.at >= o.at AND e.at < coalesce(o.removed_at, :stopped_at)
             AND coalesce(e.named = o.member_id, true)
            GROUP BY o.stay
        ), closed AS (
            SELECT g.*, g.last.evidence,
                   CASE WHEN g.last.generation IS NULL THEN 'sent no last heartbeat'
                        WHEN g.last.generation <> -2
                        THEN concat('sent a last heartbeat with epoch ', g.last.generation)
                        WHEN b.bumps > 0 THEN 'was followed by a new group epoch within its session'
                        END AS broken,
                   IF(g.last.error_code <> :NONE,
                      concat('its last heartbeat was answered with error ', g.last.error_code),
                      NULL) AS unclear
            FROM goodbyes g LEFT JOIN bumped b USING (stay)
        )
        {SESSIONS_OF_CLOSED}
    """


@Rule(
    "X05-unreleased",
    title="In KIP-848 the newer of two with one instance id is refused",
    statement="A process that joins with the instance id of a member that has neither left "
    "temporarily nor been removed is refused with UNRELEASED_INSTANCE_ID, and its client gives up "
    "for good.",
    source="KIP-848, Static membership; UNRELEASED_INSTANCE_ID",
    unit="ms",
    things="joins with an instance id in use",
    measures="after the owner's last heartbeat",
    matters="A process that crashed cannot start again before its former session ends.",
    protocols=_KIP_848,
)
def new_one_is_refused() -> str:
    """Joins under the instance id of a member that has neither left for now nor been removed.

    The owner may be alive or dead: the coordinator cannot tell. Its silence at that time is what is
    measured. What an unready coordinator answers proves nothing.
    """
    return """
        WITH met AS (
            SELECT j.member_id, j.member, j.instance_id, j.error_code, j.arrived_at, j.processed_at,
                   j.evidence, o.member AS owner, o.member_id AS owner_id, o.removed_at,
                   o.removed_at <= j.processed_at AND o.removed_by <> 'replaced' AS going
            FROM {consumer_heartbeats} j JOIN {memberships} o
              ON o.instance_id = j.instance_id AND o.member_id <> j.member_id
             AND o.joined_at <= j.arrived_at
             AND (o.removed_at IS NULL OR j.arrived_at < {SEEN_AS_GONE})
            WHERE j.generation = 0 AND j.error_code NOT IN
                  (:COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE, :NOT_COORDINATOR)
        ), owned AS (
            SELECT m.*, max(b.processed_at) FILTER (WHERE b.arrived_at <= m.arrived_at) AS seen_at,
                   count_if(b.arrived_at > m.arrived_at
                            AND coalesce(b.arrived_at < m.removed_at, true)
                            AND b.error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID,
                                                 :FENCED_MEMBER_EPOCH, :UNRELEASED_INSTANCE_ID))
                       AS refusals
            FROM met m JOIN {consumer_heartbeats} b ON b.member_id = m.owner_id
            GROUP BY ALL
            HAVING count_if(b.generation = -2 AND b.arrived_at <= m.processed_at) = 0
        )
        SELECT concat(o.member, ' (', o.instance_id, ')') AS subject, arrived_at AS at,
               ms_between(seen_at, arrived_at) AS measured,
               IF(going, 'its owner was removed meanwhile', NULL) AS unknown,
               CASE WHEN error_code = :NONE THEN clause('was let in, while ', owner, ' had the id')
                    WHEN error_code <> :UNRELEASED_INSTANCE_ID
                    THEN clause('was answered with error ', error_code)
                    WHEN refusals > 0 THEN clause('was refused, and so was ', owner)
                    WHEN p.member IS NOT NULL AND coalesce(p.`end` <> 'failed', true)
                    THEN 'its client went on' END AS wrong,
               concat(owner, ' had the id') AS note, evidence
        FROM owned o LEFT JOIN {members} p ON p.member = o.member
    """
