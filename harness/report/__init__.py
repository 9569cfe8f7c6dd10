"""What a run says, for people and for CI: a page, a Markdown summary, JUnit and a terminal table.

Only files of the run folder are read (`manifest.json`, `verdicts.parquet`, `tables/`, `history/`);
nothing here starts Spark or opens a socket, so an old run can be reported again anywhere.
"""

from harness.report.outcome import exit_code
from harness.report.run.page_files import report
from harness.report.text.terminal import print_summary

__all__ = ["exit_code", "print_summary", "report"]
