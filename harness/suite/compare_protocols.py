"""`compare-protocols`: one experiment under several protocols, clients and sizes, side by side.

Each combination is a run like any other, in its own folder; what is compared comes from their
derived tables. A combination that cannot run is named with the reason, and the others go on.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import processes
from harness.base.errors import BadInput, Exit, HarnessError
from harness.base.paths import here
from harness.base.words import plural
from harness.catalogue import registry
from harness.cluster.backends import check_engines
from harness.experiment import Expect, Experiment
from harness.report import exit_code
from harness.report.many.comparison import JOIN_COST_RULE, Compared, compared, write_comparison
from harness.run.folder import reserve
from harness.run.leftovers import sweep, sweep_results
from harness.run.screen import Screen
from harness.run.start import bring_versions, play_run
from harness.suite.judging import Judge


@dataclass(frozen=True)
class Combination:
    """What one run of a comparison differs in; `members` null: as declared."""

    client: str
    protocol: str
    members: int | None = None


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


def declared(
    name: str, settings: Mapping[str, str], wanted: Combination, versioned: str = "java"
) -> Experiment:
    """The experiment as this combination plays it.

    A larger group gets a partition for each member and for one that joins; a version of the client
    is for `versioned` only. Raises BadInput where the combination makes no sense.
    """
    if wanted.members is not None:
        settings = {**settings, "group.members": str(wanted.members)}
    experiment = registry.variant(
        registry.load(name), wanted.client, wanted.protocol, settings, versioned
    )
    partitions = max(experiment.load.partitions, experiment.group.members + 1)
    experiment = replace(experiment, load=replace(experiment.load, partitions=partitions))
    if all(expect.rule != JOIN_COST_RULE for expect in experiment.rules):
        experiment = replace(
            experiment, rules=(*experiment.rules, Expect(rule=JOIN_COST_RULE, if_seen=True))
        )
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
    """Run and judge all of them, and write the comparison; its folder and the exit code.

    Raises BadInput where none of them makes sense, and HarnessError where none could run.
    """
    if not wanted:
        raise BadInput("there is nothing to compare: name a client and a protocol")
    clients = {each.client for each in wanted}
    versioned = clients.pop() if len(clients) == 1 else "java"
    plays: dict[Combination, Experiment] = {}
    failed: dict[Combination, HarnessError] = {}
    for each in wanted:
        try:
            plays[each] = declared(name, settings, each, versioned)
        except BadInput as error:
            failed[each] = error
    if not plays:
        raise next(iter(failed.values()))
    check_engines(plays.values())
    bring_versions(plays.values())
    runs: dict[Combination, Path] = {}
    sweep(screen.say)
    sweep_results(results)
    with ExitStack() as held:
        try:
            with closing(Judge()) as judge:
                for each, experiment in plays.items():
                    try:
                        runs[each] = _play(
                            name, experiment, judge, results, held, seed=seed, screen=screen
                        )
                    except HarnessError as error:
                        screen.say(str(error))
                        failed[each] = error
        finally:  # interrupted or broken: what has been measured is kept
            if runs:
                rows = [_row(each, plays.get(each), runs, failed) for each in wanted]
                folder = reserve(results, "compare-protocols", parts=())
                write_comparison(folder, name, rows)
                screen.say(f"compared {len(runs)} of {len(wanted)} in {here(folder)}")
    # A combination that makes no sense is told, and no failure of those that do.
    broken = [each for each in failed.values() if not isinstance(each, BadInput)]
    if not runs:
        raise [*broken, *failed.values()][0]
    codes = [exit_code(run_dir) for run_dir in runs.values()]
    return folder, max(*codes, *(each.exit_code for each in broken), Exit.AS_EXPECTED)


def _play(
    name: str,
    experiment: Experiment,
    judge: Judge,
    results: Path,
    held: ExitStack,
    *,
    seed: int,
    screen: Screen,
) -> Path:
    """Run and judge one of them; its folder, which is this process's until `held` is closed."""
    group = experiment.group
    label = f"{name}: {group.client}, {group.protocol}, {plural(group.members, 'member')}"
    screen.say(label)
    run_dir = play_run(
        name,
        experiment,
        results,
        seed=seed,
        screen=screen,
        label=label,
        reserved=lambda folder: held.enter_context(processes.holding(folder)),
    )
    judge.judge(run_dir)
    return run_dir


def _row(
    each: Combination,
    experiment: Experiment | None,
    runs: Mapping[Combination, Path],
    failed: Mapping[Combination, HarnessError],
) -> Compared:
    members = experiment.group.members if experiment else each.members
    if each in runs:
        return compared(runs[each], each.client, each.protocol, members)
    could_not = failed.get(each, "the comparison ended before it was whole")
    return Compared(each.client, each.protocol, members, could_not=str(could_not))
