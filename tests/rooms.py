"""The rooms of the harness: what each is for, and what it may import.

`python -m tests.rooms` writes the table of ARCHITECTURE.md from `ROOMS`; `tests/unit/test_rooms.py`
keeps the code to it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "ARCHITECTURE.md"
BEGIN: Final = "<!-- rooms: `make docs` writes this table -->\n"
END: Final = "<!-- end of rooms -->\n"


@dataclass(frozen=True)
class Room:
    """A package or module, and what it may import besides the standard library and itself."""

    holds: str
    creed: str  # why it may import no more, as the end of a sentence
    imports: tuple[str, ...] = ()  # other rooms
    libraries: tuple[str, ...] = ()


# From the top down: a room imports only rooms that come after it.
ROOMS: Final = {
    "kafka_chaos": Room(
        "what a wheel installs: the command `kafka-chaos`, its example, the plugin for pytest, and "
        "the server of agents (`mcp_server`)",
        "where it is installed there are only Python, pytest for the plugin, and an extra",
        ("provision", "base"),
        ("pytest", "anyio", "mcp"),
    ),
    "__main__": Room(
        "the command `python3 -m harness`, on any Python",
        "the entry point hands over to the command line or to set-up",
        ("cli", "provision"),
    ),
    "bench": Room(
        "what the harness itself costs; made-up runs, and the work that trains AOT caches",
        "measurements use the parts that they measure",
        (
            *("suite", "tables", "cluster", "history"),
            *("provision", "consumers", "experiment", "base"),
        ),
        ("confluent_kafka", "jpype", "psutil", "pyarrow", "rich"),
    ),
    "cli": Room(
        "the commands: parsing, what each does, and what `clean` removes",
        "a command calls others to do the work",
        (
            *("suite", "report", "trend", "catalogue", "run"),
            *("history", "provision", "experiment", "base"),
        ),
        ("pyarrow",),
    ),
    "suite": Room(
        "many runs: nights, repeats, sweeps, matrices of programs; playing each "
        "in a process of its own (`stage`, `player`); judging one run (`judging`), in a "
        "background process (`background`), or many stored ones (`again`), as jobs (`verdict_job`) "
        "of any Spark (`spark_sessions`), from any place that it reads (`stored_elsewhere`); "
        "runs that a project keeps, and what its own rules say of them (`kept_runs`)",
        "a suite plays, judges and reports runs",
        (
            *("report", "catalogue", "check", "tables", "run"),
            *("cluster", "history", "provision", "experiment", "base"),
        ),
        ("py4j", "pyarrow", "pyspark"),
    ),
    "report": Room(
        "pages, Markdown, JUnit and terminal tables: of one run (`run`), of many (`many`), of an "
        "incident that brokers logged (`incident`), as text (`text`), and what these share "
        "(`parts`)",
        "reports read files only, without Spark",
        ("trend", "rules", "history", "experiment", "base"),
        ("duckdb", "jinja2", "pyarrow", "rich"),
    ),
    "trend": Room(
        "verdicts of all runs as one dataset, and which numbers moved; `job` on any Spark",
        "trends read files only",
        ("history", "experiment", "base"),
        ("pyarrow", "pyspark"),
    ),
    "catalogue": Room(
        "experiments by name and their settings (`registry`), what is refused before a run "
        "(`refusals`), which runs a night is made of (`cover`), a project's own (`project`, "
        "`own_modules`), lists and `docs/rules.md`",
        "the catalogue lists and refuses, and plays nothing",
        ("rules", "run", "provision", "consumers", "experiments", "experiment", "base"),
    ),
    "check": Room(
        "verdicts: rules applied to the tables of one run",
        "checking reads files only, and opens no socket to Kafka",
        ("rules", "tables", "history", "experiment", "base"),
        ("pyarrow",),
    ),
    "rules": Room(
        "documented statements, each a query that gives one row per thing examined",
        "rules read tables only",
        ("tables", "experiment"),
    ),
    "tables": Room(
        "tables derived from a run's history (`rebalances`, `ownership`, `stops`), its settings "
        "(`settings`), and the engines that run the queries: Spark, the product's, and DuckDB, "
        "which judges without a JVM (`engines`)",
        "tables are made from a run's files alone",
        ("history", "experiment", "base"),
        ("duckdb", "pyarrow", "pyspark", "sqlglot"),
    ),
    "run": Room(
        "one run: its phases, the fleet of members (`fleet`), what runs and what it wrote "
        "(`scene`), the schedule (`nemesis`) and the kinds of `faults`, the uninvolved "
        "`observer`, the `watchdog`, and what its user sees (`screen`); a cluster to "
        "play with by hand (`by_hand`)",
        "a run records, and judges nothing",
        ("cluster", "history", "provision", "consumers", "experiment", "base"),
        ("confluent_kafka", "psutil", "rich"),
    ),
    "cluster": Room(
        "the description of a cluster (`plan`), the backends that bring one up (`backends`), "
        "Toxiproxy, Kafka's wire protocol (`wire`, `ping`), certificates and users (`secured`), "
        "and what these may do (`admin`)",
        "a cluster knows nothing of what is played on it",
        ("provision", "experiment", "base"),
        (
            *("confluent_kafka", "cryptography", "docker", "psutil", "requests", "testcontainers"),
            *("toxiproxy", "urllib3"),
        ),
    ),
    "history": Room(
        "columns of every file (`schema`), what faults break (`effects`), broker logs to rows, "
        "those of other people's brokers too (`foreign`), journals to Parquet, the manifest, "
        "and the record of a suite (`suites`)",
        "a history is files only",
        ("consumers", "base"),
        ("psutil", "pyarrow"),
    ),
    "provision": Room(
        "what a fresh machine lacks",
        "set-up runs on a bare Python",
        ("base",),
    ),
    "consumers": Room(
        "the programs that are tested: consumer, producer, their journal, saboteurs; `probes` ask "
        "brokers what no client would",
        "programs under test know nothing of who runs and judges them",
        ("experiment", "base"),
        ("confluent_kafka", "jpype"),
    ),
    "experiments": Room(
        "one module per experiment, ~20 lines, a value and nothing else",
        "experiments only declare",
        ("experiment",),
    ),
    "experiment": Room(
        "the words of an experiment; values refuse nonsense when built",
        "declarations do no work",
        ("base",),
    ),
    "base": Room(
        "errors, processes, ports, waiting, paths, files that are `whole`, stamps, distributions, "
        "the bytes of Kafka's messages (`codec`)",
        "everything stands on base, and base on nothing",
        (),
        ("psutil", "pyarrow"),
    ),
}

APPS: Final = ROOT / "consumers" / "apps"
TEMPLATE: Final = ROOT / "kafka_chaos" / "template"
OUTSIDE: Final = ("kafka_chaos", "consumers", "experiments")  # rooms beside the folder `harness`


def place(room: str) -> str:
    """A room's path from the root, a folder with a slash at its end."""
    path = room if room in OUTSIDE else f"harness/{room}"
    return f"{path}.py" if (ROOT / f"{path}.py").is_file() else f"{path}/"


