"""Ports, probes, waits, processes: what everything else stands on."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from harness.base import processes
from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.ports import LAST_PORT, LOOPBACK, Ports
from harness.base.wait import wait_until
from harness.cluster import compose, ping
from harness.cluster.plan import IN_CONTAINERS, draw_plan
from harness.cluster.proxies import Toxiproxy
from harness.experiment import Cluster


def listening(port: int = 0) -> socket.socket:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((LOOPBACK, port))
    server.listen()
    return server


def test_a_held_port_can_be_listened_on_again_and_again() -> None:
    with Ports() as ports:
        port = ports.take()
        for _ in range(2):
            with listening(port), socket.create_connection((LOOPBACK, port), timeout=1):
                pass


def test_a_taken_port_is_named() -> None:
    with (
        listening() as server,
        Ports(server.getsockname()[1]) as ports,
        pytest.raises(ClusterError, match="is taken by another program"),
    ):
        ports.take()


def test_two_runs_cannot_count_from_the_same_port() -> None:
    """Nothing listens yet on what the first one holds."""
    with Ports() as free:
        base = free.take()
    with Ports(base) as first:
        assert base == first.take()
        with Ports(base) as second, pytest.raises(ClusterError, match=f"port {base} on"):
            second.take()
    with Ports(base) as third:
        assert base == third.take()


def test_there_is_no_port_after_the_last_one() -> None:
    with Ports(LAST_PORT + 1) as ports, pytest.raises(ClusterError, match="a lower --port-base"):
        ports.take()


@pytest.mark.parametrize(
    ("behaviour", "outcome"), [("answer", "answered"), ("silence", "silent"), ("close", "cut")]
)
def test_a_probe_has_answers_silence_and_cuts_apart(behaviour: str, outcome: str) -> None:
    with listening() as server:
        done = threading.Event()

        def serve() -> None:
            link, _ = server.accept()
            with link:
                link.recv(100)
                if behaviour == "answer":
                    link.sendall(b"\0\0\0\6abcdef")
                if behaviour != "close":
                    done.wait(5)

        serving = threading.Thread(target=serve)
        serving.start()
        answer = ping.ask(server.getsockname()[1], timeout_s=0.3)
        done.set()
        serving.join()

    assert outcome == answer.outcome


def test_a_probe_of_a_dead_port_is_refused() -> None:
    with Ports() as ports:
        assert "refused" == ping.ask(ports.take(), timeout_s=1).outcome


def test_a_wait_that_fails_says_what_was_seen() -> None:
    with pytest.raises(WaitTimeout, match=r"no third member after 0\.01 s: 2 members"):
        wait_until("third member", lambda: False, timeout_s=0.01, saw=lambda: "2 members")


def test_a_marked_process_is_found_and_ended_even_when_stopped(tmp_path: Path) -> None:
    child = processes.spawn(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        run="test-marks",
        log=tmp_path / "log",
        stdin=subprocess.PIPE,
    )
    psutil.Process(child.pid).suspend()

    found = wait_until("marked process", lambda: processes.marked("test-marks"), timeout_s=5)
    assert [child.pid] == [process.pid for process, _, _ in found]
    assert 1 == processes.end_run("test-marks")
    assert -signal.SIGKILL == child.wait(timeout=5)
    assert child.stdin is not None
    child.stdin.close()


@pytest.fixture
def held_run(tmp_path: Path) -> Iterator[Path]:
    """The folder of a run that is being played; what carries its mark is ended."""
    folder = tmp_path / f"run-{os.getpid()}"
    (folder / "logs").mkdir(parents=True)
    processes.hold(folder)
    yield folder
    processes.end_run(folder.name)


def started_without_environment(folder: Path) -> subprocess.Popen[bytes]:
    log, marks = folder / "logs" / "member-2.log", {processes.MEMBER_MARK: "member-2"}
    command = ["env", "-i", "sh", "-c", "echo $$; exec sleep 60"]
    started = processes.spawn(command, run=folder.name, log=log, environment=marks)
    wait_until("start of the program", log.read_text, timeout_s=10)
    return started


def test_a_program_that_loses_its_environment_is_known_by_its_log(held_run: Path) -> None:
    with started_without_environment(held_run) as child:
        found = processes.marked(held_run.name)
        assert [(child.pid, held_run.name)] == [(each.pid, run) for each, run, _ in found]
        assert [child.pid] == [each.pid for each in processes.of_member(held_run.name, "member-2")]
        assert held_run.name not in processes.orphans()
        assert 1 == processes.end_run(held_run.name)


def test_a_log_of_a_folder_that_no_one_holds_is_no_mark(held_run: Path) -> None:
    with started_without_environment(held_run) as child:
        (held_run / "owner").unlink()

        assert [] == processes.marked(held_run.name)
        child.kill()


def test_what_gets_its_mark_a_moment_later_is_ended_too(tmp_path: Path) -> None:
    """As a child has it that was just being forked when its parent was killed."""
    run = f"late-{os.getpid()}"
    later = f"sleep 0.5; {processes.RUN_MARK}={run} exec sleep 60"
    with subprocess.Popen(["sh", "-c", later]) as late:
        assert 1 == processes.end_run(run, quiet_s=5)
        assert -signal.SIGKILL == late.wait(timeout=10)


def test_what_no_one_waits_for_is_gone_all_the_same() -> None:
    """In a container whose first process waits for no child, a zombie stays one."""
    starts = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); "
    command = [sys.executable, "-c", starts + "sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        begun = time.monotonic()

        assert 1 == processes.end([child], patience_s=60)

        assert time.monotonic() - begun < 30
        assert psutil.STATUS_ZOMBIE == child.status()


def test_only_what_a_dead_harness_left_is_an_orphan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = processes.spawn(["sleep", "30"], run="alive", log=tmp_path / "log")
    monkeypatch.setenv(processes.OWNER_MARK, "999999999:0.00")
    left = processes.spawn(["sleep", "30"], run="left", log=tmp_path / "log")
    try:
        wait_until("left process", lambda: "left" in processes.orphans(), timeout_s=5)
        assert "alive" not in processes.orphans()
    finally:
        processes.end([psutil.Process(ours.pid), psutil.Process(left.pid)])
        ours.wait()
        left.wait()


@pytest.fixture
def zombie() -> Iterator[str]:
    """The owner token of a harness that was killed, and whose parent has not waited for it."""
    says = "from harness.base.processes import owner_token; print(owner_token(), flush=True); "
    command = [sys.executable, "-c", f"{says}import sys; sys.stdin.read()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        token = harness.stdout.readline().strip()
        assert processes.owner_alive(token)
        harness.kill()
        ended = psutil.Process(harness.pid)
        wait_until("end of it", lambda: ended.status() == psutil.STATUS_ZOMBIE, timeout_s=10)
        yield token


def test_what_a_harness_left_that_no_one_waits_for_is_an_orphan(
    zombie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under an IDE, or a script that is the first process of a container."""
    (tmp_path / "owner").write_text(zombie)
    run = f"left-{os.getpid()}"
    monkeypatch.setenv(processes.OWNER_MARK, zombie)
    with processes.spawn(["sleep", "30"], run=run, log=tmp_path / "log") as left:
        wait_until("left process", lambda: run in processes.orphans(), timeout_s=5)
        left.kill()

    assert not processes.owner_alive(zombie)
    assert not processes.held(tmp_path)


