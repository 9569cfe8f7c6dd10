"""Which broker coordinated the group, and where the group stood as it did."""


def tenures() -> str:
    """One row per stretch of time that one broker coordinated the group.

    A stretch starts when the broker loaded the group (the first: with the group). `to_at` is the
    last sign that it was at work: an answer other than "not me" (14, 15, 16), or a line of its log.
    """
    return """
        WITH starts AS (
            SELECT broker, at, event = 'loaded' AS loaded, members
            FROM {coordinator_events} WHERE `group` = :group AND event = 'loaded'
            UNION ALL
            SELECT min_by(broker, struct(at, event <> 'loaded', broker)), min(at), false, NULL
            FROM {coordinator_events} WHERE `group` = :group
            HAVING min_by(event, struct(at, event <> 'loaded')) <> 'loaded'
        ), numbered AS (
            SELECT *, row_number() OVER w AS tenure, lead(at) OVER w AS next_at
            FROM starts WINDOW w AS (PARTITION BY 1 ORDER BY at, broker)
        ), worked AS (
            SELECT broker, at FROM {coordinator_events} WHERE `group` = :group
            UNION ALL
            SELECT broker, processed_at FROM {requests}
            WHERE `group` = :group AND error_code NOT IN (14, 15, 16)
              AND api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP',
                          'CONSUMER_GROUP_HEARTBEAT')
        ), bounded AS (
            SELECT n.tenure, n.broker, n.at AS from_at, n.loaded, n.members, n.next_at,
                   greatest(n.at, max(w.at)) AS to_at
            FROM numbered n LEFT JOIN worked w
              ON w.broker = n.broker AND w.at >= n.at AND (n.next_at IS NULL OR w.at < n.next_at)
            GROUP BY ALL
        )
        SELECT *, lag(broker) OVER w AS broker_before, lag(to_at) OVER w AS to_at_before
        FROM bounded WINDOW w AS (PARTITION BY 1 ORDER BY tenure)
    """


def group_steps() -> str:
    """The coordinator's lines in order, and where the group stood when each was written.

    `rebalancing`: members were being waited for, so that nothing needs to start a rebalance.
    `next_start_at`: when the next rebalance started or the group was empty; `next_reason` why. In
    a group of KIP-848 it is the next group epoch, and no member is waited for.
    """
    return """
        WITH ranked AS (
            SELECT *,
                   CASE WHEN event IN ('stabilized', 'emptied') THEN 3
                        WHEN event IN ('rebalance_started', 'epoch_bumped') THEN 2
                        WHEN event IN ('loaded', 'unloaded') THEN 0
                        ELSE 1 END AS rank,
                   CASE WHEN event IN ('stabilized', 'emptied', 'loaded') THEN false
                        WHEN event = 'rebalance_started' THEN true END AS opens
            FROM {coordinator_events} WHERE `group` = :group
        )
        SELECT broker, at, event, generation, member_id, members, reason, evidence,
               coalesce(last_value(opens, true) OVER (
                   PARTITION BY `group` ORDER BY at, rank, length(evidence), evidence {BEFORE}),
                   false) AS rebalancing,
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied', 'epoch_bumped')
                          THEN at END, true)
                   OVER onward AS next_start_at,
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied', 'epoch_bumped')
                          THEN coalesce(reason, event) END, true) OVER onward AS next_reason
        FROM ranked
        -- Backwards in time: Spark computes a frame that ends at the last row anew for each row.
        WINDOW onward AS (
            PARTITION BY `group`
            ORDER BY at DESC, rank DESC, length(evidence) DESC, evidence DESC {SO_FAR})
    """
