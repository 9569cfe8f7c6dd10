"""Which versions are set up before anything is played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import BadInput, SetupError
from harness.catalogue import registry
from harness.experiment import BACKENDS, Cluster, Experiment, Group
from harness.provision import kafka, setup_steps, wheels
from harness.run.screen import Screen
from harness.run.start import Order, bring_versions, play_run

BASELINE = registry.load("baseline")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is set up; of the usual Kafka and 4.3.1 all is there, of 4.2.2 the jars."""
    found: list[str] = []
    monkeypatch.setattr(
        kafka, "is_set_up", lambda version: version in (kafka.DEFAULT_VERSION, "4.3.1")
    )
    monkeypatch.setattr(kafka, "has_jars", lambda version: version in ("4.3.1", "4.2.2"))
    monkeypatch.setattr(
        setup_steps, "ensure", lambda version, *, late: found.append(f"brokers {version} {late}")
    )
    monkeypatch.setattr(
        setup_steps, "ensure_client", lambda version: found.append(f"client {version}")
    )
    monkeypatch.setattr(
        setup_steps, "ensure_wheel", lambda version: found.append(f"wheel {version}")
    )
    monkeypatch.setattr(wheels, "is_set_up", lambda version: version == "2.8.2")
    return found


def with_versions(kafka_version: str, *clients: str) -> Experiment:
    """Members of these versions of Java's client, the first of them the usual one."""
    differing = {
        number: {"client_version": version} for number, version in enumerate(clients[1:], start=1)
    }
    group = Group(client="java", client_version=clients[0], differing=differing)
    return replace(BASELINE, cluster=Cluster(kafka_version=kafka_version), group=group)


def test_what_is_there_is_not_set_up_again(asked: list[str]) -> None:
    bring_versions([with_versions("4.3.1", ""), with_versions("4.3.1", "4.2.2", "4.3.1")])

    assert asked == []


def test_what_an_earlier_run_left_is_done_first(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_steps, "do_the_rest", lambda: asked.append("the rest"))

    bring_versions([with_versions("4.1.2", "")])

    assert asked == ["the rest", "brokers 4.1.2 False"]


def test_each_version_is_brought_once_for_all_runs(asked: list[str]) -> None:
    bring_versions(
        [
            with_versions("4.1.2", ""),
            with_versions("4.1.2", "2.8.2"),
            with_versions("3.8.1", "2.8.2", "3.0.2"),
        ]
    )

    assert asked == [
        *("brokers 3.8.1 False", "brokers 4.1.2 False"),
        *("client 2.8.2", "client 3.0.2"),
    ]


def test_both_releases_of_an_upgrade_are_brought(asked: list[str]) -> None:
    upgraded = Cluster(kafka_version="4.2.2", upgraded_from="4.1.2")

    bring_versions([replace(BASELINE, cluster=upgraded)])

    assert asked == ["brokers 4.1.2 False", "brokers 4.2.2 False"]


def test_a_version_of_librdkafka_is_brought_as_a_wheel(asked: list[str]) -> None:
    group = Group(client_version="2.8.2", differing={2: {"client_version": "2.3.0"}})

    bring_versions([replace(BASELINE, group=group)])

    assert asked == ["wheel 2.3.0"]


def test_what_brokers_brought_does_for_clients_too(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "has_jars", lambda version: f"brokers {version} False" in asked)

    bring_versions([with_versions("4.1.2", "4.1.2")])

    assert asked == ["brokers 4.1.2 False"]


def test_a_version_that_is_none_reaches_those_that_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"Kafka 3\.6\.2 is too old"):
        bring_versions([with_versions("3.6.2", "")])


@pytest.mark.parametrize(
    ("name", "settings", "advice"),
    [
        ("baseline", {"backend": "docker"}, "or say --backend embedded, which runs the brokers as"),
        ("split-brain-attempt", {}, "or choose another experiment, since this one needs brokers"),
    ],
)
def test_without_an_engine_only_what_works_is_advised(
    name: str,
    settings: dict[str, str],
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    experiment = registry.with_settings(registry.load(name), settings)
    own = replace(experiment, backends=BACKENDS)  # which does not say that it needs containers

    for each in (experiment, own):
        with pytest.raises(SetupError, match=f"no Docker engine answers .* start one, {advice}"):
            play_run(Order(name, each, tmp_path / "results", seed=1), Screen())
    assert not (tmp_path / "results").exists()
