"""Rules and tables as files: their headers, their names, and every slip in one."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from textwrap import dedent

import pytest

from harness.catalogue import registry
from harness.experiment import Expect, holds, violated
from harness.rules import RULES, Rule
from harness.rules.rule_file import rule_in, written
from harness.rules.rule_names import FOLDER, FORMER, GROUPS, NAMES, each_today, id_of, name_of
from harness.tables.recipes import OF_AN_APP, RECIPES, VIEWS
from harness.tables.sql_file import PIECES, SUFFIX, SqlFile, read, shared_pieces
from harness.tables.vocabulary import text_of

HEADER = """\
-- Rebalances are short
-- No rebalance takes longer than 5 s: not one,
-- at no time.
-- source: our runbook | rows: rebalances | unit: ms | high: took
--   too long
"""


def saved(folder: Path, text: str) -> Path:
    path = folder / f"short-rebalances{SUFFIX}"
    path.write_text(dedent(text))
    return path


def ruled(folder: Path, text: str) -> Rule:
    return rule_in(saved(folder, text))


def test_a_file_is_a_rule(tmp_path: Path) -> None:
    rule = ruled(
        tmp_path,
        HEADER + "--\n-- A note: for maintainers.\n\n-- let MOST_MS = 5000\nSELECT :MOST_MS\n",
    )

    assert "short-rebalances" == rule.id
    assert "Rebalances are short" == rule.title
    assert "No rebalance takes longer than 5 s: not one, at no time." == rule.statement
    assert ("our runbook", "rebalances", "ms", "took too long") == (
        rule.source,
        rule.things,
        rule.unit,
        rule.too_high,
    )
    assert "SELECT 5000" == text_of(rule.examine)


@pytest.mark.parametrize("name", RULES)
def test_what_is_written_of_a_rule_is_the_rule_again(name: str, tmp_path: Path) -> None:
    def query() -> str:
        """What it looks at."""
        return text

    text = text_of(RULES[name].examine)
    again = ruled(tmp_path, written(replace(RULES[name], examine=query)))

    of_header = [each.name for each in fields(Rule) if each.name not in ("id", "examine")]
    assert {each: getattr(RULES[name], each) for each in of_header} == {
        each: getattr(again, each) for each in of_header
    }
    assert text.split() == text_of(again.examine).split()
    assert (FOLDER / f"{NAMES[name]}{SUFFIX}").read_text() == written(RULES[name])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no query"),
        (HEADER, "there is no query"),
        ("SELECT 1\n", "the header needs a title in its first line"),
        ("-- Only a title\nSELECT 1\n", "and below it the statement"),
        ("-- Title\n-- It is so.\n-- rows: groups\nSELECT 1\n", "no line `-- source: …`"),
        (HEADER + "-- colour: red\nSELECT 1\n", "'colour: red', which begins with no key"),
        (HEADER + "-- kind: loud\nSELECT 1\n", "`kind` has 'loud': there are evidence, always"),
        (HEADER + "-- clients: perl\nSELECT 1\n", "`clients` has 'perl': there are librdkafka"),
        (HEADER + "-- contradicted: slow\nSELECT 1\n", "'slow', which names no groups"),
        (HEADER + "-- delayed by: luck\nSELECT 1\n", "`delayed by` has 'luck'"),
    ],
)
def test_a_slip_in_a_file_is_a_sentence(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        ruled(tmp_path, text)


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    folder = tmp_path / PIECES
    folder.mkdir()
    (folder / "one.sql").write_text("-- What it is.\n\n-- let MOST\n--   Why.\nSELECT {TABLE}\n")
    path = saved(tmp_path, HEADER + "\n-- let TABLE = {rebalances}\n{MOST}\n")
    assert "SELECT {rebalances}" == text_of(read(path, folder))
    with pytest.raises(ValueError, match="a piece of SQL that it does not have"):
        text_of(read(path))

    path = saved(tmp_path, HEADER + "\n-- let MOST = 1\nSELECT :MOST\n")
    with pytest.raises(ValueError, match="MOST is the name of a shared piece"):
        read(path, folder)
    pieces = tmp_path / "both"
    pieces.mkdir()
    for name in ("one", "two"):
        (pieces / f"{name}.sql").write_text("-- let MOST = 2\n")
    with pytest.raises(ValueError, match=r"two\.sql: there are two pieces MOST"):
        shared_pieces(pieces)


def test_every_name_of_a_query_is_used_and_every_piece_by_several() -> None:
    queries = [
        *(rule.examine for rule in RULES.values()),
        *(each for tables in (RECIPES, VIEWS, OF_AN_APP) for each in tables.values()),
    ]
    users: dict[tuple[Path, str], set[Path]] = {}
    for query in queries:
        assert isinstance(query, SqlFile)
        own, shared = query.names.maps
        texts = [query.text]
        used: set[str] = set()
        while texts:
            text = texts.pop()
            new = {name for name in query.names if f"{{{name}}}" in text or f":{name}" in text}
            texts += [query.names[name] for name in new - used]
            used |= new
        assert own.keys() <= used, f"{query.path}: {own.keys() - used}"
        for name in used & shared.keys():
            users.setdefault((query.path.parents[1], name), set()).add(query.path)
    assert [] == [key for key, paths in users.items() if len(paths) < 2]
    for folder in {folder for folder, _ in users}:
        named = {name for of, name in users if of == folder}
        assert named == shared_pieces(folder / PIECES).keys()


def test_a_former_rule_is_the_one_that_took_its_place() -> None:
    assert not FORMER.keys() & NAMES.keys()
    assert {now for now, _ in FORMER.values()} <= NAMES.keys()
    assert (id_of("R11"), name_of("R11")) == ("R20d", "R11")  # which says the opposite


def test_the_opposite_of_a_former_rule_is_expected() -> None:
    was = violated("R11", "leaders do not matter", by="1-kill-broker", at_most=1)
    [holding] = each_today([vars(was)])
    assert Expect(**holding) == Expect(rule="R20d", if_seen=True)
    [broken] = registry.checked(
        replace(registry.load("broker-kill"), rules=holds("R11", clients=("java",)))
    ).rules
    assert (broken.rule, broken.verdict, broken.clients) == ("R20d", "VIOLATED", ("java",))


def test_an_expectation_by_the_rule_itself_comes_first() -> None:
    declared = [{"rule": "R11", "verdict": "VIOLATED"}, {"rule": "R20d", "verdict": "HOLDS"}]
    assert ({"rule": "R20d", "verdict": "HOLDS"},) == each_today(declared)


def test_a_rule_is_known_by_its_name_and_its_id() -> None:
    assert set(NAMES) == set(RULES)
    for rule, name in NAMES.items():
        assert rule == id_of(name) == id_of(rule)
        assert name == name_of(rule)
        assert name.partition("/")[0] in GROUPS
