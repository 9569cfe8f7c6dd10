"""The workflows' steps, in order, as a hosted runner would do them.

What starts a cluster, and what would install something, is stood in for; everything else is real.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import __version__
from harness.base.paths import ROOT
from harness.report import report
from harness.report.many import index
from tests.hosted import expressions, files
from tests.hosted.runner import Instead, Runner
from tests.report.sample_run import write_run
from tests.report.sample_suite import write_night
from tests.trend.sample import write_series

pytestmark = pytest.mark.long(1.5)

NIGHTLY_CRON = "17 1 * * *"
LONG_CRON = "17 7 * * 0"
EXEC = ("-m", "harness.provision", "exec")
NIGHT = ("-m", "harness", "nightly")
KEPT = (
    *("harness", "experiments", "consumers", "kafka_chaos", ".ci", "Makefile"),
    *("requirements.lock", "pyproject.toml", "LICENSE", "NOTICE", "README.md", "action.yml"),
    "CHANGELOG.md",
)


@pytest.fixture(scope="session")
def workflows() -> dict[str, Any]:
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return dict(zip((path.stem for path in paths), files.read(*paths), strict=True))


@pytest.fixture
def runner_of(tmp_path: Path) -> Callable[..., Runner]:
    """Makes a runner with a checkout of its own."""
    workspace = tmp_path / "work" / "kafka-chaos"
    workspace.mkdir(parents=True)
    for name in KEPT:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "node_modules", "target")
            shutil.copytree(source, workspace / name, ignore=ignored)
        elif source.is_file():
            shutil.copy(source, workspace / name)
    return partial(Runner, workspace, tmp_path / "runner")


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """What a night leaves: its own page and record, and the verdicts of those before it."""
    results = tmp_path / "night" / "results"
    suite = write_night(results)
    index.write(suite)
    (results / "nightly" / "latest").symlink_to(suite.path.name)
    write_series(results / "dataset", "R01", [6_001.0, 6_002.0, 6_001.0])
    return tmp_path / "night"


def contexts(**more: Any) -> dict[str, Any]:
    github = {"run_id": 4711, "run_attempt": 1, "event": {"schedule": NIGHTLY_CRON}}
    return {
        "github": {**github, **more.pop("github", {})},
        "runner": {"os": "Linux", "arch": "X64"},
        "inputs": {"kafka": "", "long": ""},
        **more,
    }


def job(workflows: dict[str, Any], workflow: str, name: str) -> Any:
    return workflows[workflow]["jobs"][name]


@pytest.mark.parametrize("code", [0, 2])
def test_ci_runs_all_tests_once(
    workflows: dict[str, Any], runner_of: Callable[..., Runner], code: int
) -> None:
    test = job(workflows, "ci", "test")
    for python in test["strategy"]["matrix"]["python"]:
        instead = [Instead(EXEC, code, "3 failed\n" if code else "")]
        runner = runner_of(contexts(matrix={"python": python}), instead=instead)
        runner.done.clear()

        assert ("failure" if code else "success") == runner.play(test)

    whole = [*EXEC, "--", "-m", "tests.machine", "run", "make", "test", "ALL=1"]
    assert [whole] * 2 == runner.words
    (cached,) = runner.given("actions/cache")
    assert cached["key"].startswith("kafka-chaos-developers-Linux-X64-3.14.7-")
    assert len(cached["key"].rpartition("-")[2]) == 64
    kept = runner.given("actions/upload-artifact")
    assert (["results-python-3.14"] if code else []) == [each["name"] for each in kept]


def test_a_night_runs_the_tests_that_wait_for_their_turn_as_well(
    workflows: dict[str, Any], runner_of: Callable[..., Runner]
) -> None:
    runner = runner_of(contexts(), instead=[Instead(EXEC)])

    assert "success" == runner.play(job(workflows, "nightly", "tests"))
    whole = [*EXEC, "--", "-m", "tests.machine", "run", "make", "test", "ALL=every"]
    assert [whole] == runner.words


def test_what_is_empty_in_the_environment_is_no_option_of_make(
    runner_of: Callable[..., Runner],
) -> None:
    runner = runner_of(contexts(), instead=[Instead(EXEC), Instead(("kafka-chaos",))])
    lines = ["make test ALL=1", "make nightly", "make nightly SHARE=1/2"]

    assert "success" == runner.play({"steps": [{"run": line} for line in lines]})
    (*_, whole, night, share) = runner.words
    assert ["-m", "tests.everything"] == whole[whole.index("--") + 1 :]
    assert ["kafka-chaos", "nightly"] == night
    assert ["kafka-chaos", "nightly", "--share", "1/2"] == share


@pytest.mark.parametrize("backend", ["embedded", "docker"])
def test_a_night_that_differs_is_shown_and_kept(
    workflows: dict[str, Any], runner_of: Callable[..., Runner], night: Path, backend: str
) -> None:
    played = job(workflows, "nightly", "night")
    assert backend in played["strategy"]["matrix"]["backend"]
    instead = [Instead(NIGHT, 1, "2 verdicts differ\n", brings=night)]
    if backend == "docker":  # nothing differs there, and Spark's start is long
        instead.append(Instead(("-m", "harness", "trend"), 0, "1 series of 3 runs on 3 days\n"))
    runner = runner_of(contexts(matrix={"backend": backend}), instead=instead)

    assert "failure" == runner.play(played)
    outcomes = runner.outcomes()
    assert ("success", "failure", "success", "success") == tuple(
        outcomes[step] for step in ("set up", "play", "trend", "summary")
    ), [each.output for each in runner.done if each.outcome == "failure"]
    assert [*NIGHT, "--backend", backend] in runner.words
    assert runner.summary.startswith(f"# {backend}\n")
    assert "consumer-crash" in runner.summary
    assert "](" not in runner.summary
    assert "1 series of 3 runs on 3 days" in runner.summary
    assert "everything is set up" in runner.done[4].output
    (restored,) = runner.given("actions/cache/restore")
    (saved,) = runner.given("actions/cache/save")
    assert restored["key"] == saved["key"] == f"nights-{backend}-4711-1"
    names = [each["name"] for each in runner.given("actions/upload-artifact")]
    assert [f"night-{backend}-4711-1", f"logs-{backend}-4711-1"] == names


@pytest.mark.parametrize("code", [0, 6])
def test_a_night_as_expected_succeeds_and_keeps_no_logs(
    workflows: dict[str, Any], runner_of: Callable[..., Runner], night: Path, code: int
) -> None:
    """Nor does one fail that this machine was too busy for."""
    instead = [
        Instead(NIGHT, code, brings=night),
        Instead(("-m", "harness", "trend"), 1, "R01 moved\n"),
    ]
    runner = runner_of(contexts(matrix={"backend": "embedded"}), instead=instead)

    assert "success" == runner.play(job(workflows, "nightly", "night"))
    assert "R01 moved" in runner.summary
    assert 1 == len(runner.given("actions/upload-artifact"))


@pytest.mark.parametrize(
    ("github", "inputs", "more"),
    [
        ({"event": {"schedule": LONG_CRON}}, {"kafka": "", "long": ""}, ["--long"]),
        ({"event": {"schedule": ""}}, {"kafka": "4.3.1", "long": True}, ["4.3.1", "--long"]),
        ({"event": {"schedule": ""}}, {"kafka": "4.3.1", "long": False}, ["4.3.1"]),
    ],
)
def test_what_a_night_is_asked_for_reaches_the_command(
    workflows: dict[str, Any],
    runner_of: Callable[..., Runner],
    night: Path,
    github: Any,
    inputs: Any,
    more: list[str],
) -> None:
    instead = [Instead(NIGHT, brings=night), Instead(("-m", "harness", "trend"))]
    given = contexts(github=github, inputs=inputs, matrix={"backend": "docker"})
    runner = runner_of(given, instead=instead)

    assert "success" == runner.play(job(workflows, "nightly", "night"))
    (words,) = [words for words in runner.words if words[:3] == [*NIGHT]]
    assert more == [word for word in words[5:] if word != "--kafka"]


def test_a_version_with_a_command_in_it_is_refused_and_not_run(
    workflows: dict[str, Any], runner_of: Callable[..., Runner]
) -> None:
    inputs = {"kafka": '4.3.1"; touch broken-in; "', "long": False}
    runner = runner_of(contexts(inputs=inputs, matrix={"backend": "embedded"}))

    assert "failure" == runner.play(job(workflows, "nightly", "night"))
    assert not list(runner.workspace.rglob("broken-in"))
    outcomes = runner.outcomes()
    assert ("failure", "skipped", "skipped", "skipped") == tuple(
        outcomes[step] for step in ("set up", "play", "trend", "summary")
    )
    assert "is not a release" in runner.done[4].output
    assert ["logs-embedded-4711-1"] == [
        each["name"] for each in runner.given("actions/upload-artifact")
    ]


def test_a_night_that_does_not_begin_shows_no_night_before_it(
    workflows: dict[str, Any], runner_of: Callable[..., Runner], night: Path
) -> None:
    instead = [Instead(NIGHT, 3), Instead(("-m", "harness", "trend"), 5, "no data\n")]
    runner = runner_of(contexts(matrix={"backend": "embedded"}), instead=instead)
    shutil.copytree(night, runner.workspace, symlinks=True, dirs_exist_ok=True)

    assert "failure" == runner.play(job(workflows, "nightly", "night"))
    assert "No night was played" in runner.summary
    assert "consumer-crash" not in runner.summary
    assert ("failure", "success") == tuple(runner.outcomes()[step] for step in ("trend", "summary"))


@pytest.mark.parametrize("code", [0, 1])
def test_the_audit_shows_what_it_found(
    workflows: dict[str, Any], runner_of: Callable[..., Runner], code: int
) -> None:
    audit = job(workflows, "nightly", "audit")
    found = "| numpy | CVE-1 |\n" if code else "No known vulnerabilities found\n"
    instead = [Instead(("-m", "pip", "install")), Instead(("-m", "pip_audit"), code, found)]
    runner = runner_of(contexts(), instead=instead)

    assert ("failure" if code else "success") == runner.play(audit)
    assert audit["continue-on-error"]
    assert "needs" not in audit
    assert found in runner.summary
    assert ("::warning::" in runner.done[-1].output) == bool(code)
    asked = next(words for words in runner.words if words[:2] == ["-m", "pip_audit"])
    assert "--strict" in asked
    locks = {"requirements.lock", "harness/provision/locks/developers.lock"}
    assert {"--require-hashes", *locks} <= set(asked)
    installed = next(words for words in runner.words if words[:3] == ["-m", "pip", "install"])
    assert "--require-hashes" in installed
    assert (runner.workspace / installed[-1]).is_file()
    (kept,) = runner.given("actions/upload-artifact")
    bill = json.loads((runner.workspace / kept["path"]).read_text())
    assert "CycloneDX" == bill["bomFormat"]


@pytest.fixture
def release_of(runner_of: Callable[..., Runner], tmp_path: Path) -> Callable[[str], Runner]:
    """A runner for a tag. What is built and how it is tried, tests/installed shows."""

    def make(tag: str) -> Runner:
        dist = tmp_path / "built" / "dist"
        dist.mkdir(parents=True)
        for name in (f"kafka_chaos-{__version__}.tar.gz", f"kafka_chaos-{__version__}-x.whl"):
            (dist / name).touch()
        runner = runner_of(
            contexts(
                github={"ref_name": tag, "repository": "owner/kafka-chaos", "token": "secret"}
            ),
            instead=[Instead(EXEC, brings=dist.parent)],
        )
        for program in (runner.workspace / ".ci" / "try-wheel", runner.folder / "bin" / "gh"):
            program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/${0##*/}"\n')
            program.chmod(0o755)
        return runner

    return make


def test_a_tag_is_built_tried_and_published(
    workflows: dict[str, Any], release_of: Callable[[str], Runner]
) -> None:
    runner = release_of(f"v{__version__}")
    temp = runner.folder / "temp"

    assert "success" == runner.play(job(workflows, "release", "build"))
    assert f"dist/kafka_chaos-{__version__}-x.whl\n" == (temp / "try-wheel").read_text()
    packages, about = runner.given("actions/upload-artifact")
    assert ("packages", "dist/") == (packages["name"], packages["path"])
    bill, notes = (runner.workspace / name for name in about["path"].split())
    assert "CycloneDX" == json.loads(bill.read_text())["bomFormat"]
    assert "**Experiments**" in notes.read_text()
    assert "## " not in notes.read_text()

    assert "success" == runner.play(job(workflows, "release", "publish"))
    (fetched,) = runner.given("actions/download-artifact")
    assert ("packages", "dist") == (fetched["name"], fetched["path"])

    files = runner.workspace / "files"  # what both artifacts have
    shutil.copytree(runner.workspace / "dist", files)
    for each in (bill, notes):
        each.rename(files / each.name)
    assert "success" == runner.play(job(workflows, "release", "assets"))
    _, _, tag, *_, first, second, third = (temp / "gh").read_text().splitlines()
    assert f"v{__version__}" == tag
    assert sorted(path.name for path in files.iterdir()) == [
        Path(name).name for name in (first, second, third)
    ]


def test_a_tag_that_is_not_the_version_builds_nothing(
    workflows: dict[str, Any], release_of: Callable[[str], Runner]
) -> None:
    runner = release_of("v99.1")

    assert "failure" == runner.play(job(workflows, "release", "build"))
    said = next(each.output for each in runner.done if each.name == "the tag is the version")
    assert "::error::the tag v99.1 is not that of kafka-chaos" in said
    assert not (runner.workspace / "dist").exists()
    assert [] == runner.given("actions/upload-artifact")


def test_a_version_that_the_changelog_does_not_have_is_not_published(
    workflows: dict[str, Any], release_of: Callable[[str], Runner]
) -> None:
    runner = release_of(f"v{__version__}")
    (runner.workspace / "CHANGELOG.md").write_text(f"## 0.0.9\n\n- x\n\n## {__version__} \n")

    assert "failure" == runner.play(job(workflows, "release", "build"))
    assert ("failure", "skipped") == tuple(runner.outcomes()[step] for step in ("notes", "build"))


def launched(runner: Runner, *words: str) -> tuple[str, ...]:
    """How the action's command `kafka-chaos` calls python3."""
    return ("-P", str(runner.folder / "temp" / "kafka-chaos" / "lib" / "command.py"), *words)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """What a run leaves in the folder that it was started in."""
    report(write_run(tmp_path / "played" / "kafka-chaos-results" / "baseline" / "20261124T1-0001"))
    return tmp_path / "played"


