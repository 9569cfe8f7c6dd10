"""Client by situation: what the runs of a matrix show, as numbers.

A run that shows nothing is counted and named, and a cell says of how many runs it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC
from typing import Any, Final

from harness.base.distribution import Distribution, distribution
from harness.history.suites import Entry, Suite
from harness.report.load import Manifest
from harness.report.many.suite_rows import link_to, read_run
from harness.report.parts.situations import (
    AT_THE_END,
    IN_SITUATIONS,
    Sample,
    Standing,
    in_order,
    sample,
)

# What a matrix says of itself, beside what its runs show.
ABOUT: Final = ("name", "started_at", "ended_at", "command", "examples")


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
    libraries: tuple[
        str, ...
    ]  # with their versions, as it named them to brokers; empty if it did not
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
class Setting:
    """What all runs had in common; empty where they had not."""

    brokers: str
    partitions: str
    records_per_s: str
    processes: str
    cores: str


@dataclass(frozen=True)
class Facts:
    """What brokers saw of the program of one run, and where it ran."""

    libraries: tuple[str, ...]
    protocol: str
    assignors: tuple[str, ...]
    session_timeout_ms: int | None
    kafka: str
    date: str
    setting: Setting


@dataclass(frozen=True)
class Seen:
    """One run of a client; without a `sample` it shows nothing, and `reason` says why.

    `run` is the name of its folder, or else no other's name. `link` leads to its page; empty if
    there is none.
    """

    client: str
    experiment: str
    label: str
    run: str
    link: str
    state: str
    reason: str
    sample: Sample | None
    facts: Facts | None


@dataclass(frozen=True)
class Matrix:
    """All of it. `examples` says that every program is one of consumers/apps.

    `repeats` is 0 where not every program has as many runs of each experiment.
    """

    name: str
    started_at: str
    ended_at: str | None
    command: str
    examples: bool
    repeats: int
    planned: int
    shown: int
    columns: tuple[Column, ...]
    clients: tuple[Client, ...]
    setting: Setting
    runs: tuple[Seen, ...]

    @property
    def unshown(self) -> tuple[Seen, ...]:
        """Runs that show nothing."""
        return tuple(run for run in self.runs if run.sample is None)


def matrix_of(suite: Suite) -> Matrix:
    """What the runs of a suite show by now."""
    return matrix_of_runs(
        [_seen(suite, entry) for entry in suite.entries],
        name=suite.name,
        started_at=suite.started_at,
        ended_at=suite.ended_at,
        command=str(suite.asked.get("command", "")),
        examples=bool(suite.asked.get("examples")),
    )


def matrix_of_runs(runs: Sequence[Seen], **about: Any) -> Matrix:
    """The table of these runs; `about` are the fields of ABOUT."""
    columns = _columns(runs)
    names = dict.fromkeys(run.client for run in runs)
    times = set(Counter((run.client, run.experiment) for run in runs).values())
    return Matrix(
        **about,
        repeats=times.pop() if len(times) == 1 else 0,
        planned=len(runs),
        shown=sum(run.sample is not None for run in runs),
        columns=columns,
        clients=tuple(_client(each, runs, columns) for each in names),
        setting=_common([run.facts.setting for run in runs if run.facts]),
        runs=tuple(runs),
    )


def _seen(suite: Suite, entry: Entry) -> Seen:
    """What a run shows, or why it shows nothing."""
    run_dir = suite.run_dir(entry)
    found, state, reason = read_run(suite, entry, lambda run: (sample(run), _facts(run.manifest)))
    return Seen(
        client=entry.client,
        experiment=entry.experiment,
        label=entry.label,
        run=run_dir.name if run_dir else f"{suite.name}: {entry.label}",
        link=link_to(suite, entry),
        state=state,
        reason=reason,
        sample=found[0] if found else None,
        facts=found[1] if found else None,
    )


def _facts(manifest: Manifest) -> Facts:
    def declared(part: str, name: str) -> str:
        return str((manifest.declared.get(part) or {}).get(name))

    observed, began = manifest.observed, manifest.started_at
    return Facts(
        libraries=tuple(
            library
            for library in observed.get("clients") or ()
            if library != "unknown unknown"  # what brokers write of who does not say
        ),
        protocol=observed.get("protocol") or "",
        assignors=tuple(observed.get("assignors") or ()),
        session_timeout_ms=observed.get("session_timeout_ms"),
        kafka=manifest.versions.get("kafka") or "",
        date=str(began.astimezone(UTC).date()) if began else "",
        setting=Setting(
            brokers=declared("cluster", "brokers"),
            partitions=declared("load", "partitions"),
            records_per_s=declared("load", "records_per_s"),
            processes=declared("group", "members"),
            cores=str(manifest.host.get("cores")),
        ),
    )


def _columns(runs: Iterable[Seen]) -> tuple[Column, ...]:
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(run.experiment, []).extend(run.sample.situations if run.sample else ())
    return tuple(
        Column(experiment, situation)
        for experiment, situations in found.items()
        for situation in in_order(situations)
    )


def _client(name: str, runs: Iterable[Seen], columns: Iterable[Column]) -> Client:
    by: dict[str, list[Seen]] = {}
    for run in runs:
        if run.client == name:
            by.setdefault(run.experiment, []).append(run)
    mine = [run for found in by.values() for run in found]
    about = [run.facts for run in mine if run.facts]
    return Client(
        name=name,
        libraries=_each(library for facts in about for library in facts.libraries),
        protocols=_each(facts.protocol for facts in about),
        assignors=_each(assignor for facts in about for assignor in facts.assignors),
        session_timeouts_ms=tuple(
            sorted({ms for facts in about if (ms := facts.session_timeout_ms)})
        ),
        kafka=_each(facts.kafka for facts in about),
        dates=_each(facts.date for facts in about),
        runs=len(about),
        planned=len(mine),
        cells=tuple(_cell(column, by.get(column.experiment, ())) for column in columns),
        ends=tuple(_end(experiment, found) for experiment, found in by.items()),
    )


def _each(found: Iterable[str]) -> tuple[str, ...]:
    """Each of these once, in order, without empty ones."""
    return tuple(sorted({each for each in found if each}))


def _cell(column: Column, runs: Sequence[Seen]) -> Cell:
    shown = [
        (run, run.sample, run.sample.situations[column.situation])
        for run in runs
        if run.sample is not None and column.situation in run.sample.situations
    ]
    stood = [
        (one.standstill_ms, run.link) for run, _, one in shown if one.standstill_ms is not None
    ]
    return Cell(
        column=column,
        runs=len(shown),
        planned=len(runs),
        standstill_ms=distribution([ms for ms, _ in stood]),
        never_again=sum(one.never_again for _, _, one in shown),
        again=distribution([float(one.again) for _, _, one in shown if one.again is not None]),
        fetched_only=any(found.fetched_only for _, found, _ in shown),
        signs=_signs([words.rule for words in IN_SITUATIONS], [one.signs for _, _, one in shown]),
        longest=max(stood, key=lambda each: each[0], default=(0.0, ""))[1],
    )


def _end(experiment: str, runs: Sequence[Seen]) -> End:
    samples = [run.sample for run in runs if run.sample is not None]
    found = [each.at_the_end for each in samples]
    rules = [words.rule for words in AT_THE_END]
    return End(
        experiment=experiment,
        runs=len(samples),
        planned=len(runs),
        fetched_only=any(each.fetched_only for each in samples),
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


def _common(found: Sequence[Setting]) -> Setting:
    """What these have in common."""
    names = [each.name for each in fields(Setting)]
    values = {name: {getattr(setting, name) for setting in found} for name in names}
    return Setting(**{name: each.pop() if len(each) == 1 else "" for name, each in values.items()})
