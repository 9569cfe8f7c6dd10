"""Client by situation: what the runs of a matrix show, as its record `matrix.json` has it.

A run that shows nothing is counted and named, and a cell says of how many runs it is. What the
record has of each run is what the table is made of, so runs of another day can be added.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from harness.base.distribution import distribution
from harness.base.errors import NoData
from harness.history.suites import Entry, State, Suite
from harness.report.load import Manifest, Row
from harness.report.many.suite_rows import read_run
from harness.report.parts.situations import AT_THE_END, IN_SITUATIONS, SignFound, in_order, sample

SCHEMA_VERSION: Final = 2
# What a matrix says of itself, beside what its runs show.
ABOUT: Final = ("name", "started_at", "ended_at", "command", "examples")
# What all runs may have in common, as their manifests declare it.
_SETTING: Final = {
    "brokers": ("cluster", "brokers"),
    "partitions": ("load", "partitions"),
    "records_per_s": ("load", "records_per_s"),
    "processes": ("group", "members"),
}


def matrix_of(suite: Suite) -> Row:
    about = {name: getattr(suite, name) for name in ("name", "started_at", "ended_at")}
    about |= {"command": str(suite.asked.get("command", ""))}
    about |= {"examples": bool(suite.asked.get("examples"))}
    return matrix_of_runs([_run(suite, entry) for entry in suite.entries], about)


def matrix_of_runs(runs: Sequence[Row], about: Row) -> Row:
    """The table of these runs; `about` has the fields of ABOUT.

    `examples` says that every program is one of consumers/apps. `repeats` is 0 where not every
    program has as many runs of each experiment. `setting` is what all runs had in common, empty
    where they had not. Of `runs`, one without a `sample` shows nothing, and `reason` says why;
    `run` is the name of its folder, or else no other's name.
    """
    found: dict[str, list[str]] = {}
    for run in runs:
        seen = found.setdefault(run["experiment"], [])
        seen += run["sample"]["situations"] if run["sample"] else ()
    columns = [
        {"experiment": experiment, "situation": situation}
        for experiment, situations in found.items()
        for situation in in_order(situations)
    ]
    times = set(Counter((run["client"], run["experiment"]) for run in runs).values())
    settings = [run["facts"]["setting"] for run in runs if run["facts"]]
    common = {name: {each[name] for each in settings} for name in (*_SETTING, "cores")}
    return {
        **{name: about[name] for name in ABOUT},
        "repeats": times.pop() if len(times) == 1 else 0,
        "planned": len(runs),
        "shown": sum(run["sample"] is not None for run in runs),
        "columns": columns,
        "clients": [
            _client(name, [run for run in runs if run["client"] == name], columns)
            for name in dict.fromkeys(run["client"] for run in runs)
        ],
        "setting": {name: each.pop() if len(each) == 1 else "" for name, each in common.items()},
        "runs": runs,
    }


def _run(suite: Suite, entry: Entry) -> Row:
    run_dir = suite.run_dir(entry)
    found, about = read_run(suite, entry, lambda run: (sample(run), _facts(run.manifest)))
    sampled, facts = found or (None, None)
    return {
        **{name: getattr(entry, name) for name in ("client", "experiment", "label")},
        "run": run_dir.name if run_dir else f"{suite.name}: {entry.label}",
        **about,
        "sample": sampled,
        "facts": facts,
    }


def _facts(manifest: Manifest) -> Row:
    """What brokers saw of the program of one run, and where it ran."""
    observed, began, declared = manifest.observed, manifest.started_at, manifest.declared
    setting = {
        name: str((declared.get(part) or {}).get(of_part))
        for name, (part, of_part) in _SETTING.items()
    }
    nameless = "unknown unknown"  # what brokers write of who does not say
    return {
        "libraries": [each for each in observed.get("clients") or () if each != nameless],
        "protocol": observed.get("protocol") or "",
        "assignors": observed.get("assignors") or [],
        "session_timeout_ms": observed.get("session_timeout_ms"),
        "kafka": manifest.versions.get("kafka") or "",
        "date": str(began.astimezone(UTC).date()) if began else "",
        "setting": {**setting, "cores": str(manifest.host.get("cores"))},
    }


def _client(name: str, runs: Sequence[Row], columns: Iterable[Row]) -> Row:
    """One program: what brokers saw of it, and its cells, one for each column."""
    by: dict[str, list[Row]] = {}
    for run in runs:
        by.setdefault(run["experiment"], []).append(run)
    about = [run["facts"] for run in runs if run["facts"]]

    def every(fact: str) -> list[Any]:
        """Every value of a fact once, in order, without empty ones."""
        found = (facts[fact] for facts in about)
        lists = (value if isinstance(value, list) else [value] for value in found)
        return sorted({value for values in lists for value in values if value})

    return {
        "name": name,
        "libraries": every("libraries"),
        "protocols": every("protocol"),
        "assignors": every("assignors"),
        "session_timeouts_ms": every("session_timeout_ms"),
        "kafka": every("kafka"),
        "dates": every("date"),
        "runs": len(about),
        "planned": len(runs),
        "cells": [_cell(column, by.get(column["experiment"], ())) for column in columns],
        "ends": [_end(experiment, found) for experiment, found in by.items()],
    }


def _cell(column: Row, runs: Sequence[Row]) -> Row:
    """One client in one situation. `runs` show it, of so many that were to be played.

    In `never_again` of them a partition was stopped until they ended. `again` is of records that
    came again. `longest` is the page of the run with the longest standstill, from the folder of the
    matrix; empty if there is none.
    """
    situation = column["situation"]
    shown = [run for run in runs if run["sample"] and situation in run["sample"]["situations"]]
    found = [run["sample"]["situations"][situation] for run in shown]
    both = zip(found, shown, strict=True)
    stood = [(ms, run["link"]) for one, run in both if (ms := one["standstill_ms"]) is not None]
    return {
        "column": column,
        "runs": len(shown),
        "planned": len(runs),
        "standstill_ms": distribution([ms for ms, _ in stood]),
        "never_again": sum(one["never_again"] for one in found),
        "again": distribution([float(one["again"]) for one in found if one["again"] is not None]),
        "fetched_only": any(run["sample"]["fetched_only"] for run in shown),
        "signs": _signs([words.rule for words in IN_SITUATIONS], [one["signs"] for one in found]),
        "longest": max(stood, key=lambda each: each[0], default=(0.0, ""))[1],
    }


def _end(experiment: str, runs: Sequence[Row]) -> Row:
    """What was found of one client at the end of the runs of one experiment.

    `fine` are rules that held in every run.
    """
    samples = [run["sample"] for run in runs if run["sample"]]
    found = [each["at_the_end"] for each in samples]
    rules = [words.rule for words in AT_THE_END]
    return {
        "experiment": experiment,
        "runs": len(samples),
        "planned": len(runs),
        "fetched_only": any(each["fetched_only"] for each in samples),
        "signs": _signs(rules, found),
        "fine": [rule for rule in rules if {each[rule] for each in found} == {SignFound.FINE}],
    }


def _signs(rules: Iterable[str], found: Sequence[Mapping[str, str]]) -> list[Row]:
    """Those rules that were violated or could not be judged, and in how many runs."""
    counted = {rule: Counter(each[rule] for each in found) for rule in rules}
    wrong = (SignFound.VIOLATED, SignFound.UNKNOWN)
    return [
        {"rule": rule, **{str(sign): count[sign] for sign in wrong}, "runs": len(found)}
        for rule, count in counted.items()
        if any(count[sign] for sign in wrong)
    ]


def as_json(matrix: Row) -> str:
    content = {"schema_version": SCHEMA_VERSION, **matrix}
    return json.dumps(content, indent=2, default=vars) + "\n"


def load_matrix(path: Path) -> Row:
    """The matrix of which this is the record. Raises NoData where it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["schema_version"]
        if version == SCHEMA_VERSION:
            return matrix_of_runs(content["runs"], content)
        why = f"is of schema {version}, and this version reads {SCHEMA_VERSION}"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        kind = type(error).__name__
        why = f"cannot be read as the record of a matrix ({kind}: {error})"
    raise NoData(f"{path} {why}: remove it, and publish its matrices again")


