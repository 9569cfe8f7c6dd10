"""What faults act on and phases wait for: the running cluster, fleet and observer together."""

import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consumers.journal import tail_journal
from harness.base.errors import VoidRun
from harness.base.wait import wait_until
from harness.base.words import plural
from harness.cluster.backend import RunningCluster
from harness.cluster.dependency_proxies import Dependencies, DependencyLink
from harness.cluster.ping import Witness
from harness.experiment import Experiment
from harness.run.fleet import Fleet
from harness.run.member import Member

Patience = float | Callable[[], float]  # seconds, or what says how many as things are now


@dataclass
class ClusterView:
    journal: Path
    read: int = 0
    brokers: dict[int, bool] = field(default_factory=dict)
    partitions: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    group: dict[str, Any] = field(default_factory=dict)
    end_offsets: dict[int, int] = field(default_factory=dict)

    def follow(self) -> None:
        frames, self.read = tail_journal(self.journal, self.read)
        for frame in frames:
            match frame["kind"]:
                case "broker":
                    self.brokers[frame["broker"]] = frame["alive"]
                case "partition":
                    self.partitions[frame["topic"], frame["partition"]] = frame
                case "group":
                    self.group = frame
                case "end_offset":
                    self.end_offsets[frame["partition"]] = frame["end_offset"]


@dataclass(frozen=True)
class FaultStep:
    """What a fault that goes on step by step has begun, or has done, to one process.

    `kind` is that of the fault which it would be by itself. `at_us` is when it was done; now, where
    it is left out.
    """

    kind: str
    process: str
    phase: str = "injecting"
    took_effect: bool | None = None
    evidence: str = ""
    at_us: int | None = None


