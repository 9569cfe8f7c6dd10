import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long one example takes is the machine's doing, and may be a second where it is busy.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

CONSUMER: dict[str, Any] = {
    "member": "member-1",
    "role": "consumer",
    "run": "run-1",
    "group": "orders",
    "topic": "t",
    "bootstrap": "127.0.0.1:1",
    "journal": "member-1.journal",
    "client": "librdkafka",
    "protocol": "eager",
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 2_000,
    "max_poll_interval_ms": 60_000,
    "commit": "sync",
    "auto_commit_interval_ms": 5_000,
    "batch_records": 100,
    "process_us": 0,
    "sabotage": None,
    "fetch_wait_max_ms": 100,
}

# What either client's own configuration has of it.
PASSED_ON: dict[str, object] = {
    "client.id": "member-1",
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 2_000,
    "max.poll.interval.ms": 60_000,
}

PRODUCER: dict[str, Any] = {
    "member": "producer-1",
    "bootstrap": "127.0.0.1:1",
    "topic": "t",
    "partitions": 3,
    "records_per_s": 300,
    "record_bytes": 100,
    "acks": "all",
    "idempotence": True,
    "journal": "producer-1.journal",
    "message_timeout_ms": 120_000,
}


@pytest.fixture
def consumer_settings(tmp_path: Path) -> dict[str, Any]:
    return {**CONSUMER, "journal": str(tmp_path / "member-1.journal")}


@pytest.fixture
def producer_settings(tmp_path: Path) -> dict[str, Any]:
    return {**PRODUCER, "journal": str(tmp_path / "producer-1.journal")}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[object], Path]:
    """Writes a configuration file."""

    def write(settings: object) -> Path:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        return path

    return write
