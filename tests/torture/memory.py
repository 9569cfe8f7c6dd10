"""Memory: each process may have so much of its own, and no more."""

from __future__ import annotations

import resource
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from tests.torture import played
from tests.torture.kinds import Outcome, Round

_LEAST_MB: Final = 144  # with less even the libraries of Python do not start
_DOUBLINGS: Final = 3.4  # to 1.5 GB, with which every process has enough


def play(this: Round, results: Path, alone: AbstractContextManager[None]) -> Outcome:
    """Play one round; `results` is a folder of its own, and brokers run only while `alone`."""
    limit_mb = round(_LEAST_MB * 2 ** this.randomness.uniform(0, _DOUBLINGS))
    what, where = f"{limit_mb} MB for each process", "little memory"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_mb * 2**20, limit_mb * 2**20))

    code, problems = played.limited(this.number, results, alone, limit)
    return Outcome(this, what, where, f"exit code {code}", problems)
