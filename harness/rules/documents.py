"""What the five documents say, statement by statement, and the rules that each is held against.

The documents are those that the catalogue of rules began with: texts on the heartbeat (000, 004),
on the protocol of a rebalance (001), on the consumer and its poll (002), on the coordinator (003).
They tell of Kafka 0.11 to 2.x. `says` is in our words. Whether a statement still holds is measured:
nothing here says so; `today` only tells what a reader needs where it does not, or not for all.
"""

from __future__ import annotations

from typing import Final

from harness.rules import statements_000_001, statements_002, statements_003_004
from harness.rules.statement import Statement

__all__ = ["DOCUMENTS", "STATEMENTS", "Statement"]

DOCUMENTS: Final[dict[str, str]] = {
    "000": "The heartbeat of a consumer group",
    "001": "The rebalance protocol",
    "002": "How consumers share the load, rebalance and poll",
    "003": "The coordinator's commands for groups, offsets and heartbeats",
    "004": "The heartbeat thread of KafkaConsumer",
}

STATEMENTS: Final[tuple[Statement, ...]] = (
    *statements_000_001.STATEMENTS,
    *statements_002.STATEMENTS,
    *statements_003_004.STATEMENTS,
)
