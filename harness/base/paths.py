"""Where the code lies, and paths as people read them."""

from pathlib import Path
from typing import Final

from harness.base.errors import BadInput

ROOT: Final = Path(__file__).resolve().parents[2]  # where `harness` lies


def here(path: Path) -> str:
    """A path as one would type it: below the folder one is in, from there."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def check_for_kafka(folder: Path) -> None:
    """Refuse a folder for results whose name Kafka would take apart. Raises BadInput."""
    if "," in str(folder):
        raise BadInput(
            f"{folder} has a ',' in its name, which Kafka takes for a separator: choose another "
            "--results"
        )
