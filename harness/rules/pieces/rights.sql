-- What brokers answer to a member whose user has lost a right, or its credentials.

-- let TOPIC_AUTHORIZATION_FAILED = 29
