"""What becomes of positions and of a topic's epochs and size, asked for by whom and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.experiment import CLASSIC
from harness.rules.group_apis import COMMIT_ANSWER, answers
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

METADATA_MAX: Final = 4_096  # offset.metadata.max.bytes


def _commits(t: Tables) -> Frame:
    """Commits without metadata: too much of it is another rule's matter."""
    return answers(t, "OFFSET_COMMIT", COMMIT_ANSWER, "error_code <> 12")


# Commits as nobody to an idle group, where only the metadata can be wrong; and the fetch after.
_METADATA: Final = """
    WITH commits AS (
        SELECT p.`group`, p.topic, p.partition, p.wanted, p.metadata, p.error_code, p.step,
               p.sent_at, p.answered_at, length(p.metadata) AS characters,
               octet_length(p.metadata) AS bytes
        FROM {probe_positions} p JOIN {probed} c
          ON c.api = p.api AND c.`group` = p.`group` AND c.sent_at = p.sent_at
        WHERE p.api = 'OFFSET_COMMIT' AND c.nobody AND c.state_before IN ('Empty', 'Dead')
          AND p.answered_at IS NOT NULL
    ),
    fetched AS (
        SELECT c.`group`, c.topic, c.partition, c.sent_at,
               max_by(f.committed, f.sent_at) FILTER (WHERE f.answered_at <= c.sent_at) AS old,
               min_by(f.committed, f.sent_at) FILTER (WHERE f.sent_at >= c.answered_at) AS new
        FROM commits c JOIN {probe_fetches} f
          ON f.`group` = c.`group` AND f.topic = c.topic AND f.partition = c.partition
        GROUP BY ALL
    ),
    judged AS (
        SELECT c.*, f.old, f.new,
               concat(c.topic, '-', c.partition, ' in ', c.step, ' (', c.`group`, ')') AS subject
        FROM commits c LEFT JOIN fetched f
          ON f.`group` = c.`group` AND f.topic = c.topic AND f.partition = c.partition
         AND f.sent_at = c.sent_at
        WHERE c.`group` IN (SELECT `group` FROM commits WHERE characters > 0)
    )
"""


def _metadata(t: Tables) -> Frame:
    return t.sql(
        _METADATA
        + """
        SELECT subject, sent_at AS at,
               error_code = CASE WHEN characters > :longest THEN 12 ELSE 0 END
                   AND CASE WHEN new IS NULL THEN NULL
                            WHEN error_code = 0 THEN new = wanted
                            ELSE new = coalesce(old, -1) END AS ok,
               characters AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               CASE WHEN error_code = 0 THEN :longest END AS bound_high,
               concat('answered ', error_code, ', then fetched ', coalesce(string(new), 'never'))
                   AS why
        FROM judged
        """,
        longest=METADATA_MAX,
    )


def _metadata_bytes(t: Tables) -> Frame:
    """Only metadata in which bytes and characters differ can tell."""
    return t.sql(
        _METADATA
        + """
        SELECT subject, sent_at AS at,
               (error_code = 12) = (bytes > :longest) AS ok, bytes AS measured,
               CAST(NULL AS DOUBLE) AS bound_low,
               CASE WHEN error_code = 0 THEN :longest END AS bound_high,
               concat(bytes, ' bytes in ', characters, ' characters were answered ', error_code)
                   AS why
        FROM judged WHERE bytes <> characters
        """,
        longest=METADATA_MAX,
    )


def _fetches(t: Tables) -> Frame:
    """Each partition of each answer, and each answer for all partitions as a whole."""
    return t.sql(
        """
        WITH judged AS (
            SELECT *, CASE WHEN ending AND stable AND error_code = 88 THEN NULL
                           WHEN held AND stable THEN error_code = 88
                           ELSE error_code = 0 AND committed = wanted END AS ok
            FROM {probe_fetches}
        ),
        stored AS (
            SELECT f.`group`, f.sent_at, p.topic, p.partition,
                   max_by(p.committed, p.at) AS committed
            FROM (SELECT DISTINCT `group`, sent_at FROM {probe_fetches} WHERE everything) f
            JOIN {probe_positions} p
              ON p.`group` = f.`group` AND p.at <= f.sent_at AND p.error_code = 0
            GROUP BY ALL
        ),
        complete AS (
            SELECT s.`group`, s.sent_at, count_if(s.committed >= 0) AS stored,
                   count(g.partition) AS told
            FROM stored s LEFT JOIN {probe_fetches} g
              ON g.`group` = s.`group` AND g.sent_at = s.sent_at AND g.topic = s.topic
             AND g.partition = s.partition
            GROUP BY s.`group`, s.sent_at
        )
        SELECT concat(topic, '-', partition, ' in ', step, ' (', `group`, ')') AS subject,
               sent_at AS at, ok,
               concat('answered ', error_code, ', ', committed,
                      CASE WHEN held AND stable THEN ' while a transaction holds it'
                           ELSE concat(' where ', wanted, ' was committed last') END) AS why
        FROM judged WHERE NOT (ending AND stable AND error_code = 88)
        UNION ALL
        SELECT concat('all partitions (', `group`, ')'), sent_at, told = stored,
               concat(told, ' of ', stored, ' partitions were told')
        FROM complete
        """
    )


