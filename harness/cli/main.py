"""The command line. Standard output is the result, standard error the progress."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from harness.base.errors import NO_MEMORY, BadInput, CannotImport, Exit, HarnessError, refused
from harness.base.paths import COMMAND, RESULTS
from harness.cli.by_hand import (
    add_fault_options,
    add_up_options,
    down_command,
    fault_command,
    up_command,
)
from harness.cli.options import (
    add_app_options,
    add_explain_options,
    add_matrix_options,
    add_nightly_options,
    add_run_options,
    duration,
    port,
)
from harness.cli.pinning import (
    add_keep_options,
    add_pinned_options,
    keep_command,
    pinned_command,
)
from harness.cli.playing import (
    EVERYDAY,
    SOAK,
    experiment_command,
    matrix_command,
    nightly_command,
    run_command,
    soak_command,
    try_command,
)
from harness.cli.showing import describe_command, doctor_command, list_command
from harness.cli.stored import (
    check_command,
    clean_command,
    collect_command,
    compare_command,
    explain_command,
    report_command,
    sql_command,
    trend_command,
)
from harness.cli.sweeping import (
    add_former_options,
    add_sweep_options,
    compare_protocols_command,
    sweep_command,
)

# What asks no experiment and no rule: it works where a module of somebody's own does not.
_WITHOUT_MODULES: Final = (
    clean_command,
    collect_command,
    doctor_command,
    down_command,
    explain_command,
    fault_command,
    sql_command,
    up_command,
)
_SPARK: Final = (
    "the Spark that does the work: spark://HOST:PORT or sc://HOST:PORT (default: this machine)"
)
_JSON: Final = "print the result as JSON: numbers, verdicts, and the path of the page"


def _place(named: str) -> Path | str:
    """A folder of this machine, or the address of one in another store."""
    return named if "://" in named else Path(named)


class _Parser(argparse.ArgumentParser):
    """Says one sentence, and ends with the contracted exit code."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog}: {message}; see --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (README, *Read a verdict*)."""
    from harness.run.interrupts import Interrupted

    try:
        arguments = _parser().parse_args(argv)
        with _in_its_project(arguments):
            code = int(arguments.command(arguments))
        sys.stdout.flush()  # a reader that went away is noticed here, and not when Python ends
        return code
    except Interrupted:
        _complain("interrupted; everything that was started has been healed and ended")
        return Exit.INTERRUPTED
    except KeyboardInterrupt:  # in a command, or a part of one, that starts no cluster
        _complain("interrupted")
        return Exit.INTERRUPTED
    except HarnessError as error:
        if isinstance(error, CannotImport) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except OSError as error:
        _complain(refused(error))
        return Exit.FAILED
    except MemoryError:
        _complain(NO_MEMORY)
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 (Python's own exit code would say that a verdict differs)
        traceback.print_exc()
        _complain(f"the harness itself failed ({type(error).__name__}): report the traceback above")
        return Exit.FAILED


@contextmanager
def _in_its_project(arguments: argparse.Namespace) -> Iterator[None]:
    """Have the experiments and rules of the project that one is in, and its results and limits.

    Raises BadInput where it cannot be read, with nothing started or changed.
    """
    from harness.catalogue import own, project

    opened = project.opened(arguments.project, arguments.experiments, arguments.own_rules)
    arguments.project = opened
    if arguments.results is None:
        arguments.results = opened.results or RESULTS
    named = arguments.experiments is not None or arguments.own_rules is not None
    if arguments.command in _WITHOUT_MODULES and not named:
        yield
        return
    with own.used(opened.experiments, opened.rules):
        yield


def _complain(sentence: str) -> None:
    sys.stderr.write(f"kafka-chaos: {sentence}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=COMMAND, description="Chaos testing of Kafka consumer groups.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, function: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        summary = (function.__doc__ or "").splitlines()[0]
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(command=function)
        added.add_argument(
            "--results", type=Path, help="folder of all runs (default: results, or the project's)"
        )
        own = added.add_argument_group("your own project")
        own.add_argument(
            "--project",
            type=Path,
            metavar="FILE",
            help="your kafka-chaos.toml (default: found from here)",
        )
        own.add_argument(
            "--experiments", type=Path, metavar="FOLDER", help="folder of your own experiments"
        )
        own.add_argument(
            "--own-rules", type=Path, metavar="FOLDER", help="folder of your own rules"
        )
        return added

    for name, function in (("experiment", experiment_command), ("run", run_command)):
        one = command(name, function)
        one.add_argument("name", metavar="NAME", nargs="?", help="see `list`")
        one.add_argument(
            "--port-base", type=port, help="use the ports from this one on (default: free ones)"
        )
        add_run_options(one)
        add_app_options(one)
        if name == "experiment":
            one.add_argument(
                "--repeat", type=int, default=1, help="how many runs, each with its own seed"
            )
            one.add_argument("--json", action="store_true", help=_JSON)
    soaking = command("soak", soak_command)
    soaking.add_argument(
        "--for", dest="for_s", type=duration, default=3_600.0, metavar="TIME",
        help="30m, 2h, … (default: 1h); Ctrl-C ends it earlier, with a verdict",
    )  # fmt: skip
    soaking.add_argument(
        "--port-base", type=port, help="use the ports from this one on (default: free ones)"
    )
    soaking.add_argument("--json", action="store_true", help=_JSON)
    soaking.set_defaults(name=SOAK, repeat=1)
    add_run_options(soaking)
    add_app_options(soaking)
    trying = command("try", try_command)
    trying.add_argument(
        "--experiment", dest="name", default=EVERYDAY, help="see `list` (default: everyday)"
    )
    trying.add_argument(
        "--port-base", type=port, help="use the ports from this one on (default: free ones)"
    )
    trying.add_argument(
        "--repeat", type=int, default=1, help="how many runs, each with its own seed"
    )
    trying.add_argument("--json", action="store_true", help=_JSON)
    add_run_options(trying)
    add_app_options(trying)
    trying.add_argument("program", nargs="*", metavar="COMMAND", help="after --: what to run")
    add_nightly_options(command("nightly", nightly_command))
    add_matrix_options(command("matrix", matrix_command))
    add_sweep_options(command("sweep", sweep_command))
    for name, function in (("check", check_command), ("report", report_command)):
        one = command(name, function)
        if name == "check":
            one.add_argument(
                "runs",
                type=_place,
                metavar="RUN",
                nargs="+",
                help="a run's folder, or a folder of runs; several print what changed; a run in "
                "another store, such as s3a://BUCKET/results/NAME/RUN, is copied here first",
            )
        else:
            several = name == "report"
            what = "folder of a run, of repeats, a matrix, a sweep or a night"
            one.add_argument(
                "run", type=Path, metavar="RUN", help=what if several else "a run's folder"
            )
        if name == "report":
            one.add_argument("--json", action="store_true", help=_JSON)
            one.add_argument(
                "--into",
                type=Path,
                metavar="FOLDER",
                help="for a matrix: add its programs to the page in this folder",
            )
        if name == "check":
            one.add_argument(
                "--rule",
                action="append",
                default=[],
                metavar="ID",
                help="judge by this rule, declared or not, print its rows, and write nothing",
            )
            one.add_argument(
                "--engine",
                choices=("spark", "duckdb"),
                default="spark",
                help="duckdb prints verdicts within seconds, and writes nothing (default: spark)",
            )
            one.add_argument(
                "--limit",
                action="append",
                default=[],
                metavar="NAME=VALUE",
                help="judge by this promise instead of the run's own, and write nothing",
            )
            one.add_argument("--spark", metavar="URL", help=_SPARK)
    asking = command("sql", sql_command)
    asking.add_argument(
        "run", type=Path, metavar="RUN", nargs="?", help="a run's folder, or a folder of runs"
    )
    asking.add_argument("query", metavar="QUERY", nargs="?", help="without it: list the tables")
    asking.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="format of the answer (default: table, with 200 rows at most)",
    )
    add_keep_options(command("keep", keep_command))
    add_pinned_options(command("pinned", pinned_command))
    add_explain_options(command("explain", explain_command))
    comparing = command("compare", compare_command)
    for side in ("a", "b"):
        comparing.add_argument(
            side,
            type=Path,
            metavar=side.upper(),
            help="folder of a run, of repeats, of a sweep or of a night",
        )
    comparing.add_argument("--json", action="store_true", help="print it as JSON")
    comparing.add_argument(
        "--each-run",
        action="store_true",
        help="of two nights, show the rules and figures of each run, too",
    )
    trending = command("trend", trend_command)
    trending.add_argument("--spark", metavar="URL", help=_SPARK)
    trending.add_argument(
        "--dataset",
        metavar="PLACE",
        help="dataset to read: s3a://BUCKET/dataset, hdfs://… or a folder (default: the one in "
        "--results)",
    )
    command("collect", collect_command).add_argument(
        "run", type=Path, metavar="RUN", help="a run's folder"
    )
    add_up_options(command("up", up_command))
    add_fault_options(command("fault", fault_command))
    command("down", down_command)
    listing = command("list", list_command)
    listing.add_argument(
        "--rules", action="store_true", help="print every rule, and which experiments judge it"
    )
    listing.add_argument("--json", action="store_true", help="print experiments and rules as JSON")
    describing = command("describe", describe_command)
    describing.add_argument(
        "name", metavar="NAME", help="an experiment or a rule: see `list` and `list --rules`"
    )
    describing.add_argument(
        "--sql", action="store_true", help="print a rule as the .sql file that makes it"
    )
    cleaning = command("clean", clean_command)
    cleaning.add_argument(
        "--all",
        action="store_true",
        help="remove all else as well that this project made in the folder of all runs; the "
        "dataset, which has the verdicts of all runs, stays",
    )
    cleaning.add_argument(
        "--cache",
        action="store_true",
        help="offer to remove environments, jars and AOT caches that nothing uses any more",
    )
    cleaning.add_argument(
        "--dry-run", action="store_true", help="only list what would be ended and removed"
    )
    cleaning.add_argument("--yes", action="store_true", help="with --cache: remove without asking")
    command("doctor", doctor_command)
    add_former_options(command("compare-protocols", compare_protocols_command))
    return parser
