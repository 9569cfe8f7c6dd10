"""The five documents that the catalogue of rules began with, and what one of their statements is.

They are texts on the heartbeat (000, 004), on the protocol of a rebalance (001), on the consumer
and its poll (002), on the coordinator (003), and describe Kafka 0.11 to 2.x. Whether a statement
still holds is measured, and not said here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DOCUMENTS: Final[dict[str, str]] = {
    "000": "The heartbeat of a consumer group",
    "001": "The rebalance protocol",
    "002": "How consumers share the load, rebalance and poll",
    "003": "The coordinator's commands for groups, offsets and heartbeats",
    "004": "The heartbeat thread of KafkaConsumer",
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a document: what it `says`, in our words.

    `rules` are the ids that hold it against a run as it stands; `instead` are those of what
    replaced it, where it does not hold any more, and `since` the version in which that began. A
    statement without `rules` is refuted where what replaced it holds; one without both is not
    judged, and `today` says why. Otherwise `today` is what a reader needs where it does not hold,
    or not for all. `apart` are experiments whose application does not do what the statement is
    about: their runs say nothing of it.
    """

    id: str
    says: str
    rules: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    today: str = ""
    since: str = ""
    apart: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The number of the document that it is from."""
        return self.id.partition(".")[0]
