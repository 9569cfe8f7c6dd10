"""Processes of a program under test: built once, started, watched, and what they showed.

A thread looks at them every 20 ms: whether one has ended, and what it has printed. All of it goes
into a journal, so that the history can be made from it whatever becomes of the run.
"""

import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from consumers.journal import Journal
from harness.base import processes
from harness.base.credentials import Credentials
from harness.base.errors import VoidRun
from harness.cluster.dependency_proxies import Dependencies
from harness.cluster.plan import GROUP, TOPIC, Plan
from harness.experiment.app import App, filled
from harness.run.member import Instance, Member, ProcessTree
from harness.run.named import joined, lines_of, naming_of_app
from harness.run.sink import Sink

if TYPE_CHECKING:  # it imports the engine's SDK, which programs without an image do without
    from harness.cluster.images import ProgramImage

_LOOK_S: Final = 0.02
_LONGEST_LINE: Final = 1_000_000  # bytes; no line that shows a record is that long
MOST_LOG_BYTES: Final = 500_000_000  # of each process, before a run's logs fill the disk
MOST: Final = 30  # in a run
# Before the group was steady once, and without a pause: what cannot work at all is refused soon.
MOST_AT_FIRST: Final = 5
# A process that ran for so long had come up, and the next one is started at once, as by Docker.
CAME_UP_S: Final = 10.0
# Else after a pause that doubles from the first to the longest: Docker's begins with 0.1 s,
# Kubernetes' with 10 s. Without one, a client that gives up while a broker is missing used up all
# starts in 0.3 s, where the controller takes 9 s to miss that broker.
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 10.0
BUILD_S: Final = 1_800.0  # a first build fetches and compiles all that the program needs
_MARK: Final = "build"  # in the environment of the step's processes, instead of a member's name
Built = tuple[str, tuple[str, ...]]  # the folder of a program, and the command that built it
_built: set[Built] = set()  # in this process


def variables(plan: Plan, lane: str, member: str, instance_id: str | None) -> dict[str, str]:
    """What every program is given in its environment, by the names that programs know it by."""
    bootstrap = plan.bootstrap(lane)
    static = {"KAFKA_GROUP_INSTANCE_ID": instance_id} if instance_id else {}
    proven = plan.secured.of_lane(lane) if plan.secured is not None else None
    return {
        "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "KAFKA_TOPIC": TOPIC,
        "KAFKA_GROUP_ID": GROUP,
        "KAFKA_CLIENT_ID": member,
        "HOSTNAME": member,
        "SPRING_KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "SPRING_KAFKA_CONSUMER_GROUP_ID": GROUP,
        "SPRING_KAFKA_CLIENT_ID": member,
        **static,
        **(given_of(proven) if proven is not None else {}),
    }


def given_of(proven: Credentials) -> dict[str, str]:
    """The variables by which a program is let in to a secured cluster.

    Each is a setting of librdkafka's or of Java's clients, written as containers write them; Spring
    takes those of Java's as properties of its own.
    """
    java = {_variable(name): value for name, value in proven.of_java().items()}
    librdkafka = {_variable(name): value for name, value in proven.of_librdkafka().items()}
    known = {f"KAFKA_{name}": value for name, value in {**librdkafka, **java}.items()}
    return known | {f"SPRING_KAFKA_PROPERTIES_{name}": value for name, value in java.items()}


def _variable(setting: str) -> str:
    return setting.upper().replace(".", "_")


@dataclass
class _Seen:
    member: Member
    log: Path
    read: int = 0
    ended: bool = False
    unread: int = 0  # lines that named no record
    unread_text: str = ""  # the latest of them


