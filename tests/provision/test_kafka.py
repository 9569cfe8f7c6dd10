from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import ivy, kafka, setup_steps, toxiproxy
from harness.provision.java import Java
from harness.provision.shell import Shell
from harness.provision.tools import resolve_tools

VERSION = kafka.DEFAULT_VERSION
Script = Callable[[str, str], Path]


@pytest.fixture
def copied_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real jars, linked into a cache of the test's own."""
    real = kafka.home(VERSION)
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    shutil.copytree(real / "jars", kafka.home(VERSION) / "jars", copy_function=os.link)
    return kafka.home(VERSION) / "jars"


def damage(jar: Path) -> None:
    content = bytearray(jar.read_bytes())
    content[len(content) // 2] ^= 1
    jar.unlink()  # it is a link to the real one
    jar.write_bytes(content)


@pytest.mark.parametrize("version", kafka.kafka_versions())
def test_lock_is_well_formed(version: str) -> None:
    jars = kafka.read_lock(version)
    names = {(jar.organisation, jar.artifact) for jar in jars}

    assert len(names) == len(jars)  # two versions of one artifact would hide one another
    assert [jar.file_name for jar in jars] == sorted(jar.file_name for jar in jars)
    assert ("org.apache.kafka", "kafka_2.13") in names
    assert {jar.version for jar in jars if jar.organisation == "org.apache.kafka"} == {version}


@pytest.mark.parametrize(
    "line", ["a:b:1", "a:b " + "0" * 64, "a:b:1 " + "X" * 64, "a:b:1/.. " + "0" * 64]
)
def test_broken_lock_line_is_named(line: str) -> None:
    with pytest.raises(SetupError, match=r"lock:3 reads .* restore the file from git"):
        kafka.parse_line(line, "lock:3")


def test_a_version_that_was_never_set_up_or_fetched_is_named_with_its_set_up(
    empty_cache: Path,
) -> None:
    with pytest.raises(
        SetupError, match=r"4\.99\.9 was never .* `./kafka-chaos setup --kafka 4\.99"
    ):
        resolve_tools("4.99.9")
    with pytest.raises(SetupError, match=r"is missing; run `./kafka-chaos setup --kafka 4\.2\.1`"):
        kafka.check_jars("4.2.1")


def test_class_path_is_the_locks_order_without_wildcards() -> None:
    jars = kafka.classpath(VERSION).split(os.pathsep)

    assert [Path(jar).name for jar in jars] == [jar.file_name for jar in kafka.read_lock(VERSION)]
    assert "*" not in kafka.classpath(VERSION)
    assert kafka.classpath(VERSION) == kafka.classpath(VERSION)


def test_a_damaged_or_missing_jar_is_named_and_fetched_again(copied_jars: Path) -> None:
    fetch = next(step for step in setup_steps.steps() if "jars" in step.title)
    jars = sorted(copied_jars.iterdir())
    kafka.check_jars(VERSION)
    assert fetch.is_done()

    damage(jars[7])
    with pytest.raises(SetupError, match="is not the one that was pinned") as caught:
        resolve_tools()
    assert str(jars[7]) in str(caught.value)
    assert f"`./kafka-chaos setup --kafka {VERSION}`" in str(caught.value)
    assert not fetch.is_done()

    jars[0].unlink()
    with pytest.raises(SetupError, match=f"{jars[0].name} is missing"):
        kafka.check_jars(VERSION)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/data/run 1", "/data/run 1"),
        ("/home/josé", "/home/jos\\u00e9"),
        ("C:\\data", "C:\\u005cdata"),
        ("/🎈", "/\\ud83c\\udf88"),
    ],
)
def test_a_value_is_what_java_reads_in_a_properties_file(value: str, text: str) -> None:
    assert kafka.escaped(value) == text


def test_a_missing_template_is_named_with_its_set_up(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "check_jars", lambda _version: None)
    monkeypatch.setattr(toxiproxy, "check_binary", lambda: None)

    with pytest.raises(SetupError, match=r"template .* run `./kafka-chaos setup --kafka 4\.2\.1`"):
        resolve_tools("4.2.1")


def test_the_levels_of_a_new_cluster_are_in_its_template() -> None:
    levels = kafka.formatted_levels(VERSION)

    assert levels["metadata.version"] >= 30  # of 4.3
    assert levels["group.version"] >= 1
    assert "kraft.version" not in levels


def test_levels_are_read_from_any_snapshot_and_damage_is_not_read(empty_cache: Path) -> None:
    folder = kafka.controller_template("4.2.1") / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    record, cut = b"\x01\x0c\x00\x0egroup.version\x00\x0d\x00", b"\x01\x0c\x00\x09name\x00\x01\x00"
    (folder / "00000000000000000000-0000000000.checkpoint").write_bytes(b"<" + record + cut + b">")

    assert {"group.version": 13} == kafka.formatted_levels("4.2.1")
    assert {} == kafka.formatted_levels("3.9.2")


def test_a_template_that_only_its_owner_may_read_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kafka.has_template(VERSION)
    monkeypatch.setattr(kafka, "controller_template", lambda _version: tmp_path)
    snapshot = tmp_path / "__cluster_metadata-0" / "0.checkpoint"
    snapshot.parent.mkdir()
    snapshot.write_bytes(b"")
    snapshot.chmod(0o400)
    assert not kafka.has_template("4.4.0")

    snapshot.chmod(0o644)
    assert kafka.has_template("4.4.0")


def test_both_releases_of_an_upgrade_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "check_jars", lambda _version: None)
    monkeypatch.setattr(kafka, "controller_template", lambda _version: Path(__file__).parent)
    tools = resolve_tools(VERSION, upgraded_from="4.2.1")

    assert VERSION == tools.kafka_version
    assert tools.older is not None
    assert "4.2.1" == tools.older.kafka_version
    assert "4.2.1" in tools.older.kafka_classpath
    assert tools.older.older is None


def test_download_with_other_content_is_refused_and_the_old_jars_stay(
    copied_jars: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ivy, "ivy_jar", lambda: Path("ivy.jar"))
    # Stands for Ivy: its last argument is the pattern "<folder>/jars/[organisation]…".
    liar = 'for last; do :; done; folder="${last%/*}"; mkdir "$folder"; echo liar > "$folder/x.jar"'
    before = sorted(copied_jars.iterdir())

    with pytest.raises(SetupError, match=r"after the download the Kafka jar .* check which mirror"):
        ivy.fetch_jars(VERSION, Java(script("java", liar), "25"), Shell(copied_jars.parent))

    assert before == sorted(copied_jars.iterdir())
    kafka.check_jars(VERSION)


def test_module_asks_for_exactly_the_locked_jars() -> None:
    jars = kafka.read_lock(VERSION)

    asked = ElementTree.fromstring(ivy.ivy_module(jars)).findall("dependencies/dependency")

    assert [(one.get("org"), one.get("name"), one.get("rev")) for one in asked] == [
        (jar.organisation, jar.artifact, jar.version) for jar in jars
    ]
    assert {one.get("transitive") for one in asked} == {"false"}


def test_own_settings_replace_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ivy, "ivy_jar", lambda: Path("ivy.jar"))
    monkeypatch.setenv("KAFKA_CHAOS_IVY_SETTINGS", str(tmp_path / "mine.xml"))

    command = list(map(str, ivy.ivy_command("", Java(Path("java"), "25"), tmp_path)))

    assert command[command.index("-settings") + 1] == str(tmp_path / "mine.xml")
    assert "://" not in ivy.SETTINGS
