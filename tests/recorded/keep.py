"""Which runs are kept, and what of them: the manifest and the history, nothing that was derived."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.base.errors import Exit
from harness.history import manifest
from harness.history.schema import HISTORY
from harness.report import exit_code

RUNS: Final = Path(__file__).with_name("runs")


def keep(results: Path, into: Path = RUNS) -> list[Path]:
    """Replace the kept runs by those of a folder of results; the folders that were made.

    Of each experiment, client, protocol and version of Kafka the last complete run whose verdicts
    are all as expected is kept.
    Raises ValueError where one of them has no such run: nothing is replaced then.
    """
    found: dict[str, Path | None] = {}
    for run in _runs(results):
        facts = manifest.read(run)
        complete = facts["status"] == "complete" and exit_code(run) == Exit.AS_EXPECTED
        found[label(facts)] = run if complete else found.get(label(facts))
    lacking = [name for name, run in found.items() if run is None]
    if lacking or not found:
        raise ValueError(
            f"{results} has no complete run as expected of {', '.join(lacking) or 'anything'}"
        )
    shutil.rmtree(into, ignore_errors=True)
    return [_copy(run, into / name) for name, run in sorted(found.items()) if run is not None]


def label(facts: dict[str, Any]) -> str:
    """The name of the folder in which a run is kept."""
    declared = facts["declared"]
    group, kafka = declared["group"], declared["cluster"]["kafka_version"]
    return f"{facts['experiment']}.{group['client']}.{group['protocol']}.{kafka}"


def _runs(results: Path) -> Iterator[Path]:
    for path in sorted(results.glob("*/*/manifest.json")):
        if not path.parent.is_symlink():
            yield path.parent


def _copy(run: Path, folder: Path) -> Path:
    (folder / "history").mkdir(parents=True)
    facts = manifest.read(run)
    (folder / "manifest.json").write_text(json.dumps(facts, separators=(",", ":")) + "\n")
    for name in HISTORY:
        shutil.copyfile(run / "history" / f"{name}.parquet", folder / "history" / f"{name}.parquet")
    return folder
