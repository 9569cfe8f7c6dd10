"""Writes the report's files, each whole or not at all."""

import os
from pathlib import Path

from harness.report.junit import junit
from harness.report.load import load
from harness.report.page import page
from harness.report.summary import summary


def report(run_dir: Path) -> None:
    """Write `report.html`, `summary.md` and `junit.xml` into `run_dir`.

    All three are made before the first is written, so they never tell of different states.

    Raises:
        NoData: `run_dir` is no run folder, or a file in it is missing or damaged.
    """
    run = load(run_dir)
    texts = {"report.html": page(run), "summary.md": summary(run), "junit.xml": junit(run)}
    for name, text in texts.items():
        write_whole(run_dir / name, text)


def write_whole(path: Path, text: str) -> None:
    """Write a text under another name first, then rename: never half of it is seen."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
