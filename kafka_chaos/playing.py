"""Plays an experiment by the command `kafka-chaos`, for a test: nothing of it is left running.

The command is a process of its own, in whose end this one takes part: it is asked to end when the
wait for it is interrupted, by whatever, and the kernel asks it when this process is gone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from kafka_chaos.command import WITH_PARENT

BUSY: Final = 6  # exit code of a run of which all that differs was withheld: the machine was busy
JUDGED: Final = (0, 1, BUSY)  # of a run that was judged: as expected, or not
# A run that is ended heals what it broke first; its watchdog does that where it is killed.
PATIENCE_S: Final = 60.0
INTERRUPTED: Final = 2
LAST_LINES: Final = 5
_PIPE_S: Final = 5.0  # for what it said last; its watchdog may have the pipe a little longer
_COMPLAINS: Final = "kafka-chaos: "
_SILENT: Final = "it said nothing"
_COMMAND: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from kafka_chaos.__main__ import main; sys.exit(main())"
)


class NotPlayed(Exception):
    """There is no result: bad arguments, a failed set-up, or a run that was spoilt or ended."""

    def __init__(self, exit_code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


@dataclass(frozen=True)
class PlayedVerdict:
    """What one rule came to. `measured` and `bound` are lowest and highest, null for none."""

    rule: str
    title: str
    verdict: str  # HOLDS, VIOLATED or UNKNOWN
    expected: str
    as_expected: bool
    reason: str
    examined: int
    measured: tuple[float | None, float | None]
    bound: tuple[float | None, float | None]
    unit: str

    def __str__(self) -> str:
        expected = "" if self.as_expected else f", expected {self.expected}"
        return f"{self.rule}  {self.title}: {self.verdict}{expected}. {self.reason}"


@dataclass(frozen=True)
class Result:
    """What a run showed.

    `standstill_s` is the longest time that a partition had no progress. Of what was acknowledged,
    `lost` records were skipped, `unread` lie after the last position that was read, and `repeats`
    were processed again; all three are of what was fetched, where the program shows nothing
    (`fetched_only`). What was not recorded is not a number, which no comparison holds for; nor is
    the standstill where records were left unread, because it went on when the run ended.
    """

    exit_code: int
    finding: str | None  # a word for what was found, such as does-not-leave
    sentence: str
    page: Path
    folder: Path
    experiment: str
    standstill_s: float
    lost: float
    unread: float
    repeats: float
    acknowledged: float
    fetched_only: bool
    costs: tuple[str, ...]  # a sentence for each fault of a program's run
    verdicts: Mapping[str, PlayedVerdict] = field(repr=False)

    @property
    def differing(self) -> tuple[PlayedVerdict, ...]:
        return tuple(each for each in self.verdicts.values() if not each.as_expected)

    def __str__(self) -> str:
        """The sentence, what differs, what it cost, and the page: what a failure prints."""
        still_s = self.standstill_s
        still = f"{still_s:.0f}" if still_s >= 100 else f"{still_s:.3g}"
        numbers = (
            f"standstill {still} s, {self.lost:g} lost, {self.unread:g} unread, "
            f"{self.repeats:g} repeats"
        )
        lines = [f"{self.experiment}: {self.sentence}", *map(str, self.differing)]
        return "\n".join([*lines, *self.costs, numbers, f"page  {self.page}"])


def read(text: str) -> Result:
    found: dict[str, Any] = json.loads(text)
    # A rule may be judged more than once, for different reasons: the worst comes first.
    verdicts: dict[str, PlayedVerdict] = {}
    for each in found["verdicts"]:
        verdicts.setdefault(each["rule"], _verdict(each))
    numbers: dict[str, Any] = {
        name: float("nan") if found[name] is None else found[name]
        for name in ("standstill_s", "lost", "unread", "repeats", "acknowledged")
    }
    same = ("exit_code", "finding", "sentence", "experiment", "fetched_only")
    return Result(
        page=Path(found["page"]),
        folder=Path(found["folder"]),
        costs=tuple(found["costs"]),
        verdicts=verdicts,
        **{name: found[name] for name in same},
        **numbers,
    )


def _verdict(found: Mapping[str, Any]) -> PlayedVerdict:
    return PlayedVerdict(
        **{name: found[name] for name in ("rule", "title", "verdict", "expected", "as_expected")},
        reason=found["reason"] or "",
        unit=found["unit"] or "",
        examined=found["examined"] or 0,
        measured=(found["measured_min"], found["measured_max"]),
        bound=(found["bound_low"], found["bound_high"]),
    )


def command() -> list[str]:
    """The command, by this Python; nothing in the folder one is in comes before it."""
    installed = str(Path(__file__).resolve().parents[1])
    return [sys.executable, "-P", "-c", _COMMAND, installed, WITH_PARENT, str(os.getpid())]


def words_of(
    experiment: str,
    *,
    app: str | Path | None = None,
    image: str | None = None,
    program: Sequence[str] = (),
    limits: Mapping[str, float] | None = None,
    settings: Mapping[str, object] | None = None,
    common: Sequence[str] = (),
    options: Sequence[str] = (),
) -> list[str]:
    """The words that play an experiment, with a program as its members where one is named.

    `common` are options that every command takes, `options` any others.
    """
    words = ["try", "--experiment", experiment, "--json", *common]
    if app is None and image is None and not program:
        words = ["experiment", experiment, "--json", *common]
    words += ["--app", str(app)] if app is not None else []
    words += ["--image", image] if image is not None else []
    for option, given in {"--limit": limits or {}, "--set": settings or {}}.items():
        for name, value in given.items():
            words += [option, f"{name}={value}"]
    words += options
    return [*words, "--", *program] if program else words


def play(words: Sequence[str], *, folder: Path, timeout_s: float | None = None) -> Result:
    """Run the command with these words, `--json` among them, in a folder.

    Its progress goes to standard error. Raises NotPlayed with the command's own sentence where
    there is no result.
    """
    return read(answer(words, folder=folder, timeout_s=timeout_s)[1])


def answer(
    words: Sequence[str], *, folder: Path, timeout_s: float | None = None
) -> tuple[int, str]:
    """The exit code of the command with these words, which is one of JUDGED, and what it printed.

    Its progress goes to standard error. Raises NotPlayed as `play` does.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        code, lines = _run([*command(), *words], folder, output, timeout_s)
        output.seek(0)
        text = output.read()
    if code in JUDGED and text:
        return code, text
    raise NotPlayed(code, sentence(lines))