@dataclass
class AppProcesses:
    """Starts processes of an app and watches them; `stop` ends the watching."""

    app: App
    plan: Plan
    run_dir: Path
    partitions: int
    sink: Sink | None = None
    dependencies: Dependencies | None = None
    _seen: list[_Seen] = field(default_factory=list)
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _watching: threading.Thread | None = None
    _failed: Exception | None = None
    # What its containers are started from, if it is in any.
    image: "ProgramImage | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._journal = Journal(self.run_dir / "journals" / "programs.journal", member="harness")
        self._lines = lines_of(self.app.effects, naming_of_app(self.app, self.partitions), TOPIC)
        if self.app.image:
            from harness.cluster.images import ProgramImage

            self.image = ProgramImage(self.app, self.plan.run)
        ours = {"group": GROUP, "topic": TOPIC, "partitions": self.partitions}
        shows = self.app.effects
        self._write("app", **ours, way=shows.way, asked=shows.output_topic or shows.pattern)

    def start(self, name: str, lane: str, instance_id: str | None) -> Member:
        """Start one more process. Raises VoidRun if it cannot be started."""
        given = variables(self.plan, lane, name, instance_id)
        places = {
            "bootstrap": given["KAFKA_BOOTSTRAP_SERVERS"],
            "topic": TOPIC,
            "group": GROUP,
            "member": name,
            "instance_id": instance_id or "",
            "security_protocol": given.get("KAFKA_SECURITY_PROTOCOL", "PLAINTEXT"),
            "ca": given.get("KAFKA_SSL_CA_LOCATION", ""),
            "sasl_mechanism": given.get("KAFKA_SASL_MECHANISM", ""),
            "username": given.get("KAFKA_SASL_USERNAME", ""),
            "password": given.get("KAFKA_SASL_PASSWORD", ""),
        }
        if self.sink is not None:
            places["sink"] = given["KAFKA_CHAOS_SINK"] = self.sink.url(name)
        if self.app.effects.output_topic:
            places["output_topic"] = given["KAFKA_OUTPUT_TOPIC"] = self.app.effects.output_topic
        if self.dependencies is not None:
            found = self.dependencies.places(lane)
            places |= found
            given |= {name: found[name] for name in self.app.dependencies}
        own = {key: filled(text, places) for key, text in self.app.environment.items()}
        log = self.run_dir / "logs" / f"{name}.log"
        started_at = time.time_ns() // 1_000
        instance = self._instance(name, places, {**given, **own}, log)
        about: dict[str, Any] = {"lane": lane, "instance_id": instance_id, "started_at": started_at}
        member = Member(name, instance, None, stop_signal=self.app.stop.signal, **about)
        self._write("program_started", program=name, pid=instance.pid, **about)
        self._seen.append(_Seen(member, log))
        if self._watching is None:
            self._watching = threading.Thread(target=self._watch, daemon=True)
            self._watching.start()
        return member

    def _instance(
        self, name: str, places: Mapping[str, str], environment: Mapping[str, str], log: Path
    ) -> Instance:
        entrypoint = [filled(word, places) for word in self.app.entrypoint]
        command = [filled(word, places) for word in self.app.command]
        if self.image is not None:
            readable = [str(self.plan.secured.authority)] if self.plan.secured else []
            return self.image.start(name, entrypoint, command, environment, log, readable)
        try:
            process = processes.spawn(
                command,
                run=self.plan.run,
                log=log,
                environment={**environment, processes.MEMBER_MARK: name},
                cwd=Path(self.app.folder),
            )
        except OSError as error:
            raise VoidRun(
                f"{self.app.name} cannot be started ({error}): see that {command[0]!r} can be run "
                f"in {self.app.folder}, and that its build step made it"
            ) from error
        return ProcessTree(process, self.plan.run, name)

    def note(self, member: Member, what: str) -> None:
        dropped = member.instance.drops(signal.Signals[what])
        self._write("program_told", program=member.name, what=what, dropped=dropped)

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
        for seen in self._seen:
            if seen.unread:
                unread = {"count": seen.unread, "text": repr(seen.unread_text[:200])}
                self._write("unread", program=seen.member.name, **unread)
                seen.unread = 0
        if self.image is not None:
            self.image.remove()
        self.check()
        self._write("closed")

    def _watch(self) -> None:
        try:
            over = False
            while not over:
                over = self._over.wait(_LOOK_S)
                for seen in list(self._seen):
                    self._look_at(seen)
        except Exception as error:  # noqa: BLE001 (handed to the thread of the run)
            self._failed = error

    def _look_at(self, seen: _Seen) -> None:
        code = seen.member.exit_code  # first: all that it printed is in its log by then
        at_us = time.time_ns() // 1_000
        # What it has started may live on for a moment, and print.
        self._read_on(seen, at_us, last=code is not None)
        if code is not None and not seen.ended:
            seen.ended = True
            ended = {"exit_code": code, "ended_at": seen.member.instance.ended_at or at_us}
            self._write("program_ended", program=seen.member.name, **ended)

    def _read_on(self, seen: _Seen, at_us: int, *, last: bool) -> None:
        """Read whole lines, or what is left once it has ended; a very long one in pieces."""
        size = seen.log.stat().st_size
        if size > MOST_LOG_BYTES:
            raise VoidRun(
                f"{seen.member.name} has printed more than {MOST_LOG_BYTES // 10**6} MB: let it "
                "log less; its last words: " + processes.last_lines(seen.log, 1)
            )
        if self._lines is None or size <= seen.read:
            return
        shown: list[list[Any]] = []
        with seen.log.open("rb") as log:
            log.seek(seen.read)
            while data := log.readline(_LONGEST_LINE):
                if not (last or data.endswith(b"\n") or len(data) == _LONGEST_LINE):
                    break  # the rest of it is still to come
                seen.read += len(data)
                for line in data.decode(errors="replace").splitlines():
                    ranges = self._lines(line)
                    shown += ranges
                    if not ranges and line.strip():
                        seen.unread += 1
                        seen.unread_text = line.strip()
        if shown:
            what = {"shown_by": self.app.effects.way, "ranges": joined(shown), "seen": at_us}
            self._write("shown", program=seen.member.name, **what)

    def _write(self, kind: str, **frame: Any) -> None:
        with self._writing:
            self._journal.write(kind, **frame)


