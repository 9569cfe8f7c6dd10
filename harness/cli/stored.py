"""The commands about stored runs: `check`, `report`, `collect`, `compare`, `trend` and `clean`."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.base import processes
from harness.base.errors import BadInput, Exit, NoData
from harness.base.paths import COMMAND, here
from harness.base.words import plural
from harness.cli.showing import pages_of
from harness.history import manifest
from harness.run.interrupts import keyboard_interrupts
from harness.run.screen import LATER_S, Screen

if TYPE_CHECKING:
    from harness.suite.judging import Judge

_RUNNING: Final = ("process or container", "processes and containers")
_REMOVED: Final = ("folder or file", "folders and files")


def check_command(arguments: argparse.Namespace) -> int:
    """Judge stored runs again, without a cluster."""
    from harness.suite.judging import Judge, show

    if arguments.engine == "duckdb" and arguments.spark is not None:
        raise BadInput("--engine duckdb uses no Spark: leave out --spark or --engine")
    looks = bool(arguments.rule or arguments.limit or arguments.engine == "duckdb")
    with closing(Judge(arguments.spark)) as judge:
        runs = [run for named in _fetched(arguments, judge) for run in manifest.runs_in(named)]
        if len(runs) > 1:
            return _check_several(list(dict.fromkeys(runs)), arguments, judge)
        [run] = runs
        if not looks:
            screen = Screen()
            with screen.counting(f"{run.parent.name} {run.name}") as steps:
                judge.judge(run, steps)
    return _look(run, arguments) if looks else show(run)


def _fetched(arguments: argparse.Namespace, judge: "Judge") -> list[Path]:
    """The folders that are named, with those of another store copied to the results first."""
    if not any(isinstance(named, str) for named in arguments.runs):
        return list(arguments.runs)
    from harness.suite.stored_elsewhere import check_place, fetched

    for place in arguments.runs:
        check_place(str(place))
    folders = []
    for named in arguments.runs:
        if isinstance(named, str):
            named = fetched(judge.session(), named, arguments.results.resolve())
            print(f"copied to {here(named)}", file=sys.stderr)
        folders.append(named)
    return folders


def _look(run: Path, arguments: argparse.Namespace) -> int:
    """Print what is found in one run, and keep nothing."""
    from harness.catalogue import registry
    from harness.catalogue.promises import check_asked, of_texts
    from harness.suite.judging import look

    counting = Screen().counting
    declared = manifest.read(run).get("declared") or {}
    limits = of_texts(arguments.limit).promised if arguments.limit else None
    rules = registry.rules_named(arguments.rule)
    if rules or limits is not None:
        check_asked(rules, declared, limits)
        spark = arguments.engine == "spark"
        code = look(run, rules, counting, spark=spark, master=arguments.spark, limits=limits)
        print("\nNot stored: check without --rule and --limit to store the verdicts.")
        return code
    code = look(run, (), counting)
    print("\nNot stored: only what Spark judges is. Check without --engine duckdb to store it.")
    return code


def _check_several(runs: Sequence[Path], arguments: argparse.Namespace, judge: "Judge") -> int:
    """Judge stored runs again in one Spark application, and say of each what changed."""
    from harness.suite import again

    if arguments.rule or arguments.limit or arguments.engine == "duckdb":
        raise BadInput(
            f"--rule, --limit and --engine duckdb print one run, not {len(runs)}: name one"
        )
    screen = Screen()

    def say(count: int, judged: again.Again) -> None:
        screen.say(f"{count} of {len(runs)}  {here(judged.run_dir)}: {judged.sentence}")
        if screen.draws:
            steps("runs are judged", count, len(runs))
        for change in judged.changed:
            screen.say(f"    {change}")

    with screen.counting("check") as steps:
        steps("Spark starts", 0, 0)
        judge.session()
        steps("runs are judged", 0, len(runs))
        found = again.judge_again(runs, judge, say, screen.counting)
    print(again.summary(found))
    return again.exit_code(found)


@keyboard_interrupts()
def report_command(arguments: argparse.Namespace) -> int:
    """Write the pages of a checked run again: report.html, summary.md and junit.xml.

    Of a suite its own pages are written; those of a matrix can be published into another folder.
    """
    from harness.history.suites import is_suite, load_suite
    from harness.report import report
    from harness.report.many import matrix_text
    from harness.report.many.blocks import print_shown
    from harness.report.many.matrix import matrix_of
    from harness.report.many.suite_rows import refresh_states
    from harness.suite.judging import show

    suite = load_suite(arguments.run) if is_suite(arguments.run) else None
    if arguments.into is not None and (suite is None or suite.kind != "matrix"):
        raise BadInput(f"{here(arguments.run)} is not a matrix, and --into is for a matrix only")
    if arguments.json and suite is not None:
        raise BadInput(f"{here(arguments.run)} is not a single run, and --json is for one run only")
    if suite is not None:
        if not processes.held(suite.path):  # what goes on keeps its own record
            refresh_states(suite)
            suite.save()
        print_shown(pages_of(suite, Screen()))
        if arguments.into is not None:
            matrix_text.publish(matrix_of(suite), arguments.into)
            print(f"published into {here(arguments.into)}")
        return suite.exit_code
    with Screen().counting(here(arguments.run), LATER_S) as steps:
        steps("its pages", 0, 0)
        report(arguments.run)
    return show(arguments.run, as_json=arguments.json)


@keyboard_interrupts()
def sql_command(arguments: argparse.Namespace) -> int:
    """Query the tables of one run, or of many, in SQL."""
    from harness.report.text import sql

    if arguments.run is None:
        sql.list_tables(None)
        print(f"\n{COMMAND} sql RUN queries one run, or all runs of a folder such as results.")
        return Exit.AS_EXPECTED
    with ExitStack() as stack:
        with Screen().counting("sql", LATER_S) as steps:
            steps("the runs are opened", 0, 0)
            database = stack.enter_context(sql.opened(manifest.runs_in(arguments.run)))
            steps("the query runs", 0, 0)
            found = sql.ask(database, arguments.query) if arguments.query is not None else None
        if found is None:
            sql.list_tables(database)
        else:
            sql.write(*found, arguments.format)
    return Exit.AS_EXPECTED


def explain_command(arguments: argparse.Namespace) -> int:
    """Explain who rebalanced a group and why, from the logs of brokers or clients."""
    from harness.history.foreign import events, log_files
    from harness.report.incident.explain_page import write_page
    from harness.report.incident.explain_terminal import print_view
    from harness.report.incident.explain_view import view_of

    if arguments.into is not None and arguments.into.exists() and not arguments.into.is_dir():
        raise BadInput(f"--into {here(arguments.into)} is a file: name a folder")
    with Screen().counting("explain", LATER_S) as steps:
        read = events.read(log_files.files_of(arguments.logs), arguments.timezone, steps)
        events.check(read, arguments.group)
        steps("what happened", 0, 0)
        view = view_of(read, arguments.group)
    print_view(view)
    if arguments.into is not None:
        print(f"\npage  {here(write_page(arguments.into, view))}")
    return Exit.AS_EXPECTED


def compare_command(arguments: argparse.Namespace) -> int:
    """Compare two runs, two sets of repeats, two sweeps or two nights."""
    from harness.report.many.compare import as_json, compare, print_compared

    with Screen().counting("compare", LATER_S) as steps:
        steps("both are read", 0, 0)
        compared = compare(arguments.a, arguments.b)
    if arguments.json:
        print(json.dumps(as_json(compared), indent=2))
    else:
        print_compared(compared, each_run=arguments.each_run)
    return Exit.DIFFERS if compared.worse else Exit.AS_EXPECTED


def trend_command(arguments: argparse.Namespace) -> int:
    """Show how each measured number moved over all runs, and which changes are not chance."""
    from harness.history import store
    from harness.report.many import trend as trend_page
    from harness.report.many.blocks import print_shown
    from harness.suite.spark_sessions import spark_at
    from harness.suite.stored_elsewhere import check_place, in_words
    from harness.trend import job

    results = arguments.results.resolve()
    if arguments.dataset is None:
        place, files = _own_dataset(results)
    else:
        check_place(arguments.dataset)
        if "://" not in arguments.dataset and not Path(arguments.dataset).exists():
            raise NoData(f"there is no folder {arguments.dataset}; name the folder of a dataset")
        place, files = arguments.dataset, None
    with ExitStack() as stack:
        steps = stack.enter_context(Screen().counting("trend"))
        steps("Spark starts", 0, 0)
        spark = stack.enter_context(spark_at(arguments.spark))
        stack.enter_context(in_words(str(place)))
        steps("the runs are read", 0, 0)
        found = job.trends(spark, job.read(spark, place, files)).toArrow()
    folder = results / "trend"
    store.write(folder / "trend.parquet", [found], found.schema)
    rows = found.to_pylist()
    page = trend_page.write(folder, rows)
    print_shown(trend_page.shown(rows))
    print(f"page  {here(page)}")
    worse = any(row["trend"] == "worse" for row in rows)
    return Exit.DIFFERS if worse else Exit.AS_EXPECTED


def _own_dataset(results: Path) -> tuple[Path, list[Path] | None]:
    """The dataset of these results, with every run of them; and its files, where not all can be
    trusted. Raises NoData where there is none.
    """
    from harness.trend import dataset

    damaged = dataset.mended(results)
    files = sorted({*(results / dataset.FOLDER).glob("*/*/*/*.parquet")} - damaged.keys())
    for path, why in damaged.items():
        lost = f"{here(path)} is damaged ({why}) and its run is gone, so the trend leaves it out"
        print(f"{lost}: remove it", file=sys.stderr)
    if not files:
        raise NoData(f"{here(results)} has no judged run: play some first")
    return results / dataset.FOLDER, files if damaged else None


def collect_command(arguments: argparse.Namespace) -> int:
    """Derive a run's history again from its journals and logs."""
    from harness.history import seals
    from harness.history.collect import collect

    facts = manifest.read(arguments.run)
    if processes.held(arguments.run):
        raise NoData(f"the run {here(arguments.run)} still goes on: collect it after its end")
    killed = facts.get("killed", [])
    with Screen().counting(arguments.run.name) as steps:
        steps("its journals and logs are read", 0, 0)
        collect(arguments.run, killed=killed)
        seals.renew(arguments.run)
    return Exit.AS_EXPECTED


