"""What becomes of positions and of a topic's epochs and size, asked for by whom and when."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.group_apis import COMMIT_ANSWER, CREATED, DELETED_MS, answers  # noqa: F401 (a query names one)
from harness.rules.rule import Rule


@Rule(
    "X06",
    title="A commit is checked against group, member and generation",
    statement="A commit without a member id is accepted only in an empty group, and creates a "
    "group that does not exist. A member's commit with a wrong member id is refused with 25, with "
    "a wrong instance id with 82, and with a wrong generation with 22. It is refused with "
    "REBALANCE_IN_PROGRESS (27) between join and assignment, but accepted while the group waits "
    "for members. In a group that does not exist it is refused with GROUP_ID_NOT_FOUND (69), "
    "before version 9 with ILLEGAL_GENERATION (22).",
    source="ClassicGroup.validateOffsetCommit; OffsetMetadataManager.validateOffsetCommit",
    unit="error code",
    things="commits",
    measures="",
    matters="These checks keep a removed member from moving the position of its successor.",
    broker=True,
    protocols=CLASSIC,
)
def commits() -> str:
    """Commits but for those that other rules examine: for their metadata, and without replicas."""
    where = "error_code <> :OFFSET_METADATA_TOO_LARGE AND rule <> 'R31-withdrawn'"
    return answers("OFFSET_COMMIT", COMMIT_ANSWER, where) + CREATED


# Commits as nobody to an idle group, where only the metadata can be wrong; and the fetch after.
METADATA: Final = """
    WITH commits AS (
        SELECT p.`group`, p.topic, p.partition, p.wanted, p.metadata, p.error_code, p.step,
               p.sent_at, p.answered_at, length(p.metadata) AS characters,
               octet_length(p.metadata) AS bytes
        FROM {probe_positions} p JOIN {probed} c ON same(c, p, api, `group`, sent_at)
        WHERE p.api = 'OFFSET_COMMIT' AND c.nobody AND c.state_before IN ('Empty', 'Dead')
          AND p.answered_at IS NOT NULL
    ), judged AS (
        SELECT c.*, concat(c.topic, '-', c.partition, ' in ', c.step, ' (', c.`group`, ')')
                        AS subject,
               max_by(f.committed, struct(f.sent_at, f.committed))
                   FILTER (WHERE f.answered_at <= c.sent_at) AS old,
               min_by(f.committed, struct(f.sent_at, f.committed))
                   FILTER (WHERE f.sent_at >= c.answered_at) AS new
        FROM commits c LEFT JOIN {probe_fetches} f ON same(f, c, `group`, topic, partition)
        WHERE c.`group` IN (SELECT `group` FROM commits WHERE characters > 0)
        GROUP BY ALL
    )
