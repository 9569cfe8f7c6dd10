"""A cluster that goes from one release of Kafka to another: what is refused, started and heard."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.base import processes
from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.ports import Ports
from harness.catalogue import registry
from harness.check.others import others_of
from harness.cluster import embedded, features
from harness.cluster.embedded import EmbeddedCluster
from harness.cluster.features import finalize, finalized_by
from harness.cluster.plan import draw_plan
from harness.cluster.proxies import Toxiproxy
from harness.experiment import Cluster, Expect, Experiment, Fault, Group, Probe, Verdict, holds
from harness.provision import kafka
from harness.provision.tools import Tools
from harness.rules import RULES
from harness.run.faults import KINDS
from harness.run.faults import brokers as broker_faults
from harness.run.faults.kind import Evidence
from harness.run.faults.targets import Target
from harness.run.scene import Scene
from harness.tables.source import Run
from tests.unit.test_observer import serving

UPGRADE = Fault(kind="upgrade-broker", target="broker 1", lasts_s=3)
FINALIZE = Fault(kind="finalize-features", target="controller")
CLUSTER = Cluster(kafka_version="4.3.1", upgraded_from="4.2.2")
UPGRADED = Experiment(claim="x.", cluster=CLUSTER, faults=(UPGRADE,), rules=holds("R02"))
BROKER = Target("broker", "broker-1", 1)
CONTROLLER = Target("controller", "controller-101", 101)


# What is refused.


def of(before: str, after: str = "4.3.1") -> dict[str, Any]:
    return {"cluster": Cluster(kafka_version=after, upgraded_from=before)}


STOP = Fault(kind="stop-broker", target="broker 1", lasts_s=3)
FOR_FOUR = Expect(rule="R21", kafka=("4.0", "4.1", "4.2"))
NOTHING = "changes nothing where nodes never had another release"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (of("4.4.0"), r"not older than Kafka 4\.3\.1, and a cluster's metadata cannot be downgra"),
        (of("4.3.1"), "choose a release before 4.3.1, or a newer one by --kafka$"),
        (of("4.11.0", "4.10.0"), "upgraded_from of 4.11.0 is not older than Kafka 4.10.0"),
        (of("3.6.2"), r"Kafka 3\.6\.2 is too old: choose 3\.7\.0 or newer"),
        (of("4.2"), "Kafka 4.2 is not a release"),
        (
            {"cluster": replace(CLUSTER, backend="docker")},
            "containers, each of one image: choose --backend embedded, or leave it out",
        ),
        (
            {"faults": (STOP,)},
            r"no node would ever be Kafka 4\.3\.1: add one of kind upgrade-broker",
        ),
        (
            {"rules": (*holds("R02"), FOR_FOUR)},
            r"/[a-z-]+ is expected of Kafka 4\.2\.2 alone, and this cluster is upgraded from 4\.",
        ),
        (
            {"probes": (Probe(name="group-apis", beside=True),)},
            "what brokers answer to probe group-apis depends on their release",
        ),
        (
            {**of("3.9.2"), "group": Group(protocol="consumer")},
            r"Kafka 3\.9\.2 has a preview of protocol consumer only",
        ),
        ({"cluster": Cluster()}, NOTHING),
        ({"cluster": Cluster(), "faults": (FINALIZE,)}, NOTHING),
    ],
)
def test_what_cannot_be_upgraded_is_refused_with_a_sentence(
    changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(replace(UPGRADED, **changes))


@pytest.mark.parametrize("before", ["3.7.0", "3.9.2", "4.2.2", "4.3.0"])
def test_any_older_release_can_be_upgraded_from(before: str) -> None:
    cluster = replace(CLUSTER, upgraded_from=before)
    assert (before, "4.3.1") == registry.checked(
        replace(UPGRADED, cluster=cluster)
    ).cluster.releases


def test_the_release_to_come_from_is_a_setting() -> None:
    turned = registry.with_settings(registry.load("broker-upgrade"), {"upgraded_from": "3.9.2"})
    assert "3.9.2" == registry.checked(turned).cluster.upgraded_from


def test_an_expectation_for_some_releases_fits_an_upgrade_between_them() -> None:
    def fits(*releases: str) -> bool:
        return Expect(rule="R02", kafka=("4.0", "4.2")).fits(Group(), *releases)

    assert fits("4.2.2")
    assert fits("4.0.1", "4.2.2")
    assert not fits("4.2.2", "4.3.1")
    assert not fits("4.1.0", "4.2.2")
    assert ("4.3.1",) == Cluster(kafka_version="4.3.1").releases


def test_what_older_brokers_did_not_keep_is_judged_only_where_it_is_declared() -> None:
    def others(*releases: str) -> list[str]:
        return others_of(
            Run("run", "x", "complete", "", {}, protocol="consumer", releases=releases)
        )

    assert "4.3" == RULES["X24"].since
    assert "X24" in others("4.3.0", "4.4.0")
    assert "X24" in others()
    assert "X24" not in others("4.2.2", "4.3.1")
    assert "X24" not in others("4.2.2")
    assert "R20a" in others("4.2.2", "4.3.1")


# What nodes are started with.


def tools(release: str, older: Tools | None = None) -> Tools:
    return Tools(
        java=Path("java"),
        java_version="25.0.1",
        kafka_version=release,
        kafka_classpath=f"jars of {release}",
        controller_template=Path(f"template of {release}"),
        kafka_aot=Path(f"{release}.aot"),
        client_aot=None,
        spark_aot=None,
        toxiproxy=Path("toxiproxy"),
        toxiproxy_version="2",
        older=older,
    )


class Started:
    """A cluster whose nodes are noted and not started, with the folder of the logs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, tools: Tools) -> None:
        self.commands: list[list[str]] = []
        monkeypatch.setattr(processes, "spawn", self._spawn)
        monkeypatch.setattr(EmbeddedCluster, "await_serving", lambda *_: None)
        monkeypatch.setattr(Toxiproxy, "start", lambda *_: None)
        monkeypatch.setattr(embedded, "write_files", self._write)
        with Ports() as ports:
            plan = draw_plan(Cluster(brokers=1), ("members",), "run", ports)
        self.cluster = EmbeddedCluster(plan, tools, folder, folder)
        self.template = Path()

    def _spawn(self, command: list[Any], **_more: Any) -> Any:
        self.commands.append([str(each) for each in command])
        return SimpleNamespace(poll=lambda: 0)  # it has ended again

    def _write(self, _plan: Any, _folder: Path, template: Path) -> None:
        self.template = template

    def jars(self) -> list[str]:
        """The class path and the AOT cache of each start."""
        found = []
        for command in self.commands:
            cache = next(each for each in command if each.startswith("-XX:AOTCache="))
            found.append(f"{command[command.index('-cp') + 1]}, {cache.partition('=')[2]}")
        return found


def test_a_node_has_the_older_release_until_it_is_upgraded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = Started(monkeypatch, tmp_path, tools("4.3.1", tools("4.2.2")))

    started.cluster.start()
    started.cluster.restart(1)
    started.cluster.upgrade(1)
    started.cluster.restart(1)
    started.cluster.restart(101)

    older, newer = "jars of 4.2.2, 4.2.2.aot", "jars of 4.3.1, 4.3.1.aot"
    assert [older, older, older, newer, newer, older] == started.jars()
    assert Path("template of 4.2.2") == started.template


LOG = """\
2026-11-25T04:48:12.000001 INFO KafkaRaftServer starting
2026-11-25T04:48:12.395023 INFO AppInfoParser Kafka version: 4.2.2
2026-11-25T04:48:12.395024 INFO AppInfoParser Kafka commitId: 0123456789abcdef
2026-11-25T04:48:18.477498 INFO AppInfoParser Kafka version: 4.3.1
"""


def test_a_node_s_own_log_has_which_release_it_had_when(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = Started(monkeypatch, tmp_path, tools("4.3.1", tools("4.2.2")))
    assert "" == started.cluster.release_of(1)
    (tmp_path / "broker-1.server.log").write_text(LOG)
    (tmp_path / "broker-1.requests.log").write_text("Kafka version: 9.9.9\n")

    assert "4.3.1" == started.cluster.release_of(1)
    assert {
        "broker-1": [
            {"at": "2026-11-25T04:48:12.395023Z", "release": "4.2.2"},
            {"at": "2026-11-25T04:48:18.477498Z", "release": "4.3.1"},
        ]
    } == features.releases_in(tmp_path)


# Features over the wire, held against bytes that are put together here.


def compact(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def broker(answer: Callable[[int, int, bytes], bytes]) -> AbstractContextManager[int]:
    """A broker that answers each call by its number, version and body; its port."""

    def called(call: bytes) -> bytes:
        api, version, _ = struct.unpack_from(">hhi", call)
        (name,) = struct.unpack_from(">h", call, 8)
        return answer(api, version, call[10 + name :])

    return serving(called)


def versions_answer(*tagged: tuple[int, bytes]) -> bytes:
    """An answer of ApiVersions v3, of a broker that knows one call, with these tagged fields."""
    fields = b"".join(bytes([tag, len(data)]) + data for tag, data in tagged)
    call = struct.pack(">hhh", 18, 0, 4) + b"\0"
    return b"\0\0" + b"\x02" + call + struct.pack(">i", 0) + bytes([len(tagged)]) + fields


def level(name: str, *levels: int) -> bytes:
    return compact(name) + struct.pack(">hh", *levels) + b"\0"


def test_a_broker_has_which_levels_are_finalized() -> None:
    asked: list[tuple[int, int]] = []
    supported = (0, b"\x02" + level("metadata.version", 7, 33))
    epoch = (1, struct.pack(">q", 35))
    final = (2, b"\x03" + level("metadata.version", 30, 30) + level("group.version", 1, 1))

    def answer(api: int, version: int, _body: bytes) -> bytes:
        asked.append((api, version))
        return versions_answer(supported, epoch, final)

    with broker(answer) as port:
        assert {"group.version": 1, "metadata.version": 30} == finalized_by(port)
    assert [(18, 3)] == asked


def test_a_broker_without_features_reports_none() -> None:
    with broker(lambda *_: versions_answer()) as port:
        assert {} == finalized_by(port)


def test_levels_are_finalized_in_one_request() -> None:
    asked: list[tuple[int, int, bytes]] = []

    def answer(api: int, version: int, body: bytes) -> bytes:
        asked.append((api, version, body))
        result = compact("metadata.version") + struct.pack(">h", 0) + b"\x01\0"
        return b"\0" + struct.pack(">ih", 0, 0) + b"\x01" + b"\x02" + result + b"\0"

    with broker(answer) as port:
        finalize(port, {"metadata.version": 33})

    update = compact("metadata.version") + struct.pack(">hb", 33, 1) + b"\0"
    assert [(57, 1, b"\0" + struct.pack(">i", 30_000) + b"\x02" + update + b"\0\0")] == asked


ALL_OF_IT = struct.pack(">ih", 0, 95) + compact("Broker 3 cannot.") + b"\x01\0"
ONE = compact("group.version") + struct.pack(">h", 95) + compact("Not yet.") + b"\0\0"
ONE_OF_IT = struct.pack(">ih", 0, 0) + b"\x01\x02" + ONE


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (ALL_OF_IT, r"refused new levels \(error 95\): Broker 3 cannot\."),
        (ONE_OF_IT, r"refused new levels \(error 95\): group\.version: Not yet\."),
    ],
)
def test_the_controller_s_own_words_say_why_levels_are_refused(answer: bytes, says: str) -> None:
    with broker(lambda *_: b"\0" + answer) as port, pytest.raises(ClusterError, match=says):
        finalize(port, {"group.version": 1})


# The faults.


def scene_of(**cluster: Any) -> Scene:
    nodes = [SimpleNamespace(id=number, name=f"broker-{number}", port=number) for number in (1, 2)]
    plan = SimpleNamespace(
        brokers=nodes,
        node=lambda number: nodes[number - 1],
        proxies_of=lambda number: [f"broker-{number}.members"],
    )
    found = SimpleNamespace(cluster=SimpleNamespace(plan=plan, **cluster), experiment=UPGRADED)
    return cast("Scene", found)


@pytest.mark.parametrize(
    ("release", "took_effect"), [("4.2.2", True), ("4.3.1", False), ("", False)]
)
def test_a_node_that_was_not_of_the_older_release_is_not_upgraded(
    monkeypatch: pytest.MonkeyPatch, release: str, took_effect: bool
) -> None:
    monkeypatch.setattr(
        broker_faults, "_prove_killed", lambda *_: Evidence(True, "direct listener: refused")
    )
    found = KINDS[UPGRADE.kind].prove(scene_of(release_of=lambda _: release), UPGRADE, BROKER)

    assert took_effect == found.took_effect
    assert found.text.startswith(f"direct listener: refused; it was Kafka {release or 'of an'}")


def test_a_node_is_upgraded_when_its_own_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = ["4.2.2", "4.2.2", "4.3.1"]  # it serves before it logs
    upgraded: list[int] = []
    listening: list[tuple[list[str], bool]] = []
    scene = scene_of(
        upgrade=upgraded.append,
        release_of=lambda _: heard.pop(0),
        await_serving=lambda _: None,
        proxies=SimpleNamespace(switch=lambda names, *, on: listening.append((names, on))),
    )

    KINDS[UPGRADE.kind].heal(scene, UPGRADE, BROKER)
    known = KINDS[UPGRADE.kind].settle(scene, UPGRADE, BROKER)

    assert [1] == upgraded
    assert [(["broker-1.members"], True)] == listening
    assert "broker-1 is Kafka 4.3.1, by its own log" == known


