"""The programs of other libraries in consumers/apps: small, pinned, and described as they are."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.catalogue import apps

README = (apps.EXAMPLES / "README.md").read_text()
FOLDERS = apps.examples()
BUILT = {"node_modules", ".venv", "target", "bin"}  # as consumers/apps/.gitignore has them
SOURCES = {".go", ".java", ".js", ".py", ".rs"}
LINES = 80


def files(folder: Path) -> list[Path]:
    """What is committed of a folder, and not what its build leaves."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in found if not BUILT & set(path.relative_to(folder).parts)]


ALL = [file for folder in FOLDERS for file in files(folder)]
VARIANTS = [file for file in ALL if file.suffix == ".toml" and file.name != "Cargo.toml"]
WITH = {name: [file for file in ALL if file.name == name] for name in {file.name for file in ALL}}


def of(path: Path) -> str:
    return str(path.relative_to(apps.EXAMPLES))


def by_folder(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", WITH[name], ids=of)


def test_every_library_that_the_readme_names_is_here() -> None:
    rows = re.findall(r"^\| `([^`/]+)` \|", README, re.MULTILINE)
    assert [folder.name for folder in FOLDERS] == rows
    assert {
        *("aiokafka", "confluent-kafka-javascript", "confluent-kafka-python", "franz-go", "java"),
        *("kafka-go", "kafka-python", "kafka-streams", "kafkajs", "rust-rdkafka", "sarama"),
        "spring-kafka",
    } == set(rows)


@pytest.mark.parametrize("folder", FOLDERS, ids=of)
def test_the_readme_has_the_version_that_is_pinned(folder: Path) -> None:
    (row,) = re.findall(rf"^\| `{folder.name}` \| ([^|]+) \|", README, re.MULTILINE)
    pins = " ".join(file.read_text() for file in files(folder) if file.suffix not in SOURCES)
    own, *_inside = re.findall(r"\d+\.\d+\.\d+", row)
    assert re.search(rf"(?<![\d.]){re.escape(own)}(?![\d.])", pins)


@pytest.mark.parametrize("file", VARIANTS, ids=of)
def test_each_is_an_app_that_shows_its_work(file: Path) -> None:
    app = apps.read(file)
    if not app.effects.http:
        found = re.search(app.effects.stdout, "done id=7")
        assert found is not None
        assert "7" == found["n"]
    assert app.build, "a fresh clone has nothing that could be started"
    assert (file.name == apps.FILE) == (app.name == file.parent.name)


def test_no_two_have_one_name() -> None:
    names = [apps.read(file).name for file in VARIANTS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("file", [file for file in VARIANTS if file.name != apps.FILE], ids=of)
def test_other_settings_are_of_the_same_program_and_name_their_source(file: Path) -> None:
    plain, other = apps.read(file.parent), apps.read(file)
    assert file.read_text().startswith("# ")
    assert plain.build == other.build
    assert plain.command == other.command[: len(plain.command)]
    assert (plain.command, plain.static) != (other.command, other.static)
    assert f"| `{of(file)}` |" in README


@pytest.mark.parametrize("file", [file for file in ALL if file.suffix in SOURCES], ids=of)
def test_each_is_a_page_or_less(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= LINES


@pytest.mark.parametrize("file", ALL, ids=of)
def test_none_names_a_place_of_a_machine_or_a_registry_of_its_own(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"/(root|home|work|tmp|usr/local)/", text)
    assert not re.search(r"--(extra-)?index-url|registry\s*=\s*http|<repositor|<mirror", text)


@by_folder("requirements.txt")
def test_pip_installs_what_has_a_hash_and_nothing_else(file: Path) -> None:
    text = file.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        assert re.fullmatch(r"[\w.-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+", line.strip())
    assert "--require-hashes" in (file.parent / "build.sh").read_text()


@by_folder("package.json")
def test_npm_installs_what_its_lock_names(file: Path) -> None:
    lock = json.loads((file.parent / "package-lock.json").read_text())
    for version in json.loads(file.read_text())["dependencies"].values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    for name, package in lock["packages"].items():
        assert "resolved" not in package
        assert not name or package["integrity"].startswith("sha512-")


@by_folder("Cargo.toml")
def test_cargo_builds_what_its_lock_names(file: Path) -> None:
    lock = tomllib.loads((file.parent / "Cargo.lock").read_text())
    index = "registry+https://github.com/rust-lang/crates.io-index"
    for package in lock["package"]:
        assert (package["name"] == "consumer") or (index == package["source"])
        assert ("source" in package) == ("checksum" in package)
    assert "--locked" in apps.read(file.parent).build


@by_folder("go.mod")
def test_go_builds_what_its_sums_name(file: Path) -> None:
    sums = (file.parent / "go.sum").read_text()
    needed = re.findall(r"^(?:require |\t)(\S+) (v\S+)", file.read_text(), re.MULTILINE)
    assert needed
    for module, version in needed:
        assert f"{module} {version} h1:" in sums


@by_folder("pom.xml")
def test_maven_builds_versions_that_are_named(file: Path) -> None:
    """Here, or by the parent, which has a version itself."""
    pom = ElementTree.parse(file).getroot()
    parent = pom.find("parent")
    named = [parent] if parent is not None else [*pom.iter("dependency"), *pom.iter("plugin")]
    assert named
    for each in named:
        version = each.findtext("version") or ""
        assert re.fullmatch(r"\d+(\.\d+)+", version), ElementTree.tostring(each)
