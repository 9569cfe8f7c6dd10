"""`python -m consumers (consumer | producer | probe) --config FILE.json`: run one client process.

Exit codes: 0 closed properly; 1 the client library gave up (a fatal error); 3 the journal could not
be written; 4 bad arguments or configuration. Every failure is one sentence on standard error.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.base.errors import BadInput, HarnessError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse itself would exit with 2, which means "interrupted" here.
        raise BadInput(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program that `argv` names, until it is told to close, and return its exit code."""
    parser = _Parser(prog="python -m consumers", description=__doc__)
    parser.add_argument("role", choices=("consumer", "producer", "probe"))
    parser.add_argument("--config", type=Path, required=True, metavar="FILE.json")
    try:
        arguments = parser.parse_args(argv)
        if arguments.role == "consumer":
            return _consumer(arguments.config)
        if arguments.role == "probe":
            return _probe(arguments.config)
        return _producer(arguments.config)
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


# The client library is imported late: a bad configuration is told without it.


def _consumer(path: Path) -> int:
    config = ConsumerConfig.load(path)
    from consumers.consumer import run

    return run(config)


def _producer(path: Path) -> int:
    config = ProducerConfig.load(path)
    from consumers.producer import run

    return run(config)


def _probe(path: Path) -> int:
    config = ProbeConfig.load(path)
    from consumers.probes import run

    return run(config)


if __name__ == "__main__":
    sys.exit(main())
