"""A test of a user's own: what it is given, what a failure prints, and that nothing stays behind.

The results are those of recorded runs; what is ended is the real command, while it waits for a
set-up that goes on.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.base.wait import wait_until
from harness.check.check import check
from harness.cli.main import main
from harness.report import report
from harness.report.load import load
from harness.report.text import values
from harness.suite.judging import duckdb_engine
from kafka_chaos import command, pytest_plugin
from kafka_chaos.playing import NotPlayed, Result, play, read
from tests.check.test_owned import COMMON, ID, OURS, RULE
from tests.installed.conftest import WAITS, Installed, waiting
from tests.recorded.keep import PROGRAMS
from tests.report.sample_run import verdict, write_run

pytestmark = pytest.mark.long(2)

DIFFERS = "P10  No more committed records are lost than promised: VIOLATED, expected HOLDS."
OF_A_PROGRAM = "rolling-deploy.kafka-go.4.3.1"  # P10 is violated there


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run of a program that loses records in a deploy, judged."""
    run_dir = tmp_path_factory.mktemp("run") / "of-a-program"
    shutil.copytree(PROGRAMS / OF_A_PROGRAM, run_dir)
    engine = duckdb_engine()
    check(run_dir, engine)
    engine.close()
    report(run_dir)
    return run_dir


@pytest.fixture
def result(deployed: Path) -> Result:
    return read(values.as_json(load(deployed)))


