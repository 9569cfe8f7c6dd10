"""Whether members reached the brokers only by the lanes that faults are on."""

from harness.rules.rule import Rule


@Rule(
    "E06",
    title="Every member connects through its own proxies",
    statement="Each request of a member came to a broker through the listener that is proxied for "
    "that member.",
    source="our own evidence: the listener of each request in the brokers' log",
    unit="requests",
    things="members",
    measures="through another listener",
    too_high="reached brokers past its proxies",
    matters="A fault on a proxy does not affect a client that connects around it.",
    always=True,
    broker=True,
)
def by_their_lanes() -> str:
    """Members' requests of the group protocol; a listener that is not on record says nothing."""
    return """
        SELECT concat(m.member, ' by ', m.lane) AS subject, min(r.arrived_at) AS at,
               count_if(r.listener <> concat('LANE_', upper(replace(m.lane, '-', '_'))))
                   AS measured, 0 AS bound_high,
               concat(count(*), ' requests by ',
                      array_join(array_sort(collect_set(r.listener)), ' and ')) AS note
        FROM {members} m JOIN {requests} r ON r.client_id = m.member
        WHERE m.role = 'consumer' AND m.lane IS NOT NULL AND r.listener IS NOT NULL
        GROUP BY m.member, m.lane
    """
