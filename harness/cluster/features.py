"""What an upgrade changes: the releases of nodes, and the levels of features (KIP-584).

A node writes its release to its own log when it starts. Levels are asked and changed over the wire,
since librdkafka has no such calls. ApiVersions has what is finalized in a tagged field from its
version 3 on.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.base.errors import ClusterError
from harness.cluster import wire
from harness.cluster.plan import Plan

_UPGRADE: Final = 1  # the only type of update that lowers nothing
_PATIENCE_S: Final = 30.0

VERSION: Final = re.compile(rb"Kafka version: (\S+)")
_LOG: Final = ".server.log"
_STAMP: Final = slice(len("2026-11-21T09:36:07.834320"))

Levels = Mapping[str, int]


def finalized_by(port: int) -> dict[str, int]:
    """The finalized levels as one broker knows them. Raises OSError."""
    us = {"clientSoftwareName": "kafka-chaos", "clientSoftwareVersion": "0"}
    answer = wire.ask(port, wire.FEATURES, us, _PATIENCE_S)
    found = answer.get("finalizedFeatures", ())
    return dict(sorted((each["name"], each["maxVersionLevel"]) for each in found))


def finalized(plan: Plan) -> dict[str, int]:
    """The finalized levels, as the first broker knows them. Raises ClusterError."""
    try:
        return finalized_by(plan.brokers[0].port)
    except OSError as error:
        raise ClusterError(f"the brokers did not answer with their features: {error}") from error


def beyond(wanted: Levels, now: Levels) -> dict[str, int]:
    return {name: level for name, level in wanted.items() if level > now.get(name, 0)}


def finalize(port: int, levels: Levels) -> None:
    """Finalize these levels, asking any broker. Raises ClusterError, OSError.

    The controller refuses what a node does not support.
    """
    wanted = [
        {"feature": name, "maxVersionLevel": level, "upgradeType": _UPGRADE}
        for name, level in levels.items()
    ]
    timeout_ms = round(_PATIENCE_S * 1_000)
    asked = {"timeoutMs": timeout_ms, "featureUpdates": wanted, "validateOnly": False}
    answer = wire.ask(port, wire.UPDATE_FEATURES, asked, _PATIENCE_S)
    for refused in (answer, *answer["results"]):
        if code := refused["errorCode"]:
            what = f"{refused['feature']}: " if "feature" in refused else ""
            why = what + refused["errorMessage"]
            raise ClusterError(f"the controller refused new levels (error {code}): {why}")


def log_of(node: str) -> str:
    return f"{node}{_LOG}"


def starts_in(log: Path) -> list[dict[str, str]]:
    """Each start of a node: `at` (UTC) and `release`, by its log; none if there is no log."""
    if not log.is_file():
        return []
    with log.open("rb") as lines:
        found = [(line, match) for line in lines if (match := VERSION.search(line))]
    return [
        {"at": f"{line[_STAMP].decode()}Z", "release": match[1].decode()} for line, match in found
    ]


def releases_in(logs: Path) -> dict[str, list[dict[str, str]]]:
    return {
        path.name.removesuffix(_LOG): starts_in(path) for path in sorted(logs.glob(log_of("*")))
    }