# What metadata said of the partition, and what its end was when it said so.
_EPOCHS: Final = """
    WITH looked AS (
        SELECT c.sent_at, t.name AS topic, p.partitionIndex AS partition, p.leaderId AS leader,
               p.leaderEpoch AS epoch
        FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
            'array<struct<name:string,partitions:array<struct<partitionIndex:int,leaderId:int,'
            || 'leaderEpoch:int>>>>')) AS t
        LATERAL VIEW explode(t.partitions) AS p
        WHERE c.api = 'METADATA'
    ),
    ends AS (
        SELECT c.sent_at, get_json_object(c.answer, '$.topics[0].name') AS topic,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].offset') AS BIGINT)
                   AS end_offset,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].leaderEpoch') AS INT)
                   AS epoch
        FROM {calls} c WHERE c.api = 'LIST_OFFSETS' AND c.error_code = 0
    ),
    asked AS (
        SELECT c.step, c.sent_at, c.broker, c.error_code, t.topic,
               t.partitions[0].partition AS partition,
               t.partitions[0].currentLeaderEpoch AS known, t.partitions[0].leaderEpoch AS asked,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].leaderEpoch') AS INT)
                   AS epoch,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].endOffset') AS BIGINT)
                   AS end_offset
        FROM {calls} c LATERAL VIEW explode(from_json(
            get_json_object(c.request, '$.topics'),
            'array<struct<topic:string,partitions:array<struct<partition:int,'
            || 'currentLeaderEpoch:int,leaderEpoch:int>>>>')) AS t
        WHERE c.api = 'OFFSET_FOR_LEADER_EPOCH' AND c.answered_at IS NOT NULL
    ),
    placed AS (
        SELECT a.*, max_by(l.leader, l.sent_at) AS leader, max_by(l.epoch, l.sent_at) AS epoch_now
        FROM asked a JOIN looked l
          ON l.topic = a.topic AND l.partition = a.partition AND l.sent_at < a.sent_at
        GROUP BY ALL
    )
"""


def _epochs(t: Tables) -> Frame:
    """The end of an epoch is what the partition's end was found to be when it was the epoch."""
    return t.sql(
        _EPOCHS
        + """
        , judged AS (
            SELECT t.*,
                   CASE WHEN t.broker <> t.leader AND t.known < 0 THEN 6
                        WHEN t.known >= 0 AND t.known < t.epoch_now THEN 74
                        WHEN t.known > t.epoch_now THEN 75
                        WHEN t.broker <> t.leader THEN 6 ELSE 0 END AS must,
                   CASE WHEN t.asked > t.epoch_now THEN -1
                        ELSE max(e.epoch) FILTER (WHERE e.epoch <= t.asked) END AS must_epoch,
                   CASE WHEN t.asked > t.epoch_now THEN -1
                        ELSE max_by(e.end_offset, e.sent_at) FILTER (WHERE e.epoch <= t.asked)
                   END AS must_end
            FROM placed t LEFT JOIN ends e ON e.topic = t.topic AND e.sent_at < t.sent_at
            GROUP BY ALL
        )
        SELECT concat('epoch ', asked, ': ', step, ' (', topic, '-', partition, ')') AS subject,
               sent_at AS at,
               CASE WHEN error_code <> must THEN false WHEN must <> 0 THEN true
                    ELSE epoch = must_epoch AND end_offset = must_end END AS ok,
               concat('answered ', error_code, ', epoch ', epoch, ' ends at ', end_offset,
                      '; the leader has epoch ', epoch_now) AS why
        FROM judged
        """
    )


