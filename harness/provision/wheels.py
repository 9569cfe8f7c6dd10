"""Other versions of confluent-kafka, and so of librdkafka, each in an environment of its own.

Only members whose `client_version` names another version run in one. It is fetched when it is first
named: pip holds the wheel against the hash of its index, and that hash is kept. Later uses need no
network, and every file is looked at before each run.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import BadInput, SetupError
from harness.provision import tree
from harness.provision.cache import cache_dir, mark, scratch, write_atomically
from harness.provision.environment import NEWEST_PYTHON, env_dir, env_python
from harness.provision.kafka import digest
from harness.provision.shell import FETCH_REMEDY, Shell, answer

PACKAGE: Final = "confluent-kafka"
_OLDEST_PYTHON: Final = (3, 11)  # that our consumer is written for
_SILENT: Final = re.compile(r"Retrying \(|Could not fetch URL|Network is unreachable")


@dataclass(frozen=True)
class Installed:
    """What an environment has: versions, the hash of the wheel, and of all that came of it."""

    version: str
    librdkafka: str
    python: str
    wheel_sha256: str
    files: str


def check_offered(version: str) -> None:
    if not re.fullmatch(r"\d{1,4}\.\d{1,4}\.\d{1,4}", version, re.ASCII):
        raise BadInput(
            f"{PACKAGE} {version} is not a release: write three numbers, such as 2.8.2, or leave "
            "the version out"
        )


def home(version: str) -> Path:
    return cache_dir() / f"{PACKAGE}-{version}"


def python(version: str) -> Path:
    return env_python(home(version))


def is_set_up(version: str) -> bool:
    """Whether it was installed to its end, and the Python that it was made from is still there."""
    return _note(version).is_file() and python(version).exists()


def installed(version: str) -> Installed:
    """What is there of this version, each file of it as it was installed. Raises SetupError."""
    if not is_set_up(version):
        raise SetupError(f"{PACKAGE} {version} was never set up: start the run again")
    found = Installed(**json.loads(_note(version).read_text(encoding="utf-8")))
    if found.files != tree.digest(_packages(home(version))):
        raise SetupError(
            f"{PACKAGE} {version} in {home(version)} is not as it was installed: remove that "
            "folder, and start the run again"
        )
    return found


def install(version: str, shell: Shell) -> str:
    """Fetch the wheel, and put it into an environment of its own; what was done, in words.

    Raises BadInput where there is no wheel for a Python of this machine, SetupError if the index
    does not answer.
    """
    with scratch(cache_dir()) as folder:
        chosen, wheel = _download(version, folder, shell)
        made = folder / "env"
        what = f"installing {PACKAGE} {version}"
        shell.run(what, [chosen, "-m", "venv", "--without-pip", made], log="pip.log")
        pip = [env_python(env_dir()), "-m", "pip", "--python", env_python(made), "install"]
        exactly = ["--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile"]
        shell.run(what, [*pip, *exactly, wheel], log="pip.log")
        asked = "import confluent_kafka as c, sys; print(c.libversion()[0], sys.version.split()[0])"
        librdkafka, own = answer([env_python(made), "-I", "-c", asked]).split()
        found = Installed(
            version, librdkafka, own, digest(wheel) or "", tree.digest(_packages(made))
        )
        mark(made)
        shutil.rmtree(home(version), ignore_errors=True)
        made.rename(home(version))
        write_atomically(_note(version), json.dumps(asdict(found), indent=2) + "\n")
    return (
        f"{PACKAGE} {version}: librdkafka {librdkafka}, for Python {own}, checked against the "
        "index's SHA-256"
    )


def _note(version: str) -> Path:
    return home(version) / "installed.json"


def _packages(env: Path) -> Path:
    """The folder of packages, which has the name of the Python that was chosen."""
    return next((env / "lib").glob("python3.*/site-packages"), env)


def _download(version: str, folder: Path, shell: Shell) -> tuple[Path, Path]:
    what = f"fetching {PACKAGE} {version}"
    tried = []
    for numbers, candidate in _pythons():
        into = folder / numbers
        command = [env_python(env_dir()), "-m", "pip", "download", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--python-version", numbers]
        command += ["--dest", into, f"{PACKAGE}=={version}"]
        said = shell.run(what, command, log="pip.log", may_fail=True)
        wheels = sorted(into.glob("*.whl")) if into.is_dir() else []
        if wheels:
            return candidate, wheels[0]
        if "No matching distribution" not in said or _SILENT.search(said):
            raise SetupError(f"{what} failed: see {shell.logs / 'pip.log'}; {FETCH_REMEDY}")
        tried.append(numbers)
    raise BadInput(
        f"there is no wheel of {PACKAGE} {version} for Python {' or '.join(tried)}, which is what "
        "this machine has: choose a version that has one, such as 2.8.2"
    )


def _pythons() -> Iterator[tuple[str, Path]]:
    """The Pythons that our consumer runs on: that of the environment, then those on PATH."""
    own = sys.version_info[:2]
    yield ".".join(map(str, own)), env_python(env_dir())
    for minor in range(_OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1):
        found = shutil.which(f"python3.{minor}")
        if found and (3, minor) != own and _runs(found, minor):
            yield f"3.{minor}", Path(found)


def _runs(path: str, minor: int) -> bool:
    """A version manager has programs of this name that only say that they are switched off."""
    asked = "import sys, venv; print(sys.version_info[1])"
    try:
        return answer([path, "-I", "-c", asked]).strip() == str(minor)
    except SetupError:
        return False
