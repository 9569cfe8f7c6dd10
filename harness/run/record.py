"""What a run's manifest says from its start."""

import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from confluent_kafka import libversion

from harness import __version__
from harness.cluster.admin import defaults
from harness.cluster.features import finalized
from harness.cluster.plan import GROUP, TOPIC, Plan
from harness.experiment import Experiment, Group
from harness.history import manifest
from harness.provision import wheels
from harness.provision.tools import Tools


def first_record(
    name: str, experiment: Experiment, tools: Tools, run: str, seed: int
) -> dict[str, Any]:
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
        "own": {source.path: source.digest for source in experiment.sources},
        "phases": [],
        "effective": {},
    }


def broker_facts(plan: Plan) -> dict[str, Any]:
    """What the brokers have that was not set. Raises ClusterError."""
    return {"broker_defaults": manifest.as_json(defaults(plan)), "features": finalized(plan)}


def keep_sources(run_dir: Path, experiment: Experiment) -> None:
    """Copy what a run is made from that is not ours, so that it can be judged anywhere."""
    for source in experiment.sources:
        path = run_dir / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.data)


def _declared(experiment: Experiment) -> dict[str, Any]:
    """The experiment as it was declared, without what may be secret of an app.

    That is the content of its environment, where its dependencies are, and its owner's records,
    whose number is kept.
    """
    declared = asdict(experiment)
    del declared["sources"]  # which are files of the run
    if experiment.app is not None:
        declared["app"]["environment"] = sorted(experiment.app.environment)
        declared["app"]["dependencies"] = sorted(experiment.app.dependencies)
        declared["app"]["records"]["samples"] = len(experiment.app.records.samples)
    return declared


def _versions(tools: Tools, group: Group) -> dict[str, str]:
    java_client = {"kafka-clients": group.client_version or tools.kafka_version}
    librdkafka, binding = str(libversion()[0]), version("confluent-kafka")
    if group.client == "librdkafka" and group.client_version:
        librdkafka = wheels.installed(group.client_version).librdkafka
        binding = group.client_version
    return {
        **(java_client if group.client == "java" else {}),
        "harness": __version__,
        "kafka": tools.kafka_version,
        **({"kafka_before": tools.older.kafka_version} if tools.older else {}),
        "librdkafka": librdkafka,  # of the members
        "confluent-kafka": binding,
        "toxiproxy": tools.toxiproxy_version,
        "java": tools.java_version,
        "spark": version("pyspark"),
        "python": platform.python_version(),
    }
