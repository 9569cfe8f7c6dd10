"""Kills of `check` while it judges a judged run again, and a disk that is full then.

At every instant the run is as it was judged before, or as it is judged now: never without verdicts,
page, summary or JUnit, with no half file, and never with parts of both. Most rounds do without a
JVM (`quick_check`), because nothing is written for several seconds while one starts.
"""

from __future__ import annotations

import atexit
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from functools import cache
from pathlib import Path
from typing import Final

from harness.base.errors import HarnessError
from harness.base.paths import ROOT
from harness.check.check import check
from harness.history import judged
from harness.history.derived import VERDICTS_FILE
from harness.report import report
from harness.report.load import load_verdicts
from harness.run import folder
from harness.tables.engines.duckdb import DuckDb
from harness.trend import dataset
from tests.torture import cli_kills, kept, played, shortages
from tests.torture.kinds import Outcome, Round

_FORMS: Final = {"Spark": ("harness", "check"), "DuckDB": ("tests.torture.quick_check",)}
_OF_SPARK: Final = 0.25  # of the rounds
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_BEFORE: Final = 1_577_836_800  # 2020: when the files of the earlier judgement were written
_ALWAYS: Final = (VERDICTS_FILE, "report.html", "summary.md", "junit.xml")
_MOST_FILES: Final = 12  # that a judgement of the kept run writes, about
_PAGE: Final = 4096
_LONGEST_S: Final = 900.0  # Spark took 350 s beside thirty other processes
# A disk of this size, with a copy of a folder on it, for a command; its content takes the place of
# the folder's then.
_MOUNT: Final = """
    size=$1 disk=$2 folder=$3; shift 3
    mount -t tmpfs -o "size=$size" tmpfs "$disk" && cp -a "$folder/." "$disk" && "$@"
    echo "ended with $?"
    rm -rf "$folder" && cp -a "$disk" "$folder"
"""
_ENDED: Final = re.compile(r"^ended with (\d+)$", re.MULTILINE)


