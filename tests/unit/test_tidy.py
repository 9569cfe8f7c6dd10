"""How much there is, and how it is called: ceilings and exceptions that only fall.

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
    ".github": (300, 11, 4),
    "consumers": (8_250, 332, 130),
    "docs": (17_050, 639, 253),
    "experiments": (2_650, 114, 71),
    "harness": (50, 3, 1),
    "harness/base": (1_250, 47, 27),
    "harness/bench": (1_250, 50, 1),
    "harness/catalogue": (2_550, 109, 71),
    "harness/check": (1_300, 53, 34),
    "harness/cli": (1_900, 76, 23),
    "harness/cluster": (3_800, 154, 42),
    "harness/experiment": (1_100, 48, 11),
    "harness/history": (5_600, 245, 113),
    "harness/provision": (3_050, 139, 14),
    "harness/report": (11_150, 471, 233),
    "harness/rules": (14_900, 806, 605),
    "harness/run": (8_950, 368, 185),
    "harness/suite": (1_950, 79, 55),
    "harness/tables": (4_700, 227, 112),
    "harness/trend": (400, 19, 22),
    "kafka_chaos": (700, 27, 7),
    "results": (50, 3, 1),
    "tests": (4_200, 154, 14),
    "tests/browser": (250, 11, 0),
    "tests/check": (4_200, 160, 72),
    "tests/cluster": (1_650, 62, 25),
    "tests/consumers": (2_700, 98, 53),
    "tests/data": (6_900, 1075, 8),
    "tests/docker": (1_350, 50, 19),
    "tests/hosted": (950, 38, 3),
    "tests/installed": (800, 30, 5),
    "tests/loaded": (700, 28, 5),
    "tests/machine": (600, 24, 4),
    "tests/mutation": (1_050, 42, 18),
    "tests/provision": (2_350, 84, 11),
    "tests/recorded": (2_950, 2818, 52),
    "tests/report": (7_700, 320, 154),
    "tests/rules": (22_050, 1376, 1082),
    "tests/tables": (4_550, 202, 137),
    "tests/tampered": (2_400, 114, 0),
    "tests/torture": (2_300, 93, 51),
    "tests/trend": (1_150, 43, 20),
    "tests/unit": (19_200, 740, 469),
    "the rest": (3_500, 243, 2),
}

# Modules of less than `SMALL` lines with one importer, which could be a part of it.
TINY = """
    harness/tables/broker_settings.py
"""

# Names of several files, and of several classes of the product.
FILES = """
    base checks clocks command commands consumer derived judged load rounds rows sql
    test_apps test_by_hand test_compose test_java test_limits
    test_ownership_by_brokers test_probes test_programs test_project test_secured
    test_store turns
"""
CLASSES = ""


@cache
def texts() -> dict[str, str]:
    """Every text that git tracks, by its path."""
    listing = ["git", "ls-files", "-z"]
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
        f"{room} has {number - most} {unit} more than its {most}: ceilings only fall"
        for room, numbers in measured().items()
        for number, most, unit in zip(numbers, CEILINGS.get(room, (0, 0, 0)), units, strict=True)
        if number > most
    ]

    assert not over, "\n".join(over)
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
    others = ("experiments/", "consumers/apps/")
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
    ("found", "known", "remedy"),
    [
        (tiny, TINY, "make it a part of its only importer"),
        (file_names, FILES, "find a name that no other file has"),
        (class_names, CLASSES, "find a name that no other class has"),
    ],
    ids=["modules", "file names", "class names"],
)
def test_exceptions_only_become_fewer(
    found: Callable[[], set[str]], known: str, remedy: str
) -> None:
    new, gone = found() - set(known.split()), set(known.split()) - found()

    assert not new, f"{', '.join(sorted(new))}: {remedy}"
    assert not gone, f"take out of the list what is none any more: {', '.join(sorted(gone))}"


def main() -> None:
    for room, (lines, size, words) in sorted(measured().items()):
        sys.stdout.write(
            f'    "{room}": ({-(-lines // 50) * 50:_}, {-(-size * 101 // 100)}, {words}),\n'
        )


if __name__ == "__main__":
    main()
