"""Versions of Kafka that this repository does not pin, from a registry on loopback, by real Ivy."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.errors import BadInput, Exit, SetupError
from harness.provision import ivy, kafka, setup_steps
from harness.provision.cache import SCRATCH
from harness.provision.java import Java, find_java
from harness.provision.provision_command import main
from harness.provision.shell import Shell
from tests.free_ports import free_ports
from tests.provision.made_up_registry import Registry, serving

pytestmark = pytest.mark.long(1)

Capture = pytest.CaptureFixture[str]
VERSION = "4.77.1"  # not pinned


@pytest.fixture
def java() -> Java:
    return find_java()


@pytest.fixture
def registry(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Asked instead of the real one, for a cache that is empty but for Ivy and Java."""
    jar = ivy.ivy_jar()
    with serving(tmp_path) as made_up:
        monkeypatch.setenv("KAFKA_CHAOS_IVY_SETTINGS", str(made_up.settings))
        monkeypatch.setenv("KAFKA_CHAOS_JAVA", str(java.binary))
        monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(ivy, "ivy_jar", lambda: jar)
        (tmp_path / "cache" / "logs").mkdir(parents=True)
        yield made_up


@pytest.fixture
def shell(registry: Registry, tmp_path: Path) -> Shell:
    return Shell(tmp_path / "cache" / "logs")


def beside(jar: Path, kind: str) -> Path:
    return jar.with_name(f"{jar.name}.{kind}")


def test_a_release_is_fetched_checked_and_kept_and_later_uses_ask_nothing(
    registry: Registry, java: Java, shell: Shell
) -> None:
    clients = registry.has_kafka(VERSION)

    heard = ivy.adopt(VERSION, java, shell)

    assert heard == (
        f"Kafka {VERSION}: 3 files, 0 MB, checked against the registry's checksums "
        "(1 by SHA-512, 1 by SHA-256, 1 by SHA-1)"
    )
    assert [(jar.artifact, jar.version) for jar in kafka.read_lock(VERSION)] == [
        ("kafka-clients", VERSION),
        ("kafka_2.13", VERSION),
        (ivy.LOGGING[1], ivy.LOGGING[2]),
    ]
    kafka.check_jars(VERSION)
    names = [Path(jar).name for jar in kafka.classpath(VERSION).split(os.pathsep)]
    assert names == sorted(jar.file_name for jar in kafka.read_lock(VERSION))

    registry.asked.clear()
    fetch = next(step for step in setup_steps.steps(VERSION) if "jars" in step.title)
    assert fetch.title == f"Kafka {VERSION} jars (3 files)"
    assert fetch.is_done()
    assert registry.asked == []

    # A registry that has changed a jar since, and its checksums with it, is found out by the lock.
    lock = kafka.kept_lock(VERSION).read_text()
    clients.write_bytes(b"another")
    for kind in ("sha512", "sha1"):
        beside(clients, kind).write_text(hashlib.new(kind, b"another").hexdigest())
    (kafka.home(VERSION) / "jars" / kafka.read_lock(VERSION)[0].file_name).write_bytes(b"?")
    assert not fetch.is_done()
    with pytest.raises(SetupError, match=r"kafka-clients.* is not the one that was pinned"):
        kafka.check_jars(VERSION)
    with pytest.raises(SetupError, match=r"after the download the Kafka jar .*kafka-clients"):
        fetch.do(shell)
    assert lock == kafka.kept_lock(VERSION).read_text()


JAR = b"what is in the jar"
RIGHT = {kind: hashlib.new(kind, JAR).hexdigest() for kind in ivy.KINDS}
WRONG = {kind: hashlib.new(kind, b"another").hexdigest() for kind in ivy.KINDS}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (RIGHT, "sha512"),
        ({**WRONG, "sha512": RIGHT["sha512"]}, "sha512"),  # the strongest decides
        ({**WRONG, "sha256": RIGHT["sha256"]}, None),
        ({"sha256": RIGHT["sha256"], "sha1": WRONG["sha1"]}, "sha256"),
        ({"sha1": RIGHT["sha1"]}, "sha1"),
        ({"sha1": f"{RIGHT['sha1'].upper()}  the-file.jar\n"}, "sha1"),
        ({"sha1": f"SHA1 (the-file.jar) = {RIGHT['sha1']}"}, "sha1"),
        ({"sha256": "<html>see other</html>", "sha1": RIGHT["sha1"]}, None),
        ({"sha1": RIGHT["sha1"][:-1]}, None),
        ({"sha1": RIGHT["sha1"] + "0"}, None),
        ({"sha1": ""}, None),
        ({}, None),
    ],
)
def test_a_jar_is_held_against_the_strongest_checksum_there_is(
    tmp_path: Path, given: dict[str, str], kind: str | None
) -> None:
    jar = tmp_path / "a.b__c__1.jar"
    jar.write_bytes(JAR)

    if kind is not None:
        assert kind == ivy.agreed(jar, given, tmp_path / "ivy.log")
        return
    with pytest.raises(SetupError, match=r"a\.b:c:1.*nothing was kept; see .*ivy.log"):
        ivy.agreed(jar, given, tmp_path / "ivy.log")