"""


@Rule(
    "R31",
    title="Metadata that is too long fails only its own partition",
    statement="A partition whose commit metadata is longer than offset.metadata.max.bytes (4,096) "
    "characters is refused with OFFSET_METADATA_TOO_LARGE (12) and keeps its position. The other "
    "partitions are committed, and the next fetch returns their new positions.",
    source="document 003, OFFSET_COMMIT; offset.metadata.max.bytes",
    unit="characters",
    things="committed partitions",
    measures="of metadata",
    too_high="was accepted although its metadata is too long",
    matters="A commit can succeed for some partitions only, so the application has to check the "
    "answer of each.",
    broker=True,
    protocols=CLASSIC,
)
def metadata() -> str:
    return """
        {METADATA}, due AS (
            SELECT *, IF(characters > :metadata_max, :OFFSET_METADATA_TOO_LARGE, :NONE) AS must,
                   IF(error_code = :NONE, wanted, coalesce(old, -1)) AS stays
            FROM judged
        )
        SELECT subject, sent_at AS at, characters AS measured,
               IF(error_code = :NONE, :metadata_max, NULL) AS bound_high,
               CASE WHEN error_code NOT IN (:NONE, must)
                    THEN clause('was refused with error ', error_code)
                    WHEN new <> stays THEN clause('was answered ', error_code, ', then fetched as ',
                                                  new, ' and not as ', stays) END AS wrong,
               CASE WHEN error_code IS NULL THEN 'was answered without an error code'
                    WHEN new IS NULL AND error_code = must THEN 'was never fetched again'
               END AS unknown,
               concat('answered ', error_code, ', then fetched ', new) AS note
        FROM due
    """


@Rule(
    "R31-bytes",
    title="The limit of commit metadata counts bytes (documented, wrong)",
    statement="Commit metadata of more than offset.metadata.max.bytes (4,096) bytes is refused.",
    source="offset.metadata.max.bytes, by its name",
    unit="bytes",
    things="committed partitions with characters of several bytes",
    measures="of metadata",
    too_high="was accepted",
    matters="Metadata may take more room in the offsets topic than the documented limit allows.",
    broker=True,
    protocols=CLASSIC,
)
def metadata_bytes() -> str:
    """Only metadata in which bytes and characters differ can show which of them is limited."""
    return """
        {METADATA}
        SELECT subject, sent_at AS at, bytes AS measured,
               IF(error_code = :NONE, :metadata_max, NULL) AS bound_high,
               IF(error_code <> :NONE
                      AND (error_code = :OFFSET_METADATA_TOO_LARGE) <> (bytes > :metadata_max),
                  clause('was refused with error ', error_code), NULL) AS wrong,
               IF(error_code IS NULL, 'was answered without an error code', NULL) AS unknown,
               concat(characters, ' characters were answered ', error_code) AS note
        FROM judged WHERE bytes <> characters
    """


@Rule(
    "R30-wire",
    title="OffsetFetch returns the position that was committed last",
    statement="OffsetFetch of named or of all partitions returns the position that was accepted "
    "last, with the metadata and the leader epoch that were committed with it, and -1 for a named "
    "partition that has none. With require_stable a partition in an open "
    "transaction is answered UNSTABLE_OFFSET_COMMIT (88); without it the position before the "
    "transaction is returned.",
    source="document 003, OFFSET_FETCH; KIP-447",
    unit="positions",
    things="fetched partitions",
    measures="",
    matters="A member begins at this position, so a wrong one repeats or skips records.",
    broker=True,
    protocols=CLASSIC,
)
def fetches() -> str:
    """Each partition of each answer, and each answer for all partitions as a whole."""
    return """
        WITH stored AS (
            SELECT f.`group`, f.sent_at, p.topic, p.partition,
                   max_by(p.committed, struct(p.at, p.sent_at, p.committed)) AS committed
            FROM (SELECT DISTINCT `group`, sent_at FROM {probe_fetches} WHERE everything) f
            JOIN {probe_positions} p
              ON p.`group` = f.`group` AND p.at <= f.sent_at AND p.error_code = 0
            GROUP BY ALL
        ), complete AS (
            SELECT s.`group`, s.sent_at, count_if(s.committed >= 0) AS stored,
                   count(g.partition) AS given
            FROM stored s LEFT JOIN {probe_fetches} g
              ON same(g, s, `group`, sent_at, topic, partition)
            GROUP BY s.`group`, s.sent_at
        ), epochs AS (
            SELECT c.`group`, c.api, c.sent_at, c.step, t.name AS topic,
                   p.partitionIndex AS partition, p.committedLeaderEpoch AS epoch
            FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.request, '$.topics'),
                'array<struct<name:string,partitions:array<struct<partitionIndex:int,'
                || 'committedLeaderEpoch:int>>>>')) AS t
            LATERAL VIEW explode(t.partitions) AS p
            WHERE c.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
        ), made AS (
            SELECT f.`group`, f.sent_at, f.step, f.topic, f.partition,
                   max_by(struct(coalesce(p.metadata, '') AS metadata,
                                 coalesce(e.epoch, -1) AS epoch),
                          struct(p.at, p.sent_at, p.committed)) AS last
            FROM {probe_fetches} f JOIN {probe_positions} p
              ON same(p, f, `group`, topic, partition) AND p.at <= f.sent_at AND p.error_code = 0
            LEFT JOIN epochs e ON same(e, p, `group`, api, sent_at, step, topic, partition)
            GROUP BY f.`group`, f.sent_at, f.step, f.topic, f.partition
        ), told AS (
            SELECT c.`group`, c.sent_at, c.step, t.name AS topic, p.partitionIndex AS partition,
                   coalesce(p.metadata, '') AS metadata, p.committedLeaderEpoch AS epoch,
                   get_json_object(c.answer, '$.groups[0].groupId') AS of_group
            FROM {calls} c LATERAL VIEW explode(from_json(
                get_json_object(c.answer, '$.groups[0].topics'),
                'array<struct<name:string,partitions:array<struct<partitionIndex:int,'
                || 'metadata:string,committedLeaderEpoch:int>>>>')) AS t
            LATERAL VIEW explode(t.partitions) AS p
            WHERE c.api = 'OFFSET_FETCH'
        ), besides AS (
            -- What is said besides a position, where it is known which commit made that.
            SELECT t.`group`, t.sent_at, t.step, t.topic, t.partition,
                   min(CASE WHEN t.of_group <> t.`group`
                            THEN clause('was answered of group ', t.of_group)
                            WHEN t.metadata <> IF(f.wanted < 0, '', m.last.metadata)
                            THEN 'was answered with other metadata than were committed'
                            WHEN t.epoch <> IF(f.wanted < 0, -1, m.last.epoch)
                            THEN clause('was answered with leader epoch ', t.epoch) END) AS odd
            FROM told t JOIN {probe_fetches} f
              ON same(f, t, `group`, sent_at, step, topic, partition)
             AND f.error_code = :NONE AND f.committed = f.wanted AND size(f.in_flight) = 0
             AND NOT f.ending
            LEFT JOIN made m ON same(m, t, `group`, sent_at, step, topic, partition)
            GROUP BY t.`group`, t.sent_at, t.step, t.topic, t.partition
        ), answered AS (
            SELECT concat(f.topic, '-', f.partition, ' in ', f.step, ' (', f.`group`, ')')
                       AS subject,
                   f.sent_at AS at, b.odd,
                   IF(held AND stable, error_code = :UNSTABLE_OFFSET_COMMIT,
                      error_code = :NONE
                          AND (committed = wanted OR array_contains(in_flight, committed)))
                       AS right,
                   concat('was answered ', error_code, ', ', coalesce(string(committed), '?'),
                          IF(held AND stable, ' while a transaction held it',
                             concat(' where ', wanted, ' was committed last'))) AS answer
            FROM {probe_fetches} f
            LEFT JOIN besides b ON same(b, f, `group`, sent_at, step, topic, partition)
            WHERE NOT (ending AND stable AND error_code = :UNSTABLE_OFFSET_COMMIT)
            UNION ALL
            SELECT concat('all partitions (', `group`, ')'), sent_at, NULL, given = stored,
                   concat('were answered with ', given, ' of ', stored)
            FROM complete
        )
        SELECT subject, at, IF(NOT right, answer, odd) AS wrong,
               IF(right IS NULL, 'was answered incompletely', NULL) AS unknown,
               answer AS note
        FROM answered
    """


@Rule(
    "X110",
    title="An answer about positions names each partition that was asked",
    statement="The answer to an OffsetCommit, an OffsetDelete or an OffsetFetch of named "
    "partitions names each of these partitions once, and no other one.",
    source="document 003, OFFSET_COMMIT and OFFSET_FETCH; OffsetMetadataManager.commitOffset and "
    "fetchOffsets",
    unit="partitions",
    things="answers about positions",
    measures="asked, and not named once, or named only in the answer",
    too_high="was answered about other partitions than it asked",
    matters="A client looks for its partitions in the answer: it neither repeats nor reports what "
    "it does not find there.",
    broker=True,
    in_passing=True,
)
def answers_for_each() -> str:
    """Calls that name each partition once; a refusal of the whole request names none."""
    return """
        WITH topics AS (
            SELECT concat(step, ' (', `group`, ')') AS subject, sent_at,
                   from_json(get_json_object(request, '$.topics'),
                             'array<struct<name:string,partitions:array<struct<'
                             || 'partitionIndex:int>>>>') AS changed,
                   from_json(get_json_object(request, '$.groups[0].topics'),
                             'array<struct<name:string,partitionIndexes:array<int>>>') AS fetched,
                   from_json(coalesce(get_json_object(answer, '$.topics'),
                                      get_json_object(answer, '$.groups[0].topics')),
                             'array<struct<name:string,partitions:array<struct<'
                             || 'partitionIndex:int>>>>') AS told
            FROM {calls}
            WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'OFFSET_DELETE', 'OFFSET_FETCH')
              AND coalesce(CAST(get_json_object(answer, '$.errorCode') AS INT), 0) = 0
              AND coalesce(CAST(get_json_object(answer, '$.groups[0].errorCode') AS INT), 0) = 0
        ), named AS (
            SELECT subject, sent_at,
                   coalesce(flatten(transform(changed, t -> transform(t.partitions,
                                p -> concat(t.name, '-', p.partitionIndex)))),
                            flatten(transform(fetched, t -> transform(t.partitionIndexes,
                                p -> concat(t.name, '-', p))))) AS asked,
                   flatten(transform(told, t -> transform(t.partitions,
                       p -> concat(t.name, '-', p.partitionIndex)))) AS told
            FROM topics
        ), judged AS (
            SELECT *, array_except(asked, told) AS missing, array_except(told, asked) AS strange,
                   size(told) - size(array_distinct(told)) AS twice
            FROM named
            WHERE told IS NOT NULL AND size(asked) = size(array_distinct(asked))
        )
        SELECT subject, sent_at AS at, size(missing) + size(strange) + twice AS measured,
               0 AS bound_high,
               concat('asked of ', array_join(asked, ' '), ', told of ', array_join(told, ' '))
                   AS note
        FROM judged
    """


@Rule(
    "R30-whole",
    title="An OffsetFetch never sees half of a commit",
    statement="Each OffsetFetch of several partitions returns the positions of one and the same "
    "commit, while such commits follow one another.",
    source="document 003, OFFSET_FETCH (lock); OffsetMetadataManager, a snapshot of committed "
    "positions",
    unit="positions",
    things="OffsetFetches during a commit",
    measures="between the positions returned",
    too_high="returned positions of different commits",
    matters="Positions that were committed together stay together.",
    broker=True,
    protocols=CLASSIC,
)
def whole_commits() -> str:
    """Fetches in groups of which every commit gave all its partitions one and the same position."""
    return """
        WITH commits AS (
            SELECT `group`, sent_at, count(DISTINCT wanted) AS positions, count(*) AS partitions
            FROM {probe_positions} WHERE api = 'OFFSET_COMMIT' GROUP BY `group`, sent_at
        ), alike AS (
            SELECT `group` FROM commits GROUP BY `group`
            HAVING max(positions) = 1 AND min(partitions) > 1 AND count(*) > 1
        ), told AS (
            SELECT f.`group`, f.step, f.sent_at, count(*) AS partitions,
                   max(f.committed) - min(f.committed) AS apart, max(f.committed) AS latest,
                   max(size(f.in_flight)) AS in_flight, max(f.error_code) AS error_code
            FROM {probe_fetches} f JOIN alike a ON a.`group` = f.`group`
            GROUP BY f.`group`, f.step, f.sent_at
        )
        SELECT concat(step, ' (', `group`, ')') AS subject, sent_at AS at, apart AS measured,
               0 AS bound_high, concat(partitions, ' partitions, at ', latest) AS note
        FROM told WHERE partitions > 1 AND in_flight > 0 AND error_code = :NONE
    """


# What metadata said of the partition, and what its end was found to be in each epoch.
EPOCHS: Final = """
    WITH looked AS (
        SELECT c.sent_at, t.name AS topic, p.partitionIndex AS partition, p.leaderId AS leader,
               p.leaderEpoch AS epoch
        FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
            'array<struct<name:string,partitions:array<struct<partitionIndex:int,leaderId:int,'
            || 'leaderEpoch:int>>>>')) AS t
        LATERAL VIEW explode(t.partitions) AS p
        WHERE c.api = 'METADATA'
    ), ends AS (
        SELECT c.sent_at, get_json_object(c.answer, '$.topics[0].name') AS topic,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].offset') AS BIGINT)
                   AS end_offset,
               CAST(get_json_object(c.answer, '$.topics[0].partitions[0].leaderEpoch') AS INT)
                   AS epoch
        FROM {calls} c WHERE c.api = 'LIST_OFFSETS' AND c.error_code = 0
    ), asked AS (
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
    ), placed AS (
        SELECT a.*, max_by(l.leader, struct(l.sent_at, l.epoch)) AS leader,
               max_by(l.epoch, struct(l.sent_at, l.epoch)) AS epoch_now
        FROM asked a JOIN looked l ON same(l, a, topic, partition) AND l.sent_at < a.sent_at
        GROUP BY ALL
    )
