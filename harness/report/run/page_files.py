"""Writes the report's files, each whole or not at all."""

from contextlib import suppress
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.whole import whole
from harness.history import judged
from harness.report.headline import of_run
from harness.report.load import load, load_verdicts
from harness.report.run.page import page, picture
from harness.report.run.trace import trace
from harness.report.text.junit import junit
from harness.report.text.summary import summary


def report(run_dir: Path) -> None:
    """Write `report.html`, its picture, `summary.md`, `junit.xml` and `trace.json` into `run_dir`.

    They take the place of earlier ones all at once, so they never tell of different states.

    Raises:
        NoData: as `load` does.
    """
    load_verdicts(run_dir)  # where there is nothing to report, nothing is written
    with judged.anew(run_dir, pages_only=True) as folder:
        write_pages(run_dir, folder)


def write_pages(run_dir: Path, into: Path) -> None:
    """Write the pages of a run into a folder.

    Where a file of the run cannot be read there is no trace; the others say so. Raises NoData as
    `load` does.
    """
    run = load(run_dir)
    found = of_run(run)
    texts = [each(run, found) for each in (page, picture, summary, junit)]
    with suppress(HarnessError):
        texts.append(trace(run_dir))
    for name, text in zip(judged.PAGES, texts, strict=False):
        if text:
            write_whole(into / name, text)


def write_whole(path: Path, text: str) -> None:
    with whole(path) as half:
        half.write_text(text, encoding="utf-8", errors="replace", newline="\n")
