"""The borders of the rooms, as `tests/rooms.py` lists them."""

import ast
import re
from graphlib import TopologicalSorter

import pytest

from tests.rooms import OUTSIDE, PAGE, ROOMS, ROOT, breaches, imported, others, page, place, sources

ENTRIES = 17  # files and folders in `harness/`
LINES = 450
WRITTEN = ("*.md", "docs/*.md", "*.toml", "Makefile", ".github/workflows/*.yml", "tests/**/*.py")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_it_may(room: str) -> None:
    found = [
        breach
        for path in sources(room)
        for breach in breaches(room, str(path.relative_to(ROOT)), path.read_text())
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_may_import_no_more_than_it_does(room: str) -> None:
    used = {name for path in sources(room) for name in others(room, path.read_text())}
    unused = {*ROOMS[room].imports, *ROOMS[room].libraries} - used

    assert not unused, f"nothing in {place(room)} imports {', '.join(sorted(unused))}: take it out"


def test_no_import_runs_back_up() -> None:
    floors = list(ROOMS)
    for number, room in enumerate(floors):
        up = set(ROOMS[room].imports) & set(floors[: number + 1])

        assert not up, f"{room} stands above {', '.join(sorted(up))}, and may not be above it too"


@pytest.mark.parametrize(
    ("room", "source", "breach"),
    [
        ("rules", "import confluent_kafka", "x.py imports confluent_kafka: rules read tables only"),
        ("rules", "from harness import run", "x.py imports harness.run: rules read tables only"),
        ("rules", "from . import rule", "x.py imports relatively: rules read tables only"),
        (
            "check",
            "def late():\n    from harness.cluster.wire import ask",
            "x.py imports harness.cluster: checking reads files only, and opens no socket to Kafka",
        ),
        (
            "provision",
            "from pyarrow import parquet",
            "x.py imports pyarrow: set-up runs on a bare Python",
        ),
    ],
)
def test_a_breach_is_a_sentence(room: str, source: str, breach: str) -> None:
    assert [breach] == list(breaches(room, "x.py", source))


@pytest.mark.parametrize(
    "source",
    ["import json", "from harness import __version__", "from harness.rules import rule"],
)
def test_what_everybody_may_import_is_no_breach(source: str) -> None:
    assert not list(breaches("rules", "x.py", source))


def test_engines_know_nothing_of_what_they_run() -> None:
    for path in (ROOT / "harness/tables/engines").glob("*.py"):
        ours = {name for name in imported(path.read_text()) if name.startswith("harness")}

        assert all(name.startswith("harness.tables.engines") for name in ours), path.name


@pytest.mark.parametrize(
    ("folder", "above"),
    [
        ("parts", "text run many incident"),
        ("text", "run many incident"),
        ("run", "many incident"),
        ("incident", "many"),
    ],
)
def test_reports_are_made_of_parts_and_no_part_of_reports(folder: str, above: str) -> None:
    for path in (ROOT / "harness/report" / folder).glob("*.py"):
        for name in imported(path.read_text()):
            inner = name.removeprefix("harness.report.").partition(".")[0]

            assert not name.startswith("harness.report.") or inner not in above.split(), path.name


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for folder in ("harness", "consumers")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    }
    uses = {name: _modules_in(path.read_text()) & modules.keys() for name, path in modules.items()}

    list(TopologicalSorter(uses).static_order())  # raises CycleError, which names them


def _modules_in(source: str) -> set[str]:
    """Names of modules that a module imports, and some that are none."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return names | set(imported(source))


def test_every_entry_of_the_harness_is_a_room() -> None:
    found = {path.stem for path in (ROOT / "harness").iterdir() if path.stem != "__pycache__"}

    assert found - {"__init__"} == ROOMS.keys() - set(OUTSIDE)
    assert len(found) <= ENTRIES


def test_modules_are_short() -> None:
    modules = {str(path.relative_to(ROOT)): path for path in (ROOT / "harness").rglob("*.py")}
    long = {name for name, path in modules.items() if len(path.read_text().splitlines()) > LINES}

    assert not long, f"more than {LINES} lines: split by subject"


def test_the_table_of_architecture_is_current() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run `make docs`"


def test_names_of_modules_in_texts_exist() -> None:
    """Processes are started, and functions replaced, by names that no import checks."""
    missing = [
        f"{path.relative_to(ROOT)}: {node.value}"
        for folder in ("harness", "consumers", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(harness|consumers|tests)(\.\w+)*\.\w*[a-z]", node.value)
        and not _exists(node.value.split("."))
    ]

    assert not missing, "\n".join(missing)


def _exists(parts: list[str]) -> bool:
    """Whether it is a package or module, or what a module has."""
    if ROOT.joinpath(*parts).is_dir():
        return True
    for end in range(2, len(parts) + 1):
        module = ROOT.joinpath(*parts[:end]).with_suffix(".py")
        if module.is_file():
            return all(re.search(rf"\b{part}\b", module.read_text()) for part in parts[end:][:1])
    return False


@pytest.mark.parametrize("pattern", WRITTEN)
def test_paths_in_texts_exist(pattern: str) -> None:
    for path in ROOT.glob(pattern):
        if path.name == "CHANGELOG.md":
            continue
        for found in re.findall(r"(?<![\w/.])harness/[\w./]*\w/?", path.read_text()):
            assert (ROOT / found).exists(), f"{path.relative_to(ROOT)} names {found}"
