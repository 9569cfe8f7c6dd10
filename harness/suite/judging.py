"""From a run's history to verdicts on the screen and a page: what `experiment` does after `run`."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.base import processes
from harness.base.errors import HarnessError
from harness.history import manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from harness.tables.engines.base import Engine

# Spark may start as soon as nothing is timed any more: the members only read to the end.
_WARM_AT: Final = "drain"


class Judge:
    """One Spark session for any number of runs, started in the background while a run comes to
    its end; to be closed.
    """

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
        from harness.provision.java import find_java
        from harness.provision.tools import resolve_spark_aot
        from harness.tables.session import start

        try:
            java = find_java()
            self._session = start(java.binary, resolve_spark_aot(java))
        except Exception as error:  # noqa: BLE001 (handed to the thread that waits for it)
            self._problem = error

    def judge(self, run_dir: Path) -> None:
        """Check a run and write its reports; those of an earlier judgement are removed first.

        Raises NoData where there is nothing to judge, HarnessError where Spark does not start.
        """
        from harness.check.check import check
        from harness.report import report
        from harness.report.run import files
        from harness.tables.engines.spark import Spark

        complete = manifest.read(run_dir).get("status") == "complete"
        session = self.session()
        with processes.holding(run_dir):
            if complete:  # the page of another run says why it shows nothing, and that stays so
                files.remove(run_dir)
            check(run_dir, Spark(session))
            report(run_dir)

    def session(self) -> "SparkSession":
        """The session, once it has started. Raises HarnessError where it does not."""
        self._start()
        assert self._starting is not None
        self._starting.join()
        if self._problem is not None:
            raise HarnessError(f"Spark did not start: {self._problem}") from self._problem
        assert self._session is not None
        return self._session

    def close(self) -> None:
        """End the session; the next run to be judged gets a new one."""
        from py4j.protocol import Py4JError

        from harness.tables.session import stop

        if self._starting is not None:
            self._starting.join()
        session, self._session = self._session, None
        self._starting = self._problem = None
        if session is not None:
            try:
                stop(session)
            except (Py4JError, OSError):  # its JVM has died: nothing is left to be stopped
                _forget_session()


def look(run_dir: Path, rules: Sequence[str] = (), *, spark: bool = False) -> int:
    """Print what is found in a run, and keep nothing; the exit code of that.

    DuckDB judges, at once, or else Spark. Where `rules` are named, just these are judged, declared
    or not, and their rows are printed as well. Raises NoData where there is nothing to judge,
    HarnessError where Spark does not start.
    """
    from harness.check.check import check
    from harness.report.load import load_manifest
    from harness.report.outcome import exit_code_of
    from harness.report.text.terminal import print_rows, print_verdicts

    rows: dict[str, list[dict[str, Any]]] = {}
    with ExitStack() as stack:
        if spark:
            from harness.tables.engines.spark import Spark

            engine: Engine = Spark(stack.enter_context(closing(Judge())).session())
        else:
            from harness.tables.engines.duckdb import DuckDb

            engine = stack.enter_context(closing(DuckDb()))
        verdicts = check(
            run_dir, engine, keep=False, rules=rules, judged=lambda found: rows.update(found.rows)
        )
    about = load_manifest(run_dir)
    print_verdicts(about, verdicts)
    if rules:
        print_rows(rows)
    return exit_code_of(about, verdicts)


def _forget_session() -> None:
    """Make pyspark forget a session whose JVM has died; else every later one would ask that JVM."""
    import pyspark
    from pyspark.sql import SparkSession

    for name in ("_gateway", "_jvm", "_active_spark_context"):
        setattr(pyspark.SparkContext, name, None)
    SparkSession._instantiatedSession = None


def show(run_dir: Path) -> int:
    """Print the short table, and return the exit code of the verdicts."""
    from harness.report import exit_code, print_summary

    print_summary(run_dir)
    return exit_code(run_dir)
