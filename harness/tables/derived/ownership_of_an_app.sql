-- Who held which partition: what brokers and processes show of it.

SELECT * FROM {ownership_by_brokers} ORDER BY topic, partition, from_at
