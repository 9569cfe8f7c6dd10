"""Runs that show defects are judged as docs/known-defects.md says, and played by its commands.

Of each defect two runs are kept: `seen`, with a version that has it, and `not-seen`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

import pytest

from harness.base.paths import ROOT
from harness.check.judge import Asked, examine, verdict_of
from harness.cli.main import COMMANDS
from harness.cli.options import parser
from harness.history import manifest
from harness.rules.rule_names import id_of
from harness.tables.engines.contract import Engine
from harness.tables.source import load, read_run
from tests.in_memory import tables_of_run
from tests.recorded.keep import FOUND

PAGE: Final = (ROOT / "docs" / "known-defects.md").read_text(encoding="utf-8")
_HEAD: Final = re.compile(r"^\| `(?P<kept>[\w-]+)` \| violates (?P<rules>.+) \|$", re.MULTILINE)
_ROW: Final = re.compile(r"^\| (?P<name>[\w ]+) \| (?P<text>.+) \|$", re.MULTILINE)


def described() -> dict[str, dict[str, str]]:
    """What the page says of each defect of which runs are kept, by the name of their folder."""
    found = {}
    for section in PAGE.split("\n## ")[1:]:
        if head := _HEAD.search(section):
            rows = {match["name"]: match["text"] for match in _ROW.finditer(section)}
            found[head["kept"]] = {**rows, "Violated": head["rules"]}
    return found


DEFECTS: Final = described()


def test_every_kept_defect_is_on_the_page() -> None:
    assert sorted(path.name for path in FOUND.iterdir()) == sorted(DEFECTS)


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_rules_see_it_where_it_is_and_only_there(defect: str, duckdb_engine: Engine) -> None:
    rules = [id_of(name) for name in re.findall(r"`(.+?)`", DEFECTS[defect]["Violated"])]

    assert dict.fromkeys(rules, "VIOLATED") == verdicts(defect, "seen", rules, duckdb_engine)
    assert dict.fromkeys(rules, "HOLDS") == verdicts(defect, "not-seen", rules, duckdb_engine)


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize(("kind", "row"), [("seen", "Command"), ("not-seen", "Without it")])
def test_the_command_plays_what_is_kept(defect: str, kind: str, row: str) -> None:
    words = shlex.split(DEFECTS[defect][row].strip("`"))
    asked = parser(COMMANDS).parse_args(["experiment", *words[1:]])
    facts = manifest.read(FOUND / defect / kind)
    group: Mapping[str, Any] = facts["declared"]["group"]

    assert "H" == words[0]
    assert facts["experiment"] == asked.name
    assert group["client"] == (asked.client or "librdkafka")
    assert group["protocol"] == (asked.protocol or "eager")
    assert group["client_version"] == (asked.client_version or "")
    assert asked.kafka in (None, facts["declared"]["cluster"]["kafka_version"])
    for knob in asked.set:
        name, _, value = knob.partition("=")
        assert value == str(declared_knobs(facts["declared"])[name]).lower()


def declared_knobs(declared: Mapping[str, Any]) -> dict[str, Any]:
    """What `--set` reaches, by the last part of its name."""
    cluster = declared["cluster"]
    return {**cluster, **cluster["settings"], **declared["load"], **declared["group"]}


def verdicts(defect: str, kind: str, rules: list[str], engine: Engine) -> dict[str, str]:
    """What these rules say of a kept run."""
    run = FOUND / defect / kind

    sources = load(run, engine)
    tables = tables_of_run(engine, read_run(run), sources)
    try:
        outcome = examine(tables, rules)
        return {rule: verdict_of(Asked(rule), outcome, tables)["verdict"] for rule in rules}
    finally:
        tables.close()
