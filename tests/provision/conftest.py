from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.provision import cache

OWN_VARIABLES = ("KAFKA_CHAOS_JAVA", "KAFKA_CHAOS_IVY_SETTINGS", "JAVA_HOME")


@pytest.fixture(autouse=True)
def _plain_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OWN_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    return cache.make_cache_dir()


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes an executable of this name that runs these shell lines."""

    def write(name: str, lines: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write
