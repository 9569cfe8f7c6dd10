"""The fleet gives each program what it needs, in a file that the program can read."""

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.base.ports import Ports
from harness.catalogue import registry
from harness.cluster.plan import draw_plan
from harness.experiment import Cluster, Experiment
from harness.provision import kafka, wheels
from harness.provision.tools import resolve_tools
from harness.run.fleet import Fleet
from harness.run.record import first_record


def fleet_of(experiment: Experiment, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A fleet that starts nothing."""
    return _fleet(experiment, run_dir, monkeypatch, [])


def _fleet(
    experiment: Experiment, run_dir: Path, monkeypatch: pytest.MonkeyPatch, started: list[str]
) -> Fleet:
    """A fleet that only notes which programs it would start."""
    ended = cast("subprocess.Popen[bytes]", SimpleNamespace(poll=lambda: 0))

    def spawn(arguments: list[str], **_more: Any) -> subprocess.Popen[bytes]:
        started.append(arguments[0])
        return ended

    monkeypatch.setattr("harness.base.processes.spawn", spawn)
    (run_dir / "journals").mkdir()
    with Ports() as ports:
        plan = draw_plan(Cluster(), ("members", "producers", "probes", "member-2"), "run", ports)
    return Fleet(experiment, plan, resolve_tools(), run_dir)


def changed(name: str, **group: Any) -> Experiment:
    experiment = registry.load(name)
    return replace(experiment, group=replace(experiment.group, **group))


@pytest.mark.parametrize("client", ["librdkafka", "java"])
@pytest.mark.parametrize("commit", ["sync", "external", "transaction"])
def test_a_member_reads_what_it_is_reported(
    client: str, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = changed("baseline", client=client, commit=commit)
    fleet = fleet_of(experiment, tmp_path, monkeypatch)

    fleet.start_member("member-2", joins_when_told=True)

    config = ConsumerConfig.load(tmp_path / "journals" / "member-2.json")
    assert (config.client, config.commit) == (client, commit)
    assert (config.member, config.lane, config.joins_when_told) == ("member-2", "member-2", True)
    assert config.journal == str(fleet.members["member-2"].journal)
    assert config.session_timeout_ms == experiment.group.session_timeout_ms


def test_a_static_member_that_takes_anothers_place_has_its_instance_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = fleet_of(changed("baseline", static=True), tmp_path, monkeypatch)

    fleet.start_member("member-1")
    fleet.start_member("member-4", instance_id="member-1")

    for name in ("member-1", "member-4"):
        config = ConsumerConfig.load(tmp_path / "journals" / f"{name}.json")
        assert (config.member, config.instance_id) == (name, "member-1")


def test_only_members_of_another_librdkafka_run_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = changed("baseline", client_version="2.8.2", differing={2: {"client_version": ""}})
    started: list[str] = []
    fleet = _fleet(experiment, tmp_path, monkeypatch, started)

    for name in ("member-1", "member-2"):
        fleet.start_member(name)
    fleet.start_producer()

    assert started == [str(wheels.python("2.8.2")), sys.executable, sys.executable]


def test_members_of_another_java_client_have_its_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    fleet = _fleet(
        changed("baseline", client="java", client_version="4.2.1"), tmp_path, monkeypatch, started
    )

    fleet.start_member("member-1")

    config = ConsumerConfig.load(tmp_path / "journals" / "member-1.json")
    assert config.class_path == kafka.classpath("4.2.1")
    assert started == [sys.executable]


def test_the_manifest_says_which_librdkafka_the_members_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = wheels.Installed("2.8.2", "2.8.0", "3.11.7", "0" * 64, "0" * 12)
    monkeypatch.setattr(wheels, "installed", lambda _version: found)
    experiment, tools = changed("baseline", client_version="2.8.2"), resolve_tools()

    versions = first_record("baseline", experiment, tools, "run", 1)["versions"]

    assert ("2.8.0", "2.8.2") == (versions["librdkafka"], versions["confluent-kafka"])
    usual = first_record("baseline", registry.load("baseline"), tools, "run", 1)["versions"]
    assert usual["confluent-kafka"] == version("confluent-kafka")


def test_the_producer_reads_what_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = registry.load("baseline")
    fleet = fleet_of(experiment, tmp_path, monkeypatch)

    fleet.start_producer()

    config = ProducerConfig.load(tmp_path / "journals" / "producer-1.json")
    assert (config.lane, config.partitions) == ("producers", experiment.load.partitions)


def test_a_probe_reads_what_it_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = fleet_of(registry.load("group-apis"), tmp_path, monkeypatch)

    fleet.start_probe("group-apis")

    config = ProbeConfig.load(tmp_path / "journals" / "probe-group-apis.json")
    assert (config.role, config.probe, config.group) == ("probe", "group-apis", "orders")
