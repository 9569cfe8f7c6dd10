"""Versions of confluent-kafka from made-up wheels, by real pip, into real environments."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.base.errors import BadInput, SetupError
from harness.provision import environment, setup_steps, unused, wheels
from harness.provision.cache import REPOSITORY, SCRATCH, cache_dir
from tests.free_ports import free_ports

pytestmark = pytest.mark.long(1)

_MODULE = "def libversion():\n    return ('{version}', 1)\n"


def wheel(folder: Path, version: str, tag: str = "py3-none-any") -> Path:
    """A made-up confluent-kafka that knows its version and no more."""
    about = f"confluent_kafka-{version}.dist-info"
    path = folder / f"confluent_kafka-{version}-{tag}.whl"
    texts = {
        "confluent_kafka/__init__.py": _MODULE.format(version=version),
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: confluent-kafka\nVersion: {version}\n",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    texts[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*texts, f"{about}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for all that there is; the cache is empty, but for this pip."""
    pip = environment.env_python(environment.env_dir())
    for module in (wheels, environment):
        monkeypatch.setattr(module, "env_python", lambda env: _python_of(env, pip))
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def _python_of(env: Path, pip: Path) -> Path:
    return pip if env == environment.env_dir() else env / "bin" / "python"


def nothing_is_kept(version: str) -> bool:
    return not wheels.home(version).exists() and not list(cache_dir().glob(f"{SCRATCH}*"))


def test_a_version_gets_an_environment_of_its_own(index: Path) -> None:
    made = wheel(index, "2.77.1")

    (said,) = setup_steps.ensure_wheel("2.77.1")

    assert said.startswith("confluent-kafka 2.77.1: ")
    found = wheels.installed("2.77.1")
    assert ("2.77.1", "2.77.1") == (found.version, found.librdkafka)
    assert found.wheel_sha256 == hashlib.sha256(made.read_bytes()).hexdigest()
    asked = "import confluent_kafka; print(confluent_kafka.libversion()[0])"
    answer = subprocess.run(
        [wheels.python("2.77.1"), "-E", "-c", asked], capture_output=True, text=True, check=True
    )
    assert "2.77.1\n" == answer.stdout

    made.unlink()  # a second use needs no index
    assert [] == setup_steps.ensure_wheel("2.77.1")
    assert "confluent-kafka-2.77.1" in [each.path.name for each in unused.unused()]


def test_a_file_that_is_not_as_it_was_installed_is_named(index: Path) -> None:
    wheel(index, "2.77.1")
    setup_steps.ensure_wheel("2.77.1")
    (module,) = wheels.home("2.77.1").glob("lib/*/site-packages/confluent_kafka/__init__.py")
    module.write_text(module.read_text() + "\n")

    with pytest.raises(SetupError, match=r"2\.77\.1 in .* is not as it was installed: remove that"):
        wheels.installed("2.77.1")


def test_our_consumer_needs_nothing_else_there(index: Path) -> None:
    """But for the client library itself, whose part of the consumer is imported last."""
    wheel(index, "2.77.1")
    setup_steps.ensure_wheel("2.77.1")
    asked = "import consumers.__main__, consumers.consumer, consumers.commits"

    subprocess.run([wheels.python("2.77.1"), "-E", "-c", asked], check=True, cwd=REPOSITORY)


@pytest.mark.parametrize("tag", [None, "cp39-cp39-manylinux2014_x86_64"])
def test_a_version_without_a_wheel_for_this_python_is_refused(index: Path, tag: str | None) -> None:
    wheel(index, "2.77.2")
    if tag is not None:
        wheel(index, "2.77.1", tag)

    python = f"3.{sys.version_info[1]}"
    with pytest.raises(
        BadInput, match=rf"^there is no wheel of confluent-kafka 2.77.1 for .*{python}"
    ):
        setup_steps.ensure_wheel("2.77.1")
    assert nothing_is_kept("2.77.1")


def test_an_index_that_does_not_answer_is_named_as_that(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_ports(1)[0]}/simple")

    with pytest.raises(
        SetupError, match=r"fetching confluent-kafka 2\.77\.1 failed: see .*pip\.log"
    ):
        setup_steps.ensure_wheel("2.77.1")
    assert nothing_is_kept("2.77.1")


@pytest.mark.parametrize("version", ["2", "2.8", "2.8.2rc1", "../../2.8.2", "٢.٨.٢"])
def test_what_is_no_version_is_refused(index: Path, version: str) -> None:
    with pytest.raises(BadInput, match="is not a release: write three numbers"):
        setup_steps.ensure_wheel(version)


def test_what_was_never_set_up_says_so(index: Path) -> None:
    assert not wheels.is_set_up("2.77.1")
    with pytest.raises(SetupError, match=r"2\.77\.1 was never set up"):
        wheels.installed("2.77.1")
