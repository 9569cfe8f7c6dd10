-- How late a line of a request log may be stamped.

-- let STAMP_LATE_MS = 300
--   A request's line is stamped when a thread of the broker gets round to it, and its arrival
--   counts back from there: a request may seem to have come so much later than what it caused.
--   Measured on busy machines: answers to joins 127 ms late in a first generation and 67 ms in a
--   later one, fetches 130 ms late beside the commits that followed them; on a quiet one 25 ms, for
--   a broker's first leave.
