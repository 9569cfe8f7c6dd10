"""The jobs to copy (docs/ci): they are well-formed, and the real command is played by their steps.

GitHub's are checked by actionlint, and played by tests/hosted/runner.py. GitLab's are checked
against its own schema, and played, by gitlab-ci-local.
Jenkins's shell steps are played one after the other.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.paths import ROOT
from harness.provision.cache import cache_dir
from tests.hosted import files
from tests.hosted.runner import Instead, Runner
from tests.hosted.test_played import contexts, runner_of  # noqa: F401 (a fixture)
from tests.installed.conftest import Installed
from tests.unit.test_workflows import WITH_STEPS, actionlint, linted, unpinned  # noqa: F401

pytestmark = pytest.mark.long(20)

JOBS = ROOT / "docs" / "ci"
GITHUB = (JOBS / "github.yml").read_text().replace("OWNER/kafka-chaos@<commit>", "./")
BUSY = "this machine was too busy for some verdicts, which are UNKNOWN"
PLAYER = "gitlab-ci-local-4.75.1"
PLAYER_SHA512 = (
    "ArmGX576uKqTgs4PMCH3FNPED+JhxDLb2Ocb893+aY88RA2sx9gP6L7GvpuHQJkFJRvA5KSq9fD0yyRLaLEydw=="
)
# The player wants Node.js 22 for this method alone.
UNION = "Set.prototype.union||(Set.prototype.union=function(o){return new Set([...this,...o])})"


def github_job(folder: Path, name: str) -> dict[str, object]:
    (folder / "github.yml").write_text(GITHUB)
    (workflow,) = files.read(folder / "github.yml")
    found: dict[str, object] = workflow["jobs"][name]
    return found


def test_githubs_have_nothing_that_actionlint_finds(
    actionlint: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "kafka-chaos.yml").write_text(GITHUB)
    shutil.copy(ROOT / "action.yml", tmp_path)
    (tmp_path / ".git").mkdir()

    assert [] == linted(actionlint, tmp_path)
    assert [] == unpinned(GITHUB)
    ours = "".join(path.read_text() for path in WITH_STEPS)
    assert set(re.findall(r"uses: (\S+@\S+)", GITHUB)) <= set(re.findall(r"uses: (\S+@\S+)", ours))


@pytest.mark.parametrize(
    ("night", "instead", "outcome", "says"),
    [
        ("--list", None, "success", "covered by runs that are not in this list"),
        ("--share 3/2", None, "failure", "kafka-chaos: "),
        ("--kafka 4.4.0", 6, "success", f"::warning::{BUSY}"),
    ],
)
def test_githubs_night_is_red_for_what_differs_alone(
    runner_of: Callable[..., Runner],  # noqa: F811
    tmp_path: Path,
    night: str,
    instead: int | None,
    outcome: str,
    says: str,
) -> None:
    """A machine that is too busy cannot be had at will, so that exit code is given instead."""
    command = [Instead(("./kafka-chaos", "nightly"), instead)] if instead else []
    runner = runner_of(contexts(env={"NIGHT": night}), instead=command)
    shutil.copy(ROOT / "kafka-chaos", runner.workspace)
    job = github_job(tmp_path, "night")

    runner.play({**job, "env": {"NIGHT": night}})

    assert outcome == runner.outcomes()["play"]
    assert says in next(each.output for each in runner.done if each.name == "play")
    (kept,) = runner.given("actions/upload-artifact")
    assert "results/" in kept["path"].split()


@pytest.fixture(scope="session")
def gitlab() -> list[str]:
    """The command that plays GitLab's jobs: one file, of a release that is pinned."""
    folder = cache_dir() / PLAYER
    program = folder / "package" / "dist" / "index.js"
    if not program.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        name, _, version = PLAYER.rpartition("-")
        packed = ["npm", "pack", "--silent", f"{name}@{version}"]
        subprocess.run(packed, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = folder / f"{PLAYER}.tgz"
        digest = hashlib.sha512(archive.read_bytes()).digest()
        assert PLAYER_SHA512 == base64.b64encode(digest).decode()
        with tarfile.open(archive) as packages:
            packages.extractall(folder, filter="data")
    return ["node", "--import", f"data:text/javascript,{UNION}", str(program)]


@pytest.fixture
def played(
    gitlab: list[str], installed: Installed, wheel: Path, tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """Plays GitLab's jobs in a repository with the wheel; the file may be changed before."""
    shutil.copy(wheel, tmp_path)
    for words in (["init", "-q"], ["remote", "add", "origin", "git@localhost:theirs/orders.git"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    identity = ["-c", "user.name=x", "-c", "user.email=x"]
    commit = ["git", *identity, "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(commit, cwd=tmp_path, check=True)

    def play(*words: str, **changes: str) -> tuple[int, str]:
        text = (JOBS / "gitlab-ci.yml").read_text()
        for right, wrong in changes.items():
            assert right in text
            text = text.replace(right, wrong)
        (tmp_path / ".gitlab-ci.yml").write_text(text)
        variables = {"KAFKA_CHAOS": wheel.name, "KAFKA_CHAOS_CACHE": str(cache_dir())}
        options = [f"--variable={name}={value}" for name, value in variables.items()]
        done = subprocess.run(
            [*gitlab, "--force-shell-executor", *options, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.returncode, done.stdout

    return play


def test_gitlabs_are_what_its_schema_says(played: Callable[..., tuple[int, str]]) -> None:
    code, said = played("--list-all")
    assert (0, True) == (code, "json schema validated" in said), said
    assert {"deploy", "night"} <= set(re.findall(r"^\w+", said, re.M))

    code, said = played("--list-all", exit_codes="exit_code")
    assert code
    assert "exit_code" in said


@pytest.mark.parametrize(
    ("job", "source", "words", "code", "says"),
    [
        ("night", "schedule", "NIGHT=--list", 0, "covered by runs that are not in this list"),
        ("deploy", "merge_request_event", "DEPLOY=--app nowhere", 1, "kafka-chaos: "),
    ],
)
def test_gitlabs_play_the_wheel(
    played: Callable[..., tuple[int, str]], job: str, source: str, words: str, code: int, says: str
) -> None:
    found, said = played(job, f"--variable=CI_PIPELINE_SOURCE={source}", f"--variable={words}")

    assert (code, True) == (found, says in said), said


@pytest.mark.cluster
@pytest.mark.long(60)
def test_gitlabs_night_is_shown_by_its_junit_file(
    played: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    words = ("CI_PIPELINE_SOURCE=schedule", "NIGHT=--only baseline --jobs 1")
    code, said = played("night", *(f"--variable={each}" for each in words))

    assert 0 == code, said
    junit = tmp_path / "kafka-chaos-results" / "nightly" / "latest" / "junit.xml"
    assert "baseline" in junit.read_text()


def test_jenkins_plays_the_wheel(installed: Installed, wheel: Path, tmp_path: Path) -> None:
    """As its shell does, `sh -xe`."""
    text = (JOBS / "Jenkinsfile").read_text()
    named = dict(re.findall(r"^    ([A-Z_]+) = '(.*?)'", text, re.M))
    assert {"KAFKA_CHAOS", "DEPLOY", "NIGHT"} == named.keys()
    named |= {"KAFKA_CHAOS": str(wheel), "DEPLOY": "--app nowhere", "NIGHT": "--list"}
    (command,) = re.findall(r'script: "(.*?)"', text)
    steps = [re.findall(r"sh '''(.*?)'''", text, re.S)[0]]
    steps += [command.replace("${words}", words) for words in re.findall(r"play\('(.*?)'", text)]

    done = [
        subprocess.run(
            ["sh", "-xe", "-c", step],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **named},
        )
        for step in steps
    ]

    assert [0, 4, 0] == [each.returncode for each in done], done
    assert "covered by runs that are not in this list" in done[2].stdout