def with_runs_of(kept: Row, added: Row) -> Row:
    """The runs of both, in the order of their programs' names.

    What was kept of a program goes where the added runs are of another version of its library or of
    Kafka: they are another row's, and there is one for each program.
    """
    before, now = _versions(kept), _versions(added)
    fresh = {run["run"] for run in added["runs"]}
    replaced = {client for client, versions in now.items() if before.get(client) != versions}
    old = [run for run in kept["runs"] if run["run"] not in fresh and run["client"] not in replaced]
    commands = f"{kept['command']}\n{added['command']}".strip().split("\n")
    about = {
        "started_at": min(kept["started_at"], added["started_at"]),
        "command": "\n".join(dict.fromkeys(commands)),
        "examples": kept["examples"] and added["examples"],
    }
    runs = sorted([*old, *added["runs"]], key=lambda run: str(run["client"]))
    return matrix_of_runs(runs, {**added, **about})


def _versions(matrix: Row) -> dict[str, set[tuple[str, ...]]]:
    """What brokers saw of each program, and the brokers' own version."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for run in matrix["runs"]:
        if (facts := run["facts"]) is not None:
            found.setdefault(run["client"], set()).add((*facts["libraries"], facts["kafka"]))
    return found


def for_others(matrix: Row) -> Row:
    """The same matrix without its ways to the folders of runs, and without runs never begun."""
    runs = [{**run, "link": ""} for run in matrix["runs"] if run["state"] != State.PLANNED]
    return matrix_of_runs(runs, matrix)
