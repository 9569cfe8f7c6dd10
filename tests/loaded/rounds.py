"""Which experiments are played beside which load."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from tests.loaded import load_makers

# Crashes, stalls, joins, deploys and brokers' faults; both clients and every protocol; and members
# that break a rule on purpose, which has to be noticed beside a load too.
PLAYED: Final = (
    ("baseline", "librdkafka", "eager"),
    ("consumer-crash", "java", "cooperative"),
    ("processing-stall", "librdkafka", "consumer"),
    ("saboteur-never-commit", "librdkafka", "eager"),
    ("broker-kill", "librdkafka", "eager"),
    ("consumer-join", "librdkafka", "cooperative"),
    ("add-partitions", "librdkafka", "eager"),
    ("rolling-deploy", "librdkafka", "consumer"),
    ("coordinator-kill", "java", "eager"),
    ("saboteur-keep-processing", "librdkafka", "eager"),
    ("consumer-freeze", "librdkafka", "cooperative"),
    ("baseline", "java", "consumer"),
    ("network-latency", "librdkafka", "eager"),
    ("consumer-leave", "java", "eager"),
    ("saboteur-commit-first", "librdkafka", "eager"),
)


@dataclass(frozen=True)
class Band:
    """A range of loads; `figure` is the one that is aimed at."""

    name: str
    low: float
    high: float
    figure: float


IDLE: Final = Band("idle", 0, inf, 0)
BANDS: Final = {
    band.name: band for band in (IDLE, Band("15-30", 15, 30, 22), Band("30+", 30, inf, 42))
}


@dataclass(frozen=True)
class Round:
    """One experiment beside one load, by the band and the number within it, from 1 on."""

    band: Band
    number: int

    @property
    def kind(self) -> str:
        """What the load keeps busy; empty where there is none."""
        places = list(BANDS).index(self.band.name) + self.number
        return load_makers.KINDS[places % len(load_makers.KINDS)] if self.band.figure else ""

    @property
    def experiment(self) -> tuple[str, str, str]:
        """Name, client and protocol."""
        return PLAYED[(self.number - 1) % len(PLAYED)]
