"""What a run's manifest says from its start."""

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from confluent_kafka import libversion

from harness import __version__
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment import Experiment, Group
from harness.history import manifest
from harness.provision.tools import Tools


def first_record(
    name: str, experiment: Experiment, tools: Tools, run: str, seed: int
) -> dict[str, Any]:
    """The manifest of a run that begins; the run fills in the rest."""
    return {
        "schema_version": manifest.SCHEMA_VERSION,
        "run": run,
        "experiment": name,
        "claim": experiment.claim,
        "status": "running",
        "status_reason": "",
        "seed": seed,
        "started_at": manifest.now(),
        "ended_at": None,
        "group": GROUP,
        "topic": TOPIC,
        "versions": _versions(tools, experiment.group),
        "host": manifest.host_facts(),
        "declared": _declared(experiment),
        "phases": [],
        "effective": {},
    }


def _declared(experiment: Experiment) -> dict[str, Any]:
    """The experiment as it was declared, without what may be secret of an app.

    That is what its environment holds, where its dependencies are, and the records of its owner:
    their number is kept.
    """
    declared = asdict(experiment)
    if experiment.app is not None:
        declared["app"]["environment"] = sorted(experiment.app.environment)
        declared["app"]["dependencies"] = sorted(experiment.app.dependencies)
        declared["app"]["records"]["samples"] = len(experiment.app.records.samples)
    return declared


def _versions(tools: Tools, group: Group) -> dict[str, str]:
    java_client = {"kafka-clients": group.client_version or tools.kafka_version}
    return {
        **(java_client if group.client == "java" else {}),
        "harness": __version__,
        "kafka": tools.kafka_version,
        "librdkafka": str(libversion()[0]),
        "confluent-kafka": version("confluent-kafka"),
        "toxiproxy": tools.toxiproxy_version,
        "java": tools.java_version,
        "spark": version("pyspark"),
        "python": platform.python_version(),
    }
