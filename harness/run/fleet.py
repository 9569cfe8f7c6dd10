"""The fleet: producer and members of a run, as processes, followed through what they leave behind.

Our own consumers are followed by the journals that they write anyway, a program under test by the
brokers' request logs: watching costs a member nothing.
"""

import json
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.base import processes
from harness.base.errors import HarnessError, VoidRun, WaitTimeout
from harness.base.wait import wait_until
from harness.cluster.dependency_proxies import Dependencies
from harness.cluster.plan import Plan
from harness.experiment import Experiment
from harness.history.whose import SHARED
from harness.provision import wheels
from harness.provision.tools import Tools
from harness.run import why
from harness.run.app_processes import AppProcesses, Restarts
from harness.run.broker_side import BrokerSide
from harness.run.configs import Configs
from harness.run.member import Instance, Member, Partition, ProcessTree, has_left
from harness.run.named import naming_of_app
from harness.run.sink import Sink

_LOOK_S: Final = 0.02
_END_S: Final = 10.0  # for a process to end that has nothing left to do
_FLUSH_S: Final = 70.0  # of the producer, whose last answers may take a minute
GRACE_S: Final = 30.0  # for a consumer of ours to end once it has its signal


class Fleet:
    def __init__(
        self,
        experiment: Experiment,
        plan: Plan,
        tools: Tools,
        run_dir: Path,
        sink_port: int | None = None,
        dependencies: Dependencies | None = None,
    ) -> None:
        self._experiment = experiment
        self._plan = plan
        self._run_dir = run_dir
        self._configs = Configs(experiment, plan, tools, run_dir)
        self.members: dict[str, Member] = {}
        self.producer: subprocess.Popen[bytes] | None = None
        self._producer_ended_on_purpose = False
        self._probes: list[subprocess.Popen[bytes]] = []
        self._programs: AppProcesses | None = None
        self.brokers = BrokerSide(run_dir / "logs", plan)  # of programs; else it follows nothing
        self.restarts = Restarts()  # of programs that end by themselves
        self.settled = False  # the group was steady once: from then on what ends is judged
        self._closing = False  # what ends by itself is not started again any more
        # Numbers of an app's records go round as many partitions as there will ever be.
        more = sum(fault.more_partitions or 0 for fault in experiment.faults)
        self.rounds = experiment.load.partitions + more
        self.sink: Sink | None = None  # where an app posts to, if it does
        if (app := experiment.app) is not None:
            if sink_port is not None:
                naming = naming_of_app(app, self.rounds)
                self.sink = Sink(plan.run, run_dir, sink_port, naming)
            self._programs = AppProcesses(app, plan, run_dir, self.rounds, self.sink, dependencies)

    def lane_of(self, member: str) -> str:
        """The lane of a member's links: its own where a network fault may hit it."""
        if member in self.members:
            return self.members[member].lane
        return member if member in self._plan.lanes else "members"

    def _free_lane(self) -> str:
        """A lane that no living program uses, or the shared one. Raises VoidRun without any."""
        if SHARED in self._plan.lanes:
            return SHARED
        used = {member.lane for member in self.members.values() if member.running}
        for lane in self._plan.lanes:
            if lane.startswith("member-") and lane not in used:
                return lane
        raise VoidRun(
            f"all {len(used)} lanes are used by living processes, so one more could not be "
            "recognized: start fewer at once"
        )

    def start_member(
        self, name: str, instance_id: str | None = None, *, joins_when_told: bool = False
    ) -> Member:
        """Start one more consumer.

        A static one has its name for an instance id, unless it takes the place of another member:
        then it has the settings and the instance id of that one.
        """
        number = int((instance_id or name).rpartition("-")[2])
        group = self._experiment.group.of_member(number)
        if group.static:
            instance_id = instance_id or name
        if self._programs is not None:
            member = self._programs.start(name, self._free_lane(), instance_id)
        else:
            apart = any(lane.startswith("member-") for lane in self._plan.lanes)
            # Where there is no end of members, one that is free.
            drawn = self._experiment.at_random and apart
            lane = self._free_lane() if drawn else self.lane_of(name)
            config = self._configs.consumer(
                name, group, lane, instance_id, joins_when_told=joins_when_told
            )
            own = group.client_version if group.client == "librdkafka" else ""
            process, journal = ProcessTree(self._start(config, own)), Path(config.journal)
            member = Member(name, process, journal, lane=lane, instance_id=instance_id)
        self.members[name] = member
        return member

    def start_producer(self) -> None:
        self.producer = self._start(self._configs.producer(self.rounds))

    def order_producer(self, command: str) -> None:
        assert self.producer is not None
        processes.tell(self.producer, command)

    def start_probe(self, name: str) -> tuple[subprocess.Popen[bytes], Path]:
        config = self._configs.probe(name)
        process = self._start(config)
        self._probes.append(process)
        return process, Path(config.journal)

    def _start(
        self, config: ConsumerConfig | ProducerConfig | ProbeConfig, wheel: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start the program of `config`; `wheel` is a version of confluent-kafka, if not ours."""
        path = self._run_dir / "journals" / f"{config.member}.json"
        path.write_text(json.dumps(asdict(config), indent=2))
        command = processes.python_module("consumers", config.role, "--config", str(path))
        if wheel:
            command[0] = str(wheels.python(wheel))
        return processes.spawn(
            command,
            run=self._plan.run,
            log=self._run_dir / "logs" / f"{config.member}.log",
            stdin=subprocess.PIPE,
        )

    def follow(self) -> None:
        if self._programs is not None:
            self._programs.check()
            if self.sink is not None:
                self.sink.check()
            self.brokers.follow(self.members.values())
            self._supervise()
            return
        for member in self.members.values():
            member.follow()

    def _supervise(self) -> None:
        """Start a program again that has ended by itself, as its supervisor would.

        Raises VoidRun for one that ended before it was ever in the group, or that ends again and
        again before the group is steady.
        """
        now_s = time.monotonic()
        for member in list(self.members.values()):
            if member.running or member.expected_end:
                continue
            if not any(each.started for each in self.members.values()):
                raise VoidRun(why.ended_early(member, self.brokers, self.last_words))
            exhausted = self.restarts.exhausted(settled=self.settled)
            if exhausted and not (self.settled or self._closing):
                raise VoidRun(why.ends_again(member, len(self.members), self.last_words))
            member.kill()  # what it has started and left behind, as a container's end would
            if not (exhausted or self._closing):
                lived_s = time.time() - member.started_at / 1e6
                self.restarts.ended(
                    member.name, member.instance_id, lived_s, now_s, settled=self.settled
                )
        for instance_id, soon in self.restarts.due(now_s):
            self.restarts.started(self.start_member(self.next_name(), instance_id).name, soon)

    def record(self) -> dict[str, Any]:
        """What a manifest has of the program beyond what is declared: its image as it is here."""
        image = self._programs.image if self._programs is not None else None
        return {} if image is None else {"image": image.image.record}

    def live(self) -> list[Member]:
        """Members whose process exists and that were not asked to end."""
        return [
            member for member in self.members.values() if member.running and not member.expected_end
        ]

    def processed(self) -> dict[Partition, int]:
        """The next offset of each partition that no member has processed yet."""
        positions: dict[Partition, int] = {}
        for member in self.members.values():
            for number, position in member.position.items():
                positions[number] = max(positions.get(number, 0), position)
        return positions

    def stop_producer(self) -> str:
        """Tell the producer to stop, and wait for its last answers; in words how it did not end."""
        if self.producer is None:
            return ""
        self._producer_ended_on_purpose = True
        processes.tell_last(self.producer, "stop")
        return self._ended_badly("producer-1", ProcessTree(self.producer), _FLUSH_S)

    def close_members(self, timeout_s: float = 30) -> list[str]:
        """Close every live member in order, one after the other; in words how some did not end.

        The next is closed once one has left its group: how long its process takes to end after that
        does not matter. How a program under test ends is for the judge.
        """
        closing = self.live()
        self.restarts.forget()
        self._closing = True
        if self._programs is not None:
            for member in closing:
                self.end_in_order(member)
            return []
        for member in closing:
            member.close()
            with suppress(WaitTimeout):  # it is among the stuck, then
                wait_until(
                    f"{member.name} to leave", partial(has_left, member), timeout_s=timeout_s
                )
        ends = [self._ended_badly(member.name, member.instance, _END_S) for member in closing]
        return [
            end for member, end in zip(closing, ends, strict=True) if end and not member.gave_up
        ]

    def end_in_order(self, *members: Member, follow: Callable[[], None] | None = None) -> None:
        """Ask processes to end, wait as long as their supervisor would, and kill what is left.

        All are asked at once, and `ending` of each says what came of it. While it waits it calls
        `follow`, by default this fleet's own.
        """
        app, asked_at = self._experiment.app, time.monotonic()
        until = asked_at + (app.stop.grace_s if app is not None else GRACE_S)
        for member in members:
            self.note(member, member.stop_signal)
            member.terminate()
        killed: set[str] = set()
        while left := [member for member in members if member.ending is None]:
            (follow or self.follow)()
            now = time.monotonic()
            for member in left:
                if member.gone:
                    member.ended(now - asked_at, killed=member.name in killed)
                elif now >= until and member.name not in killed:
                    killed.add(member.name)
                    self.note(member, "SIGKILL")
                    member.kill()
            if now >= until + _END_S:
                break  # not even SIGKILL ends it: it is stuck in the kernel
            time.sleep(_LOOK_S)

    def note(self, member: Member, what: str) -> None:
        """Put on record what is about to be done to a program under test."""
        if self._programs is not None:
            self._programs.note(member, what)

    def _ended_badly(self, name: str, process: Instance, timeout_s: float) -> str:
        """How a process did not end in order, in words; empty if it did."""
        code = process.wait(timeout_s)
        if code is None:
            return f"{name} did not end within {timeout_s:g} s"
        return f"{name} ended with exit code {code}: {self.last_words(name)}" if code else ""

    def unplanned_ends(self, spared: Collection[str] = ()) -> list[str]:
        """Clients that ended without an order, in words; but for the members that are spared."""
        ended = [
            f"{member.name} (exit code {member.exit_code}: {self.last_words(member.name)})"
            for member in self.members.values()
            if not (member.running or member.expected_end or member.foreign)
            and member.name not in spared
        ]
        code = self.producer.poll() if self.producer is not None else None
        if code is not None and not self._producer_ended_on_purpose:
            ended.append(f"the producer (exit code {code}: {self.last_words('producer-1')})")
        return ended

    def next_name(self) -> str:
        return f"member-{len(self.members) + 1}"

    def last_words(self, name: str) -> str:
        return processes.last_lines(self._run_dir / "logs" / f"{name}.log", 2)

    def kill_all(self) -> None:
        children: list[Instance] = [ProcessTree(each) for each in self._probes]
        if self.producer is not None:
            children.append(ProcessTree(self.producer))
        for member in self.members.values():
            with suppress(HarnessError):  # it is ended all the same
                if member.foreign and member.running:
                    self.note(member, "SIGKILL")
            children.append(member.instance)
        for child in children:
            with suppress(HarnessError):  # of a container that is unknown by now
                if child.poll() is None:
                    child.kill()
        for child in children:
            with suppress(HarnessError):
                child.wait(_END_S)
        if self.sink is not None:
            self.sink.stop()
        if self._programs is not None:
            self._programs.stop()

    def why_not_joined(self, *, steady: bool = False) -> str:
        """Which programs have no part in the group, or why none gets further since `steady`."""
        members = self.members.values()
        return why.not_joined(members, self.brokers, self.last_words) or why.no_progress(
            members, self._experiment.load.partitions, self.last_words, steady=steady
        )
