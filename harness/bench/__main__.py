"""`python3 -m harness.bench [PART…]`: measure, print a table, and keep it as Parquet.

Nothing else should run on the machine. Exit code 0 if every limit is kept, 1 if not, or if a part
could not be measured.
"""

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from harness.base.errors import HarnessError
from harness.base.paths import ROOT
from harness.bench import recording
from harness.bench.measure import Figure, bench_check, bench_experiment, table_of
from harness.provision.tools import Tools, resolve_tools

PARTS: Final[dict[str, Callable[[Tools, int], list[Figure]]]] = {
    "recording": recording.bench,
    "check": bench_check,
    "experiment": bench_experiment,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m harness.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    tools = resolve_tools()
    figures: list[Figure] = []
    failed = False
    for name in arguments.parts or PARTS:
        sys.stderr.write(f"measuring {name} …\n")
        try:
            figures += PARTS[name](tools, arguments.rounds)
        except HarnessError as error:  # what the other parts measured is kept
            sys.stderr.write(f"{name} could not be measured: {error}\n")
            failed = True
    folder = arguments.results / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    pq.write_table(table_of(figures), folder / f"{stamp}.parquet", compression="zstd")
    _show(figures, folder / f"{stamp}.txt")
    return int(failed or any(figure.met is False for figure in figures))


def _show(figures: list[Figure], kept: Path) -> None:
    table = Table("bench", "figure", "median", "unit", "limit", "kept", box=None)
    for figure in figures:
        sign = "≤" if figure.at_most else "≥"
        limit = "" if figure.limit is None else f"{sign} {figure.limit:g}"
        met = {None: "", True: "yes", False: "NO"}[figure.met]
        table.add_row(figure.bench, figure.figure, f"{figure.value:,.2f}", figure.unit, limit, met)
    console = Console(width=110, record=True)
    console.print(table)
    console.save_text(str(kept))


if __name__ == "__main__":
    sys.exit(main())
