"""The page shows what the files say, safely, in the right order, whatever is missing in them."""

import base64
import hashlib
import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import NoData
from harness.report import report
from harness.report.run.page import COPY
from tests.report.sample_run import (
    END_S,
    TOPIC,
    at,
    faults,
    measured,
    owners,
    verdict,
    write_manifest,
    write_run,
)


class Parsed(HTMLParser):
    """A page's tags with their attributes, and its visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"], ["textarea"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(run_dir: Path) -> str:
    report(run_dir)
    return (run_dir / "report.html").read_text(encoding="utf-8")


def text_of(tmp_path: Path, about: Any = None, **rows: Any) -> str:
    """The words of a run's page; `rows` are those of whole files, `about` keys of its manifest."""
    run_dir = write_run(tmp_path / "run", **rows)
    write_manifest(run_dir, **(about or {}))
    return Parsed(page_of(run_dir)).text


def section_of(page: str, name: str) -> str:
    return page.partition(f'id="{name}"')[2].partition("</section>")[0]


def timeline_of(page: str) -> str:
    return page.partition('aria-label="Ownership')[2].partition("</svg>\n</div>")[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(write_run(tmp_path_factory.mktemp("results") / "run"))


def rules_in_order(page: str) -> list[str]:
    cell = r'data-label="Rule"[^>]*><b>[^<]*</b><div><code>([^<]*)</code>'
    return re.findall(cell, section_of(page, "verdicts"))


def test_verdicts_that_differ_come_first_then_results_then_the_rest_as_given(page: str) -> None:
    assert rules_in_order(page) == [
        "one_owner",
        "join_bounded_by_largest_poll_interval",
        "session_expiry_keeps_assignment",
        "eviction_not_early",
        "eviction_in_time",
        "heartbeat_cadence",
        "no_lost_records",
        "redelivery_bounded_by_commit",
    ]


def test_page_says_outcome_claim_and_facts(page: str) -> None:
    text = Parsed(page).text
    assert "2 verdicts differ from the expected" in text
    assert "left out" not in text
    assert (
        "8 rules judged; 6 as expected; 1 documented statement contradicted by measurement" in text
    )
    assert "A member that stays silent for its session timeout loses its partitions" in text
    facts = ("4.3.1", "seed 421337", "3 members, eager", "6.00 s", "librdkafka 2.16.0")
    for fact in (*facts, "lasts 10.5 s"):
        assert fact in text


def test_an_upgrade_is_shown_with_both_releases_and_the_levels_that_it_raised(
    tmp_path: Path,
) -> None:
    effective = {
        "features": {"metadata.version": 29, "group.version": 1},
        "upgraded": {"features": {"metadata.version": 30, "group.version": 1, "share.version": 1}},
    }
    versions = {"kafka": "4.3.1", "kafka_before": "4.2.2"}
    text = text_of(tmp_path, about={"versions": versions, "effective": effective})

    assert "Kafka 4.2.2 to 4.3.1 3 brokers, 1 controller" in text
    assert "Features 2 raised metadata.version 29 to 30, share.version 0 to 1" in text
    assert "Kafka 4.2.2 to 4.3.1" in (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")


def test_how_a_secured_cluster_was_spoken_to_is_shown_and_plain_text_is_not(tmp_path: Path) -> None:
    cluster = {"brokers": 3, "controllers": 1, "kafka_version": "4.3.1"}
    for security, nodes, kafka in (
        ("sasl_ssl", "3 brokers, 1 controller, sasl_ssl", "Kafka 4.3.1 (sasl\\_ssl), "),
        ("plaintext", "3 brokers, 1 controller Client", "Kafka 4.3.1, "),
    ):
        declared = {"cluster": {**cluster, "security": security}}

        assert nodes in text_of(tmp_path, about={"declared": declared})
        assert kafka in (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")


def test_settings_that_older_runs_have_as_texts_of_python_are_json(tmp_path: Path) -> None:
    settings = {"check.crcs": "True", "group.instance.id": "None", "client.id": "None of ours"}
    text = text_of(tmp_path, about={"effective": {"clients": {"member-1": settings}}})

    assert '"check.crcs": true, "client.id": "None of ours", "group.instance.id": null' in text


def test_expected_violation_is_shown_as_a_result_with_its_reason(page: str) -> None:
    row = next(r for r in page.split("<tr") if "session_expiry_keeps_assignment" in r)

    assert 'badge result"' in row
    assert "differs" not in row
    assert "only the Java client keeps it" in row


def test_text_of_a_run_cannot_become_markup(page: str) -> None:
    parsed = Parsed(page)

    assert ["script"] == [tag for tag, _ in parsed.tags if tag == "script"]
    assert "<script>alert(1)</script>" in parsed.text
    assert not parsed.open


def test_claim_and_names_are_escaped_too(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run")
    evil = "\"><img src=x onerror='alert(1)'>"
    write_manifest(run_dir, claim=evil, experiment=evil, seed=evil, effective={"a": evil})

    parsed = Parsed(page_of(run_dir))

    assert "img" not in {tag for tag, _ in parsed.tags}
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)


def test_page_loads_nothing_and_runs_nothing_but_what_copies_its_text(page: str) -> None:
    parsed = Parsed(page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert COPY == script
    assert f"img-src data:; script-src 'sha256-{allowed}'\">" in page

    assert "://" not in page
    assert "@import" not in page
    assert re.findall(r"url\(([^)]*)\)", page) == ["#hatch"]
    loading = {"src", "srcset", "data", "xlink:href", "action", "poster"}
    for tag, attributes in parsed.tags:
        assert not loading & set(attributes), (tag, attributes)
        address = attributes.get("href") or ""
        assert tag == "a" or address in ("", "data:,"), (tag, address)
        assert not re.match(r"(?i)\s*(//|[a-z]+:(?!,))", address), address


def test_links_lead_to_files_of_the_run(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run")
    rows = [verdict("r", evidence=e) for e in ("../../secret", "/etc/passwd", "javascript:x")]

    parsed = Parsed(page_of(write_run(run_dir, verdicts=rows)))

    hrefs = [a["href"] or "" for tag, a in parsed.tags if tag == "a"]
    assert "tables/rebalances.parquet" in hrefs
    assert "logs/broker-2.requests.log" in hrefs
    for href in hrefs:
        assert href.startswith("#") or (run_dir / href).exists()


def test_fault_windows_of_the_page_are_those_of_the_history(page: str) -> None:
    journal = {(row["fault"], row["phase"]): row["at"] for row in faults()}

    windows = [a for tag, a in Parsed(page).tags if tag == "rect" and "data-fault" in a]

    shown = [w for w in windows if w["data-fault"] == "2-freeze-consumer"]
    assert len(shown) == 2  # the timeline, the heartbeats
    assert {w["data-fault"] for w in windows} == {fault for fault, _ in journal}
    for window in windows:
        for phase in ("injected", "healed"):
            time = datetime.fromisoformat(window[f"data-{phase}"] or "")
            assert time == journal[window["data-fault"], phase]


def test_fault_windows_are_drawn_where_the_axis_has_them(page: str) -> None:
    chart = timeline_of(page)
    # Two ticks give the scale.
    ticks = {
        float(label.replace("−", "-")): float(x)
        for x, label in re.findall(r'class="tick" x="([\d.]+)%"[^>]*>([−\d.]+) s<', chart)
    }
    per_second = (ticks[50] - ticks[10]) / 40
    x, width = re.findall(r'x="([\d.]+)%" y="0" width="([\d.]+)%"[^>]*data-fault="2-', chart)[0]

    assert float(x) == pytest.approx(ticks[10] + per_second * (30.08 - 10), abs=0.01)
    assert float(width) == pytest.approx(per_second * (40.6 - 30.08), abs=0.01)


def test_what_is_copied_is_the_summary(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path / "run"))
    (copied,) = re.findall(r'<textarea id="markdown"[^>]*>(.*?)</textarea>', page, re.S)

    assert (tmp_path / "run" / "summary.md").read_text().rstrip() == html.unescape(copied).rstrip()


def test_each_rule_has_an_address_of_its_own(page: str) -> None:
    rules = rules_in_order(page)
    links = [a["href"] for tag, a in Parsed(page).tags if a.get("class") == "here"]

    assert [f"#{rule}" for rule in rules] == links
    assert all(page.count(f' id="{rule}"') == 1 for rule in rules)


def test_the_picture_is_whole_and_has_the_sentence_of_the_page(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path / "run"))
    tags = [given for tag, given in Parsed(page).tags if tag == "meta"]
    meta = {given.get("property"): given.get("content") or "" for given in tags}
    picture = ET.parse(tmp_path / "run" / "timeline.svg").getroot()
    said = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    owners = [each for each in picture.iter() if "owner m" in each.get("class", "")]

    assert "timeline.svg" == meta["og:image"]
    assert "consumer-freeze" == meta["og:title"]
    assert meta["og:description"] in " ".join(filter(None, said))
    assert "standstill 7.10 s" in said
    assert owners


def test_zombie_is_drawn_from_removal_to_notice(page: str) -> None:
    classes = [attributes.get("class") or "" for _, attributes in Parsed(page).tags]

    zombies = [names for names in classes if names.startswith("owner zombie")]
    assert len(zombies) == sum(removed is not None for *_, removed in owners()) == 2


def test_rebalances_are_shown_with_phases_and_standstill(page: str) -> None:
    text = Parsed(section_of(page, "rebalances")).text

    assert "expiry member-1" in text
    assert "join 1.88 s · sync 60 ms · assign 50 ms" in text
    assert "3 → 2" in text
    assert "7.10 s orders-0" in text


def test_both_views_of_a_rebalance_stand_side_by_side(page: str) -> None:
    views = section_of(page, "views").split("<details")
    third = next(part for part in views if "Generation 3" in part)
    coordinator, members = third.split("The members said")

    assert "<td>evicted, generation 2</td>" in coordinator
    assert "<td>stabilized, generation 3, 2 members</td>" in coordinator
    assert "<td>assigned orders 0–2, generation 3</td>" in members
    assert "<td>assigned" not in coordinator
    assert "evicted" not in members


def test_unexplained_redeliveries_come_first(page: str) -> None:
    section = section_of(page, "redeliveries")

    assert re.findall(r'data-label="Offsets" class="num">([^<]*)<', section) == [
        "371 – 382",
        "1,398 – 1,497",
        "1,402 – 1,462",
    ]
    assert "12 of them unexplained" in Parsed(section.partition(">")[2]).text


def test_nothing_is_shown_as_none_or_nan(tmp_path: Path) -> None:
    hole = float("nan")
    names = ("source", "statement", "protocol", "client", "reason", "evidence")
    empty: dict[str, Any] = dict.fromkeys(names)
    rows = [
        verdict("not_a_number", bound_low=hole, bound_high=hole, **measured(hole, hole, hole)),
        verdict("absent", **empty, examined=None, violations=None, unit=None),
        verdict("part", bound_high=5.0, **measured(1.0, hole, 2.0)),
        verdict("endless", bound_high=float("inf"), **measured(1.0, 2.0, 3.0)),
        {**verdict("unsaid"), "verdict": None, "expected": None},
    ]

    text = text_of(tmp_path, verdicts=rows)

    assert not re.search(r"\b(None|nan|NaN|NaT|null)\b", text)
    assert "1 verdict differs" in text  # the one that says nothing is UNKNOWN, not a pass


FILES = (
    *("rebalances", "ownership", "redeliveries", "evictions", "heartbeats", "faults"),
    *("topology", "client_events", "coordinator_events", "requests", "deliveries", "sends"),
)


def test_rows_full_of_nulls_do_not_break_the_page(tmp_path: Path) -> None:
    assert "None" not in text_of(tmp_path, **{name: [{}] for name in FILES})


def test_zero_rows_everywhere_is_a_page_that_says_so(tmp_path: Path) -> None:
    text = text_of(tmp_path, **dict.fromkeys((*FILES, "verdicts"), ()))

    assert "No rule was judged" in text
    assert "No rebalance was recorded" in text
    assert "No record was redelivered" in text
    assert "this run is a baseline" in text
    assert "as expected" not in text.partition("Verdicts Timeline")[0]


def test_void_run_says_why_and_shows_no_success(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    write_manifest(run_dir, status="void", status_reason="broker-3 died by itself.")

    page = page_of(run_dir)
    text = Parsed(page).text

    assert "Void: the run was spoilt, so it shows nothing" in text
    assert not (run_dir / "timeline.svg").exists()
    assert "timeline.svg" not in page
    assert "broker-3 died by itself. No rule was judged." in text
    assert "Redeliveries were not derived" in text  # not "no record was redelivered": it is unknown
    assert "baseline" not in text
    assert "Every verdict" not in text


def test_void_run_with_verdicts_warns_of_them(tmp_path: Path) -> None:
    about = {"status": "void", "status_reason": "The host stalled."}

    assert "do not rely on them" in text_of(tmp_path, about=about)


def test_fault_without_an_end_is_a_mark_and_not_a_window(tmp_path: Path) -> None:
    row = {"fault": "1-close-consumer", "kind": "close-consumer", "resolved": "member-3"}
    injected = row | {"phase": "injected", "at": at(20), "parameters": '{"lasts_s": null}'}

    parsed = Parsed(page_of(write_run(tmp_path / "run", faults=[injected])))

    windows = [a for tag, a in parsed.tags if tag == "rect" and "data-fault" in a]
    assert {w["width"] for w in windows} == {"0.0%"}


def test_fault_that_did_not_bite_is_shown_as_such(tmp_path: Path) -> None:
    row = {"fault": "1-latency", "kind": "latency", "phase": "injected", "at": at(3)}

    assert "✗ no effect" in text_of(tmp_path, faults=[row | {"took_effect": False}])


def test_large_run_stays_a_small_page_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    beats = [
        {
            "member": f"member-{n % 60}",
            "member_id": f"id-{n % 60}",
            "at": at(n / 600),
            "error_code": 0 if n % 50 else 27,
            "steady": True,
            "gap_ms": 2_000.0,
        }
        for n in range(30_000)
    ]
    held = [
        {
            "topic": TOPIC,
            "partition": n % 90,
            "member": f"member-{n % 60}",
            "generation": n // 90,
            "from_at": at(n / 200),
            "to_at": at(n / 200) + timedelta(milliseconds=400),
            "ended_by": "revoked",
        }
        for n in range(9_000)
    ]
    again = [
        {"topic": TOPIC, "partition": 1, "first_offset": n, "last_offset": n, "count": 1}
        for n in range(5_000)
    ]
    rebalances = [
        {"generation": n, "started_at": at(n / 20), "completed_at": at(n / 20 + 0.03)}
        for n in range(900)
    ]
    more = {"heartbeats": beats, "ownership": held, "redeliveries": again}
    text = text_of(tmp_path, rebalances=rebalances, **more)

    assert (tmp_path / "run" / "report.html").stat().st_size < 1_000_000
    assert "4,800 more rows are in tables/redeliveries.parquet" in text
    assert "700 more rows are in tables/rebalances.parquet" in text
    assert "of the good ones only every" in text
    assert "the 66 partitions that stopped least" in text
    assert "generation numbers where they would overlap" in text


def test_reporting_twice_gives_the_same_page_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run")
    report(run_dir)
    before = {path.name for path in run_dir.iterdir()}
    first = (run_dir / "report.html").read_text()

    report(run_dir)

    assert first == (run_dir / "report.html").read_text()
    assert before == {path.name for path in run_dir.iterdir()}
    assert {"report.html", "summary.md", "junit.xml"} <= before


def test_folder_without_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(NoData, match=r"is not the folder of a run: it has no manifest\.json"):
        report(tmp_path)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("tables/rebalances", "Rebalances were not derived."),
        ("tables/stops", "Stops were not derived."),
        ("history/deliveries", "lost – "),
        ("history/sends", "acknowledged – "),
    ],
)
def test_complete_run_with_a_missing_file_says_so_and_invents_nothing(
    tmp_path: Path, name: str, instead: str
) -> None:
    text = text_of(tmp_path, **{name.partition("/")[2]: None})

    assert f"these files is left out: {name}.parquet is missing." in text
    assert instead in text
    assert "2 verdicts differ from the expected" in text


def test_unjudged_run_is_shown_how_to_be_judged(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=None)

    with pytest.raises(NoData, match=r"./kafka-chaos check .*run"):
        report(run_dir)


def flip_bits(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60] ^= 0x40
    path.write_bytes(data)


def another_schema(path: Path) -> None:
    path.write_bytes(path.with_name("rebalances.parquet").read_bytes())


@pytest.mark.parametrize(
    ("name", "damage", "instead"),
    [
        ("heartbeats", flip_bits, "Heartbeats were not derived."),
        # and not how many evictions there were
        ("evictions", another_schema, "4 not counted: 2 before the first fault longest standstill"),
    ],
)
def test_a_damaged_file_is_found_and_not_reported_as_facts(
    tmp_path: Path, name: str, damage: Callable[[Path], None], instead: str
) -> None:
    run_dir = write_run(tmp_path / "run")
    damage(run_dir / "tables" / f"{name}.parquet")

    text = Parsed(page_of(run_dir)).text

    assert f"left out: tables/{name}.parquet cannot be read (" in text
    assert instead in text
    assert str(tmp_path) not in text


def test_verdicts_with_flipped_bits_are_refused(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run")
    flip_bits(run_dir / "verdicts.parquet")

    with pytest.raises(NoData, match=r"verdicts\.parquet cannot be read .* judge the run again"):
        report(run_dir)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 99}', "\udc80"])
def test_damaged_manifest_is_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, errors="surrogateescape")

    with pytest.raises(NoData, match=r"manifest\.json"):
        report(tmp_path)


def test_axis_ends_when_the_last_thing_happened(page: str) -> None:
    labels = re.findall(r'class="tick"[^>]*>([−\d.]+) s<', timeline_of(page))

    assert labels == ["0", "10", "20", "30", "40", "50"]
    assert END_S > 50
