"""From a run's history to verdicts on the screen and a page: what `experiment` does after `run`."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.base import processes
from harness.base.errors import HarnessError
from harness.base.steps import Steps, unheard
from harness.history import manifest
from harness.run.interrupts import keyboard_interrupts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from harness.tables.base import Tables
    from harness.tables.engines.base import Engine
    from harness.tables.engines.duckdb import DuckDb

# Spark may start as soon as nothing is timed any more: the members only read to the end.
_WARM_AT: Final = "drain"


class Judge:
    """One Spark session for any number of runs, started in the background while a run comes to
    its end; to be closed. `master` says which Spark, as `spark_at` does (null: one JVM here), and
    `for_many` that it will judge many times.
    """

    def __init__(self, master: str | None = None, *, for_many: bool = False) -> None:
        self._master = master
        self._for_many = for_many
        self._opened = ExitStack()
        self._session: SparkSession | None = None
        self._problem: Exception | None = None
        self._starting: threading.Thread | None = None
        self._warming: threading.Thread | None = None

    def on_phase(self, name: str) -> None:
        """A run's hook: start warming when nothing is timed any more."""
        if name == _WARM_AT:
            self._start()
            self._warming = threading.Thread(target=self._warm, daemon=True)
            self._warming.start()

    def _start(self) -> None:
        if self._starting is None:
            self._starting = threading.Thread(target=self._open, daemon=True)
            self._starting.start()

    def _open(self) -> None:
        from harness.suite.spark import spark_at

        try:
            spark = spark_at(self._master, for_many=self._for_many)
            self._session = self._opened.enter_context(spark)
        except Exception as error:  # noqa: BLE001 (handed to the thread that waits for it)
            self._problem = error

    def _warm(self) -> None:
        """Import what DuckDB needs to judge: that takes as long as its judging of a short run."""
        from harness.check import check  # noqa: F401
        from harness.tables.engines import duckdb  # noqa: F401

    @keyboard_interrupts()
    def judge(
        self,
        run_dir: Path,
        first: Callable[[str], None] | None = None,
        steps: Steps = unheard,
    ) -> None:
        """Check a run and write its reports; all of it takes the place of an earlier judgement at
        once, and whatever goes wrong, or whoever is killed, before that leaves the earlier one.

        `first` is told in a line what DuckDB makes of the run, which is there long before Spark's
        verdicts, and `steps` how far the judging is, as `check` does. Raises NoData where there is
        nothing to judge, HarnessError where Spark does not start.
        """
        from harness.check.check import check, fits_in_memory
        from harness.check.others import look_at
        from harness.history import judged
        from harness.report.run.files import write_pages
        from harness.tables.engines.spark import Spark

        complete = manifest.read(run_dir).get("status") == "complete"
        self._start()
        with (
            processes.holding(run_dir),
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="others") as beside,
        ):
            others = None
            if fits_in_memory(run_dir):
                # Spark starts and derives its tables while DuckDB looks at what nobody declared.
                others = beside.submit(self._look, run_dir, first if complete else None)
            steps("Spark starts", 0, 0)
            session = self.session()

            def looked(tables: "Tables", lacking: Mapping[str, str]) -> list[dict[str, Any]]:
                steps("the rules that the experiment does not declare", 0, 0)
                if others is not None:
                    try:
                        return others.result()
                    except Exception as error:  # noqa: BLE001 (Spark can judge what DuckDB cannot)
                        said = f"DuckDB could not judge {run_dir.name}, so Spark judges all of it"
                        sys.stderr.write(f"{said} ({type(error).__name__}: {error})\n")
                return look_at(tables, lacking)

            with judged.anew(run_dir) as folder:
                check(run_dir, Spark(session), into=folder, told=steps, looked=looked)
                steps("its pages", 0, 0)
                write_pages(folder, folder)

    def _look(self, run_dir: Path, first: Callable[[str], None] | None) -> list[dict[str, Any]]:
        from harness.check.check import first_look, look_at_others
        from harness.report.load import load_manifest
        from harness.report.outcome import in_a_line

        if self._warming is not None:
            self._warming.join()
        # One for each look: what it holds of a large history, Spark needs afterwards.
        with closing(duckdb_engine()) as engine:
            if first is None:
                return look_at_others(run_dir, engine)
            verdicts, found = first_look(run_dir, engine)
        said = in_a_line(load_manifest(run_dir), verdicts)
        first(f"first verdict (DuckDB): {said}; the final one (Spark) follows")
        return found

    def session(self) -> "SparkSession":
        """The session, once it has started. Raises HarnessError where it does not."""
        self._start()
        assert self._starting is not None
        self._starting.join()
        if isinstance(self._problem, HarnessError):
            raise self._problem
        if self._problem is not None:
            raise HarnessError(f"Spark did not start: {self._problem}") from self._problem
        assert self._session is not None
        return self._session

    def close(self) -> None:
        from py4j.protocol import Py4JError

        if self._starting is not None:
            self._starting.join()
        if self._warming is not None:
            self._warming.join()
        self._session = None
        self._starting = self._warming = self._problem = None
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
    *,
    spark: bool = False,
    master: str | None = None,
    limits: Mapping[str, float] | None = None,
) -> int:
    """Print what is found in a run, and keep nothing; the exit code of that.

    DuckDB judges, at once, or else Spark, which `master` names as for `Judge`. Where `rules` are
    named, just these are judged, declared or not, and their rows are printed as well. `limits` take
    the place of the run's own. Raises NoData where there is nothing to judge, HarnessError where
    Spark does not start.
    """
    from harness.check.check import check
    from harness.check.others import look_at, settled
    from harness.report.load import load_manifest
    from harness.report.outcome import exit_code_of
    from harness.report.text.terminal import print_rows, print_verdicts

    rows: dict[str, list[dict[str, Any]]] = {}
    found: list[dict[str, Any]] = []
    with ExitStack() as stack:
        if spark:
            from harness.tables.engines.spark import Spark

            engine: Engine = Spark(stack.enter_context(closing(Judge(master))).session())
        else:
            engine = stack.enter_context(closing(duckdb_engine()))

        def looked(tables: "Tables", lacking: Mapping[str, str]) -> list[dict[str, Any]]:
            found.extend(look_at(tables, lacking))
            return found

        verdicts = check(
            run_dir,
            engine,
            keep=False,
            rules=rules,
            limits=limits,
            judged=lambda outcome: rows.update(outcome.rows),
            looked=looked,
        )
    about = load_manifest(run_dir)
    others, _ = settled(found, verdicts)  # a rule with a verdict is not counted twice
    print_verdicts(about, verdicts, others)
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


def show(run_dir: Path, *, as_json: bool = False) -> int:
    from harness.report import exit_code, print_summary
    from harness.report.load import load
    from harness.report.text import values

    if as_json:
        print(values.as_json(load(run_dir)))  # noqa: T201 (asked for as the command's result)
    else:
        print_summary(run_dir)
    return exit_code(run_dir)
