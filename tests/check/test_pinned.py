"""A project keeps runs, and what its own rules say of them is compared from then on."""

from __future__ import annotations

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import Exit
from harness.cli.main import main
from harness.history import manifest, seals
from tests.check.test_owned import A_PROGRAM, COMMON, ID, OURS, RULE

PROJECT = 'rules = "chaos/rules"\nrecorded = "chaos/recorded"\n'
REMEDY = "correct the rules, or pin what they say now by `./kafka-chaos pinned --renew`"
LOUD = '''from harness.rules import Rule


@Rule(
    "orders-members",
    title="Members",
    statement="Members are named.",
    source="our runbook",
    unit="members",
    things="members",
    too_high="is\\n\\none too many",
    clients=("librdkafka",),
)
def members() -> str:
    """All of the run."""
    return """
        SELECT member AS subject, 1.0 AS measured, 0.0 AS bound_high FROM {members} GROUP BY member
    """
'''


class Project:
    """A folder in which one is, with a project and one run of ours that can be kept."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.run = folder / "results" / "run"
        self.rules = folder / "chaos" / "rules"
        self.kept = folder / "chaos" / "recorded" / "consumer-crash"
        self.rules.mkdir(parents=True)
        (folder / "kafka-chaos.toml").write_text(PROJECT)
        (self.rules / "rebalances.py").write_text(RULE)
        (self.rules / "_common.py").write_text(COMMON)
        shutil.copytree(OURS, self.run)

    def change(self, **changes: Any) -> None:
        """The manifest of the run that can be kept."""
        manifest.update(self.run, **changes)

    def rewrite(self, file: str, old: str, new: str) -> None:
        path = self.rules / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def refused(self, code: Exit, words: str, says: str) -> None:
        """This command is, in one sentence, beside what is said of its progress."""
        self._capsys.readouterr()
        assert code == main(words.split(" "))
        lines = self._capsys.readouterr().err.splitlines()
        [said] = [line for line in lines if " s  pinned: " not in line]
        assert says in said

    @property
    def pinned(self) -> str:
        return (self.kept / "pinned.txt").read_text()


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)


@pytest.fixture
def kept(project: Project, capsys: pytest.CaptureFixture[str]) -> Project:
    """The project, with its run kept."""
    assert Exit.AS_EXPECTED == main(["keep", "results/run"])
    capsys.readouterr()
    return project


def test_what_is_kept_is_small_and_says_what_the_rules_found(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.run / "logs").mkdir()
    (project.run / "logs" / "broker-1.log").write_text("a line\n")

    assert Exit.AS_EXPECTED == main(["keep", "results/run"])

    said = capsys.readouterr().out
    assert re.match(r"kept as chaos/recorded/consumer-crash, \d{2,3} kB\n", said)
    assert f"{ID} VIOLATED: 1 groups, 3 rebalances; bound at most 1; 1 violates it" in said
    assert {"history", "manifest.json", "pinned.txt"} == {
        path.name for path in project.kept.iterdir()
    }
    _, block = project.pinned.split("\n\n")
    assert [
        f"{ID} VIOLATED",
        "1 groups, 3 rebalances; bound at most 1; 1 violates it: orders, is above its bound",
        "  VIOLATED orders, measured 3, at most 1, is above its bound",
    ] == block.splitlines()


def test_a_program_s_run_is_kept_without_the_project_s_place(project: Project) -> None:
    run = project.folder / "results" / "theirs"
    shutil.copytree(A_PROGRAM, run)
    facts = manifest.read(run)
    facts["declared"]["app"] |= {
        "folder": f"{project.folder}/chaos/apps/orders",
        "command": ["sh", "-c", f"cd {project.folder} && ./run {project.folder}-other"],
    }
    manifest.write(run, facts)

    assert Exit.AS_EXPECTED == main(["keep", str(run), "--as", "theirs"])

    app = manifest.read(project.kept.with_name("theirs"))["declared"]["app"]
    assert "./chaos/apps/orders" == app["folder"]
    assert f"cd . && ./run {project.folder}-other" == app["command"][2]


def test_a_kept_run_is_as_pinned_until_a_rule_says_otherwise(
    kept: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.AS_EXPECTED == main(["pinned"])
    assert "consumer-crash: 1 rule, as pinned\n1 kept run as pinned\n" == capsys.readouterr().out

    kept.rewrite("_common.py", "MOST = 1", "MOST = 9")
    before = kept.pinned
    assert Exit.DIFFERS == main(["pinned"])
    assert [
        "consumer-crash: not as pinned",
        f"  {ID} was VIOLATED, is HOLDS",
        "    - 1 groups, 3 rebalances; bound at most 1; 1 violates it: orders, is above its bound",
        "    - VIOLATED orders, measured 3, at most 1, is above its bound",
        "    + 1 groups, 3 rebalances; bound at most 9",
        "    + HOLDS    orders, measured 3, at most 9",
        f"1 of 1 kept run not as pinned: {REMEDY}",
    ] == capsys.readouterr().out.splitlines()
    assert before == kept.pinned

    assert Exit.AS_EXPECTED == main(["pinned", "--renew"])
    assert "consumer-crash: pinned anew\n" in capsys.readouterr().out
    assert f"{ID} HOLDS\n" in kept.pinned
    assert Exit.AS_EXPECTED == main(["pinned"])


def test_a_change_that_means_nothing_is_none(kept: Project) -> None:
    kept.rewrite("rebalances.py", "All of the run.", "All of it.")
    assert Exit.AS_EXPECTED == main(["pinned"])


def test_the_same_verdict_of_another_number_differs(
    kept: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.rewrite("rebalances.py", "count(*) AS", "count(*) + 1 AS")
    assert Exit.DIFFERS == main(["pinned"])
    assert f"{ID} is VIOLATED as before, in other words or numbers" in capsys.readouterr().out


def test_rules_that_come_and_go_differ(kept: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (kept.rules / "members.py").write_text(LOUD)
    assert Exit.DIFFERS == main(["pinned"])
    assert "  orders-members is not pinned yet: VIOLATED, " in capsys.readouterr().out

    assert Exit.AS_EXPECTED == main(["pinned", "--renew"])
    assert "is  one too many" in kept.pinned  # line breaks of a rule's own words do no harm
    assert Exit.AS_EXPECTED == main(["pinned"])
    (kept.rules / "rebalances.py").unlink()
    capsys.readouterr()
    assert Exit.DIFFERS == main(["pinned"])
    said = capsys.readouterr().out
    assert f"{ID} is pinned, and no rule of the project by this name can be judged" in said
    assert "orders-members" not in said


def test_a_long_difference_is_cut(kept: Project, capsys: pytest.CaptureFixture[str]) -> None:
    many = kept.pinned.replace("  VIOLATED orders", "\n".join(f"  HOLDS {i}" for i in range(30)))
    (kept.kept / "pinned.txt").write_text(many)
    assert Exit.DIFFERS == main(["pinned"])
    assert "    … and 11 more lines, which --renew would write\n" in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "", "no pins\n\n\n\nof any kind\n"])
def test_pins_that_are_lost_are_written_again(text: str | None, kept: Project) -> None:
    before = kept.pinned
    (kept.kept / "pinned.txt").unlink()
    if text is not None:
        (kept.kept / "pinned.txt").write_text(text)

    assert Exit.DIFFERS == main(["pinned"])
    assert Exit.AS_EXPECTED == main(["pinned", "--renew"])
    assert before == kept.pinned


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        (
            {"status": "void", "status_reason": "a broker died by itself"},
            Exit.FAILED,
            "results/run is void (a broker died by itself), so it shows nothing: keep a run that",
        ),
        ({"schema_version": 0}, Exit.NO_DATA, "does not have schema version 1"),
        (
            {"files": {"history/requests.parquet": "0" * 64}},
            Exit.NO_DATA,
            "or not the file that was recorded: `./kafka-chaos collect results/run` makes it",
        ),
    ],
)
def test_a_run_that_cannot_be_kept(
    changes: dict[str, Any], code: Exit, says: str, project: Project
) -> None:
    content = json.loads((project.run / "manifest.json").read_text())
    (project.run / "manifest.json").write_text(json.dumps(content | changes))
    project.refused(code, "keep results/run", says)
    assert not project.kept.parent.exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("results", Exit.NO_DATA, "results is not the folder of a run"),
        ("nowhere", Exit.NO_DATA, "there is no run folder nowhere"),
        ("results/run --as ../run", Exit.BAD_ARGUMENTS, "'../run' is no name for a kept"),
        ("results/run --as ", Exit.BAD_ARGUMENTS, "'' is no name for a kept run: use"),
        (
            "results/run",
            Exit.BAD_ARGUMENTS,
            "chaos/recorded/consumer-crash is there already: give another name by --as, or remove",
        ),
    ],
)
def test_words_that_name_no_run_to_keep(words: str, code: Exit, says: str, kept: Project) -> None:
    kept.refused(code, f"keep {words}", says)
    assert [kept.kept] == list(kept.kept.parent.iterdir())


@pytest.mark.parametrize("command", ["keep results/run", "pinned"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, 'is named: write recorded = "chaos/recorded" into kafka-chaos.toml'),
        ('rules = "chaos/rules"', 'write recorded = "chaos/recorded" into kafka-chaos.toml'),
        ('recorded = "chaos/recorded"', "the project has no rules of its own, and only these"),
    ],
)
def test_a_project_that_keeps_nothing(
    text: str | None, says: str, command: str, project: Project
) -> None:
    (project.folder / "kafka-chaos.toml").unlink()
    if text is not None:
        (project.folder / "kafka-chaos.toml").write_text(text)
    project.refused(Exit.BAD_ARGUMENTS, command, says)


def test_nothing_is_kept_yet(project: Project) -> None:
    says = "chaos/recorded has no kept runs: `./kafka-chaos keep RUN`"
    project.refused(Exit.NO_DATA, "pinned", says)


def test_no_rule_is_about_the_run(project: Project) -> None:
    project.rewrite("rebalances.py", "without_journals=True", 'clients=("java",)')
    says = "no rule of the project can judge results/run, whose"
    project.refused(Exit.BAD_ARGUMENTS, "keep results/run", says)
    assert [] == list(project.kept.parent.iterdir())


def test_a_query_that_fails_is_told_and_nothing_is_kept_or_renewed(
    project: Project,
) -> None:
    project.rewrite("rebalances.py", "count(*) AS", "count(nothing_such) AS")
    says = f"the query of {ID} fails on results/run (BinderException: "
    project.refused(Exit.BAD_ARGUMENTS, "keep results/run", says)
    assert [] == list(project.kept.parent.iterdir())

    project.rewrite("rebalances.py", "count(nothing_such) AS", "count(*) AS")
    assert Exit.AS_EXPECTED == main(["keep", "results/run"])
    before = project.pinned
    project.rewrite("rebalances.py", ":MOST AS bound_high", ":MOST AS bound_hihg")
    says = f"{ID} fails on chaos/recorded/consumer-crash (Malformed: "
    for words in ("pinned", "pinned --renew"):
        project.refused(Exit.BAD_ARGUMENTS, words, says)
    assert before == project.pinned


@pytest.mark.parametrize("file", ["history/requests.parquet", "manifest.json"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_kept_run_that_is_damaged(file: str, lost: bool, kept: Project) -> None:
    path = kept.kept / file
    if lost:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-100])
    kept.refused(Exit.NO_DATA, "pinned", f"chaos/recorded/consumer-crash/{file} ")


def test_only_what_is_kept_is_sealed(project: Project) -> None:
    (project.run / "history" / "notes.txt").write_text("mine\n")
    project.change(files=seals.made(project.run) | {"logs/broker-1.log": "0" * 64})
    assert Exit.AS_EXPECTED == main(["keep", "results/run"])
    assert {f"history/{path.name}" for path in (project.kept / "history").iterdir()} == set(
        manifest.read(project.kept)["files"]
    )


def test_a_disk_that_is_full_leaves_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(shutil, "copyfile", full)
    says = "No space left on device): check that the path exists, is writable"
    project.refused(Exit.FAILED, "keep results/run", says)
    assert [] == list(project.kept.parent.iterdir())


def test_a_folder_that_cannot_be_made(project: Project) -> None:
    project.kept.parent.write_text("a file\n")
    says = "chaos/recorded: File exists): check that the path exists"
    project.refused(Exit.FAILED, "keep results/run", says)
