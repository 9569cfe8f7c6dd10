"""About how long a run takes, and how much disk: what it waits for and writes is added to it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from harness.base.errors import Exit, SetupError
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.experiment import Experiment, Fault, Group, Limits, Load, Probe
from harness.experiment.app import App
from harness.run import start
from harness.run.estimate import drains_within_s, estimate_s, growth_bytes
from tests.unit.conftest import Said

APP = App(name="orders", command=("x",), folder="/", dependencies={"DB": "db:1"})
KILL = Fault(kind="kill-broker", target="broker 1", at_s=3, jitter_s=0, lasts_s=10)


def estimated(*faults: Fault, **more: object) -> float:
    experiment = Experiment(claim="x.", faults=faults, duration_s=0)
    return estimate_s(replace(experiment, **more))  # type: ignore[arg-type]


def test_faults_one_by_one_add_up_and_others_overlap() -> None:
    both = KILL, replace(KILL, target="broker 2")

    assert estimated(KILL) == estimated(*both)
    assert estimated(*both, one_by_one=True) >= estimated(KILL) + 13


def test_a_probe_beside_the_faults_takes_no_time_of_its_own() -> None:
    probe = Probe(name="without-replica", beside=True)

    assert estimated(KILL) == estimated(KILL, probes=(probe,))
    assert estimated() < estimated(probes=(replace(probe, beside=False),))


def test_a_crash_is_waited_for_until_its_session_ends() -> None:
    crash = Fault(kind="kill-consumer", target="member 1", jitter_s=0)
    short, long = (Group(session_timeout_ms=session_ms) for session_ms in (6_000, 16_000))
    took = [estimated(crash, KILL, one_by_one=True, group=group) for group in (short, long)]

    assert pytest.approx(10) == took[1] - took[0]


def test_each_process_of_a_deploy_is_a_step() -> None:
    deploy = Fault(kind="deploy", target="group")
    took = [estimated(deploy, group=Group(members=members)) for members in (3, 10, 30)]

    assert all(less < more for less, more in pairwise(took))
    assert took[2] - took[1] == pytest.approx(2 * (took[1] - took[0]) * 10 / 7)
    at_once = replace(deploy, how="at once")
    assert estimated(at_once) == estimated(at_once, group=Group(members=30))
    assert estimated(at_once) < took[0]


@pytest.mark.parametrize(
    ("name", "least_s", "most_s"),
    [("everyday", 130, 180), ("rolling-deploy", 60, 90), ("slow-dependency", 130, 180)],
)
def test_programs_take_what_they_were_seen_to_take(name: str, least_s: int, most_s: int) -> None:
    assert least_s <= estimate_s(with_app(registry.load(name), APP)) <= most_s


@pytest.mark.parametrize(
    ("members", "client", "protocol", "took_s"),
    [
        (3, "librdkafka", "eager", 36),
        (10, "librdkafka", "cooperative", 49),
        (30, "librdkafka", "eager", 100),
        (30, "librdkafka", "consumer", 155),
        (3, "java", "eager", 47),
        (10, "java", "cooperative", 117),
    ],
)
def test_a_rolling_deploy_is_reported_about_right(
    members: int, client: str, protocol: str, took_s: float
) -> None:
    """Of recorded runs on two cores."""
    group = Group(members=members, client=client, protocol=protocol)
    estimated_s = estimate_s(replace(registry.load("rolling-deploy"), group=group))

    assert 0.5 * took_s <= estimated_s <= 1.5 * took_s


def test_a_crash_is_waited_for_where_faults_come_by_the_clock_too() -> None:
    crash = registry.load("consumer-crash")
    took = [
        estimate_s(registry.with_settings(crash, {"session_timeout_ms": session_ms}))
        for session_ms in ("6000", "10000", "45000")
    ]

    assert took[0] == took[1]  # what is declared takes longer
    assert 30 < took[2] - took[0] < 40


@pytest.mark.parametrize(
    ("promised_s", "waits_s"), [(None, 60), (0, 60), (30, 60), (90, 90), (120.5, 120.5)]
)
def test_who_promises_to_need_longer_for_the_end_gets_longer(
    promised_s: float | None, waits_s: float
) -> None:
    limits = Limits(drained_s=promised_s)
    experiment = registry.load("broker-kill")
    ours = replace(experiment, limits=limits)
    of_app = with_app(experiment, replace(APP, limits=limits))

    assert (waits_s, waits_s) == (drains_within_s(ours), drains_within_s(of_app))


GB = 10**9


def soak(duration_s: float, records_per_s: int = 300) -> float:
    """What it writes, in bytes."""
    load = Load(records_per_s=records_per_s)
    return growth_bytes(replace(registry.load("soak"), duration_s=duration_s, load=load))


def test_the_disk_that_is_needed_grows_with_time_and_with_the_load() -> None:
    hour, day = soak(3_600), soak(86_400)

    assert 23 < day / hour < 24.5
    assert 10 * GB < day < 30 * GB
    # Nearly all of it is records then, which are in the logs of three brokers.
    assert 2 * 7_200 * 20_000 * 3 * 100 > soak(7_200, 20_000) > 50 * GB
    # Of 930 s, measured: journals, logs, and the brokers' data of six partitions and offsets.
    wrote = 17_100_000 + 28_300_000 + 3 * (36_730_000 + 1_697_000)
    assert wrote < soak(930) < 2 * wrote
    assert growth_bytes(registry.load("baseline")) < GB / 20  # of seconds


def test_a_program_writes_more_than_our_members_do() -> None:
    """Its fetches are logged: 118 and 140 kB/s, measured of three copies of two programs."""
    hour = Experiment(claim="x.", duration_s=3_600)
    more = growth_bytes(replace(hour, app=APP, group=Group(client="app"))) - growth_bytes(hour)

    assert 3_600 * 118_000 < more < 3_600 * 400_000


def test_a_long_soak_on_a_small_disk_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    begins = Mock(side_effect=SetupError("the run would begin now"))
    monkeypatch.setattr(start, "ExperimentRun", begins)
    monkeypatch.setattr(start, "sweep", lambda _say: None)
    disk = SimpleNamespace(total=2**50, used=0, free=5 * GB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: disk)

    refused = said(f"soak --for 24h --results {tmp_path}", Exit.FAILED)
    assert "only 5.0 GB are free" in refused
    assert "make room, or choose another --results, or a shorter run" in refused
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]

    assert "the run would begin now" in said(f"soak --for 1h --results {tmp_path}", Exit.FAILED)
