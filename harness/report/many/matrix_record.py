"""The record of a matrix, `matrix.json`: written, read, and put together from several.

What it has of each run is what the table is made of, so runs of another day can be added.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from harness.base.errors import NoData
from harness.report.many.matrix import ABOUT, Matrix, matrix_of_runs

SCHEMA_VERSION: Final = 2
_NOT_PLAYED: Final = "not played"


def as_json(matrix: Matrix) -> str:
    """The text of `matrix.json`."""
    return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(matrix)}, indent=2) + "\n"


def load_matrix(path: Path) -> Matrix:
    """The matrix of which this is the record. Raises NoData where it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["schema_version"]
        if version == SCHEMA_VERSION:
            return matrix_of_runs(content["runs"], **{name: content[name] for name in ABOUT})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        kind = type(error).__name__
        raise NoData(
            f"{path} cannot be read as the record of a matrix ({kind}: {error}): remove it, "
            "and publish its matrices again"
        ) from error
    raise NoData(
        f"{path} is of schema {version}, and this version reads {SCHEMA_VERSION}: remove it, and "
        "publish its matrices again"
    )


def with_runs_of(kept: Matrix, added: Matrix) -> Matrix:
    """The runs of both, in the order of their programs' names.

    What was kept of a program goes where the added runs are of another version of its library or of
    Kafka: they are another row's, and there is one for each program.
    """
    before, now = _versions(kept), _versions(added)
    fresh = {run["run"] for run in added.runs}
    replaced = {client for client, versions in now.items() if before.get(client) != versions}
    old = [run for run in kept.runs if run["run"] not in fresh and run["client"] not in replaced]
    return matrix_of_runs(
        sorted([*old, *added.runs], key=lambda run: str(run["client"])),
        name=added.name,
        started_at=min(kept.started_at, added.started_at),
        ended_at=added.ended_at,
        command="\n".join(dict.fromkeys(f"{kept.command}\n{added.command}".strip().split("\n"))),
        examples=kept.examples and added.examples,
    )


def _versions(matrix: Matrix) -> dict[str, set[tuple[str, ...]]]:
    """What brokers saw of each program, and the brokers' own version."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for run in matrix.runs:
        if (facts := run["facts"]) is not None:
            found.setdefault(run["client"], set()).add((*facts["libraries"], facts["kafka"]))
    return found


def for_others(matrix: Matrix) -> Matrix:
    """The same matrix without its ways to the folders of runs, and without runs never begun."""
    return matrix_of_runs(
        [{**run, "link": ""} for run in matrix.runs if run["state"] != _NOT_PLAYED],
        **{name: getattr(matrix, name) for name in ABOUT},
    )
