-- What brokers answer to a member whose user has lost a right, or its credentials.

-- let TOPIC_AUTHORIZATION_FAILED = 29

-- let LOST
--   What each fault took from a member's user: the right that its way names, or, where it has no
--   ways, all of them at once. An older journal names the way only where its experiment does. Every
--   broker had refused the user by `gone_from_at`, and none let it in again before `gone_to_at`;
--   between these and the other two it depends.
WITH lost AS (
    SELECT fault, resolved AS member,
           coalesce(get_json_object(parameters, '$.way'),
                    get_json_object(parameters, '$.how')) AS lost,
           injecting_at AS from_at, injected_at, after(:slack_ms, injected_at) AS gone_from_at,
           coalesce(healing_at, :ended_at) AS gone_to_at,
           coalesce(healed_at, :ended_at) AS to_at
    FROM {fault_windows} WHERE breaks = 'rights' AND took_effect
)
