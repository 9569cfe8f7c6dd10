"""A cluster by hand: what can be broken, who is heard, what is seen. Brokers are made up."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.connection import Client, Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import pytest
from rich.console import Console

from consumers.journal import Journal, read_journal
from harness.base import processes
from harness.base.codec import ASSIGNMENT, encoded
from harness.base.errors import (
    BadInput,
    ClusterError,
    Exit,
    HarnessError,
    NoData,
    SetupError,
)
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.plan import draw_plan
from harness.cluster.wire import Call, MemberSeen
from harness.experiment import Cluster, Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run import faults as all_faults
from harness.run import nemesis
from harness.run.by_hand import (
    breakable,
    cluster_watch,
    control_socket,
    fault_runner,
    live_view,
    up,
)
from harness.run.by_hand.cluster_watch import GroupSeen, Rebalances, RebalanceSeen, Seen, Watch
from harness.run.by_hand.control_socket import Request
from harness.run.by_hand.fault_runner import FaultRunner
from harness.run.by_hand.up import PORT_BASE
from harness.run.faults import KINDS, Evidence, Kind
from harness.run.faults.targets import Target
from harness.run.roles import check_role
from harness.run.scene import ClusterView, Scene
from tests.commands import python
from tests.free_ports import in_a_row
from tests.unit.test_messages import GROUP, MEMBER, NOTHING, STREAMS_MEMBER, TOPOLOGY
from tests.unit.test_observer import answering, offset_fetch_answer

PATIENCE_S = 20
USUAL = breakable.experiment_of(Cluster())


def partition(number: int, leader: int = 1, isr: int = 3) -> tuple[tuple[str, int], dict[str, Any]]:
    row = {"topic": "t", "partition": number, "leader": leader, "replicas": 3}
    return ("t", number), {**row, "isr": [*range(isr)]}


def group(name: str = "orders", coordinator: int | None = 2, **more: Any) -> GroupSeen:
    return GroupSeen(name, coordinator, more.pop("state", "Stable"), **more)


def seen(*found: GroupSeen, brokers: tuple[int, ...] = (1, 2, 3)) -> Seen:
    return Seen(
        {number: number in brokers for number in (1, 2, 3)},
        dict(partition(number, leader=number + 1) for number in range(3)),
        {each.name: each for each in found},
    )


# What can be broken.


@pytest.mark.parametrize("text", ["", "0s", "-3s", "3x", "s", "1e3", "ten", "9" * 400])
def test_a_time_is_a_number_and_a_unit(text: str) -> None:
    times = {"10s": 10, "10": 10, "500ms": 0.5, "1.5m": 90, "2min": 120, "1h": 3_600}
    assert times == {each: breakable.seconds(each) for each in times}
    with pytest.raises(ValueError, match="is no time: write 500ms"):
        breakable.seconds(text)


def asked_for(kind: str, target: str, lasts_s: float | None = None, **more: Any) -> Fault:
    return breakable.fault_of(USUAL, kind, target, lasts_s, more)


def test_what_is_not_said_is_as_usual() -> None:
    assert breakable.LASTS_S == asked_for("kill-broker", "coordinator").lasts_s
    assert 3 == asked_for("kill-broker", "coordinator", 3).lasts_s
    assert 500 == asked_for("latency", "members").latency_ms
    assert 90 == asked_for("latency", "producers", latency_ms=90).latency_ms
    assert asked_for("connections-reset", "members").lasts_s is None


@pytest.mark.parametrize(
    ("kind", "target", "more", "says"),
    [
        ("frobnicate", "coordinator", {}, "there are kill-broker, stop-broker, "),
        ("kill-broker", "coordinater", {}, "did you mean 'coordinator'"),
        ("kill-broker", "leader of t", {}, "there is no target 'leader of t'"),
        ("kill-broker", "members", {}, "cannot hit 'members': say coordinator"),
        ("stop-broker", "controller", {}, "stop-broker cannot hit 'controller'"),
        ("latency", "coordinator", {}, "cannot hit 'coordinator': say members or producers"),
        ("latency", "member 1", {}, "the members are your own processes"),
        ("deploy", "group", {}, "members here are your own processes"),
        ("add-partitions", "topic", {}, "by hand only brokers and links"),
        ("delete-offsets", "coordinator", {}, "by hand only brokers and links"),
        ("slow-sink", "sink", {}, "by hand only brokers and links"),
        ("isolate-broker", "broker 1", {}, "by hand: it needs brokers with networks of their own"),
        ("connections-reset", "members", {"lasts_s": 3.0}, "leave out --for"),
        ("kill-broker", "broker 1", {"latency_ms": 5}, "takes no latency_ms"),
        ("kill-broker", "broker 1", {"how": "softly"}, "has no variant 'softly'"),
        ("latency", "members", {"latency_ms": 5}, "because 5 ms could not be measured"),
        ("latency", "members", {"latency_ms": 50_000}, "use kind isolate"),
    ],
)
def test_what_cannot_be_broken_is_a_sentence(
    kind: str, target: str, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        asked_for(kind, target, **more)

    assert "\n" not in str(refused.value)


def test_what_can_be_broken_follows_from_what_a_kind_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kind that no code here knows by its name."""

    def known(name: str, targets: tuple[str, ...], breaks: Breaks) -> None:
        kind = Kind(name, targets, _nothing, _seen, _nothing, effects=Effects(breaks=breaks))
        monkeypatch.setitem(KINDS, name, kind)

    known("melt-broker", ("broker",), Breaks.BROKER)
    known("melt-link", ("member", "lane"), Breaks.LINK)
    known("melt-consumer", ("member",), Breaks.MEMBER)
    known("melt-topic", ("topic",), Breaks.TOPIC)

    listed = "\n".join(breakable.listing(USUAL))

    assert {"melt-broker", "melt-link"} <= breakable.kinds(USUAL).keys()
    assert not {"melt-consumer", "melt-topic"} & breakable.kinds(USUAL).keys()
    assert "melt-link          members, producers" in listed
    assert "melt-consumer" not in listed
    assert "coordinator" == asked_for("melt-broker", "coordinator").target


