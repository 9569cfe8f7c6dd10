"""The documents: every link leads somewhere, and the page of commands has all of them.

`tests/recorded/test_printed_commands.py` is about the commands that they print.
"""

import os
import re
from pathlib import Path

import pytest

from harness.base.paths import ROOT
from harness.cli.main import COMMANDS
from harness.cli.options import FORMER, parser
from tests.commands import python

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "consumers/apps/README.md"]
WORD = re.compile(r"`([a-z-]+)")  # the first of a command
OF_THE_WHEEL = ("init", "setup", "bom", "mcp")  # commands of its own


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ \[?([^]\n]+)", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_page_of_commands_has_what_there_is() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    [commands] = [each.choices for each in parser(COMMANDS)._actions if each.choices]
    assert isinstance(commands, dict)
    options = {option for each in commands.values() for option in each._option_string_actions}
    table = page.partition("## Options")[0]

    assert {*commands, *OF_THE_WHEEL} - {*FORMER} == {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in WORD.findall(row)
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) <= options


def test_a_clone_has_the_command_of_the_wheel() -> None:
    for words, code, said in (
        (["--version"], 0, "kafka-chaos "),
        (["lst"], 4, "kafka-chaos: there is no command 'lst': did you mean 'list'?\n"),
        ([], 4, "kafka-chaos: which command? `./kafka-chaos --help` names them\n"),
    ):
        done = python(ROOT / "kafka-chaos", *words)
        assert (code, True) == (done.returncode, (done.stdout + done.stderr).startswith(said))
    assert os.access(ROOT / "kafka-chaos", os.X_OK)
