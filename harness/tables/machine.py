"""When this machine stood still."""


def late_ticks() -> str:
    """Times in which this machine stood still for longer than the slack, one row each.

    A row of `host` ends with the tick that it tells. In older runs that may be any of its ten, and
    these took 100 ms and as long as each of them was late: it reaches back to the row before.
    """
    return """
        WITH told AS (SELECT at, late_ms, lag(at) OVER (PARTITION BY 1 ORDER BY at) AS before_at
                      FROM {host})
        SELECT least(timestampadd(MICROSECOND, -CAST((100 + late_ms) * 1e3 AS BIGINT), at),
                     before_at) AS from_at,
               at AS to_at, late_ms
        FROM told WHERE late_ms > :slack_ms
    """
