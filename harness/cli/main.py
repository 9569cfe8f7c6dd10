"""The command line. Standard output is the result, standard error the progress."""

import argparse
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from harness.base.errors import NO_MEMORY, CannotImport, Exit, HarnessError, refused
from harness.base.paths import RESULTS
from harness.cli import by_hand, completing, pinning, plays, showing, stored, sweeping
from harness.cli.options import Command, parser

# The names of the variables that the target takes, if one of make was typed.
OF_MAKE: Final = "KAFKA_CHAOS_MAKE"
# An option, and the blank before its value, if one is named.
_OPTION: Final = re.compile(
    r"--([a-z]+(?:-[a-z]+)*)(?: (?=['\d]|docker|embedded|compose|plaintext|sasl_ssl))?"
)
# What asks no experiment and no rule: it works where a module of the user's own does not.
_WITHOUT_MODULES: Final = (
    *(stored.clean_command, stored.collect_command, stored.explain_command, stored.sql_command),
    *(by_hand.up_command, by_hand.fault_command, by_hand.down_command, showing.doctor_command),
)
COMMANDS: Final[Sequence[Command]] = (
    *(plays.experiment_command, plays.run_command, plays.soak_command, plays.try_command),
    *(plays.nightly_command, plays.matrix_command, sweeping.sweep_command),
    *(stored.check_command, stored.report_command, stored.sql_command),
    *(pinning.keep_command, pinning.pinned_command),
    *(stored.explain_command, stored.compare_command, stored.trend_command),
    *(stored.collect_command, by_hand.up_command, by_hand.fault_command, by_hand.down_command),
    *(showing.list_command, showing.describe_command, stored.clean_command),
    *(completing.completion_command, showing.doctor_command, sweeping.compare_protocols_command),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (docs/commands.md)."""
    from harness.run.interrupts import Interrupted

    of_make = os.environ.pop(OF_MAKE, "").split()
    try:
        arguments = parser(COMMANDS).parse_args(argv)
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
        _complain(_as_typed(str(error), of_make))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing can be said any more.
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
    from harness.catalogue import own_modules, project

    opened = project.opened(arguments.project, arguments.experiments, arguments.own_rules)
    arguments.project = opened
    if arguments.results is None:
        arguments.results = opened.results or RESULTS
    named = arguments.experiments is not None or arguments.own_rules is not None
    if arguments.command in _WITHOUT_MODULES and not named:
        yield
        return
    with own_modules.used(opened.experiments, opened.rules):
        yield


def _as_typed(sentence: str, of_make: Sequence[str]) -> str:
    """The sentence, with options as these variables of make where a target was typed."""

    def named(found: re.Match[str]) -> str:
        name = found[1].upper().replace("-", "_")
        return f"{name}=" if name in of_make else found[0]

    return _OPTION.sub(named, sentence)


def _complain(sentence: str) -> None:
    sys.stderr.write(f"kafka-chaos: {sentence}\n")
