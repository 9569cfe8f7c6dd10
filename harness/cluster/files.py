"""The files that nodes and Toxiproxy are started with, in the run's scratch folder."""

import json
import shutil
from pathlib import Path

from harness.cluster.plan import Node, Plan, random_id
from harness.provision import kafka

LOGGING = "log4j2.xml"  # beside this module: it says what it is
PROXIES = "toxiproxy.json"


def properties_of(node: Node) -> str:
    return f"{node.name}.properties"


def write_files(plan: Plan, folder: Path, template: Path, seen_as: Path | None = None) -> None:
    """Everything that the cluster is started from, its formatted storage included.

    `seen_as` is where the nodes see `folder`, if that is elsewhere. `template` is a controller's
    formatted folder: with it there is nothing left that `kafka-storage format` would do, and the
    cluster is new and ours.
    """
    shutil.copy(Path(__file__).with_name(LOGGING), folder / LOGGING)
    (folder / PROXIES).write_text(json.dumps(plan.proxies()))
    for node in plan.nodes:
        data = folder / node.name
        data.mkdir()
        lines = {
            "version": "1",
            "cluster.id": plan.cluster_id,
            "node.id": str(node.id),
            "directory.id": random_id(),
        }
        (data / "meta.properties").write_text(_text(lines))
        if node.role == "controller":
            shutil.copytree(template, data, dirs_exist_ok=True)
        properties = plan.properties(node, (seen_as or folder) / node.name)
        (folder / properties_of(node)).write_text(_text(properties))


def _text(values: dict[str, str]) -> str:
    return "".join(f"{name}={kafka.escaped(value)}\n" for name, value in values.items())