@dataclass
class Restarts:
    """When programs that ended are started again, in seconds of a steady clock."""

    first_pause_s: float = FIRST_PAUSE_S
    done: int = 0
    # From when on another is to take a place, which instance id it gets, and its number there.
    _waiting: list[tuple[float, str | None, int]] = field(default_factory=list)
    # By process: how many in a row before it, each in the place of the other, ended soon.
    _soon: dict[str, int] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

    def exhausted(self, *, settled: bool) -> bool:
        return self.done + len(self._waiting) >= (MOST if settled else MOST_AT_FIRST)

    def ended(
        self, name: str, instance_id: str | None, lived_s: float, now_s: float, *, settled: bool
    ) -> None:
        soon = 0 if lived_s >= CAME_UP_S else self._soon.get(name, 0) + 1
        # The first that ends soon is started again at once, as all that ran for longer.
        pause_s = self.first_pause_s * 2.0 ** (soon - 2) if settled and soon > 1 else 0.0
        self._waiting.append((now_s + min(pause_s, LONGEST_PAUSE_S), instance_id, soon))

    def due(self, now_s: float) -> Iterator[tuple[str | None, int]]:
        """What is to be started now: instance ids, each with the number for `started`."""
        due = [each for each in self._waiting if each[0] <= now_s]
        self._waiting = [each for each in self._waiting if each[0] > now_s]
        for _, instance_id, soon in due:
            self.done += 1
            yield instance_id, soon

    def started(self, name: str, soon: int) -> None:
        self._soon[name] = soon

    def forget(self) -> None:
        self._waiting.clear()


def needs_building(app: App) -> bool:
    return bool(app.build) and (app.folder, app.build) not in _built


def built() -> frozenset[Built]:
    return frozenset(_built)


def take_as_built(others: Iterable[Built]) -> None:
    _built.update(others)


def build(app: App, run: str, log: Path) -> None:
    """Build a program. Raises VoidRun with its last words where that fails."""
    if not needs_building(app):
        return
    try:
        mark = {processes.MEMBER_MARK: _MARK}
        process = processes.spawn(
            app.build, run=run, log=log, environment=mark, cwd=Path(app.folder)
        )
    except OSError as error:
        raise VoidRun(
            f"the build step of {app.name} cannot be started ({error}): see that {app.build[0]!r} "
            "is installed"
        ) from error
    try:
        code = process.wait(timeout=BUILD_S)
    except subprocess.TimeoutExpired:
        raise VoidRun(
            f"{app.name} was not built within {BUILD_S / 60:.0f} min; its last words: "
            f"{processes.last_lines(log)}"
        ) from None
    finally:  # interrupted, too; and nothing that it left running shall take part in what is timed
        process.kill()
        process.wait()
        for _ in range(2):  # what was just being started is found then
            processes.end(processes.of_member(run, _MARK))
    if code:
        raise VoidRun(
            f"{app.name} was not built: {' '.join(app.build)} ended with exit code {code}; its "
            f"last words: {processes.last_lines(log)}"
        )
    _built.add((app.folder, app.build))
