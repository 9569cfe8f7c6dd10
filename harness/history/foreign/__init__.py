"""Logs that brokers wrote as their owners set them, of any Kafka from 3.6 on."""
