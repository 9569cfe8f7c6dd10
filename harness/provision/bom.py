"""The bill of materials: what set-up fetches, by its locks, as CycloneDX 1.6 in JSON.

It needs nothing but the locks, so it can be made before anything is fetched, and is the same text
each time. What is inside of a package (the jars of PySpark, the librdkafka of confluent-kafka) is
not a component of its own: the package's hash covers it.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from harness import __version__
from harness.base.errors import SetupError
from harness.provision import image_names, kafka
from harness.provision.cache import LOCKS
from harness.provision.environment import BUILD_REQUIREMENTS, REQUIREMENTS

Component = dict[str, Any]

SPEC_VERSION: Final = "1.6"
LICENCES: Final = LOCKS / "licences.txt"
_GO_LOCK: Final = LOCKS / "go.lock"
_GO_SUM: Final = LOCKS / "toxiproxy.sum"
_NAMESPACE: Final = uuid.UUID("5f0f6f3a-0f0b-5d5e-9a39-3f3f0a6c1a3e")  # any; it never changes
_REQUIREMENT: Final = re.compile(r"([\w.-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?")
_PIP_HASH: Final = re.compile(r"\s*--hash=sha256:([0-9a-f]{64})\s*\\?")
_WINDOWS: Final = ("'win32'", "'nt'")
# An SPDX id alone; anything longer is an expression of several.
_ID: Final = re.compile(r"[\w.+-]+")


def bill(kafka_versions: Sequence[str] = (kafka.DEFAULT_VERSION,)) -> str:
    """The bill of materials of runs with these versions of Kafka. SetupError for a bad lock."""
    licences = read_licences()
    found: dict[str, Component] = {}
    for lock in (REQUIREMENTS, BUILD_REQUIREMENTS, _GO_LOCK):
        found |= {each["purl"]: each for each in _python_packages(lock)}
    for version in kafka_versions:
        found |= {each["purl"]: each for each in map(_jar, kafka.read_lock(version))}
    found |= {each["purl"]: each for each in _go_modules()}
    found |= {each["purl"]: each for each in map(_image, image_names.read_lock())}
    for component in found.values():
        if spdx := licences.get(key_of(component)):
            form = {"license": {"id": spdx}} if _ID.fullmatch(spdx) else {"expression": spdx}
            component["licenses"] = [form]
    return _document([found[purl] for purl in sorted(found)])


def read_licences() -> dict[str, str]:
    """The licence of each package, as an SPDX expression; SetupError for a line that has none."""
    licences = {}
    for number, line in enumerate(LICENCES.read_text(encoding="utf-8").splitlines(), 1):
        if line[:1] in ("", "#"):
            continue
        package, _, spdx = line.partition(" ")
        if not spdx:
            raise SetupError(f"{LICENCES}:{number} has no licence; restore the file from git")
        licences[package] = spdx
    return licences


def key_of(component: Component) -> str:
    """How the file of licences names a component: its package URL without version and scheme."""
    return str(component["purl"]).removeprefix("pkg:").rpartition("@")[0]


def _component(purl: str, name: str, version: str, hashes: Sequence[str]) -> Component:
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in hashes],
    }


def _python_packages(lock: Path) -> Iterator[Component]:
    """The packages of a lock of pip's, each with the hashes of all its files.

    Those that only Windows needs are left out, where nothing of this runs.
    """
    wanted: Component | None = None
    for line in lock.read_text(encoding="utf-8").splitlines():
        if package := _REQUIREMENT.fullmatch(line):
            name, version, marker = package.groups()
            purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(version)}"
            wanted = _component(purl, name, version, [])
            if marker:
                wanted["properties"] = [{"name": "kafka-chaos:where", "value": marker}]
            if not _only_on_windows(marker or ""):
                yield wanted
        elif found := _PIP_HASH.fullmatch(line):
            if wanted is None:
                raise SetupError(f"{lock} has a hash before any package; restore the file from git")
            wanted["hashes"].append({"alg": "SHA-256", "content": found[1]})
        elif line.strip() and not line.lstrip().startswith("#"):
            raise SetupError(f"{lock} has a line {line!r} without a package; restore it from git")


def _only_on_windows(marker: str) -> bool:
    """Whether a marker names Windows, and no other reason to be wanted."""
    return any(system in marker for system in _WINDOWS) and " or " not in marker


def _jar(jar: kafka.Jar) -> Component:
    purl = f"pkg:maven/{jar.organisation}/{jar.artifact}@{jar.version}"
    return {
        **_component(purl, jar.artifact, jar.version, [jar.sha256]),
        "group": jar.organisation,
    }


def _go_modules() -> Iterator[Component]:
    """What Toxiproxy is built from. Go's hash of a module is the SHA-256 of a list of its files."""
    for line in _GO_SUM.read_text(encoding="utf-8").splitlines():
        module, version, h1 = line.split()
        if not version.endswith("/go.mod"):  # only looked at, and not built
            digest = base64.b64decode(h1.removeprefix("h1:")).hex()
            yield _component(
                f"pkg:golang/{module.lower()}@{quote(version)}", module, version, [digest]
            )


def _image(image: str) -> Component:
    named, _, digest = image.partition("@sha256:")
    name, _, tag = named.rpartition(":")
    last = name.rpartition("/")[2]
    purl = f"pkg:oci/{last}@{quote(f'sha256:{digest}', safe='')}"
    place = name if "." in name.partition("/")[0] else f"docker.io/{name}"
    return {
        **_component(purl, name, tag, [digest]),
        "type": "container",
        "purl": f"{purl}?repository_url={place}&tag={tag}",
        "description": "used with BACKEND=docker only",
    }


def _document(components: Sequence[Component]) -> str:
    ours = {
        "type": "application",
        "bom-ref": "kafka-chaos",
        "name": "kafka-chaos",
        "version": __version__,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    parts = {
        "metadata": {"component": ours},
        "components": list(components),
        "dependencies": [{"ref": "kafka-chaos", "dependsOn": [c["bom-ref"] for c in components]}],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(parts, sort_keys=True))
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return json.dumps({**head, **parts}, indent=2) + "\n"
