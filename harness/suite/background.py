"""Judging runs in the background: in a process of its own, while the next run of a suite is played.

That process gets only processor time that is left over (Linux: SCHED_IDLE, and the least share
for its session, which its Spark inherits), so that it cannot make anything late that is timed. What
it is given waits until the next run is up, because starting brokers and consumers takes all the
processors there are. Where a system has no such class, each run is judged before the next one
begins.
"""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.base.errors import WaitTimeout
from harness.base.paths import ROOT
from harness.base.priority import IDLE, give_way
from harness.base.wait import wait_until
from harness.catalogue import own_modules
from harness.suite.judging import Judge

# No run took longer than two minutes to judge on two cores, beside others; a soak of days takes
# some more. What takes longer than this hangs, and a night should not hang with it.
LONGEST_S: Final = 3_600.0
_END_S: Final = 120.0  # to end Spark; nothing is lost with a process that hangs there
# The folder of a run that has been judged, and why it could not be ("" if it was).
Answer = tuple[str, str]


def child(
    module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program of ours that reads and writes lines; its standard error goes to `log`.

    Ctrl-C is for the suite, which ends it or passes that on.
    """
    with log.open("ab") as says:
        return subprocess.Popen(
            processes.python_module(module, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=says,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )


class BackgroundJudge:
    """Judges runs one after the other, in the order of `submit`, until it is closed.

    `go` is when it may begin; it need not be called where runs are not judged in the background.
    `log` gets what the process says besides, and every process that takes its place.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: deque[Answer | None] = deque()  # of its process; null: that has ended
        self._held: list[Path] = []
        self._pending: list[Path] = []

    def submit(self, run_dir: Path) -> None:
        """Have this run judged, and its reports written, from the next `go` on."""
        self._held.append(run_dir)
        if IDLE is None:
            self.go()

    def go(self) -> None:
        for run_dir in self._held:
            if not self._pending and (self._process is None or self._process.poll() is not None):
                self._start()
            self._pending.append(run_dir)
            self._ask(run_dir)
        self._held = []

    def finished(self, *, wait: bool = False) -> Generator[tuple[Path, str], None, None]:
        """Runs that have been judged since the last call, and why one could not be ("" if it was).

        `wait` goes on until none is left; so does a system where judging would disturb a run. A
        process that is not through with a run after LONGEST_S is ended, and another one goes on.
        """
        if wait:
            self.go()
        waits = wait or IDLE is None
        while self._pending:
            answers, hung = self._answers, ""
            with suppress(WaitTimeout):
                limit_s = LONGEST_S if waits else 0.0
                wait_until("answer of the judge", partial(bool, answers), timeout_s=limit_s)
            if not answers and not waits:
                return
            if not answers:
                hung = f"it was not judged within {LONGEST_S / 60:g} min, and its process was ended"
                self._kill()
            if hung or answers[0] is None:
                run_dir = self._pending.pop(0)
                ended = self._ended()
                yield run_dir, hung or ended
                continue
            folder, problem = answers[0]
            for run_dir in [each for each in self._pending if str(each.resolve()) == folder]:
                yield run_dir, problem
                self._pending.remove(run_dir)
            answers.popleft()  # not before: after an interruption it is asked for again

    def close(self) -> None:
        """End the process; what is still to be judged is not."""
        if self._pending:
            self._kill()
        self._end()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()  # its Spark goes with it

    def _end(self) -> int:
        """Let the process end, if there is one; its exit code."""
        process, self._process = self._process, None
        return 0 if process is None else processes.let_end(process, _END_S)

    def _start(self) -> None:
        self._end()
        folder = own_modules.rules_folder()  # judged beside ours
        rules = [] if folder is None else [str(folder)]
        self._process = child("harness.suite.background", *rules, log=self._log)
        self._answers = deque()
        listening = (self._process, self._answers)
        threading.Thread(target=_listen, args=listening, daemon=True).start()

    def _ask(self, run_dir: Path) -> None:
        assert self._process is not None
        with suppress(BrokenPipeError):  # it has ended, and its listener says so
            processes.tell(self._process, json.dumps(str(run_dir.resolve())))

    def _ended(self) -> str:
        """The process has ended by itself: another one gets what is left to be judged."""
        code = self._end()
        self._start()
        for run_dir in self._pending:
            self._ask(run_dir)
        return f"the process that judges ended with exit code {code}; {self._log} has its words"


def _listen(process: subprocess.Popen[bytes], answers: deque[Answer | None]) -> None:
    assert process.stdout is not None
    with process.stdout as said:
        for folder, problem in processes.messages(said):
            answers.append((folder, problem))
    answers.append(None)


def serve() -> None:
    """Judge each run whose folder is named on standard input, and answer with what went wrong."""
    give_way()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is no answer
    rules = Path(sys.argv[1]) if sys.argv[1:] else None
    with own_modules.used(None, rules), closing(Judge()) as judge:
        for line in sys.stdin:
            folder = json.loads(line)
            try:
                judge.judge(Path(folder))
                problem = ""
            except Exception as error:  # noqa: BLE001 (whatever it is: the run could not be judged)
                judge.close()  # what is wrong may be Spark's: the next run gets another
                problem = f"{type(error).__name__}: {error}"
            print(json.dumps([folder, problem]), file=answers, flush=True)


if __name__ == "__main__":
    serve()
