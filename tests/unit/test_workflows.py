"""Workflows run code of others with this project's rights: what it is, is fixed and no input's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base.paths import ROOT
from tests.machine import golang

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
WITH_STEPS = [*WORKFLOWS, ROOT / "action.yml"]


def unpinned(text: str) -> list[str]:
    """Actions that are named by anything but a whole commit with its version beside it."""
    used = [action for action in re.findall(r"uses:\s*(.*)", text) if action != "./"]
    pinned = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}  # v[0-9.]+")
    return [action for action in used if not pinned.fullmatch(action)]


def shell_texts(text: str) -> Iterator[str]:
    """What each `run` gives to a shell: its own line, and those that stand deeper after it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"(\s*)(- )?run:(.*)", line)
        if not found:
            continue
        depth = len(found[1]) + len(found[2] or "")
        said = [found[3]]
        for after in lines[number + 1 :]:
            if after.strip() and len(after) - len(after.lstrip()) <= depth:
                break
            said.append(after)
        yield "\n".join(said)


def test_there_are_workflows() -> None:
    assert {"ci.yml", "nightly.yml", "release.yml"} <= {path.name for path in WORKFLOWS}


@pytest.mark.parametrize("path", WITH_STEPS, ids=lambda path: path.name)
def test_actions_are_named_by_their_commit(path: Path) -> None:
    """A tag can be moved to other code at any time."""
    assert [] == unpinned(path.read_text())


@pytest.mark.parametrize("path", WITH_STEPS, ids=lambda path: path.name)
def test_no_expression_is_put_into_the_text_of_a_shell(path: Path) -> None:
    """It would be run as code, whatever it is; a variable of the environment is not."""
    texts = list(shell_texts(path.read_text()))

    assert texts
    assert [] == [text for text in texts if "${{" in text]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_nothing_else(path: Path) -> None:
    text: str = path.read_text()

    assert ["contents: read"] == re.findall(r"^permissions:\n  (.*)\n\n", text, re.M)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_only_what_publishes_may_do_more_and_it_runs_nothing_of_the_checkout() -> None:
    more: dict[str, list[str]] = {}
    for path in WORKFLOWS:
        for job in re.split(r"^  (?=[a-z]+:\n)", path.read_text(), flags=re.M):
            found = re.findall(r"^    permissions:\n((?:      .*\n)+)", job, re.M)
            if found:
                more[f"{path.stem} {job.partition(':')[0]}"] = "".join(found).split("\n")[:-1]
                assert "actions/checkout@" not in job
                assert not re.search("make|python|kafka_chaos", "".join(shell_texts(job)))

    assert {
        "release publish": ["      id-token: write"],
        "release assets": ["      contents: write"],
    } == more


def test_one_action_is_of_one_commit_everywhere() -> None:
    text = "".join(path.read_text() for path in WITH_STEPS)
    commits: dict[str, set[str]] = {}
    for repository, commit in re.findall(r"uses: ([\w-]+/[\w-]+)[\w/-]*@(\w+)", text):
        commits.setdefault(repository, set()).add(commit)

    assert dict.fromkeys(commits, 1) == {
        repository: len(found) for repository, found in commits.items()
    }


@pytest.mark.parametrize(
    "action", ["actions/checkout@v4", "actions/checkout@11bd719", "actions/cache@" + "a" * 40]
)
def test_a_tag_a_short_commit_and_one_without_its_version_are_found(action: str) -> None:
    assert [action] == unpinned(f"      - uses: {action}\n")


def test_what_a_shell_gets_ends_where_its_step_does() -> None:
    text = """\
      - name: play
        run: >-
          python3 -m harness

          ${{ inputs.kafka }}
        env:
          KAFKA: ${{ inputs.kafka }}
      - run: ${{ inputs.long }}
      - run: make
"""

    first, second, third = shell_texts(text)
    assert first.endswith("${{ inputs.kafka }}")
    assert " ${{ inputs.long }}" == second
    assert " make" == third


@pytest.fixture(scope="session")
def actionlint() -> Path:
    return golang.built("actionlint", "1.7.12", "github.com/rhysd/actionlint/cmd/actionlint")


def linted(actionlint: Path, root: Path) -> list[str]:
    """What is wrong with a repository's workflows and the actions of its own that they use."""
    # Other programs would be used where there are any, and say other things on each machine.
    command = [str(actionlint), "-shellcheck=", "-pyflakes=", "-no-color", "-oneline"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode == 1) == bool(done.stdout), done.stderr
    return str(done.stdout).splitlines()


def test_workflows_have_nothing_that_actionlint_finds(actionlint: Path) -> None:
    assert [] == linted(actionlint, ROOT)


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("runs-on: ubuntu-24.04", "runs-on: ubuntu-4", 'label "ubuntu-4" is unknown'),
        ("steps.python.outputs", "steps.pyton.outputs", '"pyton" is not defined'),
        ("experiment: consumer-crash", "experimant: consumer-crash", '"experimant" is not defined'),
        ("    timeout-minutes: 60", "    timeout-minuts: 60", 'unexpected key "timeout-minuts"'),
    ],
)
def test_slips_are_found(
    actionlint: Path, tmp_path: Path, right: str, wrong: str, complaint: str
) -> None:
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    shutil.copy(ROOT / "action.yml", tmp_path)
    (tmp_path / ".git").mkdir()
    folder = tmp_path / ".github" / "workflows"
    (workflow,) = [path for path in folder.iterdir() if right in path.read_text()][:1]
    workflow.write_text(workflow.read_text().replace(right, wrong))

    assert any(complaint in line for line in linted(actionlint, tmp_path))
