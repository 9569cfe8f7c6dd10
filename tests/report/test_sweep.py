"""What a setting buys and costs: every run counted, and nothing said that chance would do."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from harness.base.errors import Exit
from harness.cli.main import main
from harness.history.suites import Entry, State, Suite
from harness.report.many.blocks import Plot, Shape
from harness.report.many.compare import groups
from harness.report.many.sweep import (
    AGAIN,
    EVICTED,
    IN_ALL,
    STOPPED,
    Spot,
    sweep_of,
)
from harness.report.many.sweep_plot import plot
from harness.report.many.sweep_text import cell, interval, print_sweep, write
from harness.report.many.sweep_words import reading, sentences
from tests.report.sample_run import Row, stop
from tests.report.sample_sweep import (
    CRASH,
    FREEZE,
    Runs,
    played,
    suite_of,
    write_measured,
    write_sweep,
)

SESSION = "session_timeout_ms"


def spots(suite: Suite) -> dict[tuple[str, ...], Spot]:
    found = sweep_of(suite).spots
    return {(spot.experiment, *spot.settings.values()): spot for spot in found}


def told(results: Path, measured: Runs) -> list[str]:
    return sentences(sweep_of(write_sweep(results, measured)))


def of(
    runs: int, standstill_ms: float, false: int = 0, twice: int = 0
) -> list[tuple[float, int, int]]:
    """Runs that differ by a little in how long they stood still."""
    return [(standstill_ms + 7 * n, false, twice) for n in range(runs)]


def printed(suite: Suite) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    print_sweep(suite, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_only_gains_costs_nothing_that_runs_show(tmp_path: Path) -> None:
    (sentence,) = told(tmp_path, {(CRASH, "6000"): of(2, 6_300), (CRASH, "45000"): of(2, 45_000)})

    assert sentence.endswith("to 6.30 s in consumer-crash). It costs nothing that these runs show.")


def test_where_nothing_is_bought_only_costs_are_named(tmp_path: Path) -> None:
    """Runs of a setting that changes repeats alone go from more of them to fewer."""
    (sentence,) = told(
        tmp_path, {(FREEZE, "6000"): of(2, 6_300, 0, 90), (FREEZE, "45000"): of(2, 6_300)}
    )

    assert (
        "session_timeout_ms from 6,000 to 45,000 buys fewer repeats (in consumer-freeze 90 at "
        "6,000, none at 45,000). It costs nothing that these runs show." == sentence
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([6_300, 6_900], [6_800, 7_400]),  # they overlap
        ([6_300, 6_310], [6_400, 6_420]),  # apart, and nearly the same
        ([60, 61], [120, 121]),  # twice as long, and short
    ],
)
def test_what_chance_would_do_is_no_change(
    tmp_path: Path, low: list[float], high: list[float]
) -> None:
    runs = {
        (CRASH, session): [(ms, 0, 0) for ms in found]
        for session, found in (("6000", low), ("45000", high))
    }

    (sentence,) = told(tmp_path, runs)

    assert sentence == (
        "session_timeout_ms from 6,000 to 45,000 changes nothing that these runs can tell from "
        "chance."
    )


@pytest.mark.parametrize(
    ("some", "runs", "said"), [(1, 3, False), (2, 3, True), (1, 2, False), (2, 2, True)]
)
def test_what_one_end_never_has_counts_if_most_of_the_other_has_it(
    tmp_path: Path, some: int, runs: int, said: bool
) -> None:
    few = [(6_300.0, int(n < some), 0) for n in range(runs)]
    (sentence,) = told(tmp_path, {(FREEZE, "6000"): few, (FREEZE, "45000"): of(runs, 6_300)})

    assert said == ("fewer false evictions" in sentence)


def test_members_that_are_put_out_several_times_are_counted(tmp_path: Path) -> None:
    (sentence,) = told(
        tmp_path, {(FREEZE, "6000"): of(2, 6_300, 2), (FREEZE, "45000"): of(2, 12_000)}
    )

    assert "It costs false evictions (in consumer-freeze none at 45,000, 2 at 6,000)." in sentence


def test_single_runs_are_called_so(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path, {(CRASH, "6000"): of(1, 6_300), (CRASH, "45000"): of(1, 45_000)})
    sweep = sweep_of(suite)

    assert "It costs nothing that single runs show." in sentences(sweep)[0]
    assert any("any difference may be chance" in each for each in reading(sweep))


@pytest.mark.parametrize(("runs", "of_cases"), [(2, "3"), (3, "10"), (6, "462")])
def test_how_often_chance_would_do_it_is_said(tmp_path: Path, runs: int, of_cases: str) -> None:
    ends = {(CRASH, "6000"): of(runs, 6_300), (CRASH, "45000"): of(runs, 45_000)}
    sweep = sweep_of(write_sweep(tmp_path, ends))

    assert any(f"sets two ends apart in one of {of_cases} cases" in each for each in reading(sweep))


def test_an_interval_needs_six_runs(tmp_path: Path) -> None:
    ends = {(CRASH, "6000"): of(6, 6_300), (CRASH, "45000"): of(5, 45_000)}
    suite = write_sweep(tmp_path, ends)
    found = spots(suite)

    assert "6.30 s – 6.33 s (97%)" == interval(found[CRASH, "6000"])
    assert "" == interval(found[CRASH, "45000"])
    write(suite)
    assert "6.30 s – 6.33 s (97%)" in (suite.path / "sweep.html").read_text()
    assert "6.30 s – 6.33 s (97%)" in (suite.path / "sweep.md").read_text()
    points = json.loads((suite.path / "sweep.json").read_text())["points"]
    assert [6_300, 6_335] == points[0]["standstill_ms"]["median_lies_in"]
    assert points[1]["standstill_ms"]["median_lies_in"] is None


def grid(results: Path, longer: bool) -> Suite:
    """Two settings; the second one decides nothing, or with the longer session only."""
    entries = []
    for session in ("6000", "45000"):
        for members in ("3", "5"):
            settings = {SESSION: session, "members": members}
            for number in (1, 2):
                still = int(session) + number
                still += 9_000 if longer and members == "5" and session == "45000" else 0
                run_dir = results / CRASH / f"{session}-{members}-{number}"
                write_measured(run_dir, still)
                entries.append(played(results, run_dir, CRASH, settings, number))
    return suite_of(results, {SESSION: ["6000", "45000"], "members": ["3", "5"]}, *entries)


def test_what_never_matters_is_said_once(tmp_path: Path) -> None:
    found = sentences(sweep_of(grid(tmp_path, longer=False)))

    assert (
        "members from 3 to 5 changes nothing that these runs can tell from chance, whatever "
        "session_timeout_ms is." == found[-1]
    )
    assert 3 == len(found)


def unfinished(results: Path) -> Suite:
    """A sweep with a void run, one that was never begun, and a point without any."""
    suite = write_sweep(results, {(CRASH, "6000"): of(1, 6_300)})
    suite.asked["over"] = {SESSION: ["6000", "45000"]}
    more: list[Entry] = [
        played(
            results, None, CRASH, {SESSION: "6000"}, 2, State.VOID, reason="broker-2 <b>ended</b>"
        ),
        played(results, None, CRASH, {SESSION: "45000"}, 1, State.PLANNED),
    ]
    suite.entries += more
    suite.interrupted = True
    return suite


def test_a_run_that_was_removed_since_is_named(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path, {(CRASH, "6000"): of(1, 6_300), (CRASH, "45000"): of(1, 45_000)})
    write(suite)
    shutil.rmtree(tmp_path / CRASH / "run-6000-1")
    (lost,) = sweep_of(suite).unshown

    assert ("cannot be read", "its folder has been removed") == (lost["state"], lost["reason"])
    write(suite)
    assert "its folder has been removed" in printed(suite)
    assert 2 == pq.read_table(suite.path / "verdicts.parquet").num_rows  # of both, still


def test_two_sweeps_are_compared_point_by_point(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path)
    suite.save()

    assert [
        f"{name}:librdkafka/eager, session_timeout_ms={session}"
        for name in (CRASH, FREEZE)
        for session in ("6000", "10000", "45000")
    ] == list(groups(suite.path))


def test_a_ci_gets_each_run_with_its_verdicts(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path)
    write(suite)
    suites = list(ET.parse(suite.path / "junit.xml").getroot())

    assert [entry.label for entry in suite.entries] == [each.get("name") for each in suites]


def test_a_number_that_was_not_recorded_is_not_a_zero(tmp_path: Path) -> None:
    lost = write_measured(tmp_path / CRASH / "run-1", 6_300, client_events=None, redeliveries=None)
    whole = write_measured(tmp_path / CRASH / "run-2", 6_400)
    settings = {SESSION: "6000"}
    runs = [played(tmp_path, run, CRASH, settings, n) for n, run in enumerate((lost, whole), 1)]
    (spot,) = sweep_of(suite_of(tmp_path, {SESSION: ["6000", "45000"]}, *runs)).spots

    assert [None, 0] == [run["measured"][EVICTED.name] for run in spot.runs]
    assert "0, known of 1" == cell(spot, EVICTED)
    assert "0, known of 1" == cell(spot, AGAIN)


def test_page_and_record_say_the_same(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path)
    write(suite)
    record = json.loads((suite.path / "sweep.json").read_text())
    (sentence,) = record["sentences"]
    page = (suite.path / "sweep.html").read_text()
    assert sentence in page.replace("\u00a0", " ")
    assert {SESSION: ["6000", "10000", "45000"]} == record["over"]
    point = record["points"][4]
    assert (FREEZE, {SESSION: "10000"}, 3, 3) == (
        point["experiment"],
        point["settings"],
        point["runs"],
        point["planned"],
    )
    assert {"n": 3, "min": 0, "median": 1, "max": 1, "median_lies_in": None} == (
        point["false_evictions"]
    )
    assert 6_310 == record["runs"][0]["measured"]["standstill_ms"]


def of_css(drawn: Plot, css: str) -> list[Shape]:
    return [shape for shape in drawn.shapes if shape.attributes["class"] == css]


def test_a_plot_has_a_dot_for_each_run_and_a_ring_for_each_point(tmp_path: Path) -> None:
    suite = write_sweep(tmp_path)
    drawn = plot(sweep_of(suite), AGAIN)
    assert drawn is not None

    assert [9, 9] == [len(of_css(drawn, css)) for css in ("m0 one", "m1 one")]
    assert ["6,000", "10,000", "45,000"] == sorted(
        {label.text for label in of_css(drawn, "name")},
        key=lambda text: float(text.replace(",", "")),
    )
    # Longer standstills are further to the right, and more repeats further up.
    crash, freeze = (
        [(dot.attributes["cx"], dot.attributes["cy"]) for dot in of_css(drawn, css)]
        for css in ("m0 middle", "m1 middle")
    )
    assert (3, 3) == (len(crash), len(freeze))
    assert crash == sorted(crash)
    assert float(str(freeze[0][1])) < float(str(freeze[2][1])) == crash[0][1]
    ticks = [shape.text for shape in of_css(drawn, "axis")]
    assert ["0", "20", "40", "60", "80", "0", "10", "20", "30", "40", "50"] == ticks[:-2]
    write(suite)
    page = (suite.path / "sweep.html").read_text()
    for figure in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        circles = ET.fromstring(figure).iter("circle")
        assert 24 == sum(1 for _ in circles)


def test_points_of_several_settings_are_labelled_by_their_number(tmp_path: Path) -> None:
    drawn = plot(sweep_of(grid(tmp_path, longer=False)), EVICTED)
    assert drawn is not None

    assert ["1", "2", "3", "4"] == sorted(label.text for label in of_css(drawn, "name"))


def test_without_a_run_there_is_no_plot(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        {SESSION: ["6000", "45000"]},
        played(tmp_path, None, CRASH, {SESSION: "6000"}, 1, State.PLANNED),
    )
    write(suite)

    assert plot(sweep_of(suite), EVICTED) is None
    assert "<svg" not in (suite.path / "sweep.html").read_text()


def test_labels_keep_off_each_other(tmp_path: Path) -> None:
    """Two experiments that cost the same: each label has a place of its own."""
    same = {(name, s): of(2, int(s)) for name in (CRASH, FREEZE) for s in ("6000", "7000", "45000")}
    drawn = plot(sweep_of(write_sweep(tmp_path, same)), EVICTED)
    assert drawn is not None

    labels = [label.attributes for label in of_css(drawn, "name")]
    assert 6 == len({(label["x"], label["y"]) for label in labels})


def test_report_writes_the_pages_of_a_sweep_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = write_sweep(tmp_path)
    suite.save()

    assert Exit.AS_EXPECTED == main(["report", str(suite.path)])
    assert "buys a shorter standstill" in capsys.readouterr().out
    assert {"sweep.html", "sweep.md", "sweep.json"} <= {path.name for path in suite.path.iterdir()}
    assert Exit.BAD_ARGUMENTS == main(["report", str(suite.path), "--into", str(tmp_path / "x")])
    assert "is not a matrix" in capsys.readouterr().err


def of_protocols(results: Path, measured: Mapping[str, Sequence[Row]]) -> Suite:
    """A sweep of protocols: by protocol, what differs in each of its runs."""
    entries = []
    for protocol, runs in measured.items():
        for number, changes in enumerate(runs, start=1):
            run_dir = write_measured(results / CRASH / f"{protocol}-{number}", **changes)
            entries.append(played(results, run_dir, CRASH, {"protocol": protocol}, number))
    return suite_of(results, {"protocol": list(measured)}, *entries)


def test_which_protocol_is_better_is_said_with_by_how_much(tmp_path: Path) -> None:
    """Whatever the order in which they were named."""
    suite = of_protocols(
        tmp_path,
        {
            "cooperative": [{"standstill_ms": 4_200}, {"standstill_ms": 4_300}],
            "consumer": [{"standstill_ms": 2_100}, {"standstill_ms": 2_200, "twice": 7}],
            "eager": [{"standstill_ms": 6_700, "twice": 20}, {"standstill_ms": 6_800}],
        },
    )
    (sentence,) = sentences(sweep_of(suite))

    assert sentence == (
        "protocol consumer rather than eager buys a shorter standstill (by 4.60 s in "
        "consumer-crash: 6.75 s with eager, 4.25 s with cooperative, 2.15 s with consumer). It "
        "costs nothing that these runs show."
    )
    assert any("the worst and the best" in each for each in reading(sweep_of(suite)))


def test_protocols_that_stand_still_alike_are_compared_by_what_they_repeat(tmp_path: Path) -> None:
    alike = {"standstill_ms": 6_000}
    suite = of_protocols(
        tmp_path, {"eager": [alike], "consumer": [{**alike, "twice": 9}], "cooperative": [alike]}
    )
    (sentence,) = sentences(sweep_of(suite))

    assert "protocol cooperative rather than consumer buys fewer repeats" in sentence
    assert "(in consumer-crash 9 with consumer, none with eager, none with cooperative)" in sentence


def test_protocols_that_differ_in_nothing_are_named(tmp_path: Path) -> None:
    alike = [{"standstill_ms": 6_000}]
    found = sentences(sweep_of(of_protocols(tmp_path, {"eager": alike, "consumer": alike})))

    assert found == [
        "protocol eager or consumer changes nothing that single runs can tell from chance."
    ]


def test_what_stopped_is_shown_where_protocols_are_swept(tmp_path: Path) -> None:
    stops = [stop(0, 6_000, 4_000), stop(1, 9_000, 5_000), stop(2, 100, 0, stopped=False)]
    suite = of_protocols(
        tmp_path, {"eager": [{"stops": stops}], "consumer": [{"standstill_ms": 2_000}]}
    )
    write(suite)
    eager, _ = sweep_of(suite).spots

    assert ["2", "15.00 s"] == [cell(eager, measure) for measure in (STOPPED, IN_ALL)]
    assert eager.where.startswith("detection 5.00 s")
    lines = printed(suite).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("page"))
    for name in ("sweep.md", "sweep.html"):
        text = (suite.path / name).read_text()
        assert "where the longest went" in text
        assert eager.where in text
        assert "15.00 s" in text
    assert "partitions stopped" not in printed(write_sweep(tmp_path / "other"))
