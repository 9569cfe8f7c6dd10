"""Documented against measured: statuses come from verdicts, and from nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.experiment import APP, CLIENTS, PROTOCOLS
from harness.report.formats import safe
from harness.report.many import documented
from harness.rules.catalogue import RULES
from harness.rules.documents import DOCUMENTS
from harness.rules.rule_names import FORMER
from harness.rules.statements import STATEMENTS


def verdict(rule: str, verdict: str = "HOLDS", **row: Any) -> dict[str, Any]:
    defaults = {
        "experiment": "consumer-crash",
        "client": "librdkafka",
        "protocol": "eager",
        "kafka": "4.3.1",
        "examined": 2,
        "measured_min": 6_000.0,
        "measured_max": 6_003.0,
        "unit": "ms",
        "because": None,
    }
    return {**defaults, "rule": rule, "verdict": verdict, **row}


def of(statement: str, *verdicts: dict[str, Any]) -> documented.Judged:
    return next(each for each in documented.judged(verdicts) if each.statement.id == statement)


def measured(found: documented.Judged) -> list[str]:
    cell = documented.shown([found]).blocks[1].rows[0].cells[2]
    assert isinstance(cell, list)
    return [line.text for line in cell]


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([], "not judged"),
        ([verdict("R02")], "holds"),
        ([verdict("R02"), verdict("R02", client="java")], "holds"),
        ([verdict("R02", "VIOLATED")], "does not hold"),
        ([verdict("R02", "UNKNOWN")], "cannot be judged"),
        ([verdict("R02"), verdict("R02", "UNKNOWN")], "holds"),
        ([verdict("R02"), verdict("R02", "VIOLATED")], "holds in part"),
        ([verdict("R02"), verdict("R02", "VIOLATED", client="java")], "holds in part"),
        ([verdict("R02", "VIOLATED", experiment="saboteur-x")], "not judged"),
    ],
)
def test_a_status_is_what_the_verdicts_say(verdicts: list[dict[str, Any]], status: str) -> None:
    assert status == of("000.6", *verdicts).status


def test_numbers_and_reasons_of_several_runs_are_put_together() -> None:
    found = of(
        "000.6",
        verdict("R02", measured_min=5.0, measured_max=9.0),
        verdict("R02", "VIOLATED", measured_max=12.0, because="it is paused"),
    )

    text = documented.text_of(found.stated)
    assert "member ids: 4 in 2 runs, violated in 1, 5 – 12 ms of silence at most" == text
    assert ["it is paused"] == found.stated[0]["because"]


def test_what_replaced_a_statement_stands_beside_it() -> None:
    found = of("000.2", verdict("R20d"))

    assert "does not hold" == found.status
    assert ["R20d"] == [finding["rule"] for finding in found.instead]
    assert measured(found)[0].startswith("→ broker faults: 2 in 1 run, ")


def test_where_another_protocol_has_something_else_it_holds_in_part() -> None:
    joins, new = verdict("R12"), verdict("X20-alone", protocol="consumer")

    assert "holds" == of("001.2", joins).status
    assert "not judged" == of("001.2", new).status
    assert "holds in part" == of("001.2", joins, new).status
    assert "holds" == of("002.9", verdict("R20a"), verdict("X02")).status  # the same protocol


def test_a_statement_without_a_rule_is_refuted_by_what_replaced_it() -> None:
    assert "not judged" == of("002.19").status
    assert "cannot be judged" == of("002.19", verdict("X11", "UNKNOWN")).status
    assert "does not hold" == of("002.19", verdict("X11")).status


def test_an_application_that_does_otherwise_says_nothing_of_a_statement() -> None:
    found = of(
        "001.6",
        verdict("R15-repeats"),
        verdict("R15-repeats", "VIOLATED", experiment="listener-none"),
    )
    assert ("holds", 1) == (found.status, found.stated[0]["holds"])


def test_what_could_not_be_shown_is_counted_beside_what_could() -> None:
    found = of("000.6", verdict("R02"), verdict("R02", "UNKNOWN"), verdict("R02", "UNKNOWN"))
    assert "in 3 runs, 2 of them UNKNOWN, " in documented.text_of(found.stated)


def test_clients_with_the_same_verdict_are_put_together_with_their_protocols() -> None:
    eager, kip_848 = (verdict("R02", bound_high=6_050.0, protocol=p) for p in ("eager", "consumer"))
    java = verdict("R02", client="java", measured_max=6_009.0, bound_high=6_050.0)
    assert [
        "member ids: 6 in 3 runs, 6,000 – 6,009 ms of silence at most, bound ≤ 6,050",
        "session/request-restarts-the-timer; Java: eager; librdkafka: eager, KIP-848",
    ] == measured(of("000.6", eager, kip_848, java))


def test_what_stands_beside_an_earlier_statement_is_not_repeated() -> None:
    found = documented.judged([verdict("R01")])
    page = documented.shown([each for each in found if each.statement.id in ("000.5", "003.10")])
    last = page.blocks[-2].rows[0].cells[2]
    assert isinstance(last, list)
    assert ["evictions: as in 000.5"] == [line.text for line in last]


def test_a_code_is_no_range_and_a_bound_that_differs_is_no_bound() -> None:
    codes = of("002.8", verdict("R19", unit="error code", measured_min=25.0, measured_max=82.0))
    assert documented.text_of(codes.stated).endswith("left uncommitted: 2 in 1 run")
    several = of("000.6", *(verdict("R02", bound_high=each) for each in (6_050.0, 9_050.0)))
    assert documented.text_of(several.stated).endswith("6,000 – 6,003 ms of silence at most")


def test_a_statement_is_seen_where_it_comes_first_and_where_it_fails() -> None:
    late = [verdict("R01", run="late"), verdict("R02", run="late")]
    failed = verdict("R02", "VIOLATED", run="failed", client="java")
    found = of("000.6", *late, verdict("R02", run="first"), failed)
    assert ["first", "failed"] == [row["run"] for row in documented.seen_in(found)]


def test_the_sentence_counts_one_as_one_and_several_as_several() -> None:
    rows = [verdict("R02"), verdict("R01", "VIOLATED"), verdict("X12")]
    found = {each.statement.id: each for each in documented.judged(rows)}
    sentence = documented.sentence([found["000.6"], found["000.2"], found["000.5"]])
    assert "Of 3 statements, 1 holds, 2 do not hold any more. Brokers: Kafka 4.3.1." == sentence
    assert "Of 1 statement, 1 was not judged." == documented.sentence([of("000.6")])


def test_all_three_files_are_written_and_agree(tmp_path: Path) -> None:
    documented.write(tmp_path, [verdict("R02"), verdict("R01", "VIOLATED", because="a <b> & c")])

    rows = pq.read_table(tmp_path / "documented.parquet").to_pylist()
    page = (tmp_path / "documented.html").read_text()
    text = (tmp_path / "documented.md").read_text()
    assert {each.id for each in STATEMENTS} == {row["statement"] for row in rows}
    for each in STATEMENTS:
        assert f'id="s{each.id}"' in page
        assert safe(each.says) in text
    assert "a &lt;b&gt; &amp; c" in page
    assert "<script" not in page
    assert "1 holds," in text
    assert "X27" not in text, "rules have names"


def test_every_statement_names_its_document_and_has_an_id_of_its_own() -> None:
    ids = [each.id for each in STATEMENTS]

    assert len(ids) == len(set(ids))
    assert set(DOCUMENTS) == {each.document for each in STATEMENTS}


def test_a_statement_that_nothing_judges_says_why() -> None:
    for each in STATEMENTS:
        unjudged = not each.rules and not each.instead
        assert unjudged == each.today.startswith("Not judged: "), each.id


def test_a_statement_about_the_classic_protocol_alone_says_what_kip_848_has() -> None:
    for each in STATEMENTS:
        judged = [RULES[rule] for rule in each.rules]
        if judged and not any("consumer" in rule.protocols for rule in judged):
            text = f"{each.says} {each.today}"
            assert "KIP-848" in text or "classic" in text, each.id


def test_every_rule_of_a_statement_exists() -> None:
    named = {rule for each in STATEMENTS for rule in (*each.rules, *each.instead)}

    assert set() == named - set(RULES)


def test_the_whole_catalogue_of_statements_is_there() -> None:
    """R01 to R36 and X01 to X34, each by at least one rule whose id begins with it."""
    begun = {re.match(r"[RX]\d+", rule) for rule in (*RULES, *FORMER)}
    found = {match[0] for match in begun if match}

    assert set() == {f"R{number:02}" for number in range(1, 37)} - found
    assert set() == {f"X{number:02}" for number in range(1, 35)} - found


def test_every_rule_is_for_some_client_and_protocol() -> None:
    for rule in RULES.values():
        assert set(rule.clients) <= {*CLIENTS, APP}
        assert set(rule.protocols) <= set(PROTOCOLS)
        assert rule.clients
        assert rule.protocols
