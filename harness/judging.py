"""From a run's history to verdicts on the screen and a page: what `experiment` does after `run`."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import HarnessError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark may start as soon as nothing is timed any more: the members only read to the end.
_WARM_AT: Final = "drain"


class Judge:
    """One Spark session, started in the background while a run comes to its end."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None
        self._problem: Exception | None = None
        self._starting: threading.Thread | None = None

    def on_phase(self, name: str) -> None:
        """A run's hook: start warming when nothing is timed any more."""
        if name == _WARM_AT:
            self._start()

    def _start(self) -> None:
        if self._starting is None:
            self._starting = threading.Thread(target=self._open, daemon=True)
            self._starting.start()

    def _open(self) -> None:
        from harness.check.session import start
        from harness.provision.java import find_java
        from harness.provision.tools import resolve_spark_aot

        try:
            java = find_java()
            self._session = start(java.binary, resolve_spark_aot(java))
        except Exception as error:  # noqa: BLE001 (handed to the thread that waits for it)
            self._problem = error

    def judge(self, run_dir: Path) -> int:
        """Check, report, print; the exit code of the verdicts."""
        from harness.check.check import check

        self._start()
        assert self._starting is not None
        self._starting.join()
        if self._problem is not None:
            raise HarnessError(f"Spark did not start: {self._problem}") from self._problem
        assert self._session is not None
        try:
            check(run_dir, self._session)
        finally:
            self._session.stop()
        return show(run_dir)


def show(run_dir: Path) -> int:
    """Write the reports, print the short table, and return the exit code of the verdicts."""
    from harness.report import exit_code, print_summary, report

    report(run_dir)
    print_summary(run_dir)
    return exit_code(run_dir)
