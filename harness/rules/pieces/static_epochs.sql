-- Static members of KIP-848: they leave for now with epoch -2, and are refused while they run.

-- let SEEN_AS_GONE = after(IF(o.removed_by = 'replaced', :slack_ms, 0), o.removed_at)
--   Until when a join may seem to arrive that found a member `o` still there, as the join that
--   replaced it did: a request's line is stamped after its answer.
