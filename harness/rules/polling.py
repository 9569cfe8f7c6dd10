"""What one poll of the Java client returns, and from where: its buffer, filled by fetches."""

from harness.rules.rule import Rule

# What one fetch brought of one partition, by the client's own log, and the polls that handed it
# out. Up to where it went is told by the next fetch of the partition.
FETCHES = """
    told AS (
        SELECT e.member, e.event_at AS at, m.batch_records,
               CAST(coalesce(from_json(m.settings, 'map<string, string>')[
                        'max.partition.fetch.bytes'], '1048576') AS BIGINT) AS limit_bytes,
               CAST(regexp_extract(e.detail, 'at offset (\\\\d+) for', 1) AS BIGINT) AS first,
               CAST(regexp_extract(e.detail, 'for partition \\\\S+-(\\\\d+) returned', 1) AS INT)
                   AS partition,
               CAST(regexp_extract(e.detail, 'size=(\\\\d+)', 1) AS BIGINT) AS bytes
        FROM {client_events} e JOIN {members} m USING (member) WHERE e.event = 'fetched'
    ), followed AS (
        SELECT *, lead(at) OVER w AS next_at, (lead(first) OVER w) - first AS records
        FROM told WINDOW w AS (PARTITION BY member, partition ORDER BY at, first)
    ), fetches AS (
        SELECT f.member, f.partition, f.at, f.first, f.next_at, f.records, f.bytes, f.limit_bytes,
               f.batch_records, count(DISTINCT d.poll) AS polls,
               sort_array(collect_set(d.polled_at), false) AS polled
        FROM followed f JOIN {deliveries} d
          ON d.member = f.member AND d.partition = f.partition
         AND d.first_offset < f.first + f.records AND d.last_offset >= f.first
         AND d.polled_at >= f.at
        WHERE f.bytes > 0 AND f.records > 0
        GROUP BY ALL
    )
"""


@Rule(
    "R23",
    title="One poll returns at most max.poll.records",
    statement="One poll returns at most max.poll.records records, over all partitions together.",
    source="seed 002, poll and max.poll.records",
    unit="records",
    things="members",
    measures="by one poll at most",
    too_high="got more than max.poll.records from one poll",
    matters="The work between two polls is bounded by it, and so is the time that it may take.",
    clients=("java",),
)
def at_most() -> str:
    """The largest poll of each member; one of several partitions counts as a whole."""
    return """
        WITH polls AS (
            SELECT member, poll, min(polled_at) AS at, sum(count) AS records,
                   count(DISTINCT partition) AS partitions
            FROM {deliveries} GROUP BY member, poll
        )
        SELECT p.member AS subject, max(struct(p.records, p.at)).at AS at,
               max(p.records) AS measured, m.batch_records AS bound_high,
               concat('of ', count(*), ' polls, of ', max(p.partitions), ' partitions at most')
                   AS note
        FROM polls p JOIN {members} m USING (member) WHERE m.client = 'java'
        GROUP BY p.member, m.batch_records
    """


@Rule(
    "R24",
    title="A fetch brings at most max.partition.fetch.bytes of a partition",
    statement=(
        "A fetch brings at most max.partition.fetch.bytes of one partition, and its records are "
        "handed out over as many polls as max.poll.records asks for."
    ),
    source="seed 002, max.partition.fetch.bytes",
    unit="bytes",
    things="fetches of a partition",
    measures="by one fetch",
    too_high="brought more than max.partition.fetch.bytes",
    matters="It bounds the memory that a consumer needs for each of its partitions.",
    clients=("java",),
)
def fetch_is_bounded() -> str:
    return """
        WITH {FETCHES}
        SELECT concat(member, ', t-', partition, ' from ', first) AS subject, at,
               bytes AS measured, limit_bytes AS bound_high,
               CASE WHEN polls < ceil(records / batch_records)
                    THEN clause(records, ' records handed out by ', polls, ' polls') END
                   AS wrong,
               concat(records, ' records handed out by ', polls, ' polls') AS note
        FROM fetches
    """


@Rule(
    "R25",
    title="Poll hands out what is buffered before it fetches again",
    statement=(
        "Records that a fetch brought are handed out, poll by poll, before the next fetch of "
        "their partition."
    ),
    source="seed 002, poll (pollForFetches)",
    unit="polls",
    things="fetches handed out by several polls",
    measures="for one fetch",
    matters="A small max.poll.records costs no more fetches, only more polls.",
    clients=("java",),
)
def buffer_first() -> str:
    """The next fetch of a partition comes when its last records are handed out, not before.

    `polled` is stamped when a poll has returned, and the fetch is sent just before that: so it may
    be answered from the last but one poll on.
    """
    return """
        WITH {FETCHES}
        SELECT concat(member, ', t-', partition, ' from ', first) AS subject, at,
               polls AS measured, 2 AS bound_low,
               CASE WHEN next_at < polled[1]
                    THEN 'the partition was fetched again before its last records were handed out'
                    END AS wrong,
               concat(records, ' records handed out before the next fetch') AS note
        FROM fetches WHERE polls >= 2
    """


@Rule(
    "R25-rebalance",
    title="Poll returns nothing while a rebalance is pending",
    statement=(
        "From giving up its partitions to the next assignment, an eager member's polls return no "
        "records, whatever is buffered."
    ),
    source="seed 002, poll (rebalance pending)",
    unit="records",
    things="rebalances of a member",
    measures="polled meanwhile",
    too_high="polled records of partitions that it had given up",
    matters="A record polled then may be another member's already.",
    clients=("java",),
    protocols=("eager",),
)
def nothing_while_rebalancing() -> str:
    return """
        WITH given_up AS (
            SELECT e.member, e.event_at AS from_at, min(a.event_at) AS to_at
            FROM {client_events} e JOIN {client_events} a
              ON a.member = e.member AND a.event = 'assigned' AND a.event_at >= e.event_at
            WHERE e.event IN ('revoked', 'lost') GROUP BY e.member, e.event_at
        )
        SELECT concat(g.member, ' (rebalance)') AS subject, g.from_at AS at,
               coalesce(sum(d.count), 0) AS measured, 0 AS bound_high,
               concat('in ', CAST(round(ms_between(g.from_at, g.to_at)) AS INT),
                      ' ms without an assignment') AS note
        FROM given_up g LEFT JOIN {deliveries} d
          ON d.member = g.member AND d.polled_at > g.from_at AND d.polled_at < g.to_at
        GROUP BY g.member, g.from_at, g.to_at
    """
