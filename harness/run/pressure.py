"""For how much of the time this machine kept somebody waiting for a processor, as Linux counts it.

Its totals (`/proc/pressure/cpu`, PSI) are of the whole machine, or of the container that we are in:
work beside the run is in them too, which is just what a run has to tell of.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_TOTAL: Final = re.compile(r"^(some|full) .*\btotal=(\d+)$", re.MULTILINE)  # in microseconds


class Pressure:
    """The pressure since a moment: that in which this was made."""

    def __init__(
        self,
        told: Path = Path("/proc/pressure/cpu"),
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._told = told
        self._clock_ns = clock_ns
        self._before_us, self._begun_ns = self._totals_us(), clock_ns()

    def shares(self) -> dict[str, float]:
        """Of the time since then: in which `some` thread waited, and in which all did (`full`).

        Nothing where the kernel does not tell.
        """
        passed_us = (self._clock_ns() - self._begun_ns) / 1e3
        return {
            name: round(min(1.0, (total_us - self._before_us[name]) / passed_us), 3)
            for name, total_us in self._totals_us().items()
            if name in self._before_us and passed_us > 0
        }

    def _totals_us(self) -> dict[str, int]:
        try:
            told = self._told.read_text()
        except OSError:  # an older kernel, one that was built or started without it, or no Linux
            return {}
        return {name: int(total) for name, total in _TOTAL.findall(told)}
