"""YAML files, read by the Jackson that is among Kafka's jars: no package is needed for it.

    python -m tests.hosted.files FILE…

prints them as one list in JSON. A virtual machine is started once in a process, so the tests, which
start others, ask a process of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jpype

from harness.provision.tools import resolve_tools
from tests.commands import python


def read(*files: Path) -> list[dict[str, Any]]:
    """What each file has."""
    done = python("-m", "tests.hosted.files", *files)
    assert 0 == done.returncode, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _main(files: Sequence[str]) -> None:
    tools = resolve_tools()
    library = tools.java.parent.parent / "lib" / "server" / "libjvm.so"
    jpype.startJVM(str(library), "-Xmx64m", classpath=tools.kafka_classpath.split(":"))
    yaml = jpype.JClass("com.fasterxml.jackson.dataformat.yaml.YAMLMapper")()
    texts = [str(yaml.readTree(Path(file).read_text()).toString()) for file in files]
    print(f"[{','.join(texts)}]")


if __name__ == "__main__":
    _main(sys.argv[1:])
