"""Chaos testing of Kafka consumer groups, judged from both sides of the protocol."""

__version__ = "0.1.0"
