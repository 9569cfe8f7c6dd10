"""manifest.json: what was run, with which versions and settings, and how it ended."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil

from harness.base.errors import NoData
from harness.base.paths import RESULTS, here
from harness.base.whole import whole

FILE_NAME: Final = "manifest.json"
SCHEMA_VERSION: Final = 1
SEAL: Final = "seal"  # the SHA-256 of all other fields; manifests of before there was one lack it


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def write(run_dir: Path, content: dict[str, Any]) -> None:
    """Write the manifest whole, with its seal: under another name first, then renamed."""
    target = run_dir / FILE_NAME
    with whole(target) as half:
        half.write_text(json.dumps(sealed(content), indent=2) + "\n")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its seal as the last field.

    All that is judged is judged by the manifest: with a digit of a time-out another, a run that is
    as it should be violates a rule.
    """
    others = {name: value for name, value in content.items() if name != SEAL}
    return {**others, SEAL: _seal_of(others)}


def _seal_of(content: Mapping[str, Any]) -> str:
    as_read = json.loads(json.dumps(content))  # numbers that are keys are texts there
    text = json.dumps(as_read, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_seal(path: Path, content: Mapping[str, Any]) -> None:
    """Raises NoData where a manifest has another content than it was written with."""
    if SEAL in content and sealed(content)[SEAL] != content[SEAL]:
        raise NoData(
            f"{path} is damaged: its checksum does not match its content, so the "
            "run cannot be used; restore its folder if there is another copy"
        )


def read(run_dir: Path) -> dict[str, Any]:
    """The manifest of a run.

    Raises NoData where there is none or it cannot be read.
    """
    path = run_dir / FILE_NAME
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise NoData(
            _unlike_a_run(run_dir, f"is not the folder of a run: it has no {FILE_NAME}")
        ) from None
    except (OSError, ValueError) as error:
        raise NoData(f"{path} cannot be read ({error}): the run cannot be used any more") from error
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise NoData(
            f"{path} does not have schema version {SCHEMA_VERSION}, which this version reads: "
            "check it with the version that wrote it"
        )
    check_seal(path, content)
    return content


def _unlike_a_run(folder: Path, why: str) -> str:
    """The sentence about what is no folder of a run: that it is not there, or why."""
    said = f"{here(folder)} {why}" if folder.exists() else f"there is no folder {here(folder)}"
    return f"{said}; name the folder of a run, such as {here(RESULTS)}/<experiment>/latest"


def runs_in(folder: Path) -> list[Path]:
    """The runs of a folder: itself, or those of an experiment or of all results, by their names.

    Raises NoData where there is none.
    """
    if (folder / FILE_NAME).is_file():
        return [folder]
    found = {
        path.parent
        for pattern in ("*", "*/*")
        for path in folder.glob(f"{pattern}/{FILE_NAME}")
        if not path.parent.is_symlink()  # `latest` is a second name
    }
    if not found:
        raise NoData(_unlike_a_run(folder, "has no runs"))
    return sorted(found, key=lambda path: (path.name, path.parent.name))


def update(run_dir: Path, **changes: Any) -> None:
    write(run_dir, {**read(run_dir), **changes})


def as_json(settings: Any) -> Any:
    """Settings whose nulls and switches libraries gave as texts of Python, as JSON has them."""
    if isinstance(settings, dict):
        return {name: as_json(value) for name, value in settings.items()}
    texts = {"None": None, "True": True, "False": False}
    return texts.get(settings, settings) if isinstance(settings, str) else settings


def client_of(declared: Mapping[str, Any], versions: Mapping[str, Any]) -> tuple[str, str | None]:
    """The members' client library and its version; Java's is the brokers', unless one was named."""
    group = declared.get("group") or {}
    if group.get("client") == "java":
        return "java", group.get("client_version") or versions.get("kafka")
    return group.get("client") or "librdkafka", versions.get("librdkafka")


def is_sabotaged(group: Mapping[str, Any]) -> bool:
    """Whether all members, or single ones that differ, are declared to break a rule on purpose."""
    differing = (group.get("differing") or {}).values()
    return any(each.get("sabotage") for each in (group, *differing))


def host_facts() -> dict[str, Any]:
    """What may matter of this machine; nothing that names it or its user."""
    return {
        "cores": os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "platform": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }
