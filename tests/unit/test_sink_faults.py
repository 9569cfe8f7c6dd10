"""Faults of the sink, with a real sink: it answers late or with 503, and proves that it does."""

from __future__ import annotations

import http.client
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.base import processes
from harness.base.errors import BadInput
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.experiment import Experiment, Fault, holds
from harness.experiment.app import App, Shows
from harness.run.faults import KINDS
from harness.run.faults.kind import Evidence
from harness.run.faults.targets import resolve
from harness.run.named import Naming
from harness.run.scene import Scene
from harness.run.sink import Sink


class Setting:
    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        fleet = SimpleNamespace(sink=sink)
        self.scene = SimpleNamespace(fleet=fleet, posted={}, wait=self._wait)
        # What a program does while it is waited for.
        self.in_between: Callable[[], object] = lambda: None

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        if what == "post to the sink":
            self.in_between()
        # No process posts by itself; the sink's own answer may take a moment on a busy machine.
        least_s = 0.3 if what == "post to the sink" else timeout_s
        wait_until(what, condition, timeout_s=least_s)

    def post(self, member: str = "member-1", timeout_s: float = 5.0) -> int | None:
        host, _, path = self.sink.url(member).removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(host, timeout=timeout_s)
        try:
            connection.request("POST", f"/{path}", '{"id": 1}')
            return connection.getresponse().status
        except TimeoutError:
            return None
        finally:
            connection.close()

    def inject(self, fault: Fault) -> Evidence:
        target = self._target(fault)
        KINDS[fault.kind].inject(cast("Scene", self.scene), fault, target)
        return KINDS[fault.kind].prove(cast("Scene", self.scene), fault, target)

    def heal(self, fault: Fault) -> None:
        target = self._target(fault)
        KINDS[fault.kind].heal(cast("Scene", self.scene), fault, target)
        KINDS[fault.kind].settle(cast("Scene", self.scene), fault, target)

    def _target(self, fault: Fault) -> Any:
        member = SimpleNamespace(name="member-1", running=True)
        fleet = SimpleNamespace(members={"member-1": member})
        scene = SimpleNamespace(
            experiment=SimpleNamespace(app=None), view=None, fleet=fleet, random=random.Random(1)
        )
        return resolve(cast("Scene", scene), fault, on_link=False)


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    for name in ("journals", "logs"):
        (tmp_path / name).mkdir()
    run = f"test-sink-faults-{os.getpid()}"
    with Ports() as ports:
        sink = Sink(run, tmp_path, ports.take(), Naming(('{"id": {n}}',), 3))
        sink.start()
        try:
            yield Setting(sink)
        finally:
            sink.stop()
            processes.end_run(run)


def slow(target: str = "sink", latency_ms: int = 200) -> Fault:
    return Fault(kind="slow-sink", target=target, latency_ms=latency_ms, lasts_s=3)


def refusing(target: str = "sink") -> Fault:
    return Fault(kind="slow-sink", target=target, how="503", lasts_s=3)


def test_a_sink_that_answers_late_delays_what_is_posted(setting: Setting) -> None:
    setting.in_between = setting.post

    evidence = setting.inject(slow())

    assert evidence.took_effect, evidence.text
    answered = re.match(r"the sink answered the harness 204 after (\d+) ms", evidence.text)
    assert answered is not None
    assert int(answered[1]) >= 200
    assert "1 posts have come since then" in evidence.text
    assert setting.post(timeout_s=0.1) is None
    setting.heal(slow())
    assert 204 == setting.post()


def test_a_long_latency_is_proved_by_silence(setting: Setting) -> None:
    setting.in_between = lambda: setting.post(timeout_s=0.1)

    evidence = setting.inject(slow(latency_ms=75_000))

    assert evidence.took_effect, evidence.text
    assert "no answer within 2 s; 1 posts have come since" in evidence.text


def test_a_sink_that_no_one_posts_to_stalls_no_one(setting: Setting) -> None:
    assert not setting.inject(slow()).took_effect
    setting.heal(slow())
    assert not setting.inject(refusing()).took_effect


def test_one_process_alone_is_answered_503(setting: Setting) -> None:
    assert 204 == setting.post()

    evidence = setting.inject(refusing("member 1"))

    assert evidence.took_effect, evidence.text
    assert "503 after" in evidence.text
    assert "1 posts had come before" in evidence.text
    assert [503, 204] == [setting.post(name) for name in ("member-1", "member-2")]
    setting.heal(refusing("member 1"))
    assert 204 == setting.post()
    assert 3 == setting.sink.posts()
    assert 2 == setting.sink.posts("member-1")


def test_posts_of_another_process_are_no_proof(setting: Setting) -> None:
    setting.post("member-2")

    assert not setting.inject(refusing("member 1")).took_effect


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (slow(), ""),
        (refusing("any member"), ""),
        (slow(latency_ms=19), "because 19 ms could not be measured"),
        (Fault(kind="slow-sink", target="sink", lasts_s=3), "needs a latency_ms of 20 or more"),
        (
            Fault(kind="slow-sink", target="sink", how="503", latency_ms=9, lasts_s=3),
            "slow-sink of sink with 503 answers at once: leave latency_ms out",
        ),
        (slow("dependency"), "slow-sink cannot hit 'dependency': use sink, member <n> or any"),
    ],
)
def test_what_no_sink_can_do_is_refused(fault: Fault, says: str) -> None:
    app = App(name="orders", command=("x",), folder="/", effects=Shows(http=True))
    experiment = with_app(Experiment(claim="x.", faults=(fault,), rules=holds("R33")), app)

    if says:
        with pytest.raises(BadInput, match=says):
            registry.checked(experiment)
    else:
        assert (fault,) == registry.checked(experiment).faults
