"""The derived tables, by name: each is a query over the history and over other tables.

A table is a file: in `derived`, or in `views` if it is too simple to be stored, so that it is a
part of every query that names it. What ends in `_of_an_app` stands in for the table of that name
where members are programs that keep no journal; it is made from what brokers logged, from what the
program showed, and from what the harness saw of its processes.
"""

from pathlib import Path
from typing import Final

from harness.experiment import APP
from harness.tables.sql_file import PIECES, SUFFIX, read
from harness.tables.vocabulary import Query

_HERE: Final = Path(__file__).parent
_OF_AN_APP: Final = "_of_an_app"
# Written to files, in this order: each may start from those before it. The others are kept in
# memory while a run is judged.
WRITTEN: Final = (
    "evictions",
    "heartbeats",
    "commits_judged",
    "ownership",
    "redeliveries",
    "rebalances",
    "stops",
)


def _read(folder: str) -> dict[str, Query]:
    files = sorted((_HERE / folder).glob(f"*{SUFFIX}"))
    return {path.stem: read(path, _HERE / PIECES) for path in files}


_DERIVED: Final = _read("derived")
VIEWS: Final = _read("views")
OF_AN_APP: Final = {
    name.removesuffix(_OF_AN_APP): query
    for name, query in _DERIVED.items()
    if name.endswith(_OF_AN_APP)
}
RECIPES: Final = {name: query for name, query in _DERIVED.items() if not name.endswith(_OF_AN_APP)}


def recipes_of(client: str) -> dict[str, Query]:
    """The derived tables of a run, by the client of its members."""
    return {**RECIPES, **OF_AN_APP} if client == APP else RECIPES


def written_of(client: str) -> tuple[str, ...]:
    """The tables of a run that are written to files, in order, by the client of its members."""
    return (*WRITTEN, "reads") if client == APP else WRITTEN