def sentence(lines: Sequence[str]) -> str:
    """The command's own sentence about why there is no result, from its last lines."""
    said = [line for line in lines if line.startswith(_COMPLAINS)]
    return said[-1].partition(": ")[2] if said else " / ".join(lines) or _SILENT


def _run(
    arguments: Sequence[str], folder: Path, output: IO[str], timeout_s: float | None
) -> tuple[int, Sequence[str]]:
    """Run a command to its end; its exit code and the last lines of its progress."""
    lines: deque[str] = deque(maxlen=LAST_LINES)
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    reading = threading.Thread(target=_hand_on, args=(process, lines), daemon=True)
    reading.start()
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise NotPlayed(
            INTERRUPTED,
            f"it did not end within {timeout_s:g} s, so it was ended: give it more time",
        ) from None
    finally:
        _end(process)
        reading.join(_PIPE_S)
    return code, list(lines)


def _hand_on(process: subprocess.Popen[str], lines: deque[str]) -> None:
    """Copy progress to standard error as it comes, and keep its end."""
    assert process.stderr is not None
    # A captured standard error is closed with its test.
    with process.stderr, suppress(ValueError):
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            sys.stderr.write(line)


def _end(process: subprocess.Popen[str]) -> None:
    """Ask it to end, and wait until it has healed and removed all; kill it if it does not."""
    if process.poll() is not None:
        return
    try:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
    finally:  # interrupted again, perhaps
        if process.poll() is None:
            process.kill()
            process.wait()
