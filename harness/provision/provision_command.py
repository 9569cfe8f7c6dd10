"""The commands `setup`, `exec`, `doctor`, `bom`, `lock-kafka` of `python3 -m harness.provision`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from harness.base.errors import Exit, HarnessError, refused
from harness.base.paths import COMMAND
from harness.provision import kafka, setup_steps
from harness.provision.cache import REPOSITORY, cache_dir, make_cache_dir
from harness.provision.environment import developers_env, env_dir, env_python


class _SetUpParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(Exit.BAD_ARGUMENTS, f"kafka-chaos: {message}; see `{self.prog} --help`\n")


def main(args: list[str]) -> int:
    """Run one command; its exit code: 0, 2 interrupted, 3 failed, 4 bad arguments."""
    try:
        with _ended_by_sigterm():
            code = _dispatch(_parser().parse_args(args))
        sys.stdout.flush()  # a reader that went away is noticed here, and not when Python ends
        return code
    except HarnessError as error:
        print(f"kafka-chaos: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # `| head`: nothing to say, and no reader
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except OSError as error:
        print(f"kafka-chaos: {refused(error)}", file=sys.stderr)
        return Exit.FAILED
    except KeyboardInterrupt:
        print("\ninterrupted; the next set-up goes on from here", file=sys.stderr)
        return Exit.INTERRUPTED


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM is as good as Ctrl-C: what set-up has started is ended too."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> _SetUpParser:
    parser = _SetUpParser(prog=COMMAND, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    setup = commands.add_parser("setup", help="make everything a run needs; done once")
    execute = commands.add_parser(
        "exec", help="set up if needed, then run the environment's Python"
    )
    execute.add_argument("arguments", nargs="+", metavar="ARG", help="after --: Python's arguments")
    execute.add_argument(
        "--whole", action="store_true", help="set up what could wait for the first verdict, too"
    )
    execute.add_argument(
        "--lean", action="store_true", help="without what only tests and checks need"
    )
    execute.add_argument(
        "--stay", action="store_true", help="in this folder, and not in that of the code"
    )
    setup.add_argument("--kafka", default=kafka.DEFAULT_VERSION, metavar="VERSION")
    bill = commands.add_parser("bom", help="the bill of materials, as CycloneDX in JSON")
    for each in (execute, bill):
        each.add_argument(
            "--kafka", action="append", default=[], metavar="VERSION", help="may be given twice"
        )
    lock = commands.add_parser("lock-kafka", help="for maintainers: pin another Kafka version")
    lock.add_argument("version")
    commands.add_parser("doctor", help="say what is there and what is missing")
    return parser


def _dispatch(chosen: argparse.Namespace) -> int:
    if chosen.command == "setup":
        kafka.check_offered(chosen.kafka)
        make_cache_dir()
        setup_steps.forget_failures(chosen.kafka)
        done = setup_steps.ensure(chosen.kafka)
        print("\n".join(done) if done else "everything is set up")
        print(f"cache: {cache_dir()}")
        return Exit.AS_EXPECTED
    if chosen.command == "exec":
        # The command below sets up whatever else it finds that it needs.
        for version in dict.fromkeys([*filter(None, chosen.kafka)] or [kafka.DEFAULT_VERSION]):
            kafka.check_offered(version)
            wanted = {"late": chosen.whole, "developers": not chosen.lean}
            if not setup_steps.is_complete(version, **wanted):
                setup_steps.ensure(version, **wanted)
        if not chosen.stay:
            os.chdir(REPOSITORY)
        python = env_python(env_dir() if chosen.lean else developers_env())
        return os.execv(python, [str(python), *chosen.arguments])
    if chosen.command == "lock-kafka":
        print(setup_steps.lock_kafka(chosen.version))
        return Exit.AS_EXPECTED
    if chosen.command == "bom":
        from harness.provision import bom  # only this command needs it

        print(bom.bill(chosen.kafka or [kafka.DEFAULT_VERSION]), end="")
        return Exit.AS_EXPECTED
    from harness.provision import doctor  # only this command needs it

    return doctor.show(doctor.diagnose())