@pytest.mark.parametrize("owner", ["", "harness", "12:", "12:3@boot of\nanother"])
def test_a_process_that_does_not_say_whose_it_is_stays(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may have copied a member's environment to look for a fault, and not all of it."""
    run = f"copied-{os.getpid()}"
    environment = {**os.environ, processes.RUN_MARK: run, processes.OWNER_MARK: owner}
    with subprocess.Popen(["sleep", "30"], env=environment) as copied:
        wait_until("its mark", lambda: processes.marked(run), timeout_s=5)
        orphans = processes.orphans()
        copied.kill()

    assert run not in orphans
    assert not processes.owner_dead(owner)


@pytest.mark.parametrize("hides", [PermissionError, FileNotFoundError])
def test_a_harness_of_a_user_whose_processes_are_hidden_lives(
    hides: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hidepid=1 an entry of /proc cannot be read, with hidepid=2 it seems not to be there."""

    def hidden(_pid: int) -> list[str]:
        raise hides

    token = processes.owner_token()
    monkeypatch.setattr(processes, "_stat", hidden)

    assert processes.owner_alive(token)
    if hides is FileNotFoundError:
        assert not processes.owner_alive("999999999:1")


def test_only_scratch_folders_of_dead_processes_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = processes.scratch_folder("spark")
    left = tmp_path / "kafka-chaos-spark-left"
    half_made = tmp_path / "kafka-chaos-spark-half-made"
    being_written = tmp_path / "kafka-chaos-spark-being-written"
    anybodys = tmp_path / "anybodys"
    for folder in (left, half_made, being_written, anybodys):
        folder.mkdir()
    for folder in (left, anybodys):
        (folder / "owner").write_text("999999999:0.00")
    (being_written / "owner").touch()

    assert 1 == processes.sweep_scratch()
    assert not left.exists()
    assert sorted([anybodys, being_written, half_made, ours]) == sorted(tmp_path.iterdir())


def test_a_scratch_folder_goes_with_what_it_was_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with processes.scratch("sql") as folder:
        assert processes.held(folder)
        (folder / "spilled").mkdir()

    assert [] == list(tmp_path.iterdir())


def test_who_a_folder_is_of_is_never_there_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path.replace

    def replace(written: Path, target: Path) -> Path:
        assert processes.owner_token() == written.read_text()
        assert not target.exists()
        return before(written, target)

    monkeypatch.setattr(Path, "replace", replace)
    processes.hold(tmp_path)

    assert ["owner"] == [path.name for path in tmp_path.iterdir()]
    assert processes.held(tmp_path)


def test_a_harness_lives_on_whatever_the_clock_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    token, booted_at = processes.owner_token(), psutil.boot_time()
    # What psutil makes of /proc/stat, which the kernel writes anew after each step.
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted_at + 3_600)

    assert processes.owner_alive(token)


@pytest.mark.parametrize("name", [") R 1 2 (3", "a b"])
def test_a_harness_may_have_any_name(name: str) -> None:
    comm = Path("/proc/self/comm")
    before, token = comm.read_text(), processes.owner_token()
    comm.write_text(name)
    try:
        assert name == comm.read_text().strip()
        assert processes.owner_alive(token)
    finally:
        comm.write_text(before.strip())


ELSEWHERE = {"_boot": "boot", "_namespace": "#1"}


@pytest.mark.parametrize(
    ("token", "here", "alive"),
    [
        ("{own}", {}, True),
        ("{pid}:{later}@{boot}{namespace}", {}, False),  # another process of the same number
        ("{own}", {"_boot": "another"}, False),
        *[(text, {}, False) for text in ("", "harness", ":", "999999999:1@boot", "-1:1@boot")],
        # Who counts pids in another namespace is left alone.
        ("999999999:1@boot#2", ELSEWHERE, True),
        ("999999999:1@#2", ELSEWHERE, True),  # which boot it was of is hidden there
        ("999999999:1@boot#1", ELSEWHERE, False),
        ("999999999:1@another#2", ELSEWHERE, False),
        ("{own}", {"_boot": "", "_namespace": "#1"}, True),  # and here
        # One without a namespace is compared without it.
        ("{pid}:{ticks}@{boot}", {"_namespace": "#1"}, True),
        ("{pid}:{ticks}0@{boot}", {"_namespace": "#1"}, False),
    ],
)
def test_a_token_says_whether_its_harness_lives(
    token: str, here: dict[str, str], alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = processes.owner_token()
    pid, _, start = own.partition(":")
    ticks, _, place = start.partition("@")
    boot, *namespace = place.partition("#")
    assert (str(os.getpid()), True) == (pid, bool(boot))
    for name, value in here.items():
        monkeypatch.setattr(processes, name, partial(str, value))
    later, parts = int(ticks) + 1, {"pid": pid, "ticks": ticks, "boot": boot}

    given = token.format(own=own, later=later, namespace="".join(namespace), **parts)
    assert alive == processes.owner_alive(given)
    assert processes.owner_token().endswith(here.get("_namespace", ""))


class _Asked(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Say nothing."""


def test_toxiproxy_is_asked_past_a_proxy_of_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{LOOPBACK}:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with HTTPServer((LOOPBACK, 0), _Asked) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            assert [] == Toxiproxy(server.server_port).toxics("broker-1.members")
        finally:
            server.shutdown()
            serving.join()


def test_clients_of_a_lane_stay_behind_its_proxies() -> None:
    with Ports() as ports:
        plan = draw_plan(Cluster(), ("members", "producers", "member-2"), "run", ports)
        broker = plan.brokers[1]
        properties = plan.properties(broker, Path("data"))
        lane = next(item for item in broker.listeners if item.lane == "member-2")

        assert f"LANE_MEMBER_2://{LOOPBACK}:{lane.port}" in properties["listeners"]
        assert f"LANE_MEMBER_2://{LOOPBACK}:{lane.proxy_port}" in properties["advertised.listeners"]
        assert f"{LOOPBACK}:{lane.proxy_port}" in plan.bootstrap("member-2")
        assert 9 == len(plan.proxies())
        assert "PEERS" == properties["inter.broker.listener.name"]


def test_a_node_in_a_container_has_a_name_for_each_network_and_is_published_on_loopback() -> None:
    with Ports() as ports:
        plan = draw_plan(Cluster(), ("members",), "run", ports, IN_CONTAINERS)
        broker = plan.brokers[1]
        properties = plan.properties(broker, Path("data"))
        advertised = dict(
            item.split("://") for item in properties["advertised.listeners"].split(",")
        )

    assert f"broker-2.peers:{broker.peer_port}" == advertised["PEERS"]
    assert {LOOPBACK} == {
        host.split(":")[0] for name, host in advertised.items() if name != "PEERS"
    }
    assert f"broker-2.lanes:{broker.listeners[0].port}" == plan.proxies()[1]["upstream"]
    assert properties["controller.quorum.voters"].startswith("101@controller-101.peers:")


@pytest.mark.parametrize(
    ("cluster", "lanes", "says"),
    [
        (Cluster(), ("members", "producers", "member-2"), "a lane of its own for member-2"),
        (Cluster(brokers=1), ("members", "producers"), "needs 1 broker and 1 controller"),
        (Cluster(controllers=3), ("members", "producers"), "needs 3 brokers and 3 controllers"),
    ],
)
def test_what_the_compose_cluster_has_not_is_refused_before_anything_is_touched(
    cluster: Cluster, lanes: tuple[str, ...], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        compose.plan_of(cluster, lanes, "run")


def test_a_one_broker_cluster_needs_no_second_replica() -> None:
    with Ports() as ports:
        plan = draw_plan(Cluster(brokers=1), ("members",), "run", ports)

    assert "1" == plan.settings["offsets.topic.replication.factor"]
    assert "1" == plan.settings["min.insync.replicas"]


def test_the_last_order_arrives_and_ends_the_input() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        processes.tell_last(process, "close")
        assert process.stdout is not None
        assert process.stdout.read() == b"close\n"
    assert process.returncode == 0


def test_a_last_order_to_one_that_is_gone_is_nothing_to_speak_of() -> None:
    process = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    process.wait()
    processes.tell_last(process, "close")
    assert process.stdin is not None
    assert process.stdin.closed
