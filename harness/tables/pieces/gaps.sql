-- Times in which no member processed a partition.

-- let PAUSE_MS = 250
--   A record that comes later than this after the last one was worked off was not waiting: of 50
--   records a second and partition, the next one was sent up to 145 ms later.
