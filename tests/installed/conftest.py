"""A wheel of what is here now, and a fresh virtual environment that has it and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from harness.base.paths import ROOT
from harness.provision.cache import cache_dir, exclusive, make_cache_dir
from harness.provision.tree import PREFIX, digest

CODE = ("harness", "experiments", "consumers")
TAKEN = (
    *("LICENSE", "NOTICE", "README.md", "Makefile", "pyproject.toml", "requirements.lock"),
    *(*CODE, "kafka_chaos"),
)
WAITS = "another set-up is running"
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and a user's project beside it."""

    environment: Path
    project: Path

    @property
    def packages(self) -> Path:
        return next((self.environment / "lib").glob("python*/site-packages"))

    @property
    def copy(self) -> Path:
        """Where the cache has what the wheel carries, once a command has run."""
        return cache_dir() / f"{PREFIX}{digest(self.packages / 'kafka_chaos' / 'tree')}"

    def __call__(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The answer of the command, called in the project."""
        return subprocess.run(
            [self.environment / "bin" / "kafka-chaos", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.project,
            env={**os.environ, **variables},
        )


def tracked() -> list[str]:
    """What is or will be in the repository, by name from its root.

    All files there, where git does not answer: a checkout may have come without its history.
    """
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    answer = subprocess.run(listing, capture_output=True, text=True, check=False, cwd=ROOT)
    names = answer.stdout.split("\0")
    if answer.returncode:
        files = [file for name in TAKEN for file in (ROOT / name, *(ROOT / name).rglob("*"))]
        names = [str(file.relative_to(ROOT)) for file in files if file.parent.name != "__pycache__"]
    return [name for name in names if name and (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It is made of the source archive beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in tracked():
        if name.split("/")[0] in TAKEN:
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "source" / name)
    # So that its copy in the cache is theirs alone, and may go when these tests end.
    with (folder / "source" / "experiments" / "__init__.py").open("a") as module:
        module.write(f"# {uuid4()}\n")
    built = folder / "source" / "consumers" / "apps" / "kafkajs" / "node_modules" / "x" / "y.js"
    built.parent.mkdir(parents=True)
    built.write_text("what a build leaves\n")
    make = ["make", "wheel", f"PYTHON={sys.executable}"]
    plain = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(make, cwd=folder / "source", env={**plain, "MFLAGS": ""}, check=True)
    (path,) = (folder / "source" / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Uses the cache of this machine, and leaves it as it was."""
    folder = tmp_path_factory.mktemp("installed")
    environment, project = folder / "venv", folder / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    into = [*PIP, "--python", str(environment / "bin" / "python"), "install"]
    subprocess.run([*into, "--no-index", "--no-deps", str(wheel)], check=True)
    for name in ("experiments", "harness", "consumers"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("raise SystemExit('this is theirs')\n")
    found = Installed(environment, project)
    yield found
    shutil.rmtree(found.copy, ignore_errors=True)


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache in which a set-up goes on, for which every command waits."""
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    with exclusive(make_cache_dir(), lambda: None):
        yield tmp_path / "cache"


def waiting(cache: Path) -> list[psutil.Process]:
    """Living processes of the command that use this cache."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            uses = process.environ().get("KAFKA_CHAOS_CACHE") == str(cache)
            ended = process.status() == psutil.STATUS_ZOMBIE
            if uses and not ended and "pytest" not in process.cmdline():
                found.append(process)
    return found
