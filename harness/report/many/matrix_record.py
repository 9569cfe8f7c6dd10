"""The record of a matrix, `matrix.json`: written, read, and put together from several.

What it has of each run is what the table is made of, so runs of another day can be added.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from harness.base.errors import NoData
from harness.report.many.matrix import ABOUT, Facts, Matrix, Seen, Setting, matrix_of_runs
from harness.report.parts.situations import Sample, Shown, Standing

SCHEMA_VERSION: Final = 2
_NOT_PLAYED: Final = "not played"


def as_json(matrix: Matrix) -> str:
    """The text of `matrix.json`."""
    content: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(matrix)}
    content["runs"] = [{**asdict(run), "sample": _row(run.sample)} for run in matrix.runs]
    return json.dumps(content, indent=2) + "\n"


def _row(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    return {
        "situations": {
            name: {
                "standstill_ms": one.standstill_ms,
                "never_again": one.never_again,
                "again": one.again,
                "signs": one.signs,
            }
            for name, one in sample.situations.items()
        },
        "at_the_end": sample.at_the_end,
        "fetched_only": sample.fetched_only,
    }


def load_matrix(path: Path) -> Matrix:
    """The matrix of which this is the record. Raises NoData where it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["schema_version"]
        if version == SCHEMA_VERSION:
            runs = [_seen(row) for row in content["runs"]]
            return matrix_of_runs(runs, **{name: content[name] for name in ABOUT})
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


def _seen(row: Mapping[str, Any]) -> Seen:
    facts = row["facts"]
    return Seen(
        **{
            **row,
            "sample": _sample(row["sample"]),
            "facts": facts
            and Facts(
                **{
                    **facts,
                    "libraries": tuple(facts["libraries"]),
                    "assignors": tuple(facts["assignors"]),
                    "setting": Setting(**facts["setting"]),
                }
            ),
        }
    )


def _sample(row: Mapping[str, Any] | None) -> Sample | None:
    if row is None:
        return None
    return Sample(
        {
            name: Shown(name, **{**one, "signs": _standings(one["signs"])})
            for name, one in row["situations"].items()
        },
        _standings(row["at_the_end"]),
        row["fetched_only"],
    )


def _standings(found: Mapping[str, str]) -> dict[str, Standing]:
    return {rule: Standing(each) for rule, each in found.items()}


def with_runs_of(kept: Matrix, added: Matrix) -> Matrix:
    """The runs of both, in the order of their programs' names.

    What was kept of a program goes where the added runs are of another version of its library or of
    Kafka: they are another row's, and there is one for each program.
    """
    versions = _versions(added)
    fresh = {run.run for run in added.runs}
    old = [
        run
        for run in kept.runs
        if run.run not in fresh
        and _versions(kept).get(run.client)
        == versions.get(run.client, _versions(kept).get(run.client))
    ]
    return matrix_of_runs(
        sorted([*old, *added.runs], key=lambda run: run.client),
        name=added.name,
        started_at=min(kept.started_at, added.started_at),
        ended_at=added.ended_at,
        command="\n".join(dict.fromkeys(f"{kept.command}\n{added.command}".strip().split("\n"))),
        examples=kept.examples and added.examples,
    )


def _versions(matrix: Matrix) -> dict[str, set[tuple[tuple[str, ...], str]]]:
    """What brokers saw of each program, and the brokers' own version."""
    found: dict[str, set[tuple[tuple[str, ...], str]]] = {}
    for run in matrix.runs:
        if run.facts is not None:
            found.setdefault(run.client, set()).add((run.facts.libraries, run.facts.kafka))
    return found


def for_others(matrix: Matrix) -> Matrix:
    """The same matrix without its ways to the folders of runs, and without runs never begun."""
    return matrix_of_runs(
        [replace(run, link="") for run in matrix.runs if run.state != _NOT_PLAYED],
        **{name: getattr(matrix, name) for name in ABOUT},
    )
