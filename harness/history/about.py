"""What a run should have on record."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.history import manifest


@dataclass(frozen=True)
class About:
    """What a run should have on record, by its manifest and by what its observer looked at."""

    group: str | None = None
    topic: str | None = None
    brokers: tuple[int, ...] = ()
    app: bool = False
    writes: bool = False  # an app shows its work in a topic
    transactions: bool = False

    @classmethod
    def of(cls, run_dir: Path) -> "About":
        """By the run's folder; nothing where there is neither."""
        observer = json_of(run_dir / "journals" / "observer.json")
        declared = json_of(run_dir / manifest.FILE_NAME).get("declared") or {}
        app, group = declared.get("app") or {}, declared.get("group") or {}
        declared_brokers = range(1, 1 + (declared.get("cluster") or {}).get("brokers", 0))
        looked_at = sorted(int(number) for number in observer.get("broker_ports") or ())
        return cls(
            group=observer.get("group"),
            topic=observer.get("topic"),
            brokers=tuple(looked_at or declared_brokers),
            app=bool(app),
            writes=bool((app.get("effects") or {}).get("output_topic")),
            transactions=group.get("commit") == "transaction",
        )


def json_of(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
