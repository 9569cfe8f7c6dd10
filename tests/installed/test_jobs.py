"""The jobs to copy (docs/ci): they are well-formed, and the real command is played by their steps.

GitHub's are checked by actionlint, and played by tests/hosted/runner.py; GitLab's are checked
against its own schema, which gitlab-ci-local brings. Of Jenkins's only the shell steps are.
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
    """The command that reads GitLab's jobs: one file, of a release that is pinned."""
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


def test_gitlabs_are_what_its_schema_says(gitlab: list[str], tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    text = (JOBS / "gitlab-ci.yml").read_text()
    said = []
    for each in (text, text.replace("exit_codes", "exit_code")):
        (tmp_path / ".gitlab-ci.yml").write_text(each)
        done = subprocess.run(
            [*gitlab, "--list-all"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        said.append((done.returncode, done.stdout))

    (right, jobs), (wrong, complaint) = said
    assert (0, True) == (right, "json schema validated" in jobs), jobs
    assert {"deploy", "night"} <= set(re.findall(r"^\w+", jobs, re.M))
    assert (True, True) == (wrong > 0, "exit_code" in complaint), complaint
    assert "allow_failure:\n    exit_codes: 6\n" in text


def gitlab_steps(job: str) -> tuple[list[str], str]:
    """What a job gives to its shell, and where its junit.xml is."""
    (found,) = files.read(JOBS / "gitlab-ci.yml")
    lines = [*found[".kafka-chaos"]["before_script"], *found[job]["script"]]
    return ["\n".join(lines)], found[job]["artifacts"]["reports"]["junit"]


def jenkins_steps(stage: str) -> tuple[list[str], str]:
    """The same of a stage, and of the one before it that sets up."""
    text = (JOBS / "Jenkinsfile").read_text()
    (set_up,) = re.findall(r"sh '''(.*?)'''", text, re.S)
    (command,) = re.findall(r'script: "(.*?)"', text)
    (junit,) = re.findall(r'testResults: "(.*?)"', text)
    words, folder = re.findall(rf"stage\('{stage}'\).*?play\('(.*?)', '(.*?)'\)", text, re.S)[0]
    return [set_up, command.replace("${words}", words)], junit.replace("${folder}", folder)


SHELLS = {"gitlab": ("bash", "-eo", "pipefail"), "jenkins": ("sh", "-xe")}


def played(folder: Path, wheel: Path, system: str, steps: list[str], words: str) -> tuple[int, str]:
    """The exit code of the last step and what all said, in a repository with the wheel."""
    given = {"KAFKA_CHAOS": str(wheel), "DEPLOY": words, "NIGHT": words}
    said = ""
    for step in steps:
        done = subprocess.run(
            [*SHELLS[system], "-c", step],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, **given},
        )
        said += done.stdout
    return done.returncode, said


@pytest.mark.usefixtures("installed")  # removes what the wheel leaves in the cache
@pytest.mark.parametrize("system", ["gitlab", "jenkins"])
@pytest.mark.parametrize(
    ("job", "words", "code", "says"),
    [
        ("night", "--list", 0, "covered by runs that are not in this list"),
        ("deploy", "--app nowhere", 4, "kafka-chaos: "),
    ],
)
def test_their_steps_play_the_wheel(
    wheel: Path, tmp_path: Path, system: str, job: str, words: str, code: int, says: str
) -> None:
    steps, _ = (gitlab_steps if system == "gitlab" else jenkins_steps)(job)

    found, said = played(tmp_path, wheel, system, steps, words)

    assert (code, True) == (found, says in said), said
