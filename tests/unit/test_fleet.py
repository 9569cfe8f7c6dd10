"""The fleet gives each program what it needs, in a file that the program can read."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which programs would have been started."""
    found: list[str] = []
    ended = SimpleNamespace(poll=lambda: 0)

    def spawn(arguments: list[str], **_more: Any) -> Any:
        found.append(arguments[0])
        return ended

    monkeypatch.setattr("harness.base.processes.spawn", spawn)
    return found


@pytest.fixture
def fleet_of(tmp_path: Path, started: list[str]) -> Callable[[Experiment], Fleet]:
    """A fleet that starts nothing."""

    def made(experiment: Experiment) -> Fleet:
        (tmp_path / "journals").mkdir()
        lanes = ("members", "producers", "probes", "member-2")
        with Ports() as ports:
            plan = draw_plan(Cluster(), lanes, "run", ports)
        return Fleet(experiment, plan, resolve_tools(), tmp_path)

    return made


def changed(name: str, **group: Any) -> Experiment:
    experiment = registry.load(name)
    return replace(experiment, group=replace(experiment.group, **group))


Made = Callable[[Experiment], Fleet]


@pytest.mark.parametrize("client", ["librdkafka", "java"])
@pytest.mark.parametrize("commit", ["sync", "external", "transaction"])
def test_a_member_reads_what_it_is_reported(
    client: str, commit: str, tmp_path: Path, fleet_of: Made
) -> None:
    experiment = changed("baseline", client=client, commit=commit)
    fleet = fleet_of(experiment)

    fleet.start_member("member-2", joins_when_told=True)

    config = ConsumerConfig.load(tmp_path / "journals" / "member-2.json")
    assert (config.client, config.commit) == (client, commit)
    assert (config.member, config.lane, config.joins_when_told) == ("member-2", "member-2", True)
    assert config.journal == str(fleet.members["member-2"].journal)
    assert config.session_timeout_ms == experiment.group.session_timeout_ms


def test_a_static_member_that_takes_anothers_place_has_its_instance_id(
    tmp_path: Path, fleet_of: Made
) -> None:
    fleet = fleet_of(changed("baseline", static=True))

    fleet.start_member("member-1")
    fleet.start_member("member-4", instance_id="member-1")

    for name in ("member-1", "member-4"):
        config = ConsumerConfig.load(tmp_path / "journals" / f"{name}.json")
        assert (config.member, config.instance_id) == (name, "member-1")


def test_only_members_of_another_librdkafka_run_in_its_environment(
    fleet_of: Made, started: list[str]
) -> None:
    fleet = fleet_of(
        changed("baseline", client_version="2.8.2", differing={2: {"client_version": ""}})
    )

    for name in ("member-1", "member-2"):
        fleet.start_member(name)
    fleet.start_producer()

    assert started == [str(wheels.python("2.8.2")), sys.executable, sys.executable]


def test_members_of_another_java_client_have_its_jars(
    tmp_path: Path, fleet_of: Made, started: list[str]
) -> None:
    fleet_of(changed("baseline", client="java", client_version="4.2.1")).start_member("member-1")

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


def test_producer_and_probe_read_what_they_are_reported(tmp_path: Path, fleet_of: Made) -> None:
    experiment = registry.load("group-apis")
    fleet = fleet_of(experiment)

    fleet.start_producer()
    fleet.start_probe("group-apis")

    producer = ProducerConfig.load(tmp_path / "journals" / "producer-1.json")
    assert (producer.lane, producer.partitions) == ("producers", experiment.load.partitions)
    probe = ProbeConfig.load(tmp_path / "journals" / "probe-group-apis.json")
    assert (probe.role, probe.probe, probe.group) == ("probe", "group-apis", "orders")
