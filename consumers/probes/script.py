"""What a probe's script asks with: every question, its answer and the group's state are recorded.

Many questions may be open at once, because a coordinator parks some; a script may also play
several scenes at once, each on a group of its own.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from consumers import jvm
from consumers.config import ProbeConfig, proven_by
from consumers.journal import Journal
from consumers.probes.wire import VERSIONS, Body, Brokers, Codec, Link
from harness.base.wait import wait_until

Scene = Callable[["Script"], None]

# Longer than any rebalance timeout of a script: a parked question is not given up before.
PATIENCE_S: Final = 45.0
GROUP_ID_NOT_FOUND: Final = 69
# Of a question, as they are.
_RECORDED: Final = ("step", "rule", "api", "group", "member_id", "instance_id", "generation")


@dataclass(frozen=True)
class Question:
    """One question, as it is recorded. `rule` is the one that it is asked for.

    `group` is null for a call about no group. `version` null is the usual one (`wire.VERSIONS`).
    """

    step: str
    rule: str
    api: str
    body: Body
    group: str | None = None
    member_id: str | None = None
    instance_id: str | None = None
    generation: int | None = None
    version: int | None = None
    expected: Body | None = None


class Script:
    """Asks, and writes down. Safe to use from several threads."""

    def __init__(self, config: ProbeConfig, journal: Journal) -> None:
        jvm.start(config.java_home, config.class_path)
        self.config = config
        self.client_id = config.member
        self.codec = Codec(config.member)
        self.brokers = Brokers(self.codec, config.bootstrap, PATIENCE_S, config.proven())
        direct = proven_by(config.direct_credentials)
        self._direct = Brokers(self.codec, config.direct, credentials=direct)
        self._coordinators: dict[str, int] = {}
        self._with_epochs: set[str] = set()
        self._journal = journal
        self._writing = Lock()
        self._waiting = ThreadPoolExecutor(max_workers=64, thread_name_prefix="answer")

    def group(self, name: str, *, epochs: bool = False) -> str:
        """The name of a group of the script's own, after the group under test.

        `epochs`: it is to be one of KIP-848, whose state only a call of its own shows.
        """
        group = f"{self.config.group}-{name}"
        if epochs:
            self._with_epochs.add(group)
        return group

    def ask(self, question: Question, broker: int | None = None) -> Body | None:
        """Ask and wait for the answer; None if none came."""
        return self.begin(question, broker).result()

    def begin(self, question: Question, broker: int | None = None) -> "Future[Body | None]":
        """Ask, and go on when the question is on the wire: the answer comes when it comes.

        The broker is the group's coordinator unless one is named.
        """
        if broker is None:
            assert question.group is not None, question
            broker = self.coordinator(question.group)
        before = self.state(question.group)
        version = VERSIONS[question.api] if question.version is None else question.version
        data = self.codec.encode(question.api, version, question.body)
        link = self.brokers.link(broker)
        sent_at = _now_us()
        link.send(data)
        return self._waiting.submit(self._receive, question, version, link, broker, before, sent_at)

    def _receive(
        self, question: Question, version: int, link: Link, broker: int, before: str, sent_at: int
    ) -> Body | None:
        answer: Body | None = None
        answered_at = None
        try:
            data = link.receive()
            answered_at = _now_us()
            answer = self.codec.decode(question.api, version, data)
        except OSError:
            pass  # recorded as a question without an answer
        said = {name: getattr(question, name) for name in _RECORDED}
        with self._writing:
            self._journal.write(
                "call",
                probe=self.config.probe,
                **said,
                broker=broker,
                state_before=before or None,
                state_after=self.state(question.group) or None,
                sent_at=sent_at,
                answered_at=answered_at,
                error_code=None if answer is None else worst(answer),
                expected=None if question.expected is None else json.dumps(question.expected),
                request=json.dumps({"version": version, **question.body}),
                answer=None if answer is None else json.dumps(answer),
            )
        return answer

    def state(self, group: str | None) -> str:
        """The group's state by its coordinator, over the listener that no fault touches.

        "Dead" for a group that does not exist; empty for no group.
        """
        if group is None:
            return ""
        broker = self.coordinator(group)
        if group in self._with_epochs:
            body = {"groupIds": [group]}
            (found,) = self._direct.ask(broker, "CONSUMER_GROUP_DESCRIBE", body)["groups"]
            missing = found["errorCode"] == GROUP_ID_NOT_FOUND
            return "Dead" if missing else str(found["groupState"])
        (found,) = self._direct.ask(broker, "DESCRIBE_GROUPS", {"groups": [group]})["groups"]
        return str(found["groupState"])

    def coordinator(self, group: str) -> int:
        """The broker that coordinates a group, looked up once: no fault moves it."""
        if group not in self._coordinators:
            self._coordinators[group] = self._direct.coordinator(group)
        return self._coordinators[group]

    def until(
        self,
        what: str,
        condition: Callable[[], bool],
        timeout_s: float = 15.0,
        every_s: float = 0.05,
    ) -> None:
        """Wait for a named condition. Raises WaitTimeout."""
        wait_until(what, condition, timeout_s=timeout_s, every_s=every_s)

    def until_state(self, group: str, *states: str) -> None:
        """Wait until a group is in one of some states. Raises WaitTimeout."""
        what = f"group {group} in state {' or '.join(states)}"
        self.until(what, lambda: self.state(group) in states)

    def ready(self) -> None:
        """Have the faults begin beside which this is played: all is as they are to find it."""
        with self._writing:
            self._journal.write("ready")

    def play(self, scenes: Iterable[Scene]) -> None:
        """Play scenes at once; the first failure is raised when all have ended."""
        scenes = list(scenes)
        with ThreadPoolExecutor(max_workers=len(scenes), thread_name_prefix="scene") as stage:
            played = [stage.submit(scene, self) for scene in scenes]
        for scene in played:
            scene.result()


def worst(answer: Any) -> int:
    """The largest error code anywhere in an answer (an unknown one is -1), 0 if there is none."""
    return max(_errors(answer), default=0)


def _errors(answer: Any) -> Iterator[int]:
    if isinstance(answer, dict):
        if code := int(answer.get("errorCode", 0)):
            yield code
        answer = list(answer.values())
    if isinstance(answer, list):
        for value in answer:
            yield from _errors(value)


def _now_us() -> int:
    return time.time_ns() // 1_000


def ask_library(config: ProbeConfig, journal: Journal, ask: Callable[[], Body], **row: Any) -> None:
    """Ask a client library, whose refusal is `said` in the answer, and write that down."""
    sent_at = _now_us()
    answer = ask()
    journal.write(
        "call",
        probe=config.probe,
        sent_at=sent_at,
        answered_at=_now_us(),
        error_code=1 if answer["said"] else 0,
        answer=json.dumps(answer),
        **row,
    )
