"""The commands about stored runs: `check`, `report`, `collect`, `compare`, `trend` and `clean`."""

import argparse
import json
from contextlib import closing

from harness.base.errors import BadInput, Exit, NoData
from harness.base.paths import here
from harness.history import manifest
from harness.run.screen import Screen


def check_command(arguments: argparse.Namespace) -> int:
    """Judge a stored run again, without a cluster."""
    from harness.catalogue import registry
    from harness.suite.judging import Judge, look, show

    manifest.read(arguments.run)
    rules = registry.rules_named(arguments.rule)
    if rules:
        code = look(arguments.run, rules, spark=arguments.engine == "spark")
        print("\nNothing was stored: check again without --rule for that.")
        return code
    if arguments.engine == "duckdb":
        code = look(arguments.run)
        print("\nNothing was stored: only verdicts of Spark are. Check again without --engine.")
        return code
    with closing(Judge()) as judge:
        judge.judge(arguments.run)
    return show(arguments.run)


def report_command(arguments: argparse.Namespace) -> int:
    """Write report.html, summary.md and junit.xml of a checked run again."""
    from harness.history.suites import is_suite, load_suite
    from harness.report import report
    from harness.report.many import index, matrix_text, repeat, suite_text
    from harness.report.many.verdicts import refresh_states
    from harness.suite.judging import show

    if is_suite(arguments.run):
        suite = load_suite(arguments.run)
        refresh_states(suite)
        suite.save()
        if suite.kind == "repeat":
            repeat.write(suite)
            repeat.print_repeat(suite)
        elif suite.kind == "matrix":
            matrix_text.write(suite)
            matrix_text.print_matrix(suite)
        else:
            index.write(suite)
            suite_text.print_suite(suite)
        return suite.exit_code
    report(arguments.run)
    return show(arguments.run)


def compare_command(arguments: argparse.Namespace) -> int:
    """Put two runs, two sets of repeats or two nights side by side."""
    from harness.report.many.compare import as_json, compare, print_compared

    compared = compare(arguments.a, arguments.b)
    if arguments.json:
        print(json.dumps(as_json(compared), indent=2))
    else:
        print_compared(compared)
    return Exit.DIFFERS if compared.worse else Exit.AS_EXPECTED


def trend_command(arguments: argparse.Namespace) -> int:
    """Show how each measured number moved over all runs, and which moved beyond chance."""
    from harness.history import store
    from harness.report.many import trend as trend_page
    from harness.trend import dataset, job
    from harness.trend.session import spark_at

    results = arguments.results.resolve()
    dataset.accumulate(results)
    if not any((results / dataset.FOLDER).glob("*/*/*/*.parquet")):
        raise NoData(f"{here(results)} has no judged run: play some first")
    with spark_at(arguments.spark) as spark:
        found = job.trends(spark, job.read(spark, str(results / dataset.FOLDER))).toArrow()
    folder = results / "trend"
    store.write(folder / "trend.parquet", [found], found.schema)
    rows = found.to_pylist()
    page = trend_page.write(folder, rows)
    trend_page.print_trends(rows)
    print(f"page  {here(page)}")
    worse = any(row["trend"] == "worse" for row in rows)
    return Exit.DIFFERS if worse else Exit.AS_EXPECTED


def collect_command(arguments: argparse.Namespace) -> int:
    """Derive a run's history again from its journals and logs."""
    from harness.history.collect import collect

    facts = manifest.read(arguments.run)
    killed = facts.get("killed", [])
    collect(arguments.run, killed=killed)
    return Exit.AS_EXPECTED


def clean_command(arguments: argparse.Namespace) -> int:
    """End what killed runs left, and remove their half-made files."""
    from harness.cli.cleaning import clean_all, clean_cache
    from harness.run.leftovers import sweep, sweep_results

    if arguments.yes and not arguments.cache:
        raise BadInput("--yes is the answer for --cache: name both")
    screen = Screen()
    ended = sweep(screen.say)
    removed = len(sweep_results(arguments.results))
    if arguments.all:
        cleaned = clean_all(arguments.results)
        removed += len(cleaned.removed)
        for folder in cleaned.kept:
            screen.say(f"{here(folder)} began meanwhile, so it stays")
    print(f"{ended} processes and containers ended, {removed} folders and files removed")
    if arguments.cache:
        clean_cache(yes=arguments.yes)
    return Exit.AS_EXPECTED
