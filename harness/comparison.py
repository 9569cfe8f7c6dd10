"""`compare-protocols`: one experiment under several protocols, clients and sizes, side by side.

Each combination is a run like any other, in its own folder; what is compared comes from their
derived tables. A combination that cannot run is named with the reason, and the others go on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness import registry
from harness.errors import BadInput, Exit, HarnessError
from harness.experiment import Expect, Experiment
from harness.live import Screen
from harness.provision.java import find_java
from harness.provision.tools import resolve_spark_aot, resolve_tools
from harness.report import exit_code, report
from harness.report.comparison import Compared, compared, write_comparison
from harness.run import Run, reserve, sweep

# Judged in every run that is compared, whether its experiment names it or not.
_ALSO = "X34"


@dataclass(frozen=True)
class Combination:
    """What one run of a comparison differs in; `members` null: as declared."""

    client: str
    protocol: str
    members: int | None = None

    @property
    def settings(self) -> dict[str, str]:
        """The knobs that make it."""
        knobs = {"group.client": self.client, "group.protocol": self.protocol}
        return knobs if self.members is None else {**knobs, "group.members": str(self.members)}


def combinations(
    clients: Sequence[str], protocols: Sequence[str], members: Sequence[int]
) -> list[Combination]:
    """Every client with every size and, innermost, every protocol."""
    return [
        Combination(client, protocol, count)
        for client in clients
        for count in members or (None,)
        for protocol in protocols
    ]


def declared(name: str, settings: Mapping[str, str], wanted: Combination) -> Experiment:
    """The experiment as this combination plays it.

    A larger group gets a partition for each member and for one that joins. Raises BadInput where
    the combination makes no sense.
    """
    experiment = registry.with_knobs(registry.load(name), {**settings, **wanted.settings})
    partitions = max(experiment.load.partitions, experiment.group.members + 1)
    experiment = replace(experiment, load=replace(experiment.load, partitions=partitions))
    if all(expect.rule != _ALSO for expect in experiment.rules):
        experiment = replace(experiment, rules=(*experiment.rules, Expect(rule=_ALSO)))
    return registry.resolved(registry.checked(experiment))


def compare(
    name: str,
    wanted: Sequence[Combination],
    settings: Mapping[str, str],
    results: Path,
    *,
    seed: int,
    screen: Screen,
) -> tuple[Path, int]:
    """Run all of them, judge them, and write the comparison; its folder and the exit code.

    Raises BadInput where none of them makes sense, and HarnessError where none could run.
    """
    plays: dict[Combination, Experiment] = {}
    failed: dict[Combination, HarnessError] = {}
    for each in wanted:
        try:
            plays[each] = declared(name, settings, each)
        except BadInput as error:
            failed[each] = error
    if not plays:
        raise next(iter(failed.values()))
    runs: dict[Combination, Path] = {}
    sweep(screen.say)
    for each, experiment in plays.items():
        label = f"{name}: {each.client}, {each.protocol}, {experiment.group.members} members"
        screen.say(label)
        tools = resolve_tools(experiment.cluster.kafka_version)
        run_dir = reserve(results, name)
        try:
            with screen.watch(label, experiment) as watch:
                Run(
                    name,
                    experiment,
                    tools,
                    run_dir,
                    seed=seed,
                    progress=screen.say,
                    on_phase=watch.phase,
                    look=watch.look,
                ).play()
            runs[each] = run_dir
        except HarnessError as error:
            screen.say(str(error))
            failed[each] = error
    if not runs:
        raise next(iter(failed.values()))
    codes = _judge(runs.values())
    rows = [_row(each, plays.get(each), runs, failed) for each in wanted]
    folder = reserve(results, "compare-protocols", parts=())
    write_comparison(folder, name, rows)
    worst = max((*codes, *(Exit.DIFFERS for e in failed.values() if not isinstance(e, BadInput))))
    return folder, worst


def _judge(run_dirs: Iterable[Path]) -> list[int]:
    """Check all of them in one Spark session, and report; the exit code of each one's verdicts."""
    from harness.check import session
    from harness.check.check import check

    java = find_java()
    spark = session.start(java.binary, resolve_spark_aot(java))
    try:
        for run_dir in run_dirs:
            check(run_dir, spark)
            report(run_dir)
    finally:
        session.stop(spark)
    return [exit_code(run_dir) for run_dir in run_dirs]


def _row(
    each: Combination,
    experiment: Experiment | None,
    runs: Mapping[Combination, Path],
    failed: Mapping[Combination, HarnessError],
) -> Compared:
    members = experiment.group.members if experiment else each.members
    if each in runs:
        return compared(runs[each], each.client, each.protocol, members)
    return Compared(each.client, each.protocol, members, could_not=str(failed[each]))