def _shrinking(t: Tables) -> Frame:
    return t.sql(
        """
        WITH sizes AS (
            SELECT c.sent_at, t.name AS topic, size(t.partitions) AS partitions
            FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
                'array<struct<name:string,partitions:array<struct<partitionIndex:int>>>>')) AS t
            WHERE c.api = 'METADATA'
        ),
        asked AS (
            SELECT c.sent_at, c.step, c.error_code,
                   get_json_object(c.request, '$.topics[0].name') AS topic,
                   CAST(get_json_object(c.request, '$.topics[0].count') AS INT) AS wanted
            FROM {calls} c WHERE c.api = 'CREATE_PARTITIONS' AND c.answered_at IS NOT NULL
        ),
        judged AS (
            SELECT a.*, max_by(s.partitions, s.sent_at) FILTER (WHERE s.sent_at < a.sent_at) AS had,
                   min_by(s.partitions, s.sent_at) FILTER (WHERE s.sent_at > a.sent_at) AS has
            FROM asked a JOIN sizes s ON s.topic = a.topic GROUP BY ALL
        )
        SELECT concat(step, ' (', topic, ')') AS subject, sent_at AS at,
               CASE WHEN wanted > had THEN error_code = 0 AND has = wanted
                    ELSE error_code = 37 AND has = had END AS ok,
               wanted AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               CAST(NULL AS DOUBLE) AS bound_high,
               concat(wanted, ' partitions for a topic of ', had, ' were answered ', error_code,
                      '; then it had ', has) AS why
        FROM judged
        """
    )


COMMITS = Rule(
    id="X06",
    title="A commit is held against group, instance, member, generation and state",
    statement=(
        "A commit as nobody is accepted in an empty group only; one as a member needs its member "
        "id (25), its instance id (82) and the generation (22), and is refused with "
        "REBALANCE_IN_PROGRESS (27) between join and assignment, yet accepted while members are "
        "waited for. A group that does not exist is made by nobody's commit, and answers a "
        "member's with ILLEGAL_GENERATION (22)."
    ),
    source="ClassicGroup.validateOffsetCommit; OffsetMetadataManager.validateOffsetCommit",
    unit="error code",
    things="commits",
    measures="",
    examine=_commits,
    broker=True,
    protocols=CLASSIC,
)
METADATA = Rule(
    id="R31",
    title="Metadata that are too long cost only their own partition",
    statement=(
        "Of a commit, a partition whose metadata are longer than 4,096 is refused with "
        "OFFSET_METADATA_TOO_LARGE (12) and keeps its position; the others are committed, and seen "
        "by the next fetch."
    ),
    source="seed 003, OFFSET_COMMIT; offset.metadata.max.bytes",
    unit="characters",
    things="committed partitions",
    measures="of metadata",
    examine=_metadata,
    broker=True,
    protocols=CLASSIC,
)
METADATA_BYTES = Rule(
    id="R31-bytes",
    title="The limit of metadata is one of bytes (documented, not so)",
    statement="Metadata of more than offset.metadata.max.bytes (4,096) bytes are refused.",
    source="offset.metadata.max.bytes, by its name",
    unit="bytes",
    things="committed partitions with characters of several bytes",
    measures="of metadata",
    examine=_metadata_bytes,
    broker=True,
    protocols=CLASSIC,
)
FETCHES = Rule(
    id="R30-wire",
    title="A fetch gives what was committed last",
    statement=(
        "OffsetFetch of named or of all partitions gives the last position accepted before it, and "
        "-1 for a named one without any; with require_stable a partition that an open transaction "
        "holds is answered UNSTABLE_OFFSET_COMMIT (88), without it the position before."
    ),
    source="seed 003, OFFSET_FETCH; KIP-447",
    unit="positions",
    things="fetched partitions",
    measures="",
    examine=_fetches,
    broker=True,
    protocols=CLASSIC,
)
EPOCHS = Rule(
    id="X33",
    title="A leader knows where each epoch ended",
    statement=(
        "OffsetForLeaderEpoch gives the end of the epoch asked for, the partition's end for the "
        "present one, and -1 for one to come; a client whose own epoch is older is answered "
        "FENCED_LEADER_EPOCH (74), newer UNKNOWN_LEADER_EPOCH (75), and a broker that does not "
        "lead NOT_LEADER_OR_FOLLOWER (6)."
    ),
    source="KIP-101; KIP-320; seed 003, OFFSET_FOR_LEADER_EPOCH",
    unit="offsets",
    things="epochs asked for",
    measures="",
    examine=_epochs,
    broker=True,
    protocols=CLASSIC,
)
SHRINKING = Rule(
    id="R27-shrink",
    title="A topic never gets fewer partitions",
    statement=(
        "CreatePartitions with as many partitions as there are or fewer is refused with "
        "INVALID_PARTITIONS (37) and changes nothing; with more the topic has them."
    ),
    source="seed 002, partitions",
    unit="partitions",
    things="changes asked for",
    measures="asked for",
    examine=_shrinking,
    broker=True,
    protocols=CLASSIC,
)
