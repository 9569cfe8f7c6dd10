"""Writes the pages of a published matrix anew, from its record, as `make docs` does for docs."""

import sys
from pathlib import Path

from harness.report.many.matrix_record import load_matrix
from harness.report.many.matrix_text import RECORD, write_into


def main(folder: Path) -> None:
    """Write the pages as they are worded now. Raises NoData where there is no record."""
    write_into(folder, load_matrix(folder / RECORD))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
