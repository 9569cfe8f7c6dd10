"""The command line. Standard output is the result, standard error the progress."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from harness.base.errors import BadInput, Exit, HarnessError, refused
from harness.base.paths import ROOT
from harness.cli.options import (
    add_app_options,
    add_comparison_options,
    add_matrix_options,
    add_nightly_options,
    add_run_options,
    port,
)
from harness.cli.playing import (
    EVERYDAY,
    compare_protocols_command,
    experiment_command,
    matrix_command,
    nightly_command,
    run_command,
    try_command,
)
from harness.cli.showing import describe_command, doctor_command, list_command
from harness.cli.stored import (
    check_command,
    clean_command,
    collect_command,
    compare_command,
    report_command,
    trend_command,
)


class _Parser(argparse.ArgumentParser):
    """Says one sentence, and ends with the contracted exit code."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog}: {message}; see --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (README, *Exit codes*)."""
    from harness.run.interrupts import Interrupted

    try:
        arguments = _parser().parse_args(argv)
        return int(arguments.command(arguments))
    except (Interrupted, KeyboardInterrupt):
        _complain("interrupted; everything that was started has been healed and ended")
        return Exit.INTERRUPTED
    except HarnessError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except OSError as error:
        _complain(refused(error))
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 (Python's own exit code would say that a verdict differs)
        traceback.print_exc()
        _complain(f"the harness itself failed ({type(error).__name__}), as told above: report it")
        return Exit.FAILED


def _complain(sentence: str) -> None:
    sys.stderr.write(f"kafka-chaos: {sentence}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m harness", description="Chaos testing of Kafka consumer groups."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, function: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        summary = (function.__doc__ or "").splitlines()[0]
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(command=function)
        added.add_argument(
            "--results", type=Path, default=ROOT / "results", help="folder of all runs"
        )
        return added

    for name, function in (("experiment", experiment_command), ("run", run_command)):
        one = command(name, function)
        one.add_argument("name", metavar="NAME", nargs="?", help="see `list`")
        one.add_argument(
            "--port-base", type=port, help="use the ports from here on (default: free)"
        )
        add_run_options(one)
        add_app_options(one)
        if name == "experiment":
            one.add_argument("--repeat", type=int, default=1, help="runs, each with its own seed")
    trying = command("try", try_command)
    trying.add_argument("--experiment", dest="name", default=EVERYDAY, help="see `list`")
    trying.add_argument("--port-base", type=port, help="use the ports from here on (default: free)")
    trying.add_argument("--repeat", type=int, default=1, help="runs, each with its own seed")
    add_run_options(trying)
    add_app_options(trying)
    trying.add_argument("program", nargs="*", metavar="COMMAND", help="after --: what to run")
    add_nightly_options(command("nightly", nightly_command))
    add_matrix_options(command("matrix", matrix_command))
    for name, function in (("check", check_command), ("report", report_command)):
        one = command(name, function)
        one.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
        if name == "check":
            one.add_argument(
                "--rule",
                action="append",
                default=[],
                metavar="ID",
                help="judge this rule, declared or not, print its rows, and keep nothing",
            )
            one.add_argument(
                "--engine",
                choices=("spark", "duckdb"),
                default="spark",
                help="duckdb: print the verdicts within seconds, and keep nothing (default: spark)",
            )
    comparing = command("compare", compare_command)
    for side in ("a", "b"):
        comparing.add_argument(
            side, type=Path, metavar=side.upper(), help="folder of a run, of repeats or of a night"
        )
    comparing.add_argument("--json", action="store_true")
    command("trend", trend_command).add_argument(
        "--spark", metavar="URL", help="spark://HOST:PORT or sc://HOST:PORT (default: here)"
    )
    command("collect", collect_command).add_argument("run", type=Path, metavar="RUN")
    listing = command("list", list_command)
    listing.add_argument("--rules", action="store_true", help="every rule, and what judges it")
    listing.add_argument("--json", action="store_true", help="both, for programs")
    command("describe", describe_command).add_argument("name", metavar="NAME")
    cleaning = command("clean", clean_command)
    cleaning.add_argument(
        "--all",
        action="store_true",
        help="remove all runs, repeats, nights, matrices, comparisons, trends, benchmarks and "
        "mutation tests as well; the dataset, which has the verdicts of all runs, stays",
    )
    cleaning.add_argument(
        "--cache",
        action="store_true",
        help="offer environments, jars and AOT caches that nothing uses any more for removal",
    )
    cleaning.add_argument("--yes", action="store_true", help="with --cache: remove without asking")
    command("doctor", doctor_command)
    add_comparison_options(command("compare-protocols", compare_protocols_command))
    return parser
