"""Where the code lies, what is typed there, and paths as people read them."""

from pathlib import Path
from typing import Final

from harness.base.errors import BadInput

ROOT: Final = Path(__file__).resolve().parents[2]  # where `harness` lies
# What a wheel brings has none of the files by which a clone is built and tested.
INSTALLED: Final = not (ROOT / "pyproject.toml").is_file()
COMMAND: Final = "kafka-chaos" if INSTALLED else "./kafka-chaos"
RESULTS: Final = Path("kafka-chaos-results") if INSTALLED else ROOT / "results"


def set_up(kafka_version: str = "") -> str:
    """What is typed to set up all that runs with this Kafka need, or with the usual one."""
    return f"{COMMAND} setup{f' --kafka {kafka_version}' if kafka_version else ''}"


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
