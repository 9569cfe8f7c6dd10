-- Who held which partition: what brokers and processes show of it, as `ownership_by_brokers` says.

{OWNERSHIP_BY_BROKERS}
