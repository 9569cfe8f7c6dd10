"""Which runs are kept, and what of them: the manifest and the history, nothing that was derived.

Runs of our own consumers are replaced all at once, by those of a night. Runs of programs are kept
one by one, each for what it shows of a client library.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.base.errors import Exit
from harness.experiment import APP
from harness.history import manifest
from harness.report import exit_code
from harness.suite.kept_runs import copy

RUNS: Final = Path(__file__).with_name("runs")
PROGRAMS: Final = Path(__file__).with_name("programs")
FOUND: Final = Path(__file__).with_name("found")  # what docs/known-defects.md is about

# So that the repository stays small: a run of the usual experiments takes about 450,000 bytes.
LARGEST: Final = 500_000
# Of a program that is an example: where its folder is, whoever checked this repository out.
_EXAMPLES: Final = "consumers/apps"


def keep(results: Path, into: Path = RUNS) -> list[Path]:
    """Replace the kept runs of our own consumers by those of a folder of results; the new folders.

    Of each experiment, client, protocol and version of Kafka the last complete run whose verdicts
    are all as expected is kept.
    Raises ValueError where one of them has no such run: nothing is replaced then.
    """
    found: dict[str, Path | None] = {}
    for run in _runs(results):
        facts = manifest.read(run)
        if of_a_program(facts):
            continue
        complete = facts["status"] == "complete" and exit_code(run) == Exit.AS_EXPECTED
        found[label(facts)] = run if complete else found.get(label(facts))
    lacking = [name for name, run in found.items() if run is None]
    if lacking or not found:
        raise ValueError(
            f"{results} has no complete run as expected of {', '.join(lacking) or 'anything'}"
        )
    shutil.rmtree(into, ignore_errors=True)
    return [_copy(run, into / name) for name, run in sorted(found.items()) if run is not None]


def keep_program(run: Path, into: Path = PROGRAMS) -> Path:
    """Keep one run of a program beside the others, in place of one of the same name; its folder.

    Its verdicts may be whatever they are: a test asks why each violated one is right.
    Raises ValueError if it is not complete, not of a program, too large, or names this machine.
    """
    facts = without_paths(manifest.read(run))
    if not of_a_program(facts) or facts["status"] != "complete":
        raise ValueError(f"{run} is no complete run of a program")
    folder = into / label(facts)
    half = into / f".{label(facts)}"
    shutil.rmtree(half, ignore_errors=True)
    _copy(run, half, facts)
    size = sum(path.stat().st_size for path in half.rglob("*") if path.is_file())
    if size > LARGEST:
        shutil.rmtree(half)
        raise ValueError(f"{run} has {size:,} bytes of history, and {LARGEST:,} may be kept")
    shutil.rmtree(folder, ignore_errors=True)
    return half.rename(folder)


def of_a_program(facts: dict[str, Any]) -> bool:
    """Whether a run's members were processes of somebody else's program."""
    return bool(facts["declared"]["group"]["client"] == APP)


def label(facts: dict[str, Any]) -> str:
    """The name of the folder in which a run is kept."""
    declared = facts["declared"]
    group, kafka = declared["group"], declared["cluster"]["kafka_version"]
    if of_a_program(facts):
        return f"{facts['experiment']}.{declared['app']['name']}.{kafka}"
    return f"{facts['experiment']}.{group['client']}.{group['protocol']}.{kafka}"


def without_paths(facts: dict[str, Any]) -> dict[str, Any]:
    """A manifest that names no folder of this machine.

    Raises ValueError where one is left, for example in a program's command.
    """
    folder = (facts["declared"].get("app") or {}).get("folder")
    if not folder:
        return facts
    name = Path(folder).name
    short = f"{_EXAMPLES}/{name}" if folder.endswith(f"{_EXAMPLES}/{name}") else name
    text = json.dumps(facts).replace(json.dumps(folder)[1:-1], short)
    outside = str(Path(folder).parent)
    for path in (outside, str(Path.home())):
        if path != "/" and path in text:
            raise ValueError(f"the manifest names {path} outside the folder of the program")
    cleaned: dict[str, Any] = json.loads(text)
    return cleaned


def _runs(results: Path) -> Iterator[Path]:
    for path in sorted(results.glob("*/*/manifest.json")):
        if not path.parent.is_symlink():
            yield path.parent


def _copy(run: Path, folder: Path, facts: dict[str, Any] | None = None) -> Path:
    copy(run, folder, facts or manifest.read(run))
    return folder