def test_a_node_that_comes_back_with_another_release_is_not_healed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_faults, "_LOGGED_S", 0.01)
    monkeypatch.setattr(broker_faults, "_await_back", lambda *_: None)

    with pytest.raises(WaitTimeout, match=r"Kafka 4\.3\.1 in the log of broker-1.*Kafka 4\.2\.2"):
        KINDS[UPGRADE.kind].settle(scene_of(release_of=lambda _: "4.2.2"), UPGRADE, BROKER)


class Levels:
    """Two brokers with the levels of the controller, which they know after so many questions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, late: int = 0) -> None:
        self.now = {"metadata.version": 30, "group.version": 1}
        self.asked: list[tuple[int, dict[str, int]]] = []
        self._late = late  # of the second broker
        newer = {"group.version": 1, "metadata.version": 33, "share.version": 2}
        monkeypatch.setattr(kafka, "formatted_levels", {"4.3.1": newer}.__getitem__)
        monkeypatch.setattr(features, "finalized_by", self._finalized_by)
        monkeypatch.setattr(features, "finalize", self._finalize)

    def _finalized_by(self, port: int) -> dict[str, int]:
        if port == 2 and self._late:
            self._late -= 1
            return {"group.version": 1, "share.version": 2}
        return dict(self.now)

    def _finalize(self, port: int, levels: dict[str, int]) -> None:
        self.asked.append((port, levels))
        self.now |= levels

    def play(self) -> Evidence:
        kind, scene = KINDS[FINALIZE.kind], scene_of()
        kind.inject(scene, FINALIZE, CONTROLLER)
        return kind.prove(scene, FINALIZE, CONTROLLER)


def test_what_is_below_the_newer_release_s_level_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = Levels(monkeypatch, late=3)
    found = levels.play()

    assert [(1, {"metadata.version": 33, "share.version": 2})] == levels.asked
    assert found == Evidence(
        True,
        "every broker has finalized group.version 1, metadata.version 33, share.version 2",
    )


def test_levels_that_a_broker_never_has_are_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_faults, "_KNOWN_S", 0.01)
    found = Levels(monkeypatch, late=10**9).play()

    assert not found.took_effect
    assert found.text.endswith("brokers lack {'broker-2': {'metadata.version': 33}}")


def test_where_nothing_is_to_be_raised_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = Levels(monkeypatch)
    levels.now |= {"metadata.version": 33, "share.version": 2}

    assert levels.play().took_effect
    assert [] == levels.asked


def test_a_release_whose_levels_are_not_known_finalizes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levels = Levels(monkeypatch)
    monkeypatch.setattr(kafka, "formatted_levels", lambda _: {})

    with pytest.raises(ClusterError, match=r"levels of Kafka 4\.3\.1 are unknown"):
        levels.play()


def test_the_experiment_upgrades_every_node_and_then_the_features() -> None:
    experiment = registry.load("broker-upgrade")
    nodes = [fault.target for fault in experiment.faults if fault.kind == "upgrade-broker"]

    assert ["controller", "broker 1", "broker 2", "broker 3"] == nodes
    assert "finalize-features" == experiment.faults[-1].kind
    assert all(expect.verdict is Verdict.HOLDS for expect in experiment.rules)
