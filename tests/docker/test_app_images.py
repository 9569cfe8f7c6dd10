"""Images as programs under test, on a real engine, next to brokers of both kinds.

The program is a Go binary alone in its image: there is no shell in it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import psutil
import pyarrow.parquet as pq
import pytest

from consumers.journal import read_journal
from harness.base.errors import BadInput, HarnessError, VoidRun
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.check.check import check
from harness.cluster import containers, images
from harness.cluster.plan import Plan, draw_plan
from harness.experiment import Cluster, Fault
from harness.experiment.app import App, Shows, Stop
from harness.history import manifest
from harness.provision.tools import resolve_tools
from harness.run.faults import KINDS
from harness.run.faults.targets import Target
from harness.run.fleet import Fleet
from harness.tables.engines.duckdb import DuckDb
from tests.docker.play import SECRET

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.docker]

ROOT = Path(__file__).resolve().parents[2]
SOON_S = 15.0
LONGEST_S = 200
SHOWS = Shows(stdout=r"done id=(?P<n>\d+)")
LANES = ("members", "producers", *(f"member-{number}" for number in range(1, 5)))
HOLDING = ("P1", "P2", "P3", "P5", "P6", "P10", "E01", "E02", "E05", "R21")
SEEN = {
    "embedded": ("exited of container", "paused of container", "after SIGTERM, with exit code 0"),
    "docker": ("ended", "was in the group"),
}


def programs(docker_engine: docker.DockerClient, run: str = "") -> list[dict[str, Any]]:
    """The containers of programs, of one run or of all."""
    labels = [images.PROGRAM_LABEL, f"{containers.RUN_LABEL}={run}" if run else ""]
    found: list[dict[str, Any]] = docker_engine.api.containers(
        all=True, filters={"label": list(filter(None, labels))}
    )
    return found


def rows(run_dir: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run_dir / "history" / f"{name}.parquet").to_pylist()
    return found


def places(rows: list[dict[str, Any]]) -> set[tuple[int, int]]:
    return {
        (row["partition"], offset)
        for row in rows
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }


def played(image: str, backend: str, results: Path) -> Path:
    command = ["-m", "tests.docker.play", image, backend, str(results)]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=LONGEST_S,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return Path(done.stdout.strip())


@pytest.mark.long(41)
@pytest.mark.parametrize("backend", ["embedded", "docker"])
def test_containers_are_members_like_processes(
    docker_engine: docker.DockerClient, tmp_path: Path, orders: str, backend: str
) -> None:
    run_dir = played(orders, backend, tmp_path)

    assert [] == programs(docker_engine, run_dir.name)
    found = manifest.read(run_dir)
    assert ("complete", docker_engine.images.get(orders).id) == (
        found["status"],
        found["image"]["id"],
    )
    assert orders == found["image"]["name"] == found["declared"]["app"]["image"]
    sent = [row for row in rows(run_dir, "sends") if row["outcome"] == "acknowledged"]
    assert places(sent) == places(rows(run_dir, "effects"))
    members = [row for row in rows(run_dir, "members") if row["client"] == "app"]
    assert {"kgo v1.22.2"} == {row["client_version"] for row in members}
    assert {0} == {row["exit_code"] for row in members if row["end"] != "killed"}
    evidence = " ".join(row["evidence"] or "" for row in rows(run_dir, "faults"))
    assert [] == [seen for seen in SEEN[backend] if seen not in evidence], evidence
    with closing(DuckDb()) as duckdb:
        judged = {
            row["rule"]: row["verdict"] for row in check(run_dir, duckdb, keep=False).verdicts
        }
    # After a deploy every process is younger than its session of 45 s, which P7 does not judge yet.
    holding = (*HOLDING, "P7") if backend == "embedded" else HOLDING
    assert {} == {rule: judged.get(rule) for rule in holding if judged.get(rule) != "HOLDS"}
    heard = [path for path in run_dir.rglob("*") if path.is_file()]
    assert [] == [path for path in heard if SECRET.encode() in path.read_bytes()]


@pytest.mark.long(32)
def test_the_watchdog_removes_the_containers_of_a_killed_harness(
    docker_engine: docker.DockerClient, tmp_path: Path, orders: str
) -> None:
    command = ["-m", "harness", "run", "baseline", "--image", orders, "--results", str(tmp_path)]
    others = {each["Id"] for each in programs(docker_engine)}
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, stderr=subprocess.DEVNULL) as run:
        try:
            wait_until(
                "three containers",
                lambda: len({each["Id"] for each in programs(docker_engine)} - others) == 3,
                timeout_s=LONGEST_S,
            )
        finally:
            run.kill()
    name = (tmp_path / "baseline" / "latest").resolve().name
    wait_until("end of all containers", lambda: not programs(docker_engine, name), timeout_s=60)


# From here on there are containers, and no brokers.


def app_of(image: str, *command: str, **more: Any) -> App:
    return App(**{"name": "orders", "image": image, "command": command, "folder": "/", **more})


@pytest.fixture
def plan(request: pytest.FixtureRequest) -> Plan:
    with Ports() as ports:
        return draw_plan(Cluster(), LANES, f"test-{os.getpid()}-{id(request)}", ports)


FleetOf = Callable[[App], Fleet]


@pytest.fixture
def fleet_of(plan: Plan, tmp_path: Path) -> Iterator[FleetOf]:
    for name in ("journals", "logs"):
        (tmp_path / name).mkdir()
    made: list[Fleet] = []

    def of(app: App) -> Fleet:
        experiment = with_app(registry.load("baseline"), app)
        made.append(Fleet(experiment, plan, resolve_tools(), tmp_path))
        return made[-1]

    yield of
    for fleet in made:
        with suppress(HarnessError):  # what a test has broken
            fleet.kill_all()


def lines(folder: Path, name: str = "member-1") -> list[str]:
    return (folder / "logs" / f"{name}.log").read_text().splitlines()


def await_line(folder: Path, begins: str) -> str:
    return wait_until(
        f"a line {begins!r}",
        lambda: [line for line in lines(folder) if line.startswith(begins)],
        timeout_s=SOON_S,
        saw=lambda: str(lines(folder)[-3:]),
    )[0]


def frames(folder: Path, kind: str) -> list[dict[str, Any]]:
    journal = read_journal(folder / "journals" / "programs.journal")
    return [frame for frame in journal.frames if frame["kind"] == kind]


def test_what_a_container_prints_is_read_while_it_runs_and_none_of_it_is_missing(
    docker_engine: docker.DockerClient,
    fleet_of: FleetOf,
    tmp_path: Path,
    orders: str,
) -> None:
    who = {"WHO": "{member}/{group}"}
    fleet = fleet_of(app_of(orders, "print", "3000", effects=SHOWS, environment=who))
    member = fleet.start_member("member-1")

    assert "ready member-1 member-1/orders" == await_line(tmp_path, "ready")
    wait_until("effects", lambda: frames(tmp_path, "shown"), timeout_s=SOON_S)
    assert member.running
    (container,) = programs(docker_engine, fleet._plan.run)
    whole = docker_engine.api.inspect_container(container["Id"])
    assert ("host", "json-file", 0) == (
        whole["HostConfig"]["NetworkMode"],
        whole["HostConfig"]["LogConfig"]["Type"],
        whole["HostConfig"]["Memory"],
    )
    member.terminate()
    wait_until("its end", lambda: not member.running, timeout_s=SOON_S)
    assert 0 == member.exit_code
    assert list(range(3_000)) == [
        int(line.split()[1].removeprefix("id=")) for line in lines(tmp_path) if "done" in line
    ]
    fleet.kill_all()
    assert [] == programs(docker_engine, fleet._plan.run)
    (ended,) = frames(tmp_path, "program_ended")
    assert member.started_at < ended["ended_at"] <= ended["at"]
    assert member.instance.ended_at == ended["ended_at"]


def scene_of(fleet: Fleet) -> Any:
    return SimpleNamespace(fleet=fleet, follow=lambda: None)


def test_a_container_stands_still_and_goes_on_and_is_killed_while_it_does(
    fleet_of: FleetOf, tmp_path: Path, orders: str
) -> None:
    fleet = fleet_of(app_of(orders, "idle"))
    member = fleet.start_member("member-1")
    await_line(tmp_path, "beat")
    freeze, target = KINDS["freeze-consumer"], Target("member", "member-1")
    fault = Fault(kind="freeze-consumer", target="member 1", lasts_s=1)

    freeze.inject(scene_of(fleet), fault, target)
    evidence = freeze.prove(scene_of(fleet), fault, target)
    assert evidence.took_effect
    assert "the engine says paused of container" in evidence.text
    before = len(lines(tmp_path))
    freeze.heal(scene_of(fleet), fault, target)
    wait_until("more lines", lambda: len(lines(tmp_path)) > before, timeout_s=SOON_S)
    assert not member.instance.frozen

    freeze.inject(scene_of(fleet), fault, target)
    kill = KINDS["kill-consumer"]
    kill.inject(scene_of(fleet), Fault(kind="kill-consumer", target="member 1"), target)
    assert kill.prove(scene_of(fleet), fault, target).took_effect
    assert -signal.SIGKILL == member.exit_code
    assert not psutil.pid_exists(member.instance.pid)


@pytest.mark.parametrize(("what", "dropped"), [("deaf", True), ("idle", False)])
def test_who_does_not_hear_its_signal_as_pid_1_is_known_before_it_is_killed(
    fleet_of: FleetOf, tmp_path: Path, orders: str, what: str, *, dropped: bool
) -> None:
    fleet = fleet_of(app_of(orders, what, stop=Stop(grace_s=0.5)))
    member = fleet.start_member("member-1")
    await_line(tmp_path, "beat")

    fleet.end_in_order(member)

    assert member.ending is not None
    assert dropped == member.ending.killed
    heard = frames(tmp_path, "program_told")
    assert ("SIGTERM", dropped) == (heard[0]["what"], heard[0]["dropped"])


def test_a_container_that_another_program_removes_voids_the_run(
    docker_engine: docker.DockerClient, fleet_of: FleetOf, plan: Plan, orders: str
) -> None:
    fleet = fleet_of(app_of(orders, "idle"))
    member = fleet.start_member("member-1")
    (container,) = programs(docker_engine, plan.run)
    docker_engine.api.remove_container(container["Id"], force=True)

    def met() -> bool:
        return not member.running

    with pytest.raises(HarnessError, match="of member-1 was removed by another program"):
        wait_until("a refusal", met, timeout_s=SOON_S)


def test_a_run_removes_its_own_containers_alone(
    docker_engine: docker.DockerClient, plan: Plan, fleet_of: FleetOf, orders: str
) -> None:
    fleet = fleet_of(app_of(orders, "idle"))
    fleet.start_member("member-1")
    other = images.ProgramImage(app_of(orders, "idle"), f"{plan.run}-other")

    other.remove()

    assert 1 == len(programs(docker_engine, plan.run))
    assert fleet.members["member-1"].running


def test_a_watchdog_removes_what_is_frozen_too_and_what_it_is_reported_to(
    docker_engine: docker.DockerClient,
    plan: Plan,
    fleet_of: FleetOf,
    tmp_path: Path,
    orders: str,
) -> None:
    fleet = fleet_of(app_of(orders, "idle"))
    for name in ("member-1", "member-2"):
        fleet.start_member(name)
    fleet.members["member-2"].instance.freeze()

    watchdog = ["-m", "harness.run.watchdog", str(tmp_path), plan.run, "embedded", "images"]
    subprocess.run([sys.executable, *watchdog], cwd=ROOT, input=b"end", check=True)

    assert [] == programs(docker_engine, plan.run)


@pytest.mark.parametrize(
    "more", [{"entrypoint": ("/nothing",)}, {"entrypoint": ("sh", "-c", "true")}]
)
def test_a_command_that_is_not_in_the_image_voids_the_run(
    fleet_of: FleetOf, orders: str, more: Any
) -> None:
    fleet = fleet_of(app_of(orders, **more))

    with pytest.raises(VoidRun, match=r"orders cannot be started from the image .* is in it"):
        fleet.start_member("member-1")


def test_an_image_that_says_nothing_to_run_is_refused(
    docker_engine: docker.DockerClient, image_of: Callable[[str], str]
) -> None:
    silent = app_of(image_of(""))

    with pytest.raises(BadInput, match=r"has neither an entry point nor a command"):
        images.look_up(docker_engine, silent)
    assert images.look_up(docker_engine, replace(silent, command=("/orders",))).id


@pytest.mark.parametrize(
    ("image", "host", "said"),
    [
        ("kafka-chaos-test/none:0", None, "is not here and cannot be pulled"),
        ("127.0.0.1:9/orders:1.4", None, "is not here and cannot be pulled"),
        ("orders", "unix:///nowhere/docker.sock", "name the command that the image runs instead"),
    ],
)
def test_an_image_that_cannot_be_had_is_one_sentence_before_anything_starts(
    tmp_path: Path, image: str, host: str | None, said: str
) -> None:
    environment = {**os.environ, **({"DOCKER_HOST": host} if host else {})}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "try", "--image", image, "--results", str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S,
    )  # fmt: skip

    assert (3, "") == (done.returncode, done.stdout)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("everyday/*"))