"""


@Rule(
    "X33",
    title="A leader knows where each leader epoch ended",
    statement="OffsetForLeaderEpoch returns the end of the requested epoch, the partition's end "
    "for the current epoch, and -1 for a future one. A client whose own epoch is older is "
    "answered FENCED_LEADER_EPOCH (74), one whose epoch is newer UNKNOWN_LEADER_EPOCH (75), and a "
    "broker that is not the leader answers NOT_LEADER_OR_FOLLOWER (6).",
    source="KIP-101; KIP-320; document 003, OFFSET_FOR_LEADER_EPOCH",
    unit="offsets",
    things="requested epochs",
    measures="",
    matters="A consumer learns by it that records which it has read were lost with a leader.",
    broker=True,
    protocols=CLASSIC,
)
def epochs() -> str:
    """The end of an epoch is what the partition's end was found to be when it was the epoch."""
    return """
        {EPOCHS}, judged AS (
            SELECT p.*,
                   CASE WHEN p.broker <> p.leader AND p.known < 0 THEN :NOT_LEADER_OR_FOLLOWER
                        WHEN p.known >= 0 AND p.known < p.epoch_now THEN :FENCED_LEADER_EPOCH
                        WHEN p.known > p.epoch_now THEN :UNKNOWN_LEADER_EPOCH
                        WHEN p.broker <> p.leader THEN :NOT_LEADER_OR_FOLLOWER
                        ELSE :NONE END AS must,
                   IF(p.asked > p.epoch_now, -1, max(e.epoch)) AS must_epoch,
                   IF(p.asked > p.epoch_now, -1,
                      max_by(e.end_offset, struct(e.sent_at, e.end_offset))) AS must_end
            FROM placed p LEFT JOIN ends e
              ON e.topic = p.topic AND e.sent_at < p.sent_at AND e.epoch <= p.asked
            GROUP BY ALL
        )
        SELECT concat('epoch ', asked, ': ', step, ' (', topic, '-', partition, ')') AS subject,
               sent_at AS at,
               CASE WHEN error_code <> must
                    THEN clause('was answered ', error_code, ' and not ', must, ' in epoch ',
                                epoch_now)
                    WHEN must = :NONE AND (epoch <> must_epoch OR end_offset <> must_end)
                    THEN clause('was answered that epoch ', epoch, ' ends at ', end_offset,
                                ', and epoch ', must_epoch, ' ended at ', must_end) END AS wrong,
               IF(error_code = must AND must = :NONE
                      AND (epoch = must_epoch AND end_offset = must_end) IS NULL,
                  'has an end that was not looked up before', NULL) AS unknown,
               concat('answered ', error_code, ', epoch ', epoch, ' ends at ', end_offset,
                      '; the leader has epoch ', epoch_now) AS note
        FROM judged
    """


