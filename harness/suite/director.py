"""Plays a suite: many runs, each warmed up while the one before is measured, and judged afterwards.

A run that fails or is void does not end the suite: every run heals and ends all that it started,
and what it may have left all the same is swept before the next.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from harness.base import processes
from harness.base.errors import Exit, SetupError
from harness.base.paths import check_for_kafka
from harness.catalogue.cover import Candidate, Cover
from harness.catalogue.promises import promised_in
from harness.cluster.backends import check_engines
from harness.cluster.dependency_proxies import check_reachable
from harness.experiment import Verdict, protocol_said
from harness.history import manifest
from harness.history.suites import AGAIN, Entry, State, Suite
from harness.run.folder import fresh, point_latest, sweep, sweep_results
from harness.run.interrupts import Interrupted, Progress, interruptible, uninterrupted
from harness.run.screen import LATER_S, Screen
from harness.run.start import bring_versions, default_seed
from harness.run.turns import usual_jobs
from harness.suite.background import BackgroundJudge
from harness.suite.stage import Stage

# The pages show every run so far: written after each of a hundred, they cost half a minute.
PUBLISH_EVERY_S: Final = 120.0
_AGAIN_AT_MOST: Final = 5

Publish = Callable[[Suite], object]  # writes what a suite shows so far into its folder


def new_suite(
    kind: str,
    parent: Path,
    runs: Sequence[Candidate],
    asked: Mapping[str, Any] | None = None,
    left_out: Sequence[str] = (),
) -> Suite:
    """A suite that is about to be played, with a folder of its own below `parent`, where `latest`
    points at it unless it is a repeat's.

    `asked` are the options that chose the set: nights of the same set are compared. `left_out` says
    of each part that is not played, why. Raises SetupError where the folder cannot be made, or no
    containers or no version of Kafka can be had, BadInput for one that no run could use, and where
    nothing listens that a program uses.
    """
    check_for_kafka(parent)
    check_engines([candidate.experiment for candidate in runs])
    check_reachable([candidate.experiment for candidate in runs])
    bring_versions([candidate.experiment for candidate in runs])
    folder = fresh(parent, "repeat-" if kind == "repeat" else "")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise SetupError(
            f"{folder} cannot be made ({error.strerror}): choose another --results"
        ) from error
    suite = Suite(folder, kind, manifest.now(), [_entry(candidate) for candidate in runs])
    suite.asked = dict(asked or {})
    suite.notes = [f"Left out: {sentence}." for sentence in left_out]
    if kind != "repeat":
        point_latest(folder)
    return suite


def new_nightly(results: Path, cover: Cover, asked: Mapping[str, Any]) -> Suite:
    """A suite of everything that a cover has. Raises as `new_suite` does."""
    suite = new_suite("nightly", results / "nightly", cover.runs, asked, cover.refused)
    for entry, adds in zip(suite.entries, cover.adds, strict=True):
        entry.adds = [goal.rule for goal in adds]
    suite.uncovered, suite.elsewhere = (
        [f"{goal.rule} {goal.client}/{goal.protocol}" for goal in goals]
        for goals in (cover.uncovered, cover.elsewhere)
    )
    return suite


def new_rounds(
    kind: str,
    results: Path,
    parts: Sequence[tuple[Candidate, str, Mapping[str, Any]]],
    asked: Mapping[str, Any],
    left_out: Sequence[str] = (),
) -> Suite:
    """A suite that plays each part as often as `asked`. Raises as `new_suite` does.

    A part has its label, and what else its entries say of it. Round after round is played, so that
    a suite that is interrupted has something of each.
    """
    times = asked["repeat"]
    runs = [candidate for candidate, _, _ in parts] * times
    suite = new_suite(kind, results / kind, runs, asked, left_out)
    rounds = [(number, *part) for number in range(1, times + 1) for part in parts]
    suite.entries = [
        replace(entry, label=f"{label}, run {number}", **more)
        for entry, (number, _, label, more) in zip(suite.entries, rounds, strict=True)
    ]
    return suite


def new_repeat(results: Path, candidate: Candidate, times: int) -> Suite:
    """A suite of one experiment many times. Raises as `new_suite` does."""
    suite = new_suite("repeat", results / candidate.name, [candidate] * times)
    for number, entry in enumerate(suite.entries, start=1):
        entry.label += f" run {number}"
    return suite


def _entry(candidate: Candidate) -> Entry:
    experiment = candidate.experiment
    declared = {each.rule for each in experiment.rules}
    limits = [rule for rule in promised_in(experiment) if rule not in declared]
    return Entry(
        label=candidate.label,
        experiment=candidate.name,
        claim=experiment.claim,
        client=experiment.group.client,
        protocol=experiment.group.protocol,
        kafka=experiment.cluster.kafka_version,
        estimate_s=round(candidate.estimate_s, 1),
        rules=[
            *({"id": each.rule, "expected": str(each.verdict)} for each in experiment.rules),
            *({"id": rule, "expected": str(Verdict.HOLDS)} for rule in limits),
        ],
    )


def play(
    suite: Suite,
    runs: Sequence[Candidate],
    results: Path,
    *,
    seed: int | None,
    screen: Screen,
    publish: Publish,
    port_base: int | None = None,
    jobs: int | None = 1,
) -> Exit:
    """Play the runs of a suite and judge each; its exit code.

    `seed` is the first run's, and one more for each that follows; null draws every one. `jobs` runs
    are measured at one time (null: as many as this machine is large enough for), and one more is
    warmed up beside them if no `port_base` is given.
    The record is saved after every run. `publish` is called at the end, and after a run where it
    has not been for PUBLISH_EVERY_S. Ctrl-C heals, and ends the suite with what there is; a second
    one ends the judge as well, which may hang.
    """
    say = screen.say
    with (
        processes.holding(suite.path),
        closing(BackgroundJudge(suite.path / "judging.log")) as judge,
        closing(Stage(suite, results, screen, judge, port_base, jobs or usual_jobs())) as stage,
    ):
        suite.save()
        try:
            with interruptible():
                sweep(say)
                sweep_results(results)
                todo = []
                for number, (entry, candidate) in enumerate(zip(suite.entries, runs, strict=True)):
                    entry.seed = default_seed(entry.experiment) if seed is None else seed + number
                    said = f"run {number + 1} of {len(runs)}: {protocol_said(entry.label)}, "
                    todo.append((entry, candidate, f"{said}about {entry.estimate_s:.0f} s"))
                stage.play(todo, _saving(suite, publish, stage, say))
                stage.settle(wait=True)
                for spoilt, candidate in _to_play_again(suite, runs):
                    again = _again(spoilt, candidate)
                    suite.entries.append(again)
                    said = f"{protocol_said(again.label)}: this machine stalled in the run before"
                    stage.play([(again, candidate, said)], lambda: None)
                    stage.settle(wait=True)
                    _give_way(spoilt, again)
        except KeyboardInterrupt:
            suite.interrupted = True
            _judge_the_rest(stage, judge, say)
        except Exception as error:
            suite.notes.append(f"It ended early: {type(error).__name__}: {error}")
            _write_so_far(partial(_end, suite, publish), say)
            raise
        pages = screen.counting(suite.kind, LATER_S)
        with suppress(Interrupted), uninterrupted(say), pages as steps:  # nothing is left to end
            steps("its pages", 0, 0)
            _end(suite, publish)
    return suite.exit_code


def _saving(suite: Suite, publish: Publish, stage: Stage, say: Progress) -> Callable[[], None]:
    """What follows each run: what has been judged is put into the record, which is saved."""
    publish_at = 0.0  # monotonic seconds

    def save() -> None:
        nonlocal publish_at
        stage.settle()
        due = time.monotonic() >= publish_at
        _write_so_far(partial(_publish, suite, publish) if due else suite.save, say)
        if due:
            publish_at = time.monotonic() + PUBLISH_EVERY_S

    return save


def _to_play_again(suite: Suite, runs: Sequence[Candidate]) -> list[tuple[Entry, Candidate]]:
    """Runs that show less than they should only because this machine stalled.

    That says nothing of Kafka, and the record keeps both. What was violated is never played again,
    and a machine that spoils many runs is no machine to measure on: then none is.
    """
    if suite.kind != "nightly":
        return []
    spoilt = [
        (entry, candidate)
        for entry, candidate in zip(suite.entries, runs, strict=True)
        if entry.state is State.BUSY
    ]
    if len(spoilt) > _AGAIN_AT_MOST:
        suite.notes.append(
            f"This machine stalled at judged moments of {len(spoilt)} runs, and none of them "
            f"was played again (limit {_AGAIN_AT_MOST}): it is too noisy for timing rules."
        )
        return []
    return spoilt


def _again(spoilt: Entry, candidate: Candidate) -> Entry:
    again = _entry(candidate)
    again.label += AGAIN
    again.adds = spoilt.adds
    again.seed = default_seed(spoilt.experiment)
    return again


def _give_way(spoilt: Entry, again: Entry) -> None:
    """The run that was played again takes the place of the spoilt one, if it shows anything."""
    if again.judged:
        spoilt.state = State.SPOILT
        spoilt.reason = "this machine delayed a judged timing, so the run was played again"


def _end(suite: Suite, publish: Publish) -> None:
    suite.ended_at = manifest.now()
    _publish(suite, publish)


def _publish(suite: Suite, publish: Publish) -> None:
    suite.save()
    publish(suite)


def _write_so_far(write: Callable[[], object], say: Progress) -> None:
    """Write; what goes wrong is only said, because the runs still to come matter more."""
    try:
        write()
    except Exception as error:  # noqa: BLE001 (it is raised at the end, should it still be wrong)
        say(f"the index could not be written: {type(error).__name__}: {error}")


def _judge_the_rest(stage: Stage, judge: BackgroundJudge, say: Progress) -> None:
    """End what an interrupted suite plays, and wait for its judge; the next interruption ends that.

    A run that has not been judged then is kept, and its entry says so.
    """
    try:
        stage.interrupt()
        say(
            "interrupted: judging what has been played, and ending with what there is; "
            "Ctrl-C again ends without judging"
        )
        with interruptible():
            stage.settle(wait=True)
    except KeyboardInterrupt:
        judge.close()  # before the record is written: it writes into the runs' folders
        say("interrupted again: what has not been judged can be, by `check` and the run's folder")
