"""Judging a recorded run: Parquet in, tables and verdicts out, no Kafka needed."""