@Rule(
    "R27-shrink",
    title="A topic never gets fewer partitions",
    statement="A CreatePartitions request for as many partitions as there are, or fewer, is "
    "refused with INVALID_PARTITIONS (37) and changes nothing. A request for more adds them.",
    source="document 002, partitions",
    unit="partitions",
    things="requested changes",
    measures="requested",
    matters="A topic with too many partitions has to be replaced by a new one.",
    broker=True,
    protocols=CLASSIC,
)
def shrinking() -> str:
    return """
        WITH sizes AS (
            SELECT c.sent_at, t.name AS topic, size(t.partitions) AS partitions
            FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
                'array<struct<name:string,partitions:array<struct<partitionIndex:int>>>>')) AS t
            WHERE c.api = 'METADATA'
        ), asked AS (
            SELECT sent_at, step, error_code,
                   get_json_object(request, '$.topics[0].name') AS topic,
                   CAST(get_json_object(request, '$.topics[0].count') AS INT) AS wanted
            FROM {calls} WHERE api = 'CREATE_PARTITIONS' AND answered_at IS NOT NULL
        ), sized AS (
            SELECT a.*, max_by(s.partitions, struct(s.sent_at, s.partitions))
                            FILTER (WHERE s.sent_at < a.sent_at) AS had,
                   min_by(s.partitions, struct(s.sent_at, s.partitions))
                       FILTER (WHERE s.sent_at > a.sent_at) AS has
            FROM asked a JOIN sizes s ON s.topic = a.topic GROUP BY ALL
        ), judged AS (
            SELECT *, IF(wanted > had, error_code = :NONE AND has = wanted,
                         error_code = :INVALID_PARTITIONS AND has = had) AS right,
                   concat('was answered ', error_code, '; partitions before: ',
                          coalesce(string(had), '?'), ', after: ', coalesce(string(has), '?'))
                       AS answer
            FROM sized
        )
        SELECT concat(step, ' (', topic, ')') AS subject, sent_at AS at, wanted AS measured,
               IF(NOT right, answer, NULL) AS wrong,
               IF(right IS NULL, 'was asked for while nobody looked at the size', NULL) AS unknown,
               answer AS note
        FROM judged
    """