@pytest.fixture
def action_of(
    runner_of: Callable[..., Runner], tmp_path: Path
) -> Callable[[dict[str, Any], Sequence[Instead]], Runner]:
    """Plays the action in a user's repository, given this; words after the command's name."""

    def play(given: dict[str, Any], instead: Sequence[Instead] = ()) -> Runner:
        command = tmp_path / "runner" / "temp" / "kafka-chaos" / "lib" / "command.py"
        runner = runner_of(
            contexts(),
            instead=[replace(each, words=("-P", str(command), *each.words)) for each in instead],
        )
        theirs = runner.workspace / "theirs"
        (theirs / "experiments").mkdir(parents=True)  # a package of theirs with a name of ours
        (theirs / "experiments" / "__init__.py").write_text("raise SystemExit('theirs')")
        runner.play(
            {"steps": [{"uses": "./", "id": "chaos", "with": {"folder": "theirs", **given}}]}
        )
        return runner

    return play


@pytest.mark.parametrize("code", [0, 1, 6])
def test_the_action_plays_and_keeps_its_exit_code(
    action_of: Callable[..., Runner], run: Path, code: int
) -> None:
    given = {
        "experiment": "rolling-deploy",
        "app": "chaos",
        "limits": "standstill_s=10\nlost=0",
        "options": '--set\nmembers=5\n--value\n{"id": {n}}\n',
    }
    runner = action_of(given, [Instead(("experiment",), code, brings=run)])

    (words,) = [words[2:] for words in runner.words if "rolling-deploy" in words]
    limits = ["--limit", "standstill_s=10", "--limit", "lost=0"]
    options = ["--set", "members=5", "--value", '{"id": {n}}']
    results = ["--results", "kafka-chaos-results"]
    assert ["experiment", "rolling-deploy", *results, "--app", "chaos", *limits, *options] == words
    outcome = "failure" if code == 1 else "success"
    assert (code == 6) == any("::warning::this machine" in each.output for each in runner.done)
    assert (outcome, "success") == (runner.outcomes()["play"], runner.outcomes()["summary"])
    folder = runner.workspace / "theirs" / "kafka-chaos-results"
    chaos = runner.contexts["steps"]["chaos"]
    assert outcome == chaos["outcome"]
    assert {"exit-code": str(code), "results": str(folder)} == chaos["outputs"]
    assert "everything is set up" in next(d.output for d in runner.done if d.name == "set up")
    assert runner.summary.startswith("## consumer-freeze: The freeze of member-2 outlasted")
    (cached,) = runner.given("actions/cache")
    assert len(cached["key"].rpartition("-")[2]) == 64
    (kept,) = runner.given("actions/upload-artifact")
    assert (str(folder), "kafka-chaos-results") == (kept["path"].split()[0], kept["name"])


