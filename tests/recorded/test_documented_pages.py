"""docs/documented.md, and the numbers in docs/claims.md and .zh.md, are what the kept runs show.

`make pin ONLY=tests/recorded/test_documented_pages.py` writes them anew. What is made stands
between two comments: `<!--R01 range-->5,997 – 6,007 ms<!---->`. The first names a rule and what of
it, or a rebalance as `cooperative-join took 2`; a third word picks runs by a part of their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import pytest

from harness.base.paths import ROOT
from harness.catalogue import cover, registry
from harness.check.check import Found
from harness.report.formats import measured_range, number
from harness.report.many import blocks, documented
from harness.report.many.blocks import Line
from harness.rules.statements import STATEMENTS
from harness.tables.many_runs import One
from tests.recorded.conftest import KEPT

MADE: Final = re.compile(r"(?<=<!--)([\w. -]+)(-->)(.*?)(?=<!---->)", re.S)
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(found: Callable[[str], Found]) -> list[Row]:
    """Verdicts of the kept runs; of rules that no experiment declares, what the others show."""
    honest = [run for run in KEPT if not run.startswith("saboteur-")]
    declared = {row["rule"] for run in honest for row in found(run).verdicts}
    return [
        {**row, **dict(zip(("experiment", "client", "protocol", "kafka"), parts, strict=True))}
        | {"run": run, "declared": row["rule"] in declared}
        for run in KEPT
        for parts in [run.split(".", 3)]
        for row in [
            *found(run).verdicts,
            *(row for row in found(run).others if row["rule"] not in declared),
        ]
    ]


@cache
def candidates() -> list[cover.Candidate]:
    return cover.candidates(registry.every()[0])


def command(name: str, client: str, protocol: str) -> str:
    group = registry.load(name).group
    options = [f"--client {client}"] if client != group.client else []
    options += [f"--protocol {protocol}"] if protocol != group.protocol else []
    return " ".join([name, *options])


def shown_by(rules: Sequence[str]) -> str:
    """The experiment that is made for the first of these rules."""
    ranked = [
        (each.experiment.long, text.count("--"), declared.index(rules[0]), text)
        for each in candidates()
        if rules[0] in (declared := [expect.rule for expect in each.experiment.rules])
        for group in [each.experiment.group]
        for text in [command(each.name, group.client, group.protocol)]
    ]
    long, *_, text = min(ranked)
    return f"{text} (takes minutes)" if long else text


def see(each: documented.Judged) -> Iterator[Line]:
    for row in documented.seen_in(each):
        played = command(row["experiment"], row["client"], row["protocol"])
        yield Line(played if row["declared"] else shown_by([row["rule"]]))
    if each.status == documented.UNSEEN and (
        rules := each.statement.rules or each.statement.instead
    ):
        yield Line(f"not kept yet: {shown_by(rules)}")


def is_as_made(name: str, config: pytest.Config, anew: Callable[..., str], table: str = "") -> None:
    page = ROOT / "docs" / name
    text = page.read_text()
    assert 0 < len(MADE.findall(text)) == text.count("<!---->")
    assert not re.search("^[-* ]*<!--", text, re.M), "Markdown takes such a line for HTML"
    made = MADE.sub(lambda match: match[1] + match[2] + anew(*match[1].split(" ")), text)
    if table:
        made = made.partition("## Signs")[0] + table
    if config.getoption("--snapshot-update"):
        page.write_text(made)
    assert made == page.read_text(), "run `make pin ONLY=tests/recorded/test_documented_pages.py`"


def test_each_statement_stands_beside_what_kept_runs_show(
    rows: list[Row], pytestconfig: pytest.Config
) -> None:
    page = documented.shown(documented.judged(rows), lambda each: list(see(each)))
    facts = {"statements": len(STATEMENTS), "runs": len(KEPT), "result": page.headline}
    table = "\n".join(blocks.in_markdown(page.blocks, "##"))
    is_as_made("documented.md", pytestconfig, lambda name: str(facts[name]), table)


@pytest.mark.parametrize("name", ["claims.md", "claims.zh.md"])
def test_each_number_of_a_claim_is_what_kept_runs_show(
    name: str, rows: list[Row], kept: Callable[[str], One], pytestconfig: pytest.Config
) -> None:
    def anew(first: str, what: str, part: str = "") -> str:
        if what in ("took", "stops"):
            return of_a_rebalance(kept, first, what, int(part))
        return of_a_rule([row for row in rows if row["rule"] == first], what, part)

    is_as_made(name, pytestconfig, anew)


def of_a_rule(rows: list[Row], what: str, part: str) -> str:
    """Of its verdicts in runs with this in their names: `range`, `most`, `examined`, `runs`.

    `span` and `peak` are the same as `range` and `most` without a unit.
    """
    rows = [row for row in rows if (part in row["run"] if part else "saboteur" not in row["run"])]
    if what == "runs":
        return number(len(rows))
    if what != "examined":
        values = [row[name] for row in rows for name in ("measured_min", "measured_max")]
        known = [value for value in values if value is not None]
        least = max(known) if what in ("most", "peak") else min(known)
        unit = rows[0]["unit"] if what in ("most", "range") else ""
        return measured_range({"measured_min": least, "measured_max": max(known), "unit": unit})
    return number(sum(row["examined"] for row in rows))


def of_a_rebalance(kept: Callable[[str], One], run: str, what: str, generation: int) -> str:
    """How long it took, or how long each partition stopped around it, shortest first."""
    (name,) = [each for each in KEPT if each.startswith(run)]
    rows = kept(name).table("rebalances").toArrow().to_pylist()
    (row,) = [row for row in rows if row["generation"] == generation]
    values = [row["duration_ms"]] if what == "took" else [each["ms"] for each in row["standstills"]]
    return f"{', '.join(number(float(round(value))) for value in sorted(values))} ms"