@dataclass
class Scene:
    """Everything that runs, and how to wait in it.

    `look` is called where the harness waits, for the screen; `say` shows progress in a line;
    `mark` puts a step of the fault that is being injected on record, and `steps` has them so far.
    """

    experiment: Experiment
    cluster: RunningCluster
    fleet: Fleet
    view: ClusterView
    observer: subprocess.Popen[bytes]
    topic: str
    random: random.Random
    dependencies: Dependencies | None = None
    look: Callable[["Scene"], None] = lambda _scene: None
    say: Callable[[str], None] = lambda _text: None
    mark: Callable[[FaultStep], None] = lambda _step: None
    steps: list[FaultStep] = field(default_factory=list)
    steady_at: float = 0.0  # monotonic seconds
    late_s: float = 0.0  # by how much the schedule is late, for programs that take long to start
    missed_until: float = 0.0  # monotonic seconds: a program that was killed may be waited for
    disturbed_at: float = 0.0  # likewise: when a fault was injected or healed last
    well_since: float | None = None  # likewise: the group is steady and the cluster whole since
    faults: dict[str, Any] = field(default_factory=dict)  # by name, as the nemesis planned them
    leaving: bool = False  # no more faults are to come: the user has had enough
    said_leaving: bool = False
    said_given_up: set[str] = field(default_factory=set)
    # By the name of a fault's target and the broker: connections that the fault is to end.
    witnesses: dict[str, dict[int, Witness]] = field(default_factory=dict)
    # By the name of a fault's target: links to dependencies that were in use when it began.
    in_use: dict[str, list[DependencyLink]] = field(default_factory=dict)
    # Likewise: how many posts to the sink were on record.
    posted: dict[str, int] = field(default_factory=dict)

    def follow(self) -> None:
        """Read every journal on. Raises VoidRun naming what died outside the plan."""
        self.fleet.follow()
        self.view.follow()
        given_up = self.given_up()
        spared = {member.name for member in given_up}
        ended = self.cluster.unplanned_ends() + self.fleet.unplanned_ends(spared)
        if self.dependencies is not None:
            ended += self.dependencies.unplanned_ends()
        if self.observer.poll() is not None:
            ended.append(f"the observer (exit code {self.observer.poll()})")
        if ended:
            raise VoidRun(
                f"{'; '.join(ended)} ended outside the plan, so this run shows nothing: "
                "see logs/ in the run's folder, and run again"
            )
        for member in given_up:
            if member.name not in self.said_given_up:
                self.said_given_up.add(member.name)
                self.say(f"{member.name} gave up for good: {member.fatal_error}")
        if not (self.steady() and self.whole()):
            self.well_since = None
        elif self.well_since is None:
            self.well_since = time.monotonic()
        if self.leaving and not self.said_leaving:  # it is set in the midst of anything
            self.said_leaving = True
            self.say("no more faults: the run ends and is judged; Ctrl-C again ends it at once")
        self.look(self)

    def well(self, for_s: float = 0.0) -> bool:
        return self.well_since is not None and time.monotonic() >= self.well_since + for_s

    def wait(self, what: str, condition: Callable[[], bool], timeout_s: Patience) -> None:
        """Wait for a condition while everything is followed; `timeout_s` as of `wait_until`.

        Raises WaitTimeout with the state of the group, VoidRun as `follow` does.
        """

        def met() -> bool:
            self.follow()
            return condition()

        wait_until(what, met, timeout_s=timeout_s, saw=self.describe)

    def pass_time(self, until: float, unless: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until a monotonic moment, in seconds, or `unless`, following everything."""
        while (left_s := until - time.monotonic()) > 0 and not unless():
            self.follow()
            time.sleep(min(0.05, left_s))

    @property
    def over_at(self) -> float:
        """The end of the faults, in monotonic seconds: a killed member is missed for a while."""
        return max(self.steady_at + self.experiment.duration_s + self.late_s, self.missed_until)

    @property
    def partitions(self) -> int:
        """How many partitions the topic has, as the observer sees it: it may have grown."""
        seen = sum(topic == self.topic for topic, _ in self.view.partitions)
        return max(seen, self.experiment.load.partitions)

    def steady(self) -> bool:
        """The group is stable, and its live members own every partition exactly once."""
        live = self.fleet.live()
        owned = sorted(number for member in live for number in member.assigned)
        group = self.view.group
        if self.experiment.app is None:
            there = group.get("members") == len(live)
        else:
            # A program may have several members in one process. One that its coordinator has not
            # heard of since a fault may still be put out of the group for it.
            there = bool(live) and not self.fleet.restarts.pending
            there = there and all(
                member.started and not member.closed and member.heard_at > self.disturbed_at
                for member in live
            )
        return owned == list(range(self.partitions)) and group.get("state") == "Stable" and there

    def whole(self) -> bool:
        """Every broker answers, and every partition of every topic has all its replicas in sync."""
        return (
            sum(self.view.brokers.values()) == len(self.cluster.plan.brokers)
            and len(self.view.partitions) > 0
            and not self._thin()
        )

    def _thin(self) -> list[str]:
        rows = self.view.partitions.items()
        thin = [(place, row["isr"]) for place, row in rows if len(row["isr"]) < row["replicas"]]
        return [f"{topic}-{number} {isr}" for (topic, number), isr in thin]

    def consuming(self, since: dict[int, int]) -> bool:
        """Whether every partition has been processed past where it stood in `since`."""
        now = self.fleet.processed()
        return all(now.get(number, 0) > since.get(number, 0) for number in range(self.partitions))

    def given_up(self) -> list[Member]:
        """Members of a group that was steady whose client library gave up: rules judge that."""
        if not self.fleet.settled:
            return []
        members = self.fleet.members.values()
        return [each for each in members if not each.expected_end and each.gave_up]

    @property
    def deserted(self) -> bool:
        """Whether no member is left that could do anything: all clients have given up."""
        return not self.fleet.live() and bool(self.given_up())

    def describe(self) -> str:
        members = ", ".join(f"{each.name} {sorted(each.assigned)}" for each in self.fleet.live())
        dead = [broker for broker, alive in self.view.brokers.items() if not alive]
        thin = ", ".join(self._thin()[:6])
        group = self.view.group
        reached = sorted(self.fleet.processed().items())
        processed = ", ".join(f"{number} to {position}" for number, position in reached)
        return (
            f"group {group.get('state', 'unseen')} with "
            f"{plural(group.get('members', 0), 'member')}; assigned: {members or 'none'}; "
            f"brokers down: {dead or 'none'}; out of sync: {thin or 'none'}; "
            f"processed: {processed or 'nothing'}"
        )
