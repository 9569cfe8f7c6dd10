"""Processes of a program of somebody else's: started, watched, and what they showed.

A thread of the harness looks at them every 20 ms: whether one has ended, and what it has printed.
All of it goes into a journal, so that the history can be made from it whatever becomes of the run.
"""

import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from consumers.journal import Journal
from harness.base import processes
from harness.base.errors import VoidRun
from harness.cluster.plan import Plan
from harness.experiment.app import App, filled
from harness.run.member import Member

_LOOK_S: Final = 0.02


def variables(
    plan: Plan, lane: str, group: str, topic: str, member: str, instance_id: str | None
) -> dict[str, str]:
    """What every program is given in its environment, by the names that programs know it by."""
    bootstrap = plan.bootstrap(lane)
    static = {"KAFKA_GROUP_INSTANCE_ID": instance_id} if instance_id else {}
    return {
        "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "KAFKA_TOPIC": topic,
        "KAFKA_GROUP_ID": group,
        "KAFKA_CLIENT_ID": member,
        "HOSTNAME": member,
        "SPRING_KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "SPRING_KAFKA_CONSUMER_GROUP_ID": group,
        "SPRING_KAFKA_CLIENT_ID": member,
        **static,
    }


@dataclass
class _Seen:
    """What has been read of one process's output."""

    member: Member
    log: Path
    read: int = 0
    ended: bool = False


@dataclass
class Programs:
    """Starts processes of an app and watches them; `stop` ends the watching."""

    app: App
    plan: Plan
    run_dir: Path
    group: str
    topic: str
    partitions: int
    _seen: list[_Seen] = field(default_factory=list)
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _watching: threading.Thread | None = None
    _failed: Exception | None = None

    def __post_init__(self) -> None:
        self._journal = Journal(self.run_dir / "journals" / "programs.journal", member="harness")
        self._pattern = re.compile(self.app.effects.stdout) if self.app.effects.stdout else None
        self._write("app", group=self.group, topic=self.topic, partitions=self.partitions)

    def start(self, name: str, lane: str, instance_id: str | None) -> Member:
        """Start one more process. Raises VoidRun where there is nothing to start."""
        given = variables(self.plan, lane, self.group, self.topic, name, instance_id)
        places = {
            "bootstrap": given["KAFKA_BOOTSTRAP_SERVERS"],
            "topic": self.topic,
            "group": self.group,
            "member": name,
            "instance_id": instance_id or "",
        }
        own = {key: filled(text, places) for key, text in self.app.environment.items()}
        command = [filled(word, places) for word in self.app.command]
        log = self.run_dir / "logs" / f"{name}.log"
        started_at = time.time_ns() // 1_000
        try:
            process = processes.spawn(
                command,
                run=self.plan.run,
                log=log,
                environment={**given, **own, processes.MEMBER_MARK: name},
                cwd=Path(self.app.folder),
            )
        except OSError as error:
            raise VoidRun(
                f"{self.app.name} cannot be started ({error}): see that {command[0]!r} can be run "
                f"in {self.app.folder}, and that its build step made it"
            ) from error
        member = Member(
            name,
            process,
            None,
            lane=lane,
            run=self.plan.run,
            started_at=started_at,
            instance_id=instance_id,
            stop_signal=self.app.stop.signal,
        )
        self._write(
            "program_started",
            program=name,
            pid=process.pid,
            lane=lane,
            instance_id=instance_id,
            started_at=started_at,
        )
        self._seen.append(_Seen(member, log))
        if self._watching is None:
            self._watching = threading.Thread(target=self._watch, daemon=True)
            self._watching.start()
        return member

    def told(self, member: Member, what: str) -> None:
        """Note that a process is asked to end, or killed, just before it is."""
        self._write("program_told", program=member.name, what=what)

    def check(self) -> None:
        """Raises VoidRun if the watching has failed."""
        if isinstance(self._failed, VoidRun):
            raise self._failed
        if self._failed is not None:
            raise VoidRun(f"the programs cannot be watched any more: {self._failed}")

    def stop(self) -> None:
        """Look at everything once more, and no longer. Raises VoidRun as `check` does."""
        self._over.set()
        if self._watching is not None:
            self._watching.join(timeout=10)
        self.check()

    def _watch(self) -> None:
        try:
            over = False
            while not over:
                over = self._over.wait(_LOOK_S)
                for seen in list(self._seen):
                    self._look_at(seen)
        except Exception as error:  # noqa: BLE001 (handed to whoever follows the run)
            self._failed = error

    def _look_at(self, seen: _Seen) -> None:
        code = seen.member.process.poll()  # first: all that it printed is in its log by then
        at_us = time.time_ns() // 1_000
        # What it has started may live on for a moment, and print.
        self._read_on(seen, at_us, last=code is not None)
        if code is not None and not seen.ended:
            seen.ended = True
            self._write("program_ended", program=seen.member.name, exit_code=code, ended_at=at_us)

    def _read_on(self, seen: _Seen, at_us: int, *, last: bool) -> None:
        if self._pattern is None:
            return
        if seen.log.stat().st_size == seen.read:
            return
        with seen.log.open("rb") as log:
            log.seek(seen.read)
            data = log.read()
        whole = len(data) if last else data.rfind(b"\n") + 1
        seen.read += whole
        shown = [
            self._place(match)
            for line in data[:whole].decode(errors="replace").splitlines()
            for match in [self._pattern.search(line)]
            if match
        ]
        if shown:
            self._write(
                "shown", program=seen.member.name, shown_by="stdout", ranges=runs(shown), seen=at_us
            )

    def _place(self, match: re.Match[str]) -> tuple[str, int, int]:
        """Which record a line is about: by its number in the partition, or by its offset."""
        found = match.groupdict()
        try:
            if found.get("n") is not None:
                number, partition = divmod(int(found["n"]), self.partitions)
                return "number", partition, number
            return "offset", int(found["partition"]), int(found["offset"])
        except (KeyError, TypeError, ValueError):
            raise VoidRun(
                f"[effects] stdout {self.app.effects.stdout!r} found no number in the line "
                f"{match.string.strip()[:200]!r}: let its groups match digits alone"
            ) from None

    def _write(self, kind: str, **frame: Any) -> None:
        with self._writing:
            self._journal.write(kind, **frame)


def runs(shown: list[tuple[str, int, int]]) -> list[list[Any]]:
    """[by, partition, first, last] of records in the order shown: consecutive ones as one run."""
    found: list[list[Any]] = []
    latest: dict[tuple[str, int], list[Any]] = {}
    for by, partition, place in shown:
        run = latest.get((by, partition))
        if run is not None and run[3] + 1 == place:
            run[3] = place
        else:
            latest[by, partition] = run = [by, partition, place, place]
            found.append(run)
    return found
