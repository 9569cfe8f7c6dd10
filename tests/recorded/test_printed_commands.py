"""The commands that the documents print can be typed, and what they name exists.

A command that plays is checked as if it were typed, up to the cluster that it would start.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Any, Final, NoReturn

import pytest

from harness.base.paths import ROOT
from harness.catalogue import cover, registry
from harness.cli.main import COMMANDS, main
from harness.cli.options import parser
from harness.experiment import Cluster
from harness.rules.rule_names import GROUPS, NAMES
from harness.run import start
from harness.run.by_hand import breakable
from harness.suite import director
from tests.commands import dry_make

PAGES: Final = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "consumers/apps/README.md"]
OF_THE_WHEEL: Final = ("init", "setup", "bom")
BLOCK: Final = re.compile(r"^ *```.*?```", re.M | re.S)
PRINTED: Final = re.compile(
    r"(?:^|[\s`])((?:\./)?kafka-chaos (?=[a-z])|make (?=(?:[A-Z]+=\S+ )?[a-z-]+(?: |$))|[HT] )(.*)"
)
MORE: Final = re.compile(r"  .*| +[|>#].*")  # behind a command
# What stands for words of the reader, or for things of a project of theirs.
THEIRS: Final = re.compile(r"\b[A-Z]+\b(?!=)|…|(our|my)-[a-z]+|orders-short|results|s3a:|~/|<")
SHORT: Final = {  # in docs/known-defects.md
    "H ": "./kafka-chaos experiment ",
    "T SPRING": "./kafka-chaos try --app consumers/apps/spring-kafka/retried-batches.toml "
    "--experiment store-down-while-scaling",
    "T ": "./kafka-chaos try ",
}
CHECKED: Final = ("experiment", "run", "try", "soak", "matrix", "nightly", "sweep", "describe")
NAMES_OF_COMMANDS: Final = ("./kafka-chaos experiment", "./kafka-chaos try", "kafka-chaos try")


class Played(BaseException):
    """All that can be refused was not."""


def commands(page: Path) -> Iterator[str]:
    """Those in blocks and between backquotes, `make` among them."""
    text = re.sub(r"\\\n +", "", page.read_text())
    blocks = "\n".join(BLOCK.findall(text)).splitlines()
    spans = re.findall(r"`([^`]+)`", BLOCK.sub("", text))
    for line in (*blocks, *(" ".join(span.split()) for span in spans)):
        if found := PRINTED.search(line):
            whole = MORE.sub("", found[1] + found[2])
            for short, long in SHORT.items():
                whole = long + whole.removeprefix(short) if whole.startswith(short) else whole
            if "${" not in whole:  # words of a program
                yield whole


PRINTED_ON: Final = {each: page.name for page in PAGES for each in commands(page)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader types: with the programs that the documents name."""
    place = tmp_path_factory.mktemp("reader")
    for name in ("consumers", "docs"):
        (place / name).symlink_to(ROOT / name)
    for name in ("path/to", "path/to/mine", "path/to/mine-tuned", "chaos"):
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "app.toml").write_text('command = ["true"]\n')
    for name in ("orders-consumer", "consumer"):
        (place / name).symlink_to("/bin/true")
    return place


@pytest.mark.parametrize("command", PRINTED_ON, ids=str)
def test_a_printed_command_can_be_typed(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *words = shlex.split(command)
    if program == "make":
        lines = [] if THEIRS.search(command) or command.endswith("=") else dry_make(*words)
        words = shlex.split(" ".join(line.partition(" harness ")[2].strip("\\") for line in lines))
    if not words or words[0] in OF_THE_WHEEL or command in NAMES_OF_COMMANDS or "…" in command:
        return
    asked = vars(parser(COMMANDS).parse_args(words))
    missing = [word for word in words if word.startswith("tests/") and not (ROOT / word).exists()]
    assert not missing
    if THEIRS.search(" ".join(words)):
        return
    if words[0] == "fault" and asked["kind"]:
        by_hand = breakable.experiment_of(Cluster())
        breakable.fault_of(by_hand, asked["kind"], " ".join(asked["target"]), None, {})
    registry.rules_named(asked.get("rule") or [])
    if words[0] in CHECKED and "--image" not in words:
        monkeypatch.chdir(folder)
        for module, name in ((start, "Order"), (director, "new_rounds"), (cover, "plan")):
            monkeypatch.setattr(module, name, played)
        with suppress(Played):
            assert 0 == main(words)


def played(*_: Any, **__: Any) -> NoReturn:
    raise Played


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_rule_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(
        rf"(?<![\w/.-])((?:{'|'.join(GROUPS)})/[a-z0-9-]+)(?![\w./-])", page.read_text()
    )
    assert set() == set(named) - {*NAMES.values()}


def shown(page: str, before: str) -> str:
    """The first block of a page behind these words."""
    text = (ROOT / "docs" / page).read_text().partition(before)[2]
    return text.split("```")[1].partition("\n")[2]


def test_a_kept_run_of_a_project_is_pinned_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "your-project.md"
    (tmp_path / "kafka-chaos.toml").write_text(shown(page, "live in a folder of your own"))
    for name in ("experiments", "rules", "recorded", "apps/orders"):
        (tmp_path / "chaos" / name).mkdir(parents=True)
    (tmp_path / "chaos/apps/orders/app.toml").write_text('command = ["true"]\n')
    (tmp_path / "chaos/rules/orders-short-rebalances.sql").write_text(shown(page, "## Rules"))
    kept = tmp_path / "chaos/recorded/crash"
    copytree(ROOT / "tests/recorded/runs/callback-stall.librdkafka.eager.4.3.1", kept)
    monkeypatch.chdir(tmp_path)

    assert 0 == main(["pinned", "--renew"])
    _, _, pinned = (kept / "pinned.txt").read_text().partition("\n\n")
    assert pinned == shown(page, "thing that it examined")


def test_a_kept_defect_is_judged_as_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    command, _, lines = shown("first-run.md", "## See it fail").partition("\n")

    assert 1 == main(shlex.split(command)[2:])
    printed = " ".join(capsys.readouterr().out.split())
    for part in lines.split("…"):
        assert " ".join(part.split()) in printed
