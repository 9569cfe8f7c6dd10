"""Processes of a program under test: started, watched, ended with all that they started."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from consumers.journal import read_journal
from harness.base import processes
from harness.base.errors import HarnessError, VoidRun
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.cluster.dependency_proxies import Dependencies
from harness.cluster.plan import Plan, draw_plan
from harness.experiment import Cluster, Experiment
from harness.experiment.app import App, Records, Shows, Stop
from harness.history.whose import SHARED
from harness.provision.tools import Tools, resolve_tools
from harness.run import app_processes as programs_module
from harness.run.app_processes import MOST, MOST_AT_FIRST, AppProcesses, Restarts, build, variables
from harness.run.fleet import Fleet
from harness.run.member import Member
from harness.run.named import naming_of_app, runs
from harness.run.record import first_record
from harness.run.sink import Sink
from harness.run.why import cannot_run

SOON_S = 10.0
LANES = ("members", "producers", *(f"member-{number}" for number in range(1, 6)))
PARTITIONS = 3
READY = "print('ready', flush=True); time.sleep(60)"
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def python(*lines: str) -> tuple[str, ...]:
    """The command of a program that is these lines."""
    return (sys.executable, "-c", "\n".join(("import os, signal, subprocess, sys, time", *lines)))


def app(*lines: str, **more: Any) -> App:
    return App(**{"name": "orders", "command": python(*lines), "folder": "/", **more})


def held_up(run_dir: Path) -> tuple[Path, str]:
    """A line that waits for a file, and that file."""
    file = run_dir / "go on"
    return file, f"while not os.path.exists({str(file)!r}): time.sleep(0.01)"


def child(*lines: str) -> str:
    """A line that starts another process, which is these lines."""
    return f"subprocess.Popen({list(python(*lines))!r})"


@pytest.fixture
def plan(request: pytest.FixtureRequest) -> Plan:
    """A plan of nothing; its run's mark is this test's alone."""
    with Ports() as ports:
        return draw_plan(Cluster(), LANES, f"test-{os.getpid()}-{id(request)}", ports)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    for name in ("journals", "logs"):
        (tmp_path / name).mkdir()
    return tmp_path


Start = Callable[..., AppProcesses]


@pytest.fixture
def start(plan: Plan, run_dir: Path) -> Iterator[Start]:
    """Starts member-1 of an app; on this lane, with this instance id."""
    made: list[AppProcesses] = []

    def start(
        app: App, lane: str = "member-1", instance: str | None = None, **changes: Any
    ) -> AppProcesses:
        made.append(AppProcesses(app, plan, run_dir, PARTITIONS))
        vars(made[-1]).update(changes)
        made[-1].start("member-1", lane, instance)
        return made[-1]

    yield start
    processes.end_run(plan.run)
    for each in made:
        with suppress(VoidRun):  # what a test has broken
            each.stop()
        for seen in each._seen:
            seen.member.instance.wait(SOON_S)


def frames(run_dir: Path, kind: str) -> list[dict[str, Any]]:
    journal = read_journal(run_dir / "journals" / "programs.journal")
    return [frame for frame in journal.frames if frame["kind"] == kind]


def ended(run_dir: Path) -> dict[str, Any]:
    """The frame of the one process that has ended."""
    return wait_until(
        "end of a program", lambda: frames(run_dir, "program_ended"), timeout_s=SOON_S
    )[0]


def printed(run_dir: Path) -> list[Any]:
    """The JSON that it printed until its end."""
    ended(run_dir)
    found: list[Any] = json.loads((run_dir / "logs" / "member-1.log").read_text())
    return found


def ready(run_dir: Path, name: str = "member-1", times: int = 1) -> None:
    log = run_dir / "logs" / f"{name}.log"
    wait_until(
        f"{times} times ready",
        lambda: log.exists() and log.read_text().count("ready") >= times,
        timeout_s=SOON_S,
        saw=lambda: log.read_text() if log.exists() else "no log",
    )


def shown(run_dir: Path) -> list[list[Any]]:
    return [piece for frame in frames(run_dir, "shown") for piece in frame["ranges"]]


def test_a_process_has_what_it_needs_by_the_names_that_programs_know(
    start: Start, plan: Plan, run_dir: Path
) -> None:
    prints = app(
        "import json; print(json.dumps([dict(os.environ), sys.argv[1:], os.getcwd()]))",
        environment={"BROKERS": "{bootstrap}", "WHO": "{member}/{group}/{topic}/{instance_id}"},
        folder=str(run_dir),
    )
    prints = replace(prints, command=(*prints.command, "--id={member}", "{}"))

    start(prints, "member-2", "static-1")

    environment, words, folder = printed(run_dir)
    given = variables(plan, "member-2", "member-1", "static-1")
    assert given.items() <= environment.items()
    assert plan.bootstrap("member-2") == environment["KAFKA_BOOTSTRAP_SERVERS"]
    assert "static-1" == environment["KAFKA_GROUP_INSTANCE_ID"]
    assert plan.bootstrap("member-2") == environment["BROKERS"]
    assert "member-1/orders/t/static-1" == environment["WHO"]
    assert ["--id=member-1", "{}"] == words
    assert str(run_dir) == folder


def test_a_process_is_given_the_address_of_the_proxy_on_its_lane(
    start: Start, plan: Plan, run_dir: Path
) -> None:
    prints = app(
        "import json; print(json.dumps([dict(os.environ), sys.argv[1:]]))",
        dependencies={"DB": "db.example:5432", "CACHE": "127.0.0.1:6379"},
        environment={"DB": "postgres://user:pw@{DB}/orders", "PGPORT": "{DB.port}"},
    )
    prints = replace(prints, command=(*prints.command, "{CACHE}", "${CACHE}", "{OTHER}"))
    with Ports() as ports:
        proxies = Dependencies(prints.addresses, LANES, plan.run, ports)

    start(prints, "member-2", dependencies=proxies)

    environment, words = printed(run_dir)
    port = {link.dependency: link.port for link in proxies.links if link.lane == "member-2"}
    assert f"postgres://user:pw@127.0.0.1:{port['DB']}/orders" == environment["DB"]
    assert str(port["DB"]) == environment["PGPORT"]
    assert f"127.0.0.1:{port['CACHE']}" == environment["CACHE"] == words[0]
    assert ["${CACHE}", "{OTHER}"] == words[1:]


def test_a_process_is_reported_where_it_shows_its_work(plan: Plan, run_dir: Path) -> None:
    says = "import json; print(json.dumps([dict(os.environ), sys.argv[1:]]))"
    for effects, name, place, heard in (
        (Shows(http=True), "KAFKA_CHAOS_SINK", "{sink}", "http://127.0.0.1:7/member-1"),
        (Shows(output_topic="done"), "KAFKA_OUTPUT_TOPIC", "{output_topic}", "done"),
    ):
        folder = run_dir / name
        for part in ("journals", "logs"):
            (folder / part).mkdir(parents=True)
        shows = app(says, effects=effects)
        shows = replace(shows, command=(*shows.command, place), environment={"WHERE": place})
        sink = Sink(plan.run, folder, 7, naming_of_app(shows, 3)) if effects.http else None
        programs = AppProcesses(shows, plan, folder, PARTITIONS, sink)
        programs.start("member-1", "member-1", None)
        environment, words = printed(folder)
        programs.stop()

        assert (heard, heard, [heard]) == (environment[name], environment["WHERE"], words)


def test_a_dynamic_member_has_no_instance_id(plan: Plan) -> None:
    given = variables(plan, "member-1", "member-1", None)

    assert "KAFKA_GROUP_INSTANCE_ID" not in given
    assert given["KAFKA_BOOTSTRAP_SERVERS"] == given["SPRING_KAFKA_BOOTSTRAP_SERVERS"]


VERIFIABLE = {
    "timestamp": 1,
    "name": "records_consumed",
    "count": 3,
    "partitions": [
        {"topic": "t", "partition": 1, "count": 2, "minOffset": 4, "maxOffset": 5},
        {"topic": "t", "partition": 0, "count": 1, "minOffset": 9, "maxOffset": 9},
    ],
}


@pytest.mark.parametrize(
    ("effects", "lines", "found"),
    [
        (  # numbers go round the partitions: 0 to 5 are the first two records of each of three
            Shows(stdout=r"^done (?P<n>\d+)$"),
            [*(f"done {n}" for n in (0, 3, 1, 4, 2, 5, 5, "x")), "undone 7", "done 8 times"],
            [["number", 0, 0, 1], ["number", 1, 0, 1], ["number", 2, 0, 1], ["number", 2, 1, 1]],
        ),
        (
            Shows(stdout=r"p(?P<partition>\d+) o(?P<offset>\d+)"),
            ["p1 o7", "p1 o8", "p0 o3"],
            [["offset", 1, 7, 8], ["offset", 0, 3, 3]],
        ),
        (
            Shows(verifiable=True),
            [json.dumps(VERIFIABLE), "startup"],
            [["offset", 1, 4, 5], ["offset", 0, 9, 9]],
        ),
    ],
    ids=["by number", "by offset", "of Kafka's verifiable consumer"],
)
def test_effects_are_places_in_partitions(
    effects: Shows, lines: list[str], found: list[list[Any]], start: Start, run_dir: Path
) -> None:
    start(app(f"print({chr(10).join(lines)!r})", effects=effects))
    ended(run_dir)

    assert found == shown(run_dir)
    assert {effects.way} == {frame["shown_by"] for frame in frames(run_dir, "shown")}


def test_lines_that_name_no_record_are_counted_and_the_last_is_kept(
    start: Start, run_dir: Path
) -> None:
    lines = "print('finished 1\\n\\nfinished 2')"
    programs = start(app(lines, effects=Shows(stdout=r"done (?P<n>\d+)")))
    ended(run_dir)
    programs.stop()

    (unread,) = frames(run_dir, "unread")
    assert (2, "'finished 2'") == (unread["count"], unread["text"])
    assert ("stdout", r"done (?P<n>\d+)") == tuple(
        frames(run_dir, "app")[0][name] for name in ("way", "asked")
    )


def test_a_line_is_read_when_it_is_whole_and_the_last_at_its_end(
    start: Start, run_dir: Path
) -> None:
    """`done 1` with `2` to come is no record 1."""
    effects = Shows(stdout=r"done (?P<n>\d+)")
    says = "sys.stdout.write({!r}); sys.stdout.flush()"
    goes_on, waits = held_up(run_dir)
    whole = app(says.format("done 0\ndone 1"), waits, says.format("2\ndone 15"), effects=effects)

    start(whole)
    wait_until("first effect", lambda: shown(run_dir), timeout_s=SOON_S)
    assert [["number", 0, 0, 0]] == shown(run_dir)
    goes_on.touch()
    ended(run_dir)

    assert [0, 4, 5] == [n for *_, first, last in shown(run_dir) for n in range(first, last + 1)]


def refusal(programs: AppProcesses) -> str:
    """Why its watching has ended, which voids the run."""
    wait_until("end of the watching", lambda: programs._failed, timeout_s=SOON_S)
    with pytest.raises(VoidRun) as void:
        programs.check()
    return str(void.value)


def test_a_pattern_whose_group_is_no_number_voids_the_run(start: Start) -> None:
    programs = start(app("print('done now')", effects=Shows(stdout="done (?P<n>.*)")))

    assert "found no number in the line 'done now'" in refusal(programs)
    with pytest.raises(VoidRun, match=r"found no number"):
        programs.stop()


@pytest.mark.parametrize(
    ("line", "code"),
    [("pass", 0), ("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -9)],
)
def test_how_a_process_ended_is_on_record(
    start: Start, run_dir: Path, line: str, code: int
) -> None:
    member = start(app(line))._seen[0].member

    frame = ended(run_dir)

    assert ("member-1", code) == (frame["program"], frame["exit_code"])
    (started,) = frames(run_dir, "program_started")
    assert (member.instance.pid, "member-1") == (started["pid"], started["lane"])
    assert member.started_at == started["started_at"] <= frame["ended_at"]


def test_a_command_that_is_not_there_voids_the_run(start: Start, run_dir: Path) -> None:
    missing = replace(app(), command=("./no-such-program",), folder=str(run_dir))

    with pytest.raises(VoidRun, match=r"orders cannot be started .*'\./no-such-program'"):
        start(missing)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no-such-tool", "no program 'no-such-tool' on the PATH: install it"),
        ("plain", "no program 'plain' on the PATH: write ./plain"),
        ("./none", "there is no './none' in"),
        ("./plain", "cannot be executed: make it executable"),
        ("./folder", "is a folder: name the program in it"),
        ("./tool", ""),
        ("sh", ""),
        ("{member}", ""),
    ],
)
def test_a_command_that_cannot_run_is_known_before(run_dir: Path, command: str, says: str) -> None:
    (run_dir / "plain").touch(mode=0o644)
    (run_dir / "tool").touch(mode=0o755)
    (run_dir / "folder").mkdir()

    found = cannot_run(App(name="orders", command=(command,), folder=str(run_dir)))

    assert says in found
    assert bool(says) == bool(found)


def test_its_own_path_is_where_a_program_is_looked_for(run_dir: Path) -> None:
    (run_dir / "tool").touch(mode=0o755)
    own = App(name="o", command=("tool",), folder="/", environment={"PATH": str(run_dir)})

    assert "" == cannot_run(own)
    assert "on the PATH" in cannot_run(replace(own, environment={}))


def test_a_line_without_an_end_is_passed_over_and_what_follows_is_read(
    start: Start, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs_module, "_LONGEST_LINE", 1_000)
    endless = "sys.stdout.write('x' * 5_500 + '\\ndone 7\\n' + 'done 8\\n' * 500)"

    start(app(endless, effects=Shows(stdout=r"^done (?P<n>\d+)$")))
    ended(run_dir)

    assert 500 == sum(last - first + 1 for _, place, first, last in shown(run_dir) if place == 2)
    assert [["number", 1, 2, 2]] == shown(run_dir)[:1]


def test_what_prints_without_end_voids_the_run_before_the_disk_is_full(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs_module, "MOST_LOG_BYTES", 1_000_000)
    programs = start(app("while True: print('too much ' * 100)"))

    assert "member-1 has printed more than 1 MB: let it log less" in refusal(programs)


def living(plan: Plan) -> list[psutil.Process]:
    return processes.of_member(plan.run, "member-1")


@pytest.fixture
def family(start: Start, plan: Plan, run_dir: Path) -> Member:
    """A program like npm: a process that has started another, which has started a third."""
    grandchild = child(READY)
    member = start(app(child(grandchild, READY), READY))._seen[0].member
    ready(run_dir, times=3)
    assert 3 == len(living(plan))
    return member


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_what_a_program_has_started_ends_with_it(family: Member, plan: Plan, how: str) -> None:
    getattr(family, how)()

    wait_until("end of all", lambda: family.gone, timeout_s=SOON_S)
    assert [] == living(plan)
    assert family.expected_end


def test_what_a_program_has_started_stands_still_with_it(family: Member, plan: Plan) -> None:
    def states() -> set[str]:
        return {each.status() for each in living(plan)}

    family.instance.freeze()
    wait_until("stop of all", lambda: states() == {psutil.STATUS_STOPPED}, timeout_s=SOON_S)
    assert family.instance.frozen
    assert str(family.instance) == f"the kernel says stopped of pid {family.instance.pid}"
    family.instance.thaw()
    wait_until("go on of all", lambda: psutil.STATUS_STOPPED not in states(), timeout_s=SOON_S)


def test_children_of_a_process_that_is_gone_are_still_its_own(family: Member, plan: Plan) -> None:
    main = psutil.Process(family.instance.pid)
    main.kill()
    family.instance.wait(SOON_S)

    assert not family.running
    assert str(family.instance) == f"pid {main.pid} is gone"
    assert 2 == len(living(plan))
    assert not family.gone
    family.kill()
    wait_until("end of all", lambda: family.gone, timeout_s=SOON_S)


def test_what_children_print_after_its_end_is_read(start: Start, run_dir: Path) -> None:
    goes_on, waits = held_up(run_dir)
    effects = Shows(stdout=r"done (?P<n>\d+)")
    start(app(child(waits, "print('done 3')"), effects=effects))
    ended(run_dir)

    goes_on.touch()

    wait_until("effect of the child", lambda: shown(run_dir), timeout_s=SOON_S)
    assert [["number", 0, 1, 1]] == shown(run_dir)


@pytest.fixture
def tools() -> Tools:
    return resolve_tools()


FleetOf = Callable[..., Any]


@pytest.fixture
def fleet_of(plan: Plan, run_dir: Path, tools: Tools) -> Iterator[FleetOf]:
    """Makes a fleet of an app, with so many members that are ready and have joined nothing."""
    made: list[Fleet] = []

    def of(app: App, members: int = 0) -> Fleet:
        experiment = with_app(registry.load("baseline"), app)
        made.append(Fleet(experiment, plan, tools, run_dir))
        for number in range(1, members + 1):
            made[-1].start_member(f"member-{number}")
            ready(run_dir, f"member-{number}")
        return made[-1]

    yield of
    processes.end_run(plan.run)
    for each in made:
        each.kill_all()


def test_a_program_that_ignores_its_signal_is_killed_after_its_grace(
    fleet_of: FleetOf, plan: Plan, run_dir: Path
) -> None:
    deaf = app(child(IGNORES, READY), IGNORES, READY, stop=Stop(grace_s=0.2))
    fleet = fleet_of(deaf)
    member = fleet.start_member("member-1")
    ready(run_dir, times=2)

    assert [] == fleet.close_members()

    assert member.gone
    heard = [frame["what"] for frame in frames(run_dir, "program_told")]
    assert ["SIGTERM", "SIGKILL"] == heard
    assert -signal.SIGKILL == ended(run_dir)["exit_code"]


def test_each_process_has_a_lane_that_no_living_one_has(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY))
    for number in range(1, 6):
        fleet.start_member(f"member-{number}")
    fleet.members["member-2"].kill()
    wait_until("end", lambda: fleet.members["member-2"].gone, timeout_s=SOON_S)

    assert "member-2" == fleet.start_member("member-6").lane
    assert "member-2" == fleet.lane_of("member-6")
    with pytest.raises(VoidRun, match="all 5 lanes are used"):
        fleet.start_member("member-7")


def follow_until(fleet: Fleet, what: str, condition: Callable[[], bool]) -> None:
    def met() -> bool:
        fleet.follow()
        return condition()

    wait_until(what, met, timeout_s=2 * SOON_S, saw=lambda: str(sorted(fleet.members)))


SPOKE = "with exit code 0 before it joined the group, sent these brokers 3 requests, asked for the "


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("sys.exit('no brokers')", "member-1 ended with exit code 1 before it joined .* no broker"),
        (
            "sys.exit('listen tcp :8080: bind: address already in use')",
            "let each take any free port.*already in use",
        ),
        (child(READY) + "; sys.exit(0)", "left another process running: .* stay in the foreground"),
        (
            "print('no more' if sys.stdin.read() == '' else 'more')",
            "its standard input is empty.*last words: no more",
        ),
        ("pass", SPOKE + "topic 't', and no JoinGroup of it was answered; its last words"),
    ],
    ids=["it fails", "a port is taken", "background", "it waits for input", "it has spoken"],
)
def test_what_ends_before_the_first_join_voids_the_run(
    program: str, says: str, fleet_of: FleetOf, run_dir: Path
) -> None:
    fleet = fleet_of(app(program))
    fleet.start_member("member-1")
    if program == "pass":  # what has spoken to the brokers does not wait for input
        fleet.brokers.requests["member-1"] = 3
        fleet.brokers.topics["member-1"] = {"t"}
    if "Popen" in program:
        ready(run_dir)

    with pytest.raises(VoidRun, match=says):
        follow_until(fleet, "refusal", lambda: False)


def test_what_ends_by_itself_is_started_again_and_no_more_than_so_often(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app("print('ready')", static=True))
    fleet.settled = True
    fleet.restarts = Restarts(first_pause_s=0)
    fleet.start_member("member-1").started = True

    last = f"member-{MOST + 1}"
    follow_until(
        fleet, "end of the last", lambda: last in fleet.members and not fleet.members[last].running
    )
    fleet.follow()

    assert MOST + 1 == len(fleet.members)
    assert [] == fleet.live()
    assert [] == fleet.unplanned_ends()
    assert {"member-1"} == {member.instance_id for member in fleet.members.values()}


def test_what_ends_again_and_again_before_the_group_is_steady_voids_the_run(
    fleet_of: FleetOf,
) -> None:
    fleet = fleet_of(app("sys.exit('no such field: total')"))
    fleet.start_member("member-1").started = True

    with pytest.raises(
        VoidRun, match=rf"member-{MOST_AT_FIRST + 1} .* no such field: total; if it cannot read"
    ):
        follow_until(fleet, "refusal", lambda: False)


def test_what_a_program_leaves_behind_ends_before_another_takes_its_lane(
    fleet_of: FleetOf, plan: Plan, run_dir: Path
) -> None:
    orphaned = app(child(READY), "print('ready', flush=True)")
    fleet = fleet_of(orphaned)
    fleet.start_member("member-1").started = True
    ready(run_dir, times=2)

    follow_until(fleet, "its successor", lambda: "member-2" in fleet.members)

    wait_until("end of what was left", lambda: not living(plan), timeout_s=SOON_S)


def test_nothing_is_started_again_that_a_fault_ended_or_once_the_group_is_closed(
    fleet_of: FleetOf,
) -> None:
    fleet = fleet_of(app(READY, stop=Stop(grace_s=5)), members=3)
    for member in fleet.members.values():
        member.started = True
    fleet.members["member-1"].kill()
    wait_until("end", lambda: fleet.members["member-1"].gone, timeout_s=SOON_S)
    fleet.follow()
    assert 3 == len(fleet.members)

    fleet.close_members()
    fleet.follow()

    assert 3 == len(fleet.members)


def test_a_process_that_the_harness_kills_in_the_end_has_not_failed(
    fleet_of: FleetOf, run_dir: Path
) -> None:
    fleet = fleet_of(app(READY))
    fleet.start_member("member-1")

    fleet.kill_all()

    assert ["SIGKILL"] == [frame["what"] for frame in frames(run_dir, "program_told")]
    assert -signal.SIGKILL == ended(run_dir)["exit_code"]


def test_why_a_program_has_not_joined_is_said_of_each(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY), members=4)
    brokers = fleet.brokers
    brokers.requests |= {"member-2": 4, "member-3": 4, "member-4": 9}
    brokers.groups |= {"member-3": {"theirs"}}
    fleet.members["member-4"].started = True

    said = fleet.why_not_joined()

    silent = said.split("; member-2")[0]
    slow = "if it takes longer to start, say how long by start_s"
    assert silent.startswith("member-1 has asked these brokers for nothing in the ")
    assert f" s since its start: let it use KAFKA_BOOTSTRAP_SERVERS; {slow}" in silent
    assert (
        "member-2 sent these brokers 4 requests, asked for no topic by its name, and no JoinGroup "
        "of it was answered: let it subscribe to KAFKA_TOPIC, with KAFKA_GROUP_ID; last words of "
        "member-2: ready; member-3 asked to join 'theirs', not orders: let it take the group "
        "from KAFKA_GROUP_ID; last words of member-3: ready"
    ) == said[said.index("member-2 ") :]


def test_who_is_in_a_group_of_another_type_is_reported_that_it_cannot_be_followed(
    fleet_of: FleetOf,
) -> None:
    """It works, and asks for topics in calls of its own."""
    fleet = fleet_of(app(READY), members=2)
    fleet.brokers.requests |= {"member-1": 9, "member-2": 9}
    fleet.brokers.others |= {"member-1": {"orders": "share"}, "member-2": {"orders": "Streams"}}

    assert (
        "member-1 is in the share group 'orders', and only consumer groups can be followed here: "
        "let it use a consumer; last words of member-1: ready; member-2 is in the Streams group "
        "'orders', and only consumer groups can be followed here: let it use group.protocol=classic"
        "; last words of member-2: ready"
    ) == fleet.why_not_joined()


def test_who_asked_to_join_is_reported_what_became_of_it(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY), members=2)
    fleet.brokers.requests |= {"member-1": 9, "member-2": 9}
    fleet.brokers.groups["member-1"] = {"orders", "letters"}  # of two consumers in one process
    fleet.members["member-1"].asked_at = fleet.members["member-1"].started_at + 3_200_000
    fleet.brokers.refused["member-2"] = 26

    assert (
        "member-1 asked to join orders 3.2 s after its start, and is not in it yet: if it only "
        "takes long, say how long by steady_s in app.toml, or --steady-s; last words of member-1: "
        "ready; member-2 asked to join orders, and was refused with error 26: see the group's "
        "settings of the program; last words of member-2: ready"
    ) == fleet.why_not_joined()


def test_who_does_not_name_itself_on_a_shared_lane_is_reported_how(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY), members=2)
    for member in fleet.members.values():
        member.lane = SHARED
    fleet.brokers.nameless |= {"rdkafka"}

    assert (
        "each of member-1 and member-2 cannot be recognized, because requests came with client.id "
        "'rdkafka': let it take client.id from KAFKA_CLIENT_ID; "
        "last words of member-1: ready"
    ) == fleet.why_not_joined()


def test_who_reads_another_topic_is_reported_so_once_for_all(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY), members=3)
    fleet.members["member-3"].started = True
    fleet.brokers.requests |= dict.fromkeys(fleet.members, 4)
    theirs = {"theirs"}
    fleet.brokers.topics |= {"member-1": theirs, "member-2": theirs, "member-3": {"theirs", "t"}}

    assert (
        "each of member-1 and member-2 reads 'theirs', not t: let it take the topic from "
        "KAFKA_TOPIC; last words of member-1: ready"
    ) == fleet.why_not_joined()


def test_who_joins_and_gets_no_further_is_reported_what_may_be_missing(fleet_of: FleetOf) -> None:
    fleet = fleet_of(app(READY), members=2)
    one, two = fleet.members.values()
    one.started = two.started = True

    def said(*, steady: bool = True) -> str:
        return str(fleet.why_not_joined(steady=steady))

    slow = "if it only takes long, say how long by steady_s in app.toml, or --steady-s"
    never = f"each of member-1 and member-2 joined the group, and there was no steady state: {slow}"
    assert said(steady=False).startswith(never)
    both = "each of member-1 and member-2 joined the group, and committed"
    assert said().startswith(f"{both} nothing to Kafka: let the program commit to Kafka, and say")
    assert said().endswith("last words of member-1: ready")
    one.position, two.position, one.assigned = {0: 4, 2: 7}, {4: 1}, {0, 1, 2}
    assert said().startswith(
        f"{both} in partitions 0, 2 and 4, and not in partitions 1, 3 and 5 (partitions "
        "3 and 5 are held by none): see what keeps it there; if it only takes long, say how long "
        "by steady_s"
    )
    one.position = dict.fromkeys((0, 1, 2, 3, 5), 1)
    assert said().startswith(f"{both} in every partition, but not again in each of them in time")
    assert said(steady=False).startswith(never)
    fleet.kill_all()
    assert "" == said()


def test_numbers_of_records_stay_apart_when_partitions_are_added(
    plan: Plan, run_dir: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "spawn", lambda *_args, **_more: SimpleNamespace(poll=int))
    experiment = with_app(registry.load("add-partitions"), app())
    more = sum(fault.more_partitions or 0 for fault in experiment.faults)
    fleet = Fleet(experiment, plan, tools, run_dir)

    fleet.start_producer()

    config = json.loads((run_dir / "journals" / "producer-1.json").read_text())
    assert more > 0
    assert experiment.load.partitions + more == config["rounds"]
    (about,) = frames(run_dir, "app")
    assert config["rounds"] == about["partitions"]


def recorded(experiment: Experiment, tools: Tools) -> str:
    return json.dumps(first_record("everyday", experiment, tools, "run", 1), default=str)


def test_what_may_be_secret_of_an_app_never_reaches_the_manifest(tools: Tools) -> None:
    secret = app(
        environment={"PASSWORD": "hunter2", "URL": "sasl://hunter2"},
        dependencies={"DB": "hunter2.example:5432"},
        records=Records(samples=("hunter2", "hunter2")),
    )

    text = recorded(with_app(registry.load("everyday"), secret), tools)

    assert "hunter2" not in text
    declared = json.loads(text)["declared"]["app"]
    assert ["PASSWORD", "URL"] == declared["environment"]
    assert ["DB"] == declared["dependencies"]
    assert 2 == declared["records"]["samples"]


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs_module, "_built", set())


def built(run_dir: Path, command: tuple[str, ...], run: str = "no-run") -> str:
    log = run_dir / "logs" / "programs.log"
    build(replace(app(), build=command, folder=str(run_dir)), run, log)
    return log.read_text() if log.exists() else ""


@pytest.mark.usefixtures("unbuilt")
def test_a_program_is_built_once_in_its_folder(run_dir: Path) -> None:
    command = python("print(os.getcwd())")

    assert "" == built(run_dir, ())
    for _ in range(3):
        assert f"{run_dir}\n" == built(run_dir, command)
    assert f"{run_dir}\n" * 2 == built(run_dir, (*command, "other"))


@pytest.mark.usefixtures("unbuilt")
def test_a_build_that_fails_voids_the_run_with_its_last_words(run_dir: Path) -> None:
    for _ in range(2):  # what has failed is tried again
        with pytest.raises(
            VoidRun, match=r"(?s)orders was not built: .* exit code 1; .* no compiler"
        ):
            built(run_dir, python("sys.exit('no compiler')"))


@pytest.mark.usefixtures("unbuilt")
def test_a_build_step_that_is_not_there_voids_the_run(run_dir: Path) -> None:
    with pytest.raises(VoidRun, match="'no-such-tool' is installed"):
        built(run_dir, ("no-such-tool",))


@pytest.mark.usefixtures("unbuilt")
def test_a_build_that_takes_too_long_leaves_nothing_running(
    run_dir: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs_module, "BUILD_S", 0.3)

    with pytest.raises(VoidRun, match="was not built within 0 min"):
        built(run_dir, python(child(READY), READY), plan.run)

    assert [] == processes.marked(plan.run)


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ([], []),
        ([("number", 0, 0), ("number", 1, 0), ("number", 0, 1)], [
            ["number", 0, 0, 1], ["number", 1, 0, 0]
        ]),
        ([("offset", 0, 5), ("offset", 0, 5), ("offset", 0, 6)], [
            ["offset", 0, 5, 5], ["offset", 0, 5, 6]
        ]),
        ([("number", 0, 5), ("offset", 0, 6)], [["number", 0, 5, 5], ["offset", 0, 6, 6]]),
        ([("number", 0, 5), ("number", 0, 4)], [["number", 0, 5, 5], ["number", 0, 4, 4]]),
    ],
)  # fmt: skip
def test_consecutive_records_are_one_run_and_what_comes_twice_another(
    places: list[tuple[str, int, int]], found: list[list[Any]]
) -> None:
    assert found == runs(places)


def test_a_watching_that_cannot_write_any_more_voids_the_run(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = start(app(READY))

    def full(*_args: Any, **_frame: Any) -> None:
        raise HarnessError("the disk is full")

    monkeypatch.setattr(programs._journal, "write", full)
    programs._seen[0].member.kill()

    assert "cannot be watched any more: the disk is full" in refusal(programs)