def test_report_prints_the_result_for_programs(
    deployed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.DIFFERS == main(["report", str(deployed), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert values.values(load(deployed)) == found
    assert str(deployed / "report.html") == found["page"]
    assert Path(found["page"]).is_file()


def test_a_result_has_numbers_verdicts_and_the_page(deployed: Path, result: Result) -> None:
    assert Exit.DIFFERS == result.exit_code
    assert ("rolling-deploy", "loses-records") == (result.experiment, result.finding)
    assert deployed / "report.html" == result.page
    assert deployed == result.folder
    assert 0 < result.standstill_s < 60
    assert (3, 0) == (result.lost, result.unread)
    assert 10 == result.repeats
    assert not result.fetched_only
    assert ["P10"] == [each.rule for each in result.differing]
    assert "VIOLATED" == result.verdicts["P10"].verdict
    assert "HOLDS" == result.verdicts["P10"].expected
    assert (0.0, 3.0) == result.verdicts["P10"].measured
    assert result.verdicts["P6"].as_expected
    assert all(each.startswith("Deploy") for each in result.costs)
    assert result.costs


def test_a_result_in_words_has_what_differs_and_the_page(result: Result) -> None:
    lines = str(result).splitlines()

    assert lines[0].startswith("rolling-deploy: After the deploy your program lost 3 records of 1 ")
    assert "1 verdict differs from the expected: " in lines[0]
    assert lines[1].startswith(f"{DIFFERS} ")
    assert f"page  {result.page}" == lines[-1]
    assert "3 lost, 0 unread, 10 repeats" in lines[-2]


def test_what_was_not_recorded_is_no_number(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stops=None, sends=None, redeliveries=None)

    found = read(values.as_json(load(run)))

    assert all(map(math.isnan, (found.standstill_s, found.lost, found.repeats)))
    assert not any((found.standstill_s <= 10, found.lost == 0, found.repeats <= 500))


def test_a_partition_that_is_left_unread_has_no_standstill(tmp_path: Path) -> None:
    """It went on when the run ended, so no promise of one is kept."""
    where = {"topic": "t", "partition": 0}
    sent = where | {"outcome": "acknowledged", "first_offset": 0, "last_offset": 99, "count": 100}
    run = write_run(
        tmp_path / "run",
        sends=[sent],
        deliveries=[where | {"first_offset": 0, "last_offset": 79, "count": 80}],
    )

    found = read(values.as_json(load(run)))

    assert (0, 20) == (found.lost, found.unread)
    assert not found.standstill_s <= 10


def test_numbers_without_an_end_are_left_out(tmp_path: Path) -> None:
    endless = verdict("one_owner", verdict="VIOLATED", measured_max=math.inf)
    run = write_run(tmp_path / "run", verdicts=[endless])

    found = read(values.as_json(load(run))).verdicts["one_owner"]
    assert ("VIOLATED", (None, None)) == (found.verdict, found.measured)


@pytest.mark.parametrize(
    "words",
    [["experiment", "baseline", "--repeat", "2", "--json"], ["try", "--repeat", "2", "--json"]],
)
def test_the_result_is_of_one_run(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    program = ["--", "true"] if words[0] == "try" else []

    assert Exit.BAD_ARGUMENTS == main([*words, *program])
    assert "--json is the result of one run: leave out --repeat" in capsys.readouterr().err


class Project:
    """Tests of a user, run by pytest with the plugin of the installed wheel."""

    def __init__(self, installed: Installed, folder: Path) -> None:
        self.installed, self.folder = installed, folder
        (folder / "pytest.ini").write_text("[pytest]\n")

    def write(self, test: str, played: str = "") -> None:
        """A test; where a result is given, it stands for what the command prints."""
        (self.folder / "test_theirs.py").write_text(test)
        if played:
            (self.folder / "result.json").write_text(played)
            (self.folder / "conftest.py").write_text(_PLAYED)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        pytest_words = ["-p", "no:cacheprovider", *words]
        # On a CI server pytest says a failure's words a second time, in its summary.
        inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "BUILD_NUMBER")}
        path = {"PYTHONPATH": str(self.installed.packages)}
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "pytest", *pytest_words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env={**inherited, **path, **variables},
            preexec_fn=_hear_ctrl_c,
        )

    def run(self, *words: str, **variables: str) -> tuple[int, str]:
        process = self.start(*words, **variables)
        said, _ = process.communicate()
        return process.returncode, said


def _hear_ctrl_c() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, and all that these start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Only the playing is left out: words, result, failure and report are the plugin's own.
_PLAYED = """
from pathlib import Path
from kafka_chaos import playing, pytest_plugin

def play(words, *, folder, timeout_s):
    (folder / "words").write_text("\\n".join(words))
    return playing.read((folder / "result.json").read_text())

pytest_plugin.play = play
"""
_DEPLOY = """
def test_deploy(kafka_chaos):
    result = kafka_chaos.run("rolling-deploy", app="app.toml", limits={{"lost": 0}},
                             settings={{"members": 5}}, options=["--kafka", "4.4.0"]{more})
    assert result.lost == 0
"""


@pytest.fixture
def project(installed: Installed, tmp_path: Path) -> Project:
    return Project(installed, tmp_path)


def test_verdicts_that_differ_fail_a_test_with_sentence_and_page(
    project: Project, result: Result, deployed: Path
) -> None:
    project.write(_DEPLOY.format(more=""), values.as_json(load(deployed)))

    code, said = project.run()

    assert pytest.ExitCode.TESTS_FAILED == code
    assert 1 == said.count(DIFFERS)
    assert 1 == said.count(f"page  {result.page}")
    assert "Traceback" not in said
    assert [
        *("try", "--experiment", "rolling-deploy", "--json"),
        *("--results", str(project.folder / "kafka-chaos-results")),
        *("--app", "app.toml", "--limit", "lost=0", "--set", "members=5"),
        *("--kafka", "4.4.0"),
    ] == (project.folder / "words").read_text().splitlines()


@pytest.mark.parametrize(
    ("setting", "in_project", "results"),
    [
        ("", False, "kafka-chaos-results"),
        ("", True, None),  # the file says where
        ("kafka_chaos_results = runs", True, "runs"),
    ],
)
def test_runs_are_kept_where_the_project_says(
    project: Project, deployed: Path, setting: str, in_project: bool, results: str | None
) -> None:
    project.write(_DEPLOY.format(more=""), values.as_json(load(deployed)))
    (project.folder / "pytest.ini").write_text(f"[pytest]\n{setting}\n")
    if in_project:
        (project.folder / pytest_plugin.PROJECT).touch()

    project.run()

    words = (project.folder / "words").read_text().splitlines()
    named = [words[words.index("--results") + 1]] if "--results" in words else []
    assert named == ([] if results is None else [str(project.folder / results)])


def test_a_failure_of_the_user_s_own_names_the_page_too(
    project: Project, result: Result, deployed: Path
) -> None:
    project.write(_DEPLOY.format(more=", check=False"), values.as_json(load(deployed)))

    code, said = project.run()

    assert pytest.ExitCode.TESTS_FAILED == code
    assert "assert result.lost == 0" in said
    assert f"page  {result.page}" in said


def test_a_run_as_expected_passes(project: Project, deployed: Path) -> None:
    found = values.values(load(deployed)) | {"exit_code": 0, "lost": 0}
    project.write(_DEPLOY.format(more=""), json.dumps(found))

    code, said = project.run("-v")

    assert pytest.ExitCode.OK == code, said
    assert "1 passed" in said


def test_a_run_that_could_not_be_judged_as_the_machine_was_busy_is_skipped(
    project: Project, deployed: Path
) -> None:
    found = values.values(load(deployed)) | {"exit_code": Exit.BUSY}
    project.write(_DEPLOY.format(more=""), json.dumps(found))

    code, said = project.run("-v")

    assert pytest.ExitCode.OK == code, said
    assert "1 skipped" in said


def test_own_rules_that_judge_otherwise_than_pinned_fail_a_test(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    rules = project.folder / "rules"
    rules.mkdir()
    (rules / "rebalances.py").write_text(RULE)
    (rules / "_common.py").write_text(COMMON)
    (project.folder / pytest_plugin.PROJECT).write_text('rules = "rules"\nrecorded = "recorded"\n')
    project.write("def test_rules(kafka_chaos):\n    kafka_chaos.pinned()\n")

    code, said = project.run()
    assert pytest.ExitCode.TESTS_FAILED == code
    assert "kafka-chaos pinned: recorded has no kept runs: `kafka-chaos keep RUN`" in said
    assert "(exit code 5)" in said

    assert Exit.AS_EXPECTED == main(["keep", str(OURS)])
    code, said = project.run()
    assert pytest.ExitCode.OK == code, said

    (rules / "_common.py").write_text(COMMON.replace("1", "9"))
    code, said = project.run()
    assert pytest.ExitCode.TESTS_FAILED == code
    assert f"{ID} was VIOLATED, is HOLDS" in said
    assert "Traceback" not in said


def test_what_the_command_refuses_fails_a_test_with_its_sentence(project: Project) -> None:
    project.write("def test_typo(kafka_chaos):\n    kafka_chaos.run('broker-kil')\n")

    code, said = project.run()

    assert pytest.ExitCode.TESTS_FAILED == code
    assert (
        "kafka-chaos broker-kil: there is no experiment 'broker-kil': did you mean 'broker-kill'? "
        "(exit code 4)" in said
    )
    assert "During handling" not in said


def test_a_run_that_takes_too_long_is_ended(
    busy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotPlayed, match="did not end within 3 s, so it was ended") as ended:
        play(["experiment", "baseline", "--json"], folder=tmp_path, timeout_s=3)

    assert Exit.INTERRUPTED == ended.value.exit_code
    assert not waiting(busy)
    assert WAITS in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_tests(project: Project, busy: Path, number: signal.Signals) -> None:
    """Ctrl-C, and a time-out that ends pytest at once."""
    project.write("def test_it(kafka_chaos):\n    kafka_chaos.run('baseline')\n")
    tests = project.start("-s")
    assert tests.stdout is not None
    try:
        assert any(WAITS in line for line in tests.stdout)
        assert waiting(busy)
        tests.send_signal(number)
        tests.communicate(timeout=30)
    finally:
        tests.kill()

    wait_until("end of the command", lambda: not waiting(busy), timeout_s=30)


def test_a_time_out_in_a_test_ends_the_run(project: Project, busy: Path) -> None:
    """As pytest-timeout does it, by a signal of the clock."""
    project.write(
        "import signal\n"
        "import pytest\n"
        "def test_it(kafka_chaos):\n"
        "    signal.signal(signal.SIGALRM, lambda *_: pytest.fail('too long'))\n"
        "    signal.alarm(3)\n"
        "    kafka_chaos.run('baseline')\n"
    )

    code, said = project.run()

    assert pytest.ExitCode.TESTS_FAILED == code
    assert "too long" in said
    assert not waiting(busy)


def test_a_command_whose_parent_is_gone_does_not_begin(installed: Installed) -> None:
    said = installed(command.WITH_PARENT, "1", "list")

    assert Exit.INTERRUPTED == said.returncode
    assert "" == said.stdout
