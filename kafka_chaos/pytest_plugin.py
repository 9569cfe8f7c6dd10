"""A plugin for pytest: the fixture `kafka_chaos` plays an experiment from a test of the user's.

    def test_orders_survive_a_deploy(kafka_chaos):
        result = kafka_chaos.run("rolling-deploy", app="app.toml")
        assert result.standstill_s <= 10 and result.lost == 0

A run whose verdicts differ from the expected ones fails the test, and so does one that shows
nothing; one that could not be judged in full as this machine was busy skips it. Whatever fails a
test that has played a run, the run's sentence and page are printed.

    def test_our_rules_judge_as_before(kafka_chaos):
        kafka_chaos.pinned()
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_chaos.playing import BUSY, NotPlayed, Result, answer, play, words_of

RESULTS: Final = "kafka-chaos-results"
PROJECT: Final = "kafka-chaos.toml"
_INI: Final = "kafka_chaos_results"
_PLAYED: Final = pytest.StashKey[list[Result]]()


class KafkaChaos:
    """What the fixture gives; paths are from the folder of the test.

    Without `results` runs are kept where the project around says.
    """

    def __init__(self, folder: Path, results: Path | None, played: list[Result]) -> None:
        self.folder = folder
        self.results = results
        self._played = played

    def run(
        self,
        experiment: str,
        *,
        app: str | Path | None = None,
        image: str | None = None,
        command: Sequence[str] = (),
        limits: Mapping[str, float] | None = None,
        settings: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        check: bool = True,
        timeout_s: float | None = None,
    ) -> Result:
        """Play an experiment, with a program as the members of the group where one is named.

        `limits` are promises, each a verdict (`--limit`), `settings` change it (`--set`), and
        `options` any further words of the command line. The test fails where verdicts differ from
        the expected ones, unless `check` is false; it always fails where there is no result. After
        `timeout_s` the run is ended.
        """
        __tracebackhide__ = True
        words = words_of(
            experiment,
            app=app,
            image=image,
            program=command,
            limits=limits,
            settings=settings,
            common=[] if self.results is None else ["--results", str(self.results)],
            options=options,
        )
        try:
            result = play(words, folder=self.folder, timeout_s=timeout_s)
        except NotPlayed as failure:
            why = f"kafka-chaos {experiment}: {failure} (exit code {failure.exit_code})"
        else:
            self._played.append(result)
            if not (check and result.exit_code):
                return result
            why = str(result)
            if result.exit_code == BUSY:
                pytest.skip(why)
        pytest.fail(why, pytrace=False)

    def pinned(self, *, timeout_s: float | None = None) -> None:
        """Judge the runs that the project around keeps by its own rules of today.

        The test fails with what is not as pinned, and where nothing can be compared.
        """
        __tracebackhide__ = True
        try:
            code, text = answer(["pinned"], folder=self.folder, timeout_s=timeout_s)
        except NotPlayed as failure:
            why = f"kafka-chaos pinned: {failure} (exit code {failure.exit_code})"
        else:
            if not code:
                return
            why = text.rstrip()
        pytest.fail(why, pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        _INI,
        f"folder of all runs, from the root of the tests (default: what {PROJECT} says, or else "
        f"{RESULTS})",
        default="",
    )


@pytest.fixture
def kafka_chaos(request: pytest.FixtureRequest) -> KafkaChaos:
    """Plays experiments of kafka-chaos: `kafka_chaos.run("rolling-deploy", app="app.toml")`."""
    played = request.node.stash.setdefault(_PLAYED, [])
    named = str(request.config.getini(_INI))
    in_project = any((folder / PROJECT).is_file() for folder in request.path.parents)
    of_its_own = None if in_project and not named else request.config.rootpath / (named or RESULTS)
    return KafkaChaos(request.path.parent, of_its_own, played)


@pytest.hookimpl(hookwrapper=True)  # and not of the newer kind, which pytest 7 need not know
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, Any, None]:
    """Print what each run showed beside a failure, whatever has failed."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if report.failed and call.when == "call":
        for result in item.stash.get(_PLAYED, []):
            if str(result) not in report.longreprtext:
                report.sections.append(("kafka-chaos", str(result)))
