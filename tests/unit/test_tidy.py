"""How much there is, and how it is called: ceilings that rise only for what is new.

`python3 -m tests.unit.test_tidy` prints the ceilings that would do.
"""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = {".parquet", ".png", ".gz", ".xz"}
WRITTEN = {".py", ".md", ".sql", ".cases", ".toml", ".j2", ".yml", ""}  # by hand: words count
SMALL = 60  # lines
WORDS = (
    *("told", "tells", "whoever", "nobody", "somebody", "meanwhile", "knob"),
    *("that there is not", "came twice", "stood still"),
)
pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="git says which files belong to the repository"
)
IMPORT = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.+)|^ *import ([\w.]+)", re.M)

# By room: lines, thousands of characters, and words of `WORDS`.
CEILINGS: dict[str, tuple[int, int, int]] = {
    ".ci": (500, 37, 0),
    ".github": (350, 15, 4),
    "consumers": (7_600, 307, 14),
    "docs": (16_750, 606, 17),
    "experiments": (2_550, 110, 52),
    "harness": (50, 3, 1),
    "harness/base": (1_200, 45, 0),
    "harness/bench": (1_200, 48, 0),
    "harness/catalogue": (2_450, 108, 0),
    "harness/check": (1_200, 50, 4),
    "harness/cli": (2_100, 85, 0),
    "harness/cluster": (3_600, 148, 0),
    "harness/experiment": (1_100, 49, 0),
    "harness/history": (5_250, 235, 23),
    "harness/provision": (3_550, 180, 0),
    "harness/report": (11_100, 498, 1),
    "harness/rules": (12_200, 677, 72),
    "harness/run": (8_350, 353, 8),
    "harness/suite": (1_900, 78, 0),
    "harness/tables": (4_600, 224, 8),
    "harness/trend": (400, 18, 0),
    "kafka_chaos": (950, 38, 0),
    "results": (50, 3, 0),
    "tests": (3_300, 134, 14),
    "tests/browser": (400, 15, 0),
    "tests/check": (4_050, 152, 64),
    "tests/cluster": (1_850, 70, 25),
    "tests/consumers": (2_600, 96, 2),
    "tests/data": (6_900, 1075, 7),
    "tests/docker": (1_300, 48, 1),
    "tests/hosted": (1_000, 41, 0),
    "tests/installed": (1_250, 48, 0),
    "tests/loaded": (600, 25, 0),
    "tests/machine": (650, 26, 0),
    "tests/mutation": (1_050, 42, 10),
    "tests/provision": (2_450, 89, 0),
    "tests/recorded": (3_300, 2847, 50),
    "tests/report": (7_700, 325, 4),
    "tests/rules": (15_800, 962, 503),
    "tests/tables": (4_700, 209, 135),
    "tests/tampered": (2_700, 129, 0),
    "tests/torture": (2_300, 92, 0),
    "tests/trend": (1_100, 42, 0),
    "tests/unit": (17_900, 702, 32),
    "the rest": (2_900, 199, 1),
}

REMEDY = (
    "take as much out of the room; a ceiling rises only for something new that needs it, in "
    "CEILINGS of tests/unit/test_tidy.py, and its commit says so"
)


@cache
def texts() -> dict[str, str]:
    """Every text that git tracks, or would by `git add`, by its path."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in names.split("\0") if name]
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.suffix not in BINARY and path.is_file() and not path.is_symlink()
    }


def product() -> dict[str, str]:
    """Python that is neither a test, an experiment, nor a program of another library."""
    others = ("tests/", "experiments/", "consumers/apps/", "kafka_chaos/template/")
    return {
        name: text
        for name, text in texts().items()
        if name.endswith(".py") and not name.startswith(others)
    }


def room_of(name: str) -> str:
    first, *rest = name.split("/")
    if first in ("harness", "tests") and len(rest) > 1:
        return f"{first}/{rest[0]}"
    return first if rest else "the rest"


def measured() -> dict[str, tuple[int, int, int]]:
    """Lines, thousands of characters and banned words of each room."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, text in texts().items():
        of_room = found[room_of(name)]
        of_room[0] += text.count("\n")
        of_room[1] += len(text)
        if Path(name).suffix in WRITTEN:
            of_room[2] += sum(map(text.lower().count, WORDS))
    return {room: (lines, -(-size // 1_000), words) for room, (lines, size, words) in found.items()}


def test_no_room_grows() -> None:
    units = ("lines", "thousand characters", f"of the words {', '.join(WORDS)}")
    over = [
        f"{room} has {number - most} {unit} more than its {most}"
        for room, numbers in measured().items()
        for number, most, unit in zip(numbers, CEILINGS.get(room, (0, 0, 0)), units, strict=True)
        if number > most
    ]

    assert not over, "\n".join([*over, REMEDY])
    assert measured().keys() == CEILINGS.keys(), "take out what is gone"


def tiny() -> set[str]:
    modules = {name.removesuffix(".py").replace("/", "."): name for name in product()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, text in product().items():
        for package, parts, whole in IMPORT.findall(text):
            names = {whole, package, *(f"{package}.{part}" for part in re.findall(r"\w+", parts))}
            for module in names & modules.keys():
                importers[modules[module]].add(name)
    return {
        name
        for name, text in product().items()
        if text.count("\n") < SMALL and len(importers[name] - {name}) == 1 and "/__" not in name
    }


def twice(names: Iterable[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def file_names() -> set[str]:
    others = ("experiments/", "consumers/apps/", "kafka_chaos/template/")
    names = [name for name in texts() if name.endswith(".py") and not name.startswith(others)]
    usual = {"__init__", "__main__", "conftest"}
    return twice(stem for stem in (Path(name).stem for name in names) if stem not in usual)


def class_names() -> set[str]:
    return twice(
        name
        for text in product().values()
        for name in re.findall(r"^ *class (\w+)[(:]", text, re.M)
    )


@pytest.mark.parametrize(
    ("found", "remedy"),
    [
        (tiny, "make it a part of its only importer"),
        (file_names, "find a name that no other file has"),
        (class_names, "find a name that no other class has"),
    ],
    ids=["modules", "file names", "class names"],
)
def test_nothing_is_out_of_order(found: Callable[[], set[str]], remedy: str) -> None:
    assert not found(), f"{', '.join(sorted(found()))}: {remedy}"


def main() -> None:
    for room, (lines, size, words) in sorted(measured().items()):
        sys.stdout.write(
            f'    "{room}": ({-(-lines // 50) * 50:_}, {-(-size * 101 // 100)}, {words}),\n'
        )


if __name__ == "__main__":
    main()
