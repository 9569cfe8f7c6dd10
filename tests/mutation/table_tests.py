"""Runs tests of derived tables with a change installed, in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import pytest

from harness.provision.cache import REPOSITORY
from tests.mutation.mutants import Mutant, sources_in
from tests.mutation.trials import install

_OPTIONS = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "--snapshot-warn-unused")


def main(arguments: Sequence[str]) -> int:
    """Arguments are the change, as JSON, and the files of tests; what pytest returns."""
    change, *tests = arguments
    mutant = Mutant(**json.loads(change))
    install(mutant.file, mutant.apply(sources_in(REPOSITORY / "harness")[mutant.file]))
    return pytest.main([*_OPTIONS, *tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
