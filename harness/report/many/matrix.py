"""Client by situation: what the runs of a matrix show, as numbers.

A run that shows nothing is counted and named, and a cell says of how many runs it is.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from typing import Any, Final

from harness.base.distribution import Distribution, distribution
from harness.base.errors import NoData
from harness.history.suites import Entry, Suite
from harness.report.load import Manifest, load
from harness.report.many.suite_rows import link_to
from harness.report.parts.situations import (
    AT_THE_END,
    IN_SITUATIONS,
    Sample,
    Standing,
    in_order,
    sample,
)

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True)
class Sign:
    """In how many runs a rule was violated, and in how many it could not be judged."""

    rule: str
    violated: int
    unknown: int
    runs: int  # that show the situation, or their end


@dataclass(frozen=True)
class Column:
    """One situation of one experiment."""

    experiment: str
    situation: str


@dataclass(frozen=True)
class Cell:
    """One client in one situation. `runs` show it, of so many that were to be played.

    `longest` is the page of the run that stood still longest, from the folder of the matrix; empty
    if there is none.
    """

    column: Column
    runs: int
    planned: int
    standstill_ms: Distribution
    never_again: int  # runs in which a partition stood still until they ended
    again: Distribution  # records that came again
    fetched_only: bool
    signs: tuple[Sign, ...]
    longest: str


@dataclass(frozen=True)
class End:
    """What was found of one client at the end of the runs of one experiment."""

    experiment: str
    runs: int
    planned: int
    fetched_only: bool
    signs: tuple[Sign, ...]
    fine: tuple[str, ...]  # rules that held in every run


@dataclass(frozen=True)
class Client:
    """One program: what brokers saw of it, and its cells, one for each column."""

    name: str
    libraries: tuple[str, ...]  # with their versions, as brokers were told; empty if they were not
    protocols: tuple[str, ...]
    assignors: tuple[str, ...]
    session_timeouts_ms: tuple[int, ...]
    kafka: tuple[str, ...]
    dates: tuple[str, ...]
    runs: int
    planned: int
    cells: tuple[Cell, ...]
    ends: tuple[End, ...]


@dataclass(frozen=True)
class Unshown:
    """A run that shows nothing, and why."""

    client: str
    experiment: str
    label: str
    state: str
    reason: str


@dataclass(frozen=True)
class Setting:
    """What all runs had in common; empty where they had not."""

    brokers: str
    partitions: str
    records_per_s: str
    processes: str
    cores: str


@dataclass(frozen=True)
class Matrix:
    """All of it. `examples` says that every program is one of consumers/apps."""

    name: str
    started_at: str
    ended_at: str | None
    command: str
    repeats: int
    examples: bool
    planned: int
    shown: int
    columns: tuple[Column, ...]
    clients: tuple[Client, ...]
    unshown: tuple[Unshown, ...]
    setting: Setting


@dataclass(frozen=True)
class _Read:
    """A run that could be read."""

    entry: Entry
    manifest: Manifest
    sample: Sample
    link: str


def matrix_of(suite: Suite) -> Matrix:
    """What the runs of a suite show by now."""
    read: list[_Read] = []
    unshown: list[Unshown] = []
    for entry in suite.entries:
        found = _read(suite, entry)
        if isinstance(found, _Read):
            read.append(found)
        else:
            state = "cannot be read" if entry.judged else str(entry.state)
            unshown.append(Unshown(entry.client, entry.experiment, entry.label, state, found))
    columns = _columns(suite, read)
    names = dict.fromkeys(entry.client for entry in suite.entries)
    return Matrix(
        name=suite.name,
        started_at=suite.started_at,
        ended_at=suite.ended_at,
        command=str(suite.asked.get("command", "")),
        repeats=int(suite.asked.get("repeat", 0)),
        examples=bool(suite.asked.get("examples")),
        planned=len(suite.entries),
        shown=len(read),
        columns=columns,
        clients=tuple(_client(name, suite, read, columns) for name in names),
        unshown=tuple(unshown),
        setting=_setting([each.manifest for each in read]),
    )


def _read(suite: Suite, entry: Entry) -> _Read | str:
    """What a run shows, or why it shows nothing."""
    run_dir = suite.run_dir(entry)
    if not entry.judged or run_dir is None:
        return entry.reason
    try:
        run = load(run_dir)
        return _Read(entry, run.manifest, sample(run), link_to(suite, entry))
    except NoData as error:
        if not run_dir.exists():
            return "its folder has been removed"
        return str(error).replace(f"{run_dir}/", "").replace(str(run_dir), "its folder")


def _columns(suite: Suite, read: Iterable[_Read]) -> tuple[Column, ...]:
    found: dict[str, list[str]] = {entry.experiment: [] for entry in suite.entries}
    for each in read:
        found[each.entry.experiment] += each.sample.situations
    return tuple(
        Column(experiment, situation)
        for experiment, situations in found.items()
        for situation in in_order(situations)
    )


def _client(name: str, suite: Suite, read: Iterable[_Read], columns: Iterable[Column]) -> Client:
    planned: dict[str, int] = defaultdict(int)
    for entry in suite.entries:
        if entry.client == name:
            planned[entry.experiment] += 1
    mine = [each for each in read if each.entry.client == name]
    about = [each.manifest for each in mine]
    sessions = [each.observed.get("session_timeout_ms") for each in about]
    by: dict[str, list[_Read]] = {experiment: [] for experiment in planned}
    for each in mine:
        by[each.entry.experiment].append(each)
    return Client(
        name=name,
        libraries=_each(
            library
            for manifest in about
            for library in manifest.observed.get("clients") or ()
            if library != "unknown unknown"  # what brokers write of who does not say
        ),
        protocols=_each(manifest.observed.get("protocol") for manifest in about),
        assignors=_each(
            assignor for manifest in about for assignor in manifest.observed.get("assignors") or ()
        ),
        session_timeouts_ms=tuple(sorted({int(each) for each in sessions if each})),
        kafka=_each(manifest.versions.get("kafka") for manifest in about),
        dates=_each(
            manifest.started_at.astimezone(UTC).date() if manifest.started_at else None
            for manifest in about
        ),
        runs=len(mine),
        planned=sum(planned.values()),
        cells=tuple(
            _cell(column, by.get(column.experiment, ()), planned[column.experiment])
            for column in columns
        ),
        ends=tuple(_end(experiment, by[experiment], planned[experiment]) for experiment in by),
    )


def _each(found: Iterable[object]) -> tuple[str, ...]:
    """Each of these once, in order, without nulls."""
    return tuple(sorted({str(each) for each in found if each}))


def _cell(column: Column, read: Sequence[_Read], planned: int) -> Cell:
    shown = [
        (each, each.sample.situations[column.situation])
        for each in read
        if column.situation in each.sample.situations
    ]
    stood = [(one.standstill_ms, each.link) for each, one in shown if one.standstill_ms is not None]
    return Cell(
        column=column,
        runs=len(shown),
        planned=planned,
        standstill_ms=distribution([ms for ms, _ in stood]),
        never_again=sum(one.never_again for _, one in shown),
        again=distribution([float(one.again) for _, one in shown if one.again is not None]),
        fetched_only=any(each.sample.fetched_only for each, _ in shown),
        signs=_signs([told.rule for told in IN_SITUATIONS], [one.signs for _, one in shown]),
        longest=max(stood, key=lambda each: each[0], default=(0.0, ""))[1],
    )


def _end(experiment: str, read: Sequence[_Read], planned: int) -> End:
    found = [each.sample.at_the_end for each in read]
    rules = [told.rule for told in AT_THE_END]
    return End(
        experiment=experiment,
        runs=len(read),
        planned=planned,
        fetched_only=any(each.sample.fetched_only for each in read),
        signs=_signs(rules, found),
        fine=tuple(
            rule for rule in rules if found and all(e[rule] is Standing.FINE for e in found)
        ),
    )


def _signs(rules: Iterable[str], found: Sequence[Mapping[str, Standing]]) -> tuple[Sign, ...]:
    """Those rules that were violated or could not be judged."""
    counted = (
        Sign(
            rule,
            sum(each[rule] is Standing.VIOLATED for each in found),
            sum(each[rule] is Standing.UNKNOWN for each in found),
            len(found),
        )
        for rule in rules
    )
    return tuple(sign for sign in counted if sign.violated or sign.unknown)


def _setting(about: Sequence[Manifest]) -> Setting:
    def common(part: str, name: str) -> str:
        found = {str((each.declared.get(part) or {}).get(name)) for each in about}
        return found.pop() if len(found) == 1 else ""

    cores = {str(each.host.get("cores")) for each in about}
    return Setting(
        brokers=common("cluster", "brokers"),
        partitions=common("load", "partitions"),
        records_per_s=common("load", "records_per_s"),
        processes=common("group", "members"),
        cores=cores.pop() if len(cores) == 1 else "",
    )


def as_json(matrix: Matrix) -> str:
    """The text of `matrix.json`."""
    content: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(matrix)}
    return json.dumps(content, indent=2) + "\n"
