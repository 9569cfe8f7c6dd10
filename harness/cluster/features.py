"""Features of a cluster (KIP-584): which levels of them are finalized, asked and changed.

Over the wire, since librdkafka has no such calls. ApiVersions has what is finalized in a tagged
field from its version 3 on.
"""

import struct
from collections.abc import Mapping
from typing import Final

from harness.base.errors import ClusterError
from harness.cluster import wire
from harness.cluster.plan import Plan

_API_VERSIONS: Final = 18
_UPDATE_FEATURES: Final = 57
_NO_TAGS: Final = b"\0"
_UPGRADE: Final = 1  # the only type of update that lowers nothing
_FINALIZED: Final = 2  # a tag
_PATIENCE_S: Final = 30.0

Levels = Mapping[str, int]


def finalized_by(port: int, timeout_s: float = _PATIENCE_S) -> dict[str, int]:
    """The finalized levels as one broker knows them (ApiVersions v3). Raises OSError."""
    software = wire.compact_text_of("kafka-chaos") + wire.compact_text_of("0")
    body = _NO_TAGS + software + _NO_TAGS
    answer = wire.ask(port, wire.request(_API_VERSIONS, 3, body), timeout_s)
    answer.number("h")  # error
    for _ in range(answer.varint() - 1):  # calls, each with its lowest and highest version
        answer.number("h"), answer.number("h"), answer.number("h")
        answer.tagged_fields()
    answer.number("i")  # throttle time
    found: dict[str, int] = {}
    if (features := answer.tagged().get(_FINALIZED)) is not None:
        for _ in range(features.varint() - 1):
            name = features.compact_text()
            found[name] = features.number("h")
            features.number("h")  # the lowest, which has no meaning any more
            features.tagged_fields()
    return dict(sorted(found.items()))


def finalized(plan: Plan) -> dict[str, int]:
    """The finalized levels, as the first broker knows them. Raises ClusterError."""
    try:
        return finalized_by(plan.brokers[0].port)
    except OSError as error:
        raise ClusterError(f"the brokers did not answer with their features: {error}") from error


def beyond(wanted: Levels, now: Levels) -> dict[str, int]:
    """Of the wanted levels those that are higher than what there is."""
    return {name: level for name, level in wanted.items() if level > now.get(name, 0)}


def finalize(port: int, levels: Levels, timeout_s: float = _PATIENCE_S) -> None:
    """Finalize these levels, asking any broker (UpdateFeatures v1). Raises ClusterError, OSError.

    Whoever is the controller refuses what a node does not support.
    """
    body = _NO_TAGS + struct.pack(">i", round(timeout_s * 1_000)) + wire.varint_of(len(levels) + 1)
    for name, level in levels.items():
        body += wire.compact_text_of(name) + struct.pack(">hb", level, _UPGRADE) + _NO_TAGS
    for_good = b"\0"
    call = wire.request(_UPDATE_FEATURES, 1, body + for_good + _NO_TAGS)
    answer = wire.ask(port, call, timeout_s)
    answer.tagged_fields()
    answer.number("i")  # throttle time
    refusals = [(answer.number("h"), answer.compact_text())]
    for _ in range(answer.varint() - 1):
        name = answer.compact_text()
        refusals.append((answer.number("h"), f"{name}: {answer.compact_text()}"))
        answer.tagged_fields()
    for error_code, why in refusals:
        if error_code:
            raise ClusterError(f"the controller refused new levels (error {error_code}): {why}")
