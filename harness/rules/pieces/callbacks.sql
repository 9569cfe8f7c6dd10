-- What a member hears, and says of itself, follows on what it heard before.

-- let WOKEN
--   When that may be: from the stall on, since what was handed on before it is left over as well.
woken AS (
    SELECT member, event_at AS from_at,
           after(duration_ms + :HANDED_ON_MS, event_at) AS to_at
    FROM {client_events}
    WHERE :client = 'java' AND :protocol = 'consumer' AND event = 'stall_started'
      AND duration_ms > :max_poll_ms
)

-- let HANDED_ON_MS = 1000
--   How long after it has woken up (measured: 23 ms).

-- let LEFT_OVER
--   A member that woke up after its poll limit, in KIP-848 with Java, may be handed a partition
--   that is left over from before, and never hear that it lost it again (measured three times).
it is left over from before a stall in which the member was put out of the group
