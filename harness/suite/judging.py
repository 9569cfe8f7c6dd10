"""From a run's history to verdicts on the screen and a page: what `experiment` does after `run`."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.base import processes
from harness.base.errors import HarnessError
from harness.base.progress import Steps, unheard
from harness.catalogue import own_modules
from harness.run.interrupts import keyboard_interrupts

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pyspark.sql import SparkSession

    from harness.suite.verdict_job import Files
    from harness.tables.engines.contract import Engine
    from harness.tables.engines.duckdb import DuckDb

# Spark may start as soon as nothing is timed any more: the members only read to the end.
_WARM_AT: Final = "drain"
# Runs that are judged at one time: as many as this machine's Spark has threads; and as many tasks
# of one thread each as wait in a cluster's queue, so that none of its processors waits for us.
_HERE, _ON_A_CLUSTER = 2, 16


class Judge:
    """One Spark session for any number of runs, started in the background while a run comes to
    its end; to be closed. `master` says which Spark, as `spark_at` does (null: one JVM here).
    `at_once` is how many runs it may be asked to judge at one time.
    """

    def __init__(self, master: str | None = None) -> None:
        self._master = master
        self._elsewhere = master is not None
        self.at_once: Final = _ON_A_CLUSTER if self._elsewhere else _HERE
        self._opened = ExitStack()
        self._session: SparkSession | None = None
        self._problem: Exception | None = None
        self._starting: threading.Thread | None = None
        self._renewing = threading.Lock()

    def on_phase(self, name: str) -> None:
        """A run's hook: start warming when nothing is timed any more."""
        if name == _WARM_AT:
            self._start()

    def _start(self) -> None:
        if self._starting is None:
            self._starting = threading.Thread(target=self._open, daemon=True)
            self._starting.start()

    def _open(self) -> None:
        from harness.suite import verdict_job
        from harness.suite.spark_sessions import spark_at

        try:
            self._session = self._opened.enter_context(spark_at(self._master))
            verdict_job.warm(self._session, elsewhere=self._elsewhere)
        except Exception as error:  # noqa: BLE001 (handed to the thread that waits for it)
            self._problem = error

    @keyboard_interrupts()
    def judge(
        self, run_dir: Path, steps: Steps = unheard, files: "Future[Files] | None" = None
    ) -> None:
        """Judge a run and write its reports; all of it takes the place of an earlier judgement at
        once, and whatever goes wrong before that, a kill included, leaves the earlier one.

        `steps` hears how far it is; `files` are those of its verdict, where they were asked for
        before. Raises NoData where there is nothing to judge, HarnessError where Spark does not
        start or cannot judge it.
        """
        from harness.history import judged
        from harness.report.run.page_files import write_pages
        from harness.suite.verdict_job import fits
        from harness.tables.source import read_run

        with processes.holding(run_dir):
            read_run(run_dir)  # before Spark is waited for
            steps("Spark starts", 0, 0)
            session = self.session()
            with judged.anew(run_dir) as folder:
                if fits(run_dir):
                    steps("the rules", 0, 0)
                    found = (files.result() if files else {}) or self.files(run_dir)
                    for path, content in found.items():
                        (folder / path).parent.mkdir(exist_ok=True)
                        (folder / path).write_bytes(content)
                else:
                    from harness.check.check import check
                    from harness.tables.engines.spark import Spark

                    check(run_dir, Spark(session), into=folder, steps=steps)
                steps("its pages", 0, 0)
                write_pages(folder, folder)

    def files(self, run_dir: Path) -> "Files":
        """The files of a run's verdict, from a task of Spark; several threads may ask at once.

        Raises HarnessError with one sentence where it cannot be judged so.
        """
        from harness.suite import verdict_job

        session = self.session()
        try:
            return verdict_job.judged(
                session, run_dir, own_modules.rules_folder(), elsewhere=self._elsewhere
            )
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise  # a file of the run cannot be read
            self._give_up(session)
            said = verdict_job.sentence_of(error, "Spark could not judge it")
            raise HarnessError(said) from error

    def _give_up(self, session: "SparkSession") -> None:
        """Start another Spark for the next run, if this one has died."""
        from harness.tables.session import lives

        with self._renewing:
            if self._session is session and not lives(session):
                self.close()

    def session(self) -> "SparkSession":
        """The session, once it has started. Raises HarnessError where it does not."""
        self._start()
        assert self._starting is not None
        self._starting.join()
        if isinstance(self._problem, HarnessError):
            raise self._problem
        if self._problem is not None:
            from harness.suite import verdict_job

            said = verdict_job.sentence_of(self._problem, "Spark did not start")
            raise HarnessError(said) from self._problem
        assert self._session is not None
        return self._session

    def close(self) -> None:
        from py4j.protocol import Py4JError

        if self._starting is not None:
            self._starting.join()
        self._session = None
        self._starting = self._problem = None
        try:
            self._opened.close()
        except (Py4JError, OSError):  # its JVM has died: nothing is left to be stopped
            _forget_session()


