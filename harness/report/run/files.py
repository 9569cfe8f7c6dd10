"""Writes the report's files, each whole or not at all."""

import os
from pathlib import Path
from typing import Final

from harness.report.load import load
from harness.report.run.page import page
from harness.report.text.junit import junit
from harness.report.text.summary import summary

NAMES: Final = ("report.html", "summary.md", "junit.xml")


def report(run_dir: Path) -> None:
    """Write `report.html`, `summary.md` and `junit.xml` into `run_dir`.

    All three are made before the first is written, so they never tell of different states.

    Raises:
        NoData: as `load` does.
    """
    run = load(run_dir)
    texts = (page(run), summary(run), junit(run))
    for name, text in zip(NAMES, texts, strict=True):
        write_whole(run_dir / name, text)


def remove(run_dir: Path) -> None:
    """Remove what `report` wrote: for a run whose verdicts may soon be other ones."""
    for name in NAMES:
        (run_dir / name).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