def test_the_lane_of_all_members_is_no_target_of_an_experiment() -> None:
    """There some may have lanes of their own, and no other member is on this one."""
    fault = Fault(kind="latency", target="members", latency_ms=100, lasts_s=3)

    with pytest.raises(BadInput, match="target 'members' of latency is not a role"):
        check_role(fault, Experiment(claim="x.", faults=(fault,)))


def _nothing(_scene: Scene, _fault: Fault, _target: Target) -> None:
    pass


def _seen(_scene: Scene, _fault: Fault, _target: Target) -> Evidence:
    return Evidence(True, "seen")


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("broker 4", "no broker 4: there are 1 to 3"),
        ("broker-0", "no broker 0"),
        ("leader of tt-0", "no topic 'tt': did you mean 't'"),
        ("leader of orders-0", "no topic 'orders': there is t"),
        ("leader of t-3", "no partition 3 of t: it has 0 to 2"),
    ],
)
def test_a_target_that_there_is_not_is_a_sentence(target: str, says: str) -> None:
    nodes = [cast("Any", SimpleNamespace(id=number)) for number in (1, 2, 3)]

    with pytest.raises(BadInput, match=says):
        breakable.check_target(Fault(kind="kill-broker", target=target), seen(), nodes)

    for there in ("broker 3", "leader of t-2", "coordinator", "any broker"):
        breakable.check_target(Fault(kind="kill-broker", target=there), seen(), nodes)


def test_a_coordinator_is_that_of_the_group_that_is_named_or_of_the_only_one() -> None:
    two = seen(group("orders"), group("payments"))

    assert "orders" == breakable.group_meant(None, seen(group("orders")))
    assert "payments" == breakable.group_meant("payments", two)
    for named, there, says in (
        (None, seen(), "there is no group yet"),
        (None, two, r"2 groups \(orders, payments\): say whose"),
        ("ordres", two, "no group 'ordres': did you mean 'orders'"),
        ("x", two, "no group 'x': there is orders, payments"),
    ):
        with pytest.raises(BadInput, match=says):
            breakable.group_meant(named, there)


def test_any_leader_is_one_of_the_only_topic() -> None:
    one = seen()
    internal, others = (
        dataclasses.replace(one, partitions=one.partitions | {(name, 0): {"leader": 1}})
        for name in ("__consumer_offsets", "u")
    )

    assert "t" == breakable.topic_meant(internal)
    with pytest.raises(BadInput, match="2 topics, and 'any leader' does not say of which"):
        breakable.topic_meant(others)


# Who is heard.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """That of a cluster; its name alone is too long for the address of a socket."""
    found = tmp_path / ("long" * 30) / "by-hand" / "run"
    (found / "scratch").mkdir(parents=True)
    (found / "journals").mkdir()
    return found


Next = Callable[[float], Request | None]
Link: TypeAlias = "Connection[Any, Any]"


@pytest.fixture
def next_request(folder: Path) -> Iterator[Next]:
    with control_socket.listening(folder) as listening:
        yield listening


@pytest.fixture
def link(folder: Path, next_request: Next) -> Iterator[Link]:
    """A client's end of a connection."""
    with control_socket._short(folder) as address, Client(address, "AF_UNIX") as connected:
        yield connected


Asks = Callable[[list[str]], "Future[None]"]


@pytest.fixture
def asks(folder: Path) -> Iterator[Asks]:
    """The other end: it asks, puts down what it hears, and fails as its command would."""
    with ThreadPoolExecutor() as pool:
        yield lambda heard: pool.submit(control_socket.ask, folder, {"do": "fault"}, heard.append)


def arrived(next_request: Next) -> Request:
    request = next_request(PATIENCE_S)
    assert request is not None
    return request