def sources(room: str) -> list[Path]:
    """The modules of a room."""
    path = ROOT / place(room)
    if path.is_file():
        return [path]
    # Example programs have environments of their own.
    return sorted(
        each for each in path.rglob("*.py") if not {APPS, TEMPLATE}.intersection(each.parents)
    )


def imported(source: str) -> Iterator[str]:
    """Whole names of the modules that a module imports, wherever in it, types included."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module="harness", names=names):
                yield from (f"harness.{alias.name}" for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.ImportFrom(module=module, level=level):
                yield "." * level + (module or "")


def others(room: str, source: str) -> Iterator[str]:
    """Rooms and libraries that a module of this room imports."""
    for name in imported(source):
        first, _, rest = name.partition(".")
        if first == "harness":
            found = rest.partition(".")[0]
            if found in ROOMS and found != room:
                yield found
        elif first not in (room, *sys.stdlib_module_names):
            yield first


def breaches(room: str, path: str, source: str) -> Iterator[str]:
    """A sentence for each import that a module of this room may not have."""
    about = ROOMS[room]
    for found in sorted(set(others(room, source))):
        if found not in (*about.imports, *about.libraries):
            inside = found in ROOMS and found not in OUTSIDE
            name = f"harness.{found}" if inside else found or "relatively"
            yield f"{path} imports {name}: {about.creed}"


def table() -> str:
    """The rooms as a Markdown table, from the top down."""
    lines = ["| Room | What is there | May import |", "|---|---|---|"]
    for name, room in ROOMS.items():
        found = ", ".join(room.imports) or "–"
        lines.append(f"| `{place(name)}` | {room.holds} | {found} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """ARCHITECTURE.md with the table of now."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{table()}{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