def _would_clean(arguments: argparse.Namespace) -> int:
    from harness.cli.cleaning import clean_cache, would_clean
    from harness.run.folder import left_running

    running = left_running()
    for run, count in sorted(running.items()):
        print(f"{plural(count, *_RUNNING)} of {run}")
    paths = would_clean(arguments.results, everything=arguments.all)
    for path in paths:
        print(here(path))
    if arguments.cache:
        clean_cache(yes=False, dry=True)
    print(
        f"would end {plural(sum(running.values()), *_RUNNING)}, and remove "
        f"{plural(len(paths), *_REMOVED)}; nothing was changed"
    )
    return Exit.AS_EXPECTED


def clean_command(arguments: argparse.Namespace) -> int:
    """End what killed runs left running, and remove what they left on disk."""
    from harness.cli.cleaning import clean_all, clean_cache
    from harness.run.folder import sweep, sweep_results

    if arguments.yes and not arguments.cache:
        raise BadInput("--yes has no effect without --cache: use both")
    if arguments.dry_run:
        return _would_clean(arguments)
    screen = Screen()
    ended = sweep(screen.say)
    removed = len(sweep_results(arguments.results))
    if arguments.all:
        gone, kept = clean_all(arguments.results)
        removed += len(gone)
        for folder in kept:
            screen.say(f"{here(folder)} has begun since, so it stays")
    print(f"{plural(ended, *_RUNNING)} ended, {plural(removed, *_REMOVED)} removed")
    if arguments.cache:
        clean_cache(yes=arguments.yes)
    return Exit.AS_EXPECTED