def test_the_action_without_an_experiment_tries_the_program(
    action_of: Callable[..., Runner],
) -> None:
    runner = action_of({"image": "orders@sha256:1", "kafka": "4.3.1"}, [Instead(("try",))])

    words = next(words[2:] for words in runner.words if "try" in words)
    results = ["--results", "kafka-chaos-results"]
    assert ["try", *results, "--image", "orders@sha256:1", "--kafka", "4.3.1"] == words
    assert "No run was judged" in runner.summary


def test_what_the_action_cannot_do_is_the_sentence_and_the_exit_code_of_the_command(
    action_of: Callable[..., Runner],
) -> None:
    """The command is the real one, and its folder is a user's."""
    runner = action_of({"experiment": "$(touch broken-in)", "limits": "$(touch broken-in)"})

    played = next(each for each in runner.done if each.name == "play")
    assert "failure" == played.outcome
    assert "4" == runner.contexts["steps"]["chaos"]["outputs"]["exit-code"]
    assert "kafka-chaos: there is no limit" in played.output
    assert not list(runner.workspace.rglob("broken-in"))


def test_the_workflow_that_tries_the_action_gives_it_what_it_takes(
    workflows: dict[str, Any], runner_of: Callable[..., Runner]
) -> None:
    runner = runner_of(contexts())
    runner.instead = [Instead(launched(runner, "experiment"))]
    runner.__post_init__()

    assert "success" == runner.play(job(workflows, "nightly", "action"))
    assert any("experiment" in words for words in runner.words)