def test_what_is_asked_arrives_and_what_happens_is_heard(
    folder: Path, asks: Asks, next_request: Next
) -> None:
    heard: list[str] = []
    asking = asks(heard)
    request = arrived(next_request)
    request.say("refused after 0 ms")
    request.say("healed")
    request.end()

    assert {"do": "fault"} == request.body
    assert asking.exception(PATIENCE_S) is None
    assert ["refused after 0 ms", "healed"] == heard
    assert next_request(0) is None
    # Only the owner may connect.
    assert 0o600 == (folder / "scratch" / "up.sock").stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (Exit.FAILED, ClusterError),
        (Exit.BAD_ARGUMENTS, BadInput),
        (Exit.NO_DATA, NoData),
        (Exit.INTERRUPTED, HarnessError),
    ],
)
def test_an_error_is_answered_with_its_exit_code(
    asks: Asks, next_request: Next, code: Exit, error: type[HarnessError]
) -> None:
    asking = asks([])
    arrived(next_request).end(code, "there is no group yet")

    found = asking.exception(PATIENCE_S)
    assert (error, "there is no group yet") == (type(found), str(found))


def test_a_client_that_goes_away_is_noticed_and_others_are_served(
    asks: Asks, next_request: Next, link: Link
) -> None:
    link.send_bytes(b'{"do": "fault"}')
    request = arrived(next_request)
    assert not request.wants_heal()
    link.close()

    assert request.wants_heal()
    request.say("healed")  # unheard, and nothing breaks
    request.end()
    later = asks([])
    arrived(next_request).end()
    assert later.exception(PATIENCE_S) is None


def test_one_more_message_asks_for_the_heal(next_request: Next, link: Link) -> None:
    link.send_bytes(b'{"do": "fault"}')
    link.send_bytes(b"heal")
    request = arrived(next_request)

    assert request.wants_heal()
    request.say("healed")
    assert b'{"say": "healed"}' == link.recv_bytes()
    request.end()


@pytest.mark.parametrize("sent", [b"hello", b"[1]", b"\xff", None])
def test_what_is_no_request_is_refused(
    next_request: Next, link: Link, monkeypatch: pytest.MonkeyPatch, sent: bytes | None
) -> None:
    monkeypatch.setattr(control_socket, "_REQUEST_S", 0.1)
    if sent is not None:
        link.send_bytes(sent)

    assert next_request(PATIENCE_S) is None
    assert Exit.BAD_ARGUMENTS == json.loads(link.recv_bytes())["code"]


def test_where_nothing_listens_a_sentence_says_so(folder: Path) -> None:
    with pytest.raises(NoData, match="does not listen"):
        control_socket.ask(folder, {"do": "down"}, print)