def duckdb_engine() -> "DuckDb":
    """DuckDB, with the queries that were translated for it before: all take 1.2 s.

    To be closed: it has a scratch folder.
    """
    from harness.provision.cache import is_marked, mark, translations
    from harness.tables.engines.duckdb import DuckDb

    folder = translations()
    with suppress(OSError):  # a cache that cannot be written only costs time
        if not is_marked(folder):
            mark(folder)
    return DuckDb(folder, processes.scratch_folder("duckdb"))


@keyboard_interrupts()
def look(
    run_dir: Path,
    rules: Sequence[str] = (),
    counting: Callable[[str], AbstractContextManager[Steps]] = lambda _about: nullcontext(unheard),
    *,
    spark: bool = False,
    master: str | None = None,
    limits: Mapping[str, float] | None = None,
) -> int:
    """Print what is found in a run, and keep nothing; the exit code of that.

    DuckDB judges, at once, or else Spark, which `master` names as for `Judge`. Where `rules` are
    named, just these are judged, declared or not, and their rows are printed as well. `limits` take
    the place of the run's own; what `counting` gives hears how far it is. Raises NoData where there
    is nothing to judge, HarnessError where Spark does not start.
    """
    from harness.check.check import check
    from harness.report.load import load_manifest
    from harness.report.outcome import exit_code_of
    from harness.report.text.terminal import print_rows, print_verdicts

    with ExitStack() as stack:
        steps = stack.enter_context(counting(f"{run_dir.parent.name} {run_dir.name}"))
        steps("Spark starts" if spark else "DuckDB judges", 0, 0)
        if spark:
            from harness.tables.engines.spark import Spark

            engine: Engine = Spark(stack.enter_context(closing(Judge(master))).session())
        else:
            engine = stack.enter_context(closing(duckdb_engine()))
        found = check(run_dir, engine, keep=False, rules=rules, limits=limits, steps=steps)
    about = load_manifest(run_dir)
    print_verdicts(about, found.verdicts, found.others)
    if rules:
        print_rows(found.outcome.rows)
    return exit_code_of(about, found.verdicts)


def _forget_session() -> None:
    """Make pyspark forget a session whose JVM has died; else every later one would ask that JVM."""
    import pyspark
    from pyspark.sql import SparkSession

    for name in ("_gateway", "_jvm", "_active_spark_context"):
        setattr(pyspark.SparkContext, name, None)
    SparkSession._instantiatedSession = None


def show(run_dir: Path, *, as_json: bool = False) -> int:
    from harness.report import exit_code, print_summary
    from harness.report.load import load
    from harness.report.text import values

    if as_json:
        print(values.as_json(load(run_dir)))  # noqa: T201 (asked for as the command's result)
    else:
        print_summary(run_dir)
    return exit_code(run_dir)