def test_the_image_is_built_once_and_played_in_a_folder_that_its_user_can_write(
    workflows: dict[str, Any], runner_of: Callable[..., Runner]
) -> None:
    runner = runner_of(contexts())
    docker = runner.folder / "bin" / "docker"
    docker.write_text('#!/bin/sh\necho "$*" >> "$RUNNER_TEMP/docker"\n')
    docker.chmod(0o755)

    assert "success" == runner.play(job(workflows, "nightly", "image"))
    runs = runner.workspace / "runs"
    assert 0o777 == runs.stat().st_mode & 0o777
    words = ["run", "--rm", "--init", "--network", "none", "--volume", f"{runs}:/work"]
    assert (runner.folder / "temp" / "docker").read_text().splitlines() == [
        "build --tag kafka-chaos .",
        " ".join([*words, "kafka-chaos", "experiment", "consumer-crash"]),
    ]


CONTEXTS = {"inputs": {"long": "", "n": 3}, "github": {"event": {"schedule": "17 7 * * 0"}}}


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("(inputs.long || github.event.schedule == '17 7 * * 0') && 'yes' || ''", "yes"),
        ("inputs.long && 'yes' || 'no'", "no"),
        ("inputs.n == 3 && inputs.n != 4", True),
        ("!inputs.long && 'it''s'", "it's"),
        ("'YES' == 'yes'", True),
        ("always() && !failure()", True),
    ],
)
def test_expressions(text: str, worth: object) -> None:
    functions = {"always": lambda: True, "failure": lambda: False}
    assert worth == expressions.value(text, CONTEXTS, functions)


@pytest.mark.parametrize(
    "text", ["inputs.longer", "secrets.token", "f()", "'a' 'b'", "(1", "1 ==", "a ? b"]
)
def test_what_cannot_be_worked_out_is_no_empty_text(text: str) -> None:
    with pytest.raises(expressions.Wrong):
        expressions.value(text, CONTEXTS, {})


def test_a_condition_means_success_unless_it_says_otherwise() -> None:
    failed = {"success": lambda: False, "failure": lambda: True, "cancelled": lambda: False}

    assert not expressions.condition("inputs.n", CONTEXTS, failed)
    assert expressions.condition("${{ !cancelled() && inputs.n }}", CONTEXTS, failed)
    assert expressions.condition("failure()", CONTEXTS, failed)