def play(this: Round, results: Path, _alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own."""
    randomness = this.randomness
    form = "Spark" if randomness.random() < _OF_SPARK else "DuckDB"
    run_dir = results / "crash" / "raw"
    shutil.copytree(_judged(), run_dir)
    way = randomness.choice((*_SIGNALS, None))
    full = way is None and shortages.unshare()
    if full:
        what, code, heard = _on_a_full_disk(randomness, results, form)
        where, allowed = f"a full disk for {form}", {0, 3}
    else:
        number = way or signal.SIGKILL
        what, code, heard = _killed(randomness, run_dir, form, number)
        where, allowed = f"{number.name} of {form}", {0, -number}
        allowed |= set() if number == signal.SIGKILL else {2}
    problems = played.ending(code, allowed, heard) + _unlike_a_judged_run(run_dir)
    folder.sweep_results(results)
    problems += [f"{path.name} outlives clean" for path in folder.sweep_results(results)]
    problems += [f"{path.name} is left" for path in run_dir.glob(f"{judged.READY}*")]
    state, wrong = _state(run_dir)
    problems += wrong + _unlike_a_judged_run(run_dir) + _otherwise_judged(results, run_dir)
    return Outcome(this, what, where, f"exit code {code}, {state}", problems)


@cache
def _judged() -> Path:
    """A run that was judged long ago."""
    scratch = Path(tempfile.mkdtemp(prefix="torture-judged-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    run_dir = kept.raw(scratch)
    with closing(DuckDb()) as engine:
        check(run_dir, engine)
    report(run_dir)
    for path in _files(run_dir):
        os.utime(path, (_BEFORE, _BEFORE))
    return run_dir


def _files(run_dir: Path) -> list[Path]:
    parts = [run_dir / name for name in (judged.TABLES, judged.VIOLATIONS)]
    found = [path for part in parts for path in sorted(part.glob("*"))]
    pages = [run_dir / name for name in (*judged.PAGES, VERDICTS_FILE)]
    return found + [path for path in pages if path.exists()]


def _command(form: str, run_dir: Path) -> list[str]:
    return [sys.executable, "-m", *_FORMS[form], str(run_dir)]


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=played.takes_signals,
    )


def _heard(process: subprocess.Popen[str]) -> str:
    """All that it says until its end. One that does not end is ended, with all it has started."""
    try:
        return process.communicate(timeout=_LONGEST_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


@cache
def _length_s(form: str) -> float:
    """How long it takes here, when it is not killed."""
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch:
        run_dir = Path(shutil.copytree(_judged(), Path(scratch) / "raw"))
        begun = time.monotonic()
        process = _started(_command(form, run_dir))
        heard = _heard(process)
        if process.returncode:
            raise HarnessError(f"check ends with {process.returncode} by itself: {heard[-300:]}")
        return time.monotonic() - begun


def _killed(
    randomness: random.Random, run_dir: Path, form: str, number: signal.Signals
) -> tuple[str, int, str]:
    """What was done, the exit code, and what was heard."""
    share, count = randomness.uniform(0, 1.1), randomness.randrange(_MOST_FILES)

    def written() -> int:
        with suppress(FileNotFoundError):  # it is just being removed
            return len(list(run_dir.glob(f"{judged.HALVES}/*/*.parquet")))
        return 0

    instants: dict[str, Callable[[], bool]] = {
        f"after {share:.2f} of its time": lambda: time.monotonic() - begun > share * length_s,
        f"with {count} files written": lambda: written() >= count,
        "while its files are put into place": lambda: (run_dir / judged.READY).exists(),
    }
    instant = randomness.choice(list(instants))
    length_s = _length_s(form) if "time" in instant else 0.0
    begun = time.monotonic()
    process = _started(_command(form, run_dir))
    while process.poll() is None and not instants[instant]():
        if "place" not in instant:
            time.sleep(0.001)
    process.send_signal(number)
    heard = _heard(process)
    return f"{number.name} of check ({form}) {instant}", process.returncode, heard[-300:]


def _on_a_full_disk(randomness: random.Random, results: Path, form: str) -> tuple[str, int, str]:
    """On a disk of its own with room for the run, and for some of what is written."""
    room = randomness.randrange(256) * _PAGE
    paths = [results, *results.rglob("*")]
    size = sum(-(-max(path.stat().st_size, 1) // _PAGE) * _PAGE for path in paths) + room
    place = results.with_name(f"{results.name}-disk")
    place.mkdir()
    command = _command(form, place / "crash" / "raw")
    mounting = [*shortages.unshare(), "sh", "-c", _MOUNT, "sh", str(size)]
    process = _started([*mounting, str(place), str(results), *command])
    heard = _heard(process)
    place.rmdir()
    found = _ENDED.search(heard)
    code = int(found[1]) if found else -1
    return f"a disk with {room:,} bytes of room for check ({form})", code, heard[-300:]


def _unlike_a_judged_run(run_dir: Path) -> list[str]:
    """What is missing of it, or is there and not whole."""
    problems = [f"{name} is gone" for name in _ALWAYS if not (run_dir / name).is_file()]
    if problems:
        return problems
    problems = cli_kills.unreadable(run_dir)
    if not (run_dir / "report.html").read_text().rstrip().endswith("</html>"):
        problems.append("report.html is not whole")
    try:
        ET.parse(run_dir / "junit.xml")
    except ET.ParseError as error:
        problems.append(f"junit.xml is not whole: {error}")
    return problems


def _state(run_dir: Path) -> tuple[str, list[str]]:
    """Which judgement it shows, and what is wrong with that."""
    files = _files(run_dir)
    before = [path.stat().st_mtime == _BEFORE for path in files]
    if all(before):
        missing = {path.name for path in _files(_judged())} - {path.name for path in files}
        return "as it was", [f"{name} of before is gone" for name in missing]
    if any(before):
        mixed = ", ".join(path.name for path, old in zip(files, before, strict=True) if old)
        return "of both", [f"{mixed} of before are beside others"]
    return "as it will be", []


def _otherwise_judged(results: Path, run_dir: Path) -> list[str]:
    """Verdicts that differ from those of before; the dataset has to have the same."""
    try:
        _, found = load_verdicts(run_dir)
        _, before = load_verdicts(_judged())
    except HarnessError as error:
        return [str(error)]
    earlier = {row["rule"]: row["verdict"] for row in before or ()}
    now = {row["rule"]: row["verdict"] for row in found or ()}
    problems = [f"{rule} is {now.get(rule)}" for rule in earlier if now.get(rule) != earlier[rule]]
    if dataset.accumulate(results) != 1:
        problems.append("the dataset has no row of it")
    return problems
