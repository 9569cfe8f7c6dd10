"""Writes the report's files, each whole or not at all."""

from pathlib import Path
from typing import Final

from harness.base.errors import HarnessError
from harness.base.whole import whole
from harness.report.load import load
from harness.report.run.page import page
from harness.report.run.trace import trace
from harness.report.text.junit import junit
from harness.report.text.summary import summary

TRACE: Final = "trace.json"
NAMES: Final = ("report.html", "summary.md", "junit.xml", TRACE)


def report(run_dir: Path) -> None:
    """Write `report.html`, `summary.md`, `junit.xml` and `trace.json` into `run_dir`.

    All are made before the first is written, so they never tell of different states. Where a file
    of the run cannot be read there is no trace; the others say so.

    Raises:
        NoData: as `load` does.
    """
    run = load(run_dir)
    texts = (page(run), summary(run), junit(run), _trace(run_dir))
    for name, text in zip(NAMES, texts, strict=True):
        if text:
            write_whole(run_dir / name, text)
        else:
            (run_dir / name).unlink(missing_ok=True)


def _trace(run_dir: Path) -> str:
    try:
        return trace(run_dir)
    except HarnessError:
        return ""


def remove(run_dir: Path) -> None:
    """Remove what `report` wrote: for a run whose verdicts may soon be other ones."""
    for name in NAMES:
        (run_dir / name).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with whole(path) as half:
        half.write_text(text, encoding="utf-8", errors="replace", newline="\n")
