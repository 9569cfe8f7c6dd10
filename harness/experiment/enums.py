"""What members can speak, what a verdict can be, and what a rule can need of a run."""

import re
from enum import StrEnum
from typing import Final

CLIENTS: Final = ("librdkafka", "java")  # of our own members
APP: Final = "app"  # the client of a user's program, whose library is its own affair
PROTOCOLS: Final = ("eager", "cooperative", "consumer")
KIP_848: Final = "kip-848"  # as people say for consumer, which is the value of Kafka's setting
CLASSIC: Final = ("eager", "cooperative")  # rebalanced by JoinGroup and SyncGroup, not by KIP-848
COMMITS: Final = ("auto", "sync", "async", "interval", "revoke", "external", "transaction")


def protocol_named(text: str) -> str:
    """A protocol by its name in Kafka's setting, whichever of its names is given."""
    return "consumer" if text.strip().lower() in (KIP_848, "kip848") else text


def protocol_said(text: str) -> str:
    """A protocol, or a label with one, as people say it: `x:java/consumer` is `x:java/kip-848`."""
    return re.sub(r"^consumer$|(?<=[/=])consumer(?![\w-])", KIP_848, text)


class Verdict(StrEnum):
    """Outcome of judging one rule; the worst row decides."""

    HOLDS = "HOLDS"
    UNKNOWN = "UNKNOWN"
    VIOLATED = "VIOLATED"


class Need(StrEnum):
    """What a run must contain, or must not, before a rule can be examined.

    Experiments are refused that declare a rule and lack what it needs, and faults ask for needs
    instead of knowing rules.
    """

    FAULTS = "a declared fault"
    SESSION_END = "a silence longer than session.timeout.ms"
    MAX_POLL_END = "a stall longer than max.poll.interval.ms"
    STALL_WITHIN_MAX_POLL = "a stall shorter than max.poll.interval.ms"
    WORKING_COORDINATOR = "a coordinator that is never paused for a session"