def test_ctrl_c_asks_for_the_heal_and_waits_for_it(
    asks: Asks, next_request: Next, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, interrupts = Connection.poll, [KeyboardInterrupt()]

    def interrupted(link: Link, timeout_s: float | None = 0.0) -> bool:
        if timeout_s is None and interrupts:
            raise interrupts.pop()
        return poll(link, timeout_s)

    monkeypatch.setattr(Connection, "poll", interrupted)
    heard: list[str] = []
    asking = asks(heard)
    request = arrived(next_request)
    wait_until("wish", request.wants_heal, timeout_s=PATIENCE_S)
    request.say("healed")
    request.end()

    assert isinstance(asking.exception(PATIENCE_S), KeyboardInterrupt)
    assert ["healed"] == heard


# Which cluster is meant.


@pytest.fixture
def upright(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Folders of clusters that are up: a watchdog each, whose harness is this process."""
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()", "harness.run.watchdog"]
    with ExitStack() as watchdogs:

        def stand(results: str) -> Path:
            found = tmp_path / results / up.NAME / f"20261124T2110-{results}"
            log = found / "logs" / "watchdog.log"
            log.parent.mkdir(parents=True)
            processes.hold(found)
            watchdogs.enter_context(
                processes.spawn(
                    [*waiting, found, found.name], run=found.name, log=log, stdin=subprocess.PIPE
                )
            )
            wait_until("watchdog", lambda: found in up.standing(), timeout_s=PATIENCE_S)
            return found

        yield stand


def test_the_cluster_that_is_meant_is_the_nearest_or_the_only_one(
    upright: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = upright("first")
    others = [each for each in up.standing() if tmp_path not in each.parents]
    every = up.standing
    monkeypatch.setattr(up, "standing", lambda: [each for each in every() if each not in others])

    assert first == up.the_one(tmp_path / "first")
    assert first == up.the_one(tmp_path / "elsewhere")
    for results, base in (("first", 30_000), ("first", PORT_BASE), ("second", PORT_BASE)):
        with pytest.raises(SetupError, match=f"a cluster is up already, in .*{first.name}"):
            up.refuse_a_second(tmp_path / results, base)
    up.refuse_a_second(tmp_path / "second", 30_000)
    second = upright("second")
    assert [first, second] == [up.the_one(tmp_path / results) for results in ("first", "second")]
    with pytest.raises(BadInput, match="2 clusters are up, and none of them below"):
        up.the_one(tmp_path / "elsewhere")


def test_what_no_one_holds_any_more_is_not_up(upright: Callable[[str], Path]) -> None:
    found = upright("first")
    (found / "owner").unlink()

    assert found not in up.standing()


# Its ports.


def free_port() -> int:
    with Ports() as ports:
        return ports.take()


def test_addresses_are_one_block_and_stay() -> None:
    base = in_a_row(20)
    plans = []
    for _ in range(2):
        with Ports(base) as ports:
            plans.append(draw_plan(up.fitted(Cluster()), up.LANES, "run", ports))

    first, again = plans
    bootstraps = first.bootstrap("members"), first.bootstrap("producers"), first.direct()
    assert ",".join(bootstraps) == ",".join(f"127.0.0.1:{base + n}" for n in range(9))
    assert first.nodes == again.nodes
    assert first.cluster_id != again.cluster_id
    listeners = [each for node in first.brokers for each in node.listeners]
    ports_of = [first.toxiproxy_port, *(node.port for node in first.nodes)]
    ports_of += [node.peer_port for node in first.brokers]
    ports_of += [port for each in listeners for port in (each.port, each.proxy_port)]
    assert sorted(ports_of) == [*range(base, base + len(ports_of))]


@pytest.mark.parametrize(
    ("kafka", "offered"),
    [
        ("3.9.2", "classic"),
        ("4.1.2", "classic,consumer"),
        ("4.2.1", "classic,consumer,streams"),
        ("4.10.0", "classic,consumer,streams"),
    ],
)
def test_each_release_offers_the_groups_that_it_has(kafka: str, offered: str) -> None:
    settings = up.fitted(Cluster(kafka_version=kafka)).settings
    assert offered == settings["group.coordinator.rebalance.protocols"]


def test_the_one_that_brings_a_cluster_up_decides() -> None:
    said = {"num.partitions": "1", "group.share.session.timeout.ms": "3000"}
    own = up.fitted(Cluster(brokers=1, settings=said)).settings

    assert said.items() <= own.items()
    # A broker ends at its start over a value below its own least.
    assert "3000" == own["group.share.min.session.timeout.ms"]
    assert "6000" == own["group.streams.min.session.timeout.ms"]
    assert "1" == own["share.coordinator.state.topic.replication.factor"]


# What it breaks, and heals.


class Bench:
    """Three brokers that can be broken, by faults that only say so; and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.now_s, self.took_effect = 100.0, True
        self.done: list[str] = []
        self.fails: list[Exception] = []
        self.seen = seen(group())

        def heal(_scene: Scene, _fault: Fault, target: Target) -> None:
            self._did(f"heal {target.name}")

        lasting: dict[str, Any] = {"heal": heal}
        kinds = {
            name: Kind(
                name,
                ("broker",),
                lambda _scene, fault, target: self._did(f"{fault.kind} {target.name}"),
                lambda *_: Evidence(self.took_effect, "it is gone"),
                effects=Effects(breaks=Breaks.BROKER, broker_gone=True),
                **more,
            )
            for name, more in (
                ("kill-broker", lasting),
                ("pause-broker", lasting),
                ("nudge-broker", {}),
            )
        }
        for module in (nemesis, breakable, all_faults):
            monkeypatch.setattr(module, "KINDS", kinds)
        monkeypatch.setattr(fault_runner, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        self.path = folder / "journals" / "faults.journal"
        nodes = [SimpleNamespace(id=number, name=f"broker-{number}") for number in (1, 2, 3)]
        plan = SimpleNamespace(brokers=nodes, controllers=[])
        scene = Scene(
            USUAL,
            cast(
                "Any", SimpleNamespace(plan=plan, running=lambda number: self.seen.brokers[number])
            ),
            cast("Any", SimpleNamespace(members={}, live=list, processed=dict)),
            ClusterView(folder / "none"),
            cast("Any", None),
            "t",
            random.Random(1),
        )
        self.said: list[str] = []
        self.runner = FaultRunner(
            scene,
            nemesis.Nemesis(Journal(self.path, member="nemesis"), []),
            cast("Watch", SimpleNamespace(look=lambda: self.seen)),
            self.said.append,
        )

    def _did(self, what: str) -> None:
        self.done.append(what)
        if self.fails:
            raise self.fails.pop(0)

    def ask(
        self, kind: str, target: str, lasts_s: float | None = None, group: str | None = None
    ) -> Asked:
        fault: dict[str, Any] = {"kind": kind, "target": target, "lasts_s": lasts_s, "more": {}}
        return self.request({"fault": fault, "group": group})

    def request(self, body: dict[str, Any]) -> Asked:
        asked = Asked(body)
        self.runner.inject(cast("Any", asked))
        return asked

    def after(self, time_s: float) -> None:
        self.now_s += time_s
        self.runner.heal_due()

    def phases(self) -> list[str]:
        frames = read_journal(self.path).frames
        return [frame["phase"] for frame in frames if frame["kind"] == "fault"]


WAITS = (-1, "")


class Asked:
    """A request, and how it is answered."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body, self.enough = body, False
        self.heard: list[str] = []
        self.ended = WAITS
        self.say = self.heard.append

    def wants_heal(self) -> bool:
        return self.enough

    def end(self, code: int = 0, sentence: str = "") -> None:
        self.ended = (int(code), sentence)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Bench:
    return Bench(monkeypatch, folder)


def test_a_fault_is_proven_and_healed_when_it_is_due(bench: Bench) -> None:
    noted = bench.ask("kill-broker", "coordinator", lasts_s=5.0)

    assert ["kill-broker broker-2"] == bench.done
    bench.after(4.9)
    assert WAITS == noted.ended
    bench.after(0.2)
    assert (0, "") == noted.ended
    assert ["kill-broker broker-2", "heal broker-2"] == bench.done
    assert [
        "kill-broker of broker-2, the coordinator of orders, for 5 s",
        "kill-broker of broker-2: it is gone",
        "kill-broker of broker-2: healed",
    ] == noted.heard
    assert noted.heard == bench.said
    assert ["planned", "injecting", "injected", "healing", "healed"] == bench.phases()
    bench.after(100)
    assert 2 == len(bench.done)


def test_what_heals_by_itself_or_is_enough_is_over_at_once(bench: Bench) -> None:
    assert (0, "") == bench.ask("nudge-broker", "leader of t-2").ended
    assert [] == bench.runner.active
    noted = bench.ask("kill-broker", "broker 1", lasts_s=3_600.0)
    noted.enough = True
    bench.after(0)

    assert ["nudge-broker broker-3", "kill-broker broker-1", "heal broker-1"] == bench.done


def test_a_target_that_has_a_fault_is_refused(bench: Bench) -> None:
    first = bench.ask("kill-broker", "broker 2", lasts_s=30.0)
    bench.now_s += 10

    code, says = bench.ask("pause-broker", "coordinator").ended

    assert Exit.BAD_ARGUMENTS == code
    assert "broker-2 has a fault already, kill-broker, which heals in 20 s" in says
    assert WAITS == first.ended
    for _ in range(2):  # one that names none gets one that is free
        assert WAITS == bench.ask("pause-broker", "any broker").ended
    assert "broker-2" not in [each.removeprefix("pause-broker ") for each in bench.done[1:]]
    assert WAITS != bench.ask("pause-broker", "any broker").ended
    bench.after(30)
    assert WAITS == bench.ask("kill-broker", "broker 2").ended


def test_what_fails_or_does_not_take_effect_is_reported_and_healed(bench: Bench) -> None:
    bench.took_effect = False
    none = bench.ask("kill-broker", "broker 1")
    bench.took_effect = True
    bench.fails = [ClusterError("it refused")]
    refused = bench.ask("kill-broker", "broker 1")

    assert (Exit.FAILED, "kill-broker of broker-1 did not take effect: it is gone") == none.ended
    assert "could not be injected: it refused" in refused.ended[1]
    assert ["kill-broker broker-1", "heal broker-1"] * 2 == bench.done
    assert [] == bench.runner.active

    healing = bench.ask("kill-broker", "broker 3")
    bench.fails = [ClusterError("it does not start")]
    bench.after(60)
    assert (Exit.FAILED, True) == (healing.ended[0], "could not be healed" in healing.ended[1])


@pytest.mark.parametrize(
    ("target", "group_", "code", "says"),
    [
        ("broker 7", None, Exit.BAD_ARGUMENTS, "no broker 7"),
        ("coordinator", "x", Exit.BAD_ARGUMENTS, "no group 'x'"),
        ("broker 1", "orders", Exit.BAD_ARGUMENTS, "leave --group out"),
        (
            "coordinator",
            None,
            Exit.FAILED,
            "is the coordinator of orders right now (broker-2 down)",
        ),
    ],
)
def test_a_wrong_request_is_refused_and_breaks_nothing(
    bench: Bench, target: str, group_: str | None, code: Exit, says: str
) -> None:
    if code is Exit.FAILED:
        bench.seen = seen(group(coordinator=None), brokers=(1, 3))

    ended = bench.ask("kill-broker", target, group=group_).ended

    assert (code, True) == (ended[0], says in ended[1])
    assert [] == bench.done


@pytest.mark.parametrize("fault", [{}, {"kind": "kill-broker"}, {"more": {"x": 1}}, {"x": 1}])
def test_a_request_that_asks_for_no_fault_is_refused(bench: Bench, fault: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"kind": "kill-broker", "target": "broker 1", "lasts_s": None}
    body = {"fault": {**usual, "more": {}, **fault} if fault.keys() - {"kind"} else fault}

    ended = bench.request(body).ended

    assert (Exit.BAD_ARGUMENTS, f"{body} does not ask for a fault") == ended
    assert [] == bench.done


def test_the_end_heals_everything_and_ends_every_request(bench: Bench) -> None:
    noted = [bench.ask("kill-broker", f"broker {number}") for number in (1, 2)]
    bench.runner.end()

    assert ["heal broker-1", "heal broker-2"] == bench.done[2:]
    assert [(0, ""), (0, "")] == [each.ended for each in noted]


# What is seen.


def answers(*given: tuple[Call, dict[str, Any]]) -> dict[str, bytes]:
    """What a broker answers to each call, for `answering`."""
    usual = {"header": {}, "throttleTimeMs": 0}
    return {f"api_{call.api}": encoded(call.answers, {**usual, **said}) for call, said in given}


def assignment(*partitions: int) -> bytes:
    given = [{"topicName": "t", "partitions": partitions}]
    return encoded(ASSIGNMENT, {"version": 1, "topicPartitions": given})


def classic(state: str, *members: str, error_code: int = 0) -> tuple[Call, dict[str, Any]]:
    """DescribeGroups: member n was given partition n."""
    found = [
        {"memberId": f"{name}-1a", "clientId": name, "clientHost": "/127.0.0.1"}
        | {"memberMetadata": b"x", "memberAssignment": assignment(number)}
        for number, name in enumerate(members)
    ]
    group_ = {**GROUP, "errorCode": error_code, "groupState": state, "members": found}
    return wire.DESCRIBE_GROUPS, {
        "groups": [{**group_, "protocolType": "consumer", "protocolData": "range"}]
    }


def described_as(call: Call, *members: dict[str, Any], **more: Any) -> tuple[Call, dict[str, Any]]:
    """The answer of the call for one type of groups."""
    group_ = {**GROUP, "assignorName": "uniform", "topology": None, "members": members, **more}
    return call, {"groups": [group_]}


def metadata(leader: int) -> tuple[Call, dict[str, Any]]:
    partitions = [
        {"errorCode": 0, "partitionIndex": number, "leaderId": leader, "leaderEpoch": 4}
        | {"replicaNodes": [leader], "isrNodes": [leader], "offlineReplicas": []}
        for number in (0, 1)
    ]
    topic = {"errorCode": 0, "name": "t", "isInternal": False, "partitions": partitions}
    broker = {"nodeId": leader, "host": "127.0.0.1", "port": 1, "rack": ""}
    return wire.METADATA, {
        "brokers": [broker], "clusterId": "id", "controllerId": 101, "topics": [topic],
    }  # fmt: skip


def ends(*found: tuple[int, int, int]) -> tuple[Call, dict[str, Any]]:
    partitions = [
        {"partitionIndex": number, "errorCode": code, "timestamp": -1, "offset": end}
        for number, code, end in found
    ]
    return wire.LIST_OFFSETS, {"topics": [{"name": "t", "partitions": partitions}]}


def listed(*names: str, error_code: int = 0) -> tuple[Call, dict[str, Any]]:
    found = [{"groupId": name, "protocolType": "consumer"} for name in names]
    return wire.LIST_GROUPS, {"errorCode": error_code, "groups": found}


ANSWERS = {
    **answers(
        metadata(1), listed("orders"), classic("Stable", "a", "b"), ends((0, 0, 10), (1, 0, 4))
    ),
    "api_9": offset_fetch_answer([[(0, 7, 0), (1, -1, 0)]], 0),
}


def plan_at(*ports: int) -> Any:
    return SimpleNamespace(
        brokers=[SimpleNamespace(id=number, port=port) for number, port in enumerate(ports, 1)]
    )


def test_a_look_sees_brokers_partitions_and_groups_with_their_lag() -> None:
    with answering(b"", None, **ANSWERS) as port:
        found = cluster_watch.look(plan_at(port, free_port()), Seen())

    assert {1: True, 2: False} == found.brokers
    assert {"t": 2} == found.topics()
    members = (
        MemberSeen("a", "127.0.0.1", (("t", 0),), "a-1a"),
        MemberSeen("b", "127.0.0.1", (("t", 1),), "b-1a"),
    )
    # Nothing is committed of the second partition, so what is left of it is unknown.
    assert {"orders": GroupSeen("orders", 1, "Stable", members, 3)} == found.groups


def test_a_group_whose_coordinator_is_down_stays_without_one() -> None:
    before = seen(group("gone", lag=4))
    without = {**ANSWERS, **answers(listed())}
    with answering(b"", None, **without) as port:
        down = cluster_watch.look(plan_at(port, free_port()), before)
        all_there = cluster_watch.look(plan_at(port), before)

    assert GroupSeen("gone", None, "Stable", (), 4) == down.groups["gone"]
    assert {} == all_there.groups


def described(*given: tuple[Call, dict[str, Any]], **others: bytes) -> wire.Described | None:
    with answering(b"", None, **answers(*given), **others) as port:
        return wire.described(port, "orders", PATIENCE_S)


def test_a_group_of_kip_848_is_described_by_its_own_call() -> None:
    member: dict[str, Any] = {**MEMBER, "instanceId": None, "subscribedTopicNames": ["t"]}
    given = {"topicPartitions": [{"topicId": bytes(16), "topicName": "t", "partitions": [2, 0]}]}
    member |= {"subscribedTopicRegex": None, "assignment": given, "targetAssignment": NOTHING}
    dead = classic("Dead")

    found = described(dead, described_as(wire.CONSUMER_GROUP_DESCRIBE, member))
    old = described(dead, api_69=b"")  # a broker that does not know the call

    member_ = MemberSeen("c", "10.0.0.1", (("t", 0), ("t", 2)), "m")
    assert wire.Described("Stable", (member_,)) == found
    assert wire.Described("Dead") == old
    assert described(classic("", error_code=16)) is None


def test_share_and_streams_groups_are_described_by_calls_of_their_own() -> None:
    """DescribeGroups calls each of them dead, and so does every call for another type."""
    dead = classic("Dead")
    no_consumers, no_share = (
        described_as(call, errorCode=69, groupState="")
        for call in (wire.CONSUMER_GROUP_DESCRIBE, wire.SHARE_GROUP_DESCRIBE)
    )
    sharing = {**MEMBER, "subscribedTopicNames": ["t"], "assignment": NOTHING}

    share = described(dead, no_consumers, described_as(wire.SHARE_GROUP_DESCRIBE, sharing))
    for topology in (TOPOLOGY, None):
        call = described_as(wire.STREAMS_GROUP_DESCRIBE, STREAMS_MEMBER, topology=topology)
        streams = described(dead, no_consumers, no_share, call)

        tasks = MemberSeen("c", "10.0.0.1", (), "m", ("0_0", "0_2", "standby 1_4"))
        assert wire.Described("Stable", (tasks,), "streams") == streams
    old = described(dead, no_consumers, api_77=b"")  # a broker that has no such groups

    assert wire.Described("Stable", (MemberSeen("c", "10.0.0.1", (), "m"),), "share") == share
    assert wire.Described("Dead") == old


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1\0\0\0\5", assignment(1)[:-2], b"\xff" * 40])
def test_an_assignment_that_cannot_be_read_has_no_partitions(data: bytes) -> None:
    assert not wire.assigned(data).get("topicPartitions")


def test_a_broker_that_refuses_names_neither_groups_nor_positions_nor_ends() -> None:
    loading = answers(listed(error_code=14), ends((0, 6, 0), (1, 0, 4)))
    with answering(b"", None, **loading, api_9=offset_fetch_answer([], 16)) as port:
        assert [] == wire.listed(port, PATIENCE_S)
        assert {} == wire.committed(port, "orders", None, PATIENCE_S)
        assert {("t", 1): 4} == wire.ends(port, {"t": [0, 1]}, PATIENCE_S)  # of what it leads


def test_a_watch_that_breaks_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_plan: Any, _before: Seen) -> Seen:
        raise RuntimeError("what was not thought of")

    monkeypatch.setattr(cluster_watch, "look", breaks)
    watching = Watch(plan_at())
    watching.start()
    watching.stop()

    with pytest.raises(HarnessError, match="the watch ended: what was not thought of"):
        watching.check()


MARK = "INFO GroupMetadataManager [GroupCoordinator id=2] "
UUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"


def log_line(second: int, message: str) -> str:
    return f"2026-11-24T21:00:{second:02}.000000 {MARK}{message}\n"


STARTED = "Preparing to rebalance group orders in state Stable with old generation 4 (reason: {})."
ASSIGNED = log_line(
    3,
    "Assignment received from leader b for group orders for generation 5. The group has 2 members, "
    "0 of which are static.",
)


def test_rebalances_are_read_as_they_are_logged(tmp_path: Path) -> None:
    log = tmp_path / "broker-2.server.log"
    following = Rebalances([log, tmp_path / "none.log"])
    assert [] == following.follow()
    removing = STARTED.format(f"Removing member a-{UUID} on heartbeat expiration")
    other = "2026-11-24T21:00:00.000000 INFO Log something else\n"
    log.write_text(other + log_line(1, removing) + ASSIGNED[:60])

    assert ["orders: rebalance, Removing member a on heartbeat expiration"] == [
        *map(str, following.follow())
    ]
    with log.open("a") as more:
        more.write(ASSIGNED[60:])
    assert ["orders: generation 5 of 2 members after 2.0 s"] == [*map(str, following.follow())]
    assert [] == following.follow()
    assert "Removing member a on heartbeat expiration" == following.last["orders"].why


ADDING = f"Adding new member a-{UUID} with group instance id {{}}; client reason: need to re-join "
ADDING += f"with the given member-id: a-{UUID}"
JOINS = f"[GroupId new] Member {UUID} joins the consumer group using the consumer protocol."
FENCED = "Member N8K7 fenced from the group because the member session expired"
BUMPED = "[GroupId new] Bumped group epoch to {} with metadata hash {}."


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        # What is said of every member is left out.
        ([STARTED.format(ADDING.format("null"))], ["orders: rebalance, Adding new member a"]),
        ([STARTED.format(ADDING.format("None"))], ["orders: rebalance, Adding new member a"]),
        # An epoch is shown with what it was begun for.
        (
            [JOINS, BUMPED.format(2, 77)],
            [f"new: epoch 2, Member {UUID} joins the consumer group using the consumer protocol"],
        ),
        (
            [BUMPED.format(2, 77), f"[GroupId new] {FENCED}.", BUMPED.format(3, 77)],
            ["new: epoch 2, metadata hash 77", f"new: epoch 3, {FENCED}"],
        ),
        (
            [BUMPED.format(3, 77), BUMPED.format(4, 78)],
            ["new: epoch 3, metadata hash 77", "new: epoch 4, metadata hash 78"],
        ),
        (
            ["[GroupId new][MemberId i3_pig] Member joins the streams group.", BUMPED.format(2, 7)],
            ["new: epoch 2, Member i3_pig joins the streams group"],
        ),
    ],
)
def test_a_rebalance_is_shown_with_its_reason(
    tmp_path: Path, messages: list[str], says: list[str]
) -> None:
    log = tmp_path / "broker-1.server.log"
    log.write_text("".join(log_line(1, each) for each in messages))

    assert says == [*map(str, Rebalances([log]).follow())]


def shown(now: Seen, last: Any, broken: Any, gone: dict[str, str] | None = None) -> str:
    console = Console(width=120, force_terminal=False)
    with console.capture() as captured:
        console.print(live_view.drawn("up 3 s", now, last, broken, gone or {}))
    return captured.get()


def test_the_view_has_brokers_groups_members_and_faults(bench: Bench) -> None:
    bench.ask("kill-broker", "broker 1", lasts_s=30.0)
    members = (MemberSeen("a", "127.0.0.1", (("t", 0), ("t", 2))), MemberSeen("b", "127.0.0.1"))
    now = seen(group(members=members, lag=1_200), brokers=(2, 3))

    drawn = shown(now, {}, bench.runner.active)

    for part in ("up 3 s", "○ 1 down", "● 2", "Stable, 2 members, lag 1,200, coordinator broker-2"):
        assert part in drawn
    for part in ("a at 127.0.0.1: t 0 2", "b at 127.0.0.1: no partitions", "of broker-1, heals in"):
        assert part in drawn
    assert "none yet" in shown(seen(), {}, [])
    assert "none right now" in shown(seen(group(coordinator=None)), {}, [])
    many = tuple(MemberSeen(f"m{number}", "127.0.0.1") for number in range(30))
    assert "and 18 more" in shown(seen(group(members=many)), {}, [])
    assert "and 2 groups more" in shown(seen(*(group(f"g{n}") for n in range(10))), {}, [])


def test_the_view_says_which_groups_are_not_of_consumers() -> None:
    tasks = (MemberSeen("app-1", "127.0.0.1", (), "", ("0_0", "standby 1_4")),)
    streams = dataclasses.replace(group("apps", members=tasks), kind="streams")
    share = dataclasses.replace(group("jobs"), kind="share")

    drawn = shown(seen(streams, share, group("others")), {}, [])

    assert "apps  Streams group, Stable, 1 member" in drawn
    assert "app-1 at 127.0.0.1: tasks 0_0, standby 1_4" in drawn
    assert "jobs  share group, Stable, 0 members" in drawn
    assert "others  Stable, 0 members" in drawn
    assert ["jobs: share group, Stable, 0 members, broker-2"] == [
        *live_view.changes(seen(), seen(share))
    ]


def test_members_are_called_by_their_clients_names() -> None:
    member_ = MemberSeen("audit-1", "127.0.0.1", (), "N8K7rzp1SW2yJG1S5v9g/w")
    now = seen(group(members=(member_, MemberSeen("", "127.0.0.1", (), "x"))))
    left = RebalanceSeen("orders", 1, "Member N8K7rzp1SW2yJG1S5v9g/w left", 3, epoch=True)

    assert {"N8K7rzp1SW2yJG1S5v9g/w": "audit-1"} == live_view.names_in(now)
    assert "orders: epoch 3, Member audit-1 left" == live_view.named(
        str(left), live_view.names_in(now)
    )
    assert "ago: Member audit-1 left" in shown(now, {"orders": left}, [])
    before = live_view.names_in(now)
    assert "ago: Member audit-1 left" in shown(seen(group()), {"orders": left}, [], gone=before)


def test_a_line_for_each_change_and_none_for_what_is_as_it_was() -> None:
    before, after = seen(group("orders")), seen(group("orders", None), group("new"), brokers=(1, 3))

    assert [
        "broker-2 does not answer",
        "orders: Stable, 0 members, no coordinator",
        "new: Stable, 0 members, broker-2",
    ] == [*live_view.changes(before, after)]
    assert ["broker-2 answers again", "orders: Stable, 0 members, broker-2", "new: gone"] == [
        *live_view.changes(after, before)
    ]
    lagging = seen(group("orders", lag=5))
    assert [] == [*live_view.changes(before, lagging)]
    thin = dataclasses.replace(before, partitions=dict([partition(0, isr=2)]))
    assert ["1 partition lacks replicas"] == [*live_view.changes(before, thin)]
    assert ["every partition has all its replicas"] == [*live_view.changes(thin, before)]


KILLED = """
import os, signal
from harness.base.errors import HarnessError
from harness.cli import by_hand
try:
    if by_hand._gone_on_alone() is None:  # the cluster's own process
        os.kill(os.getpid(), signal.SIGKILL)
except HarnessError as error:
    print(error)
"""


def test_a_detached_cluster_that_is_killed_before_it_is_up_is_reported() -> None:
    done = python("-c", KILLED, timeout=60)
    said = "the cluster's process was ended by signal 9 before it was up: run `up` again\n"
    assert ("", said) == (done.stderr, done.stdout)