def changes_a_jar(registry: Registry) -> None:
    registry.has_kafka(VERSION).write_bytes(b"another")


def has_no_checksums(registry: Registry) -> None:
    clients = registry.has_kafka(VERSION)
    for kind in ("sha512", "sha1"):
        beside(clients, kind).unlink()


def has_another_version(registry: Registry) -> None:
    registry.has_kafka("4.77.2")


def lacks_a_part(registry: Registry) -> None:
    for file in registry.has_kafka(VERSION).parent.iterdir():
        file.unlink()


def does_not_answer(registry: Registry) -> None:
    nothing = f"127.0.0.1:{free_ports(1)[0]}"
    text = registry.settings.read_text()
    registry.settings.write_text(re.sub(r"127\.0\.0\.1:\d+", nothing, text))


@pytest.mark.parametrize(
    ("prepare", "error", "says"),
    [
        (changes_a_jar, SetupError, r"kafka-clients:4\.77\.1 is not what .* SHA-512 differs"),
        (has_no_checksums, SetupError, r"no checksum of .*kafka-clients:4\.77\.1, so it cannot"),
        (has_another_version, BadInput, r"^the registry has no Kafka 4\.77\.1: choose"),
        (lacks_a_part, SetupError, r"looking up Kafka 4\.77\.1 failed: its output is in"),
        (does_not_answer, SetupError, "the registry did not answer .*Connection refused"),
    ],
)
def test_what_is_not_whole_is_not_kept(
    registry: Registry,
    java: Java,
    shell: Shell,
    prepare: Callable[[Registry], None],
    error: type[Exception],
    says: str,
) -> None:
    prepare(registry)

    with pytest.raises(error, match=says):
        ivy.adopt(VERSION, java, shell)
    # No lock, no jar and nothing half-made.
    assert not kafka.home(VERSION).exists()
    assert not list(kafka.home(VERSION).parent.glob(f"{SCRATCH}*"))


def test_what_has_no_lock_is_not_set_up_and_says_how_it_will_be(registry: Registry) -> None:
    assert not kafka.is_locked(VERSION)
    assert not kafka.is_set_up(VERSION)
    with pytest.raises(
        SetupError, match=f"{VERSION} was never set up; run `./kafka-chaos setup --kafka {VERSION}`"
    ):
        kafka.read_lock(VERSION)

    done = {step.title: step.is_done() for step in setup_steps.steps(VERSION)}

    title = next(title for title in done if title.startswith(f"Kafka {VERSION} jars"))
    assert title.endswith(
        "(not pinned here: looked up, and checked against the registry's checksums)"
    )
    assert not done[title]
    assert not done["AOT cache for brokers"]
    setup_steps.forget_failures(VERSION)  # of which there are none


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("3.6.2", "Kafka 3.6.2 is too old: choose 3.7.0 or newer"),
        ("0.11.0", "too old"),
        ("4.1", "Kafka 4.1 is not a release: write three numbers, such as"),
        ("4.1.0-rc1", "not a release"),
        ("../../x", "not a release"),
        ("٤.١.٠", "not a release"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fetched(
    registry: Registry, capsys: Capture, version: str, why: str
) -> None:
    for words in (["setup", "--kafka", version], ["exec", "--kafka", version, "--", "-c", ""]):
        assert main(words) == Exit.BAD_ARGUMENTS
        said = capsys.readouterr().err
        assert why in said
        assert said.count("\n") == 1
    assert registry.asked == []


def test_versions_are_compared_by_number() -> None:
    kafka.check_offered("3.10.0")
    kafka.check_offered("10.0.0")
    kafka.check_client_offered("2.5.0")
    with pytest.raises(BadInput, match=r"the Java client of Kafka 2\.4\.1 is too old"):
        kafka.check_client_offered("2.4.1")
