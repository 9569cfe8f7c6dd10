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
from harness.provision import image_names, kafka
from harness.provision.cache import LOCKS
from harness.provision.environment import BUILD_REQUIREMENTS, REQUIREMENTS

Component = dict[str, Any]

LICENCES: Final = LOCKS / "licences.txt"
_GO_LOCK: Final = LOCKS / "go.lock"
_GO_SUM: Final = LOCKS / "toxiproxy.sum"
# A package of a lock of pip's: name, version, marker, and the lines of its hashes.
_PACKAGE: Final = re.compile(
    r"^([\w.-]+)==([^\s;\\]+)(?: *; *([^\\\n]*[^\\\s]))? *\\\n((?: +--hash=sha256:.*\n?)+)", re.M
)
_WINDOWS: Final = ("'win32'", "'nt'")


def bill(kafka_versions: Sequence[str] = (kafka.DEFAULT_VERSION,)) -> str:
    jars = [jar for version in kafka_versions for jar in kafka.read_lock(version)]
    found = [
        *(each for lock in (REQUIREMENTS, BUILD_REQUIREMENTS, _GO_LOCK) for each in _python(lock)),
        *map(_jar, jars),
        *_go_modules(),
        *map(_image, image_names.read_lock()),
    ]
    components = sorted({each["purl"]: each for each in found}.values(), key=lambda c: c["purl"])
    licences = read_licences()
    for each in components:
        spdx = licences.get(key_of(each), "")
        # An SPDX id stands alone; several of them are an expression.
        form = {"expression": spdx} if " " in spdx else {"license": {"id": spdx}}
        each |= {"licenses": [form]} if spdx else {}
    ours = {"type": "application", "bom-ref": "kafka-chaos", "name": "kafka-chaos"}
    licence = {"license": {"id": "Apache-2.0"}}
    parts = {
        "metadata": {"component": {**ours, "version": __version__, "licenses": [licence]}},
        "components": components,
        "dependencies": [{"ref": "kafka-chaos", "dependsOn": [c["bom-ref"] for c in components]}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(parts, sort_keys=True)).urn
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": serial, "version": 1}
    return json.dumps({**head, **parts}, indent=2) + "\n"


def read_licences() -> dict[str, str]:
    lines = LICENCES.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(" ") for line in lines if line[:1] not in ("", "#"))
    return {package: spdx for package, _, spdx in pairs}


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


def _python(lock: Path) -> Iterator[Component]:
    """The packages of a lock of pip's, each with the hashes of all its files.

    Packages for Windows alone are left out: nothing of this runs there.
    """
    for name, version, marker, hashes in _PACKAGE.findall(lock.read_text(encoding="utf-8")):
        if any(system in marker for system in _WINDOWS) and " or " not in marker:
            continue
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(version)}"
        component = _component(purl, name, version, re.findall(r"sha256:([0-9a-f]{64})", hashes))
        if marker:
            component["properties"] = [{"name": "kafka-chaos:where", "value": marker}]
        yield component


def _jar(jar: kafka.Jar) -> Component:
    purl = f"pkg:maven/{jar.organisation}/{jar.artifact}@{jar.version}"
    return {**_component(purl, jar.artifact, jar.version, [jar.sha256]), "group": jar.organisation}


def _go_modules() -> Iterator[Component]:
    """What Toxiproxy is built from. Go's hash of a module is the SHA-256 of a list of its files."""
    for line in _GO_SUM.read_text(encoding="utf-8").splitlines():
        module, version, h1 = line.split()
        if not version.endswith("/go.mod"):  # only looked at, and not built
            digest = base64.b64decode(h1.removeprefix("h1:")).hex()
            purl = f"pkg:golang/{module.lower()}@{quote(version)}"
            yield _component(purl, module, version, [digest])


def _image(image: str) -> Component:
    named, _, digest = image.partition("@sha256:")
    name, _, tag = named.rpartition(":")
    purl = f"pkg:oci/{name.rpartition('/')[2]}@{quote(f'sha256:{digest}', safe='')}"
    place = name if "." in name.partition("/")[0] else f"docker.io/{name}"
    return {
        **_component(purl, name, tag, [digest]),
        "type": "container",
        "purl": f"{purl}?repository_url={place}&tag={tag}",
        "description": "used with --backend docker only",
    }
