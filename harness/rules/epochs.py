"""How the epochs of KIP-848 go on: the group's, and each member's."""

from harness.rules.rule import Rule

CONSUMER = ("consumer",)


@Rule(
    "X35",
    title="Epochs count up, and members keep to them",
    statement=(
        "Each change raises the group epoch by one; a member is told an epoch that the group has, "
        "never one below its last unless it joins anew, and names in each heartbeat the one that "
        "it was told last."
    ),
    source="KIP-848, group epoch and member epoch; ConsumerGroup.validateMemberEpoch",
    unit="epochs",
    things="group epochs and members",
    measures="further than the one before",
    too_low="repeats an epoch or goes back",
    too_high="leaves epochs out",
    matters=(
        "Commits and assignments are fenced by the epoch; one that goes back lets a former owner "
        "in again."
    ),
    protocols=CONSUMER,
    always=True,
)
def epochs_count_up() -> str:
    """Steps between group epochs, and each member's heartbeats in order.

    A change that could not be written is undone, and its epoch used again: by another coordinator,
    or while a broker is gone. An answer that was lost on a disturbed link leaves a member with the
    epoch before.
    """
    return """
        WITH bumps AS (
            SELECT broker, at, generation, evidence, lag(generation) OVER w AS generation_before,
                   lag(broker) OVER w AS broker_before
            FROM {coordinator_events} WHERE `group` = :group AND event = 'epoch_bumped'
            WINDOW w AS (PARTITION BY `group` ORDER BY at, length(evidence), evidence)
        ), troubles AS (
            SELECT injecting_at AS from_at, after(:session_ms, coalesce(healed_at, :ended_at))
                       AS to_at
            FROM {fault_windows} WHERE disturbs_heartbeats OR breaks = 'broker'
        ), changes AS (
            -- In a group that changes its protocol, generations and epochs follow each other.
            SELECT count(*) > 0 AS changed FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('upgraded', 'downgraded')
        ), steps AS (
            SELECT b.*, count(t.from_at) > 0 AS troubled
            FROM bumps b LEFT JOIN troubles t ON t.from_at <= b.at AND t.to_at >= b.at
            CROSS JOIN changes c
            WHERE b.generation_before IS NOT NULL AND NOT c.changed
            GROUP BY ALL
        ), beats AS (
            SELECT member, member_id, arrived_at, processed_at, answered_at, generation,
                   member_epoch, evidence, lag(member_epoch) OVER w AS told,
                   lag(arrived_at) OVER w AS before_at
            FROM {consumer_heartbeats} WHERE error_code = :NONE
            WINDOW w AS (PARTITION BY member_id ORDER BY arrived_at, answered_at)
        ), seen AS (
            SELECT b.*, c.changed, max(g.generation) AS group_epoch
            FROM beats b LEFT JOIN bumps g ON g.at <= after(:slack_ms, b.processed_at)
            CROSS JOIN changes c
            GROUP BY ALL
        ), doubted AS (
            SELECT s.*, count(t.from_at) AS troubles
            FROM seen s LEFT JOIN troubles t
              ON t.from_at <= s.arrived_at AND t.to_at >= s.before_at
            GROUP BY ALL
        ), judged AS (
            SELECT s.member, s.member_id, s.arrived_at, s.evidence,
                   CASE WHEN s.changed OR s.generation < 0 THEN NULL
                        WHEN s.member_epoch > s.group_epoch
                        THEN concat('was told epoch ', s.member_epoch, ' when the group was in ',
                                    s.group_epoch)
                        WHEN s.generation > 0 AND s.member_epoch < s.generation
                        THEN concat('was told epoch ', s.member_epoch, ' when it was in ',
                                    s.generation)
                        WHEN s.generation > 0 AND s.told > 0 AND s.generation <> s.told
                             AND s.troubles = 0
                        THEN concat('named epoch ', s.generation, ' when it had been told ',
                                    s.told) END AS odd
            FROM doubted s
        )
        SELECT concat('epoch ', generation) AS subject, at,
               generation - generation_before AS measured,
               IF(broker <> broker_before OR troubled, 0, 1) AS bound_low, 1 AS bound_high,
               CAST(NULL AS STRING) AS wrong,
               concat('after epoch ', generation_before) AS note, evidence
        FROM steps
        UNION ALL
        SELECT concat(min(member), ' (', member_id, ')'), min(arrived_at), NULL, NULL, NULL,
               min_by(odd, arrived_at) FILTER (WHERE odd IS NOT NULL),
               concat(count(*), ' heartbeats'),
               coalesce(min_by(evidence, arrived_at) FILTER (WHERE odd IS NOT NULL),
                        min_by(evidence, arrived_at))
        FROM judged GROUP BY member_id
    """
