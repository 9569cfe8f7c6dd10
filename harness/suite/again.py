"""Stored runs judged again by the rules of today, all in one Spark application."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base import processes
from harness.base.errors import Exit, HarnessError, NoData, refused
from harness.base.progress import Steps, unheard
from harness.base.words import plural
from harness.history import manifest
from harness.history.suites import worst
from harness.report import outcome
from harness.report.load import Row, load_verdicts
from harness.report.outcome import exit_code_of, verdict_of
from harness.suite.judging import Judge
from harness.suite.verdict_job import Files, fits


@dataclass(frozen=True)
class Again:
    """What one run came to: the sentence of its verdicts, those that changed (as sentences), and
    the exit code that `check` of it alone would have ended with.
    """

    run_dir: Path
    sentence: str
    changed: tuple[str, ...]
    code: int


def judge_again(
    runs: Sequence[Path],
    judge: Judge,
    say: Callable[[int, Again], None],
    counting: Callable[[str], AbstractContextManager[Steps]] = lambda _about: nullcontext(unheard),
) -> list[Again]:
    """Judge all runs, as many at a time as Spark takes, and write their verdicts and pages.

    `say` hears of each as soon as it is judged, with the count of those that are, and what
    `counting` gives for it hears how far the judging of a large one is. A run that cannot be judged
    does not end the rest. Returned are all in the order of `runs`. Raises HarnessError where Spark
    does not start.
    """
    judge.session()
    found: dict[Path, Again] = {}

    def asked(run_dir: Path) -> Files:
        """The files of a verdict; none of a run that no worker judges, or that cannot be judged."""
        return judge.files(run_dir) if fits(run_dir) and not _goes_on(run_dir) else {}

    with ThreadPoolExecutor(judge.at_once, thread_name_prefix="verdict") as workers:
        jobs = {workers.submit(asked, run_dir): run_dir for run_dir in runs}
        try:
            for count, files in enumerate(as_completed(jobs), start=1):
                run_dir = jobs[files]
                with counting(f"{run_dir.parent.name} {run_dir.name}") as steps:
                    found[run_dir] = _judged(run_dir, judge, files, steps)
                say(count, found[run_dir])
        finally:
            workers.shutdown(wait=False, cancel_futures=True)
    return [found[run_dir] for run_dir in runs]


def _judged(run_dir: Path, judge: Judge, files: Future[Files], steps: Steps) -> Again:
    if _goes_on(run_dir):
        return Again(run_dir, "it still goes on: check it later", (), Exit.NO_DATA)
    before = None
    with suppress(NoData):  # it is damaged, as if it had never been judged
        _, before = load_verdicts(run_dir)
    try:
        judge.judge(run_dir, steps, files)
        about, verdicts = load_verdicts(run_dir)
    except HarnessError as error:
        return Again(run_dir, str(error), (), error.exit_code)
    except Exception as error:  # noqa: BLE001 (whatever it is: this run could not be judged)
        if isinstance(error, OSError) and error.filename is not None:
            return Again(run_dir, refused(error), (), Exit.FAILED)
        said = f"it could not be judged ({type(error).__name__}: {error})"
        return Again(run_dir, " ".join(said.split()), (), Exit.FAILED)
    result = outcome.of_verdicts(about, verdicts)
    sentence = result.headline if verdicts is None else f"{result.headline}: {result.detail}"
    return Again(run_dir, sentence, _changes(before, verdicts), exit_code_of(about, verdicts))


def _goes_on(run_dir: Path) -> bool:
    """Whether it is still played; who only judges it has its folder as well, and is waited for."""
    with suppress(NoData):  # judging it says what is wrong with it
        return processes.held(run_dir) and manifest.read(run_dir).get("status") == "running"
    return False


def _changes(before: Sequence[Row] | None, after: Sequence[Row] | None) -> tuple[str, ...]:
    """How the verdict of each rule changed, of a run that was judged before."""
    was, now = (
        {str(row["rule"]): verdict_of(row) for row in rows or ()} for rows in (before, after)
    )
    rules = dict.fromkeys((*now, *was)) if before is not None else ()
    pairs = [(rule, was.get(rule, "nothing"), now.get(rule, "nothing")) for rule in rules]
    return tuple(
        f"{outcome.name_of(rule)} was {old}, is {new}" for rule, old, new in pairs if old != new
    )


def summary(found: Sequence[Again]) -> str:
    codes = [each.code for each in found]
    known = (Exit.AS_EXPECTED, Exit.DIFFERS, Exit.BUSY)
    as_expected, differ, busy = map(codes.count, known)
    parts = [f"{as_expected} as expected", f"{differ} with verdicts that differ"]
    if busy:
        parts.append(f"{busy} not judged in full because this machine was busy")
    if rest := len(codes) - as_expected - differ - busy:
        parts.append(f"{rest} could not be judged")
    changed = sum(bool(each.changed) for each in found)
    return (
        f"{plural(len(found), 'run')} judged again: {', '.join(parts)}; "
        f"verdicts changed in {changed or 'none'}"
    )


def exit_code(found: Sequence[Again]) -> int:
    return worst(each.code for each in found)
