"""`python -m consumers (consumer | producer | probe) --config FILE.json`: run one client process.

Exit codes: 0 closed properly; 1 the client library gave up (a fatal error); 3 the journal could not
be written; 4 bad arguments or configuration. Every failure is one sentence on standard error.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.base.errors import BadInput, HarnessError

CONFIGS: Final[dict[str, type[ConsumerConfig | ProducerConfig | ProbeConfig]]] = {
    "consumer": ConsumerConfig,
    "producer": ProducerConfig,
    "probe": ProbeConfig,
}
_PROGRAMS: Final = {"probe": "probes"}  # modules that are called otherwise


class _RoleParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse itself would exit with 2, which means "interrupted" here.
        raise BadInput(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program that `argv` names, until it is ordered to close, and return its exit code."""
    parser = _RoleParser(prog="python -m consumers", description=__doc__)
    parser.add_argument("role", choices=tuple(CONFIGS))
    parser.add_argument("--config", type=Path, required=True, metavar="FILE.json")
    try:
        arguments = parser.parse_args(argv)
        # The client library is imported late: a bad configuration is reported without it.
        config = CONFIGS[arguments.role].load(arguments.config)
        program = import_module(f"consumers.{_PROGRAMS.get(arguments.role, arguments.role)}")
        code: int = program.run(config)
        return code
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
