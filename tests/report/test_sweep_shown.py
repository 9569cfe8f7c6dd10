"""What a setting buys and costs: every run counted, and nothing said that chance would do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest

from harness.base.errors import Exit
from harness.cli.main import main
from harness.history.suites import Entry, State, Suite
from harness.report.many.compare import groups
from harness.report.many.sweep import (
    AGAIN,
    EVICTED,
    IN_ALL,
    LOST,
    OF_GROUP,
    STANDSTILL,
    STOPPED,
    Spot,
    Sweep,
    SweptSetting,
    as_json,
    sweep_of,
)
from harness.report.many.sweep_plot import plot
from harness.report.many.sweep_text import cell, interval, write
from harness.report.many.sweep_words import reading, sentences
from tests.report.sample_run import Row, stop
from tests.report.sample_suite import entry
from tests.report.sample_sweep import (
    CRASH,
    FREEZE,
    MEASURED,
    Runs,
    played,
    suite_of,
    write_measured,
    write_sweep,
)

if TYPE_CHECKING:
    from harness.report.many.sweep import Measure
    from harness.report.parts.shapes import Shape

SESSION = "session_timeout_ms"


def swept(measured: Runs, *names: str) -> Sweep:
    """A sweep of runs that were never written; commas part the values of several settings."""
    names = names or (SESSION,)
    points = list(dict.fromkeys(values for _, values in measured))
    measures = (STANDSTILL.name, EVICTED.name, AGAIN.name)
    nothing = {LOST.name: 0} | dict.fromkeys(each.name for each in OF_GROUP)
    spots = []
    for (experiment, values), runs in measured.items():
        found = [nothing | dict(zip(measures, run, strict=True)) for run in runs]
        rows = [{"label": "a run", "measured": each} for each in found]
        settings = dict(zip(names, values.split(","), strict=True))
        spots.append(Spot(experiment, points.index(values) + 1, settings, rows))
    experiments = dict.fromkeys(spot.experiment for spot in spots)
    axes = [SweptSetting(name, tuple({spot.settings[name]: 0 for spot in spots})) for name in names]
    entries = [entry(f"{name}:librdkafka/eager") for name in experiments]
    suite = Suite(Path("a-sweep"), "sweep", "2026-11-24T10:00:00Z", entries)
    return Sweep(suite, tuple(axes), tuple(spots))


def of(
    runs: int, standstill_ms: float, false: int = 0, twice: int = 0
) -> list[tuple[float, int, int]]:
    """Runs that differ by a little in their standstill."""
    return [(standstill_ms + 7 * n, false, twice) for n in range(runs)]


NOTHING = (
    "session_timeout_ms from 6,000 to 45,000 changes nothing that these runs can tell from chance."
)


@pytest.mark.parametrize(
    ("name", "low", "high", "said"),
    [
        (
            CRASH,
            of(2, 6_300),
            of(2, 45_000),
            "to 6.30 s in consumer-crash). It costs nothing that these runs show.",
        ),
        # Runs of a setting that changes repeats alone go from more of them to fewer.
        (
            FREEZE,
            of(2, 6_300, 0, 90),
            of(2, 6_300),
            (
                "session_timeout_ms from 6,000 to 45,000 buys fewer repeats (in consumer-freeze 90 "
                "at 6,000, none at 45,000). It costs nothing that these runs show."
            ),
        ),
        (
            FREEZE,
            of(2, 6_300, 2),
            of(2, 12_000),
            "It costs false evictions (in consumer-freeze none at 45,000, 2 at 6,000).",
        ),
        (CRASH, of(1, 6_300), of(1, 45_000), "It costs nothing that single runs show."),
        # They overlap; are apart, and nearly the same; twice as long, and short.
        (CRASH, [(6_300, 0, 0), (6_900, 0, 0)], [(6_800, 0, 0), (7_400, 0, 0)], NOTHING),
        (CRASH, [(6_300, 0, 0), (6_310, 0, 0)], [(6_400, 0, 0), (6_420, 0, 0)], NOTHING),
        (CRASH, [(60, 0, 0), (61, 0, 0)], [(120, 0, 0), (121, 0, 0)], NOTHING),
        # What one end never has counts if most of the other has it.
        (FREEZE, [*of(1, 6_300, 1), *of(2, 6_300)], of(3, 6_300), NOTHING),
        (FREEZE, [*of(1, 6_300, 1), *of(1, 6_300)], of(2, 6_300), NOTHING),
    ],
)
def test_what_differs_is_said_and_what_chance_would_do_is_not(
    name: str, low: list[tuple[float, int, int]], high: list[tuple[float, int, int]], said: str
) -> None:
    (sentence,) = sentences(swept({(name, "6000"): low, (name, "45000"): high}))

    assert sentence.endswith(said)


def test_how_sure_one_can_be_is_said() -> None:
    for runs, said in (
        (1, "any difference may be chance"),
        (2, "sets two ends apart in one of 3 cases"),
        (3, "sets two ends apart in one of 10 cases"),
        (6, "sets two ends apart in one of 462 cases"),
    ):
        sweep = swept({(CRASH, "6000"): of(runs, 6_300), (CRASH, "45000"): of(runs, 45_000)})
        assert any(said in each for each in reading(sweep))


def test_an_interval_needs_six_runs() -> None:
    sweep = swept({(CRASH, "6000"): of(6, 6_300), (CRASH, "45000"): of(5, 45_000)})
    points = json.loads(as_json(sweep, []))["points"]

    assert ["6.30 s – 6.33 s (97%)", ""] == list(map(interval, sweep.spots))
    lies = [point["standstill_ms"]["median_lies_in"] for point in points]
    assert [[6_300, 6_335], None] == lies


def grid(results: Path) -> Suite:
    """Two settings; the second one decides something with the longer session only."""
    entries = []
    for session in ("6000", "45000"):
        for members in ("3", "5"):
            settings = {SESSION: session, "members": members}
            for number in (1, 2):
                still = int(session) + number
                still += 9_000 if members == "5" and session == "45000" else 0
                run_dir = results / CRASH / f"{session}-{members}-{number}"
                write_measured(run_dir, still)
                entries.append(played(results, run_dir, CRASH, settings, number))
    return suite_of(results, {SESSION: ["6000", "45000"], "members": ["3", "5"]}, *entries)


GRID = {(CRASH, f"{ms},{members}"): of(2, ms) for ms in (6_000, 45_000) for members in (3, 5)}


def test_what_never_matters_is_said_once() -> None:
    found = sentences(swept(GRID, SESSION, "members"))

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
    assert "its folder has been removed" in (suite.path / "sweep.md").read_text()
    assert 2 == pq.read_table(suite.path / "verdicts.parquet").num_rows  # of both, still


def test_what_is_written_of_a_sweep_can_be_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `compare`, point by point; by a CI, run by run; by programs; and by `report`."""
    suite = write_sweep(tmp_path)
    suite.save()

    assert [
        f"{name}:librdkafka/eager, session_timeout_ms={session}"
        for name in (CRASH, FREEZE)
        for session in ("6000", "10000", "45000")
    ] == list(groups(suite.path))
    assert Exit.AS_EXPECTED == main(["report", str(suite.path)])
    assert "buys a shorter standstill" in capsys.readouterr().out
    suites = ET.parse(suite.path / "junit.xml").getroot()
    assert [each.label for each in suite.entries] == [each.get("name") for each in suites]
    record = json.loads((suite.path / "sweep.json").read_text())
    (sentence,) = record["sentences"]
    assert sentence in (suite.path / "sweep.html").read_text().replace("\u00a0", " ")
    assert {SESSION: ["6000", "10000", "45000"]} == record["over"]
    false = {"n": 3, "min": 0, "median": 1, "max": 1, "median_lies_in": None}
    assert (FREEZE, {SESSION: "10000"}, 3, 3, false) == tuple(
        record["points"][4][name]
        for name in ("experiment", "settings", "runs", "planned", "false_evictions")
    )
    assert 6_310 == record["runs"][0]["measured"]["standstill_ms"]
    assert Exit.BAD_ARGUMENTS == main(["report", str(suite.path), "--into", str(tmp_path / "x")])
    assert "is not a matrix" in capsys.readouterr().err


def test_a_number_that_was_not_recorded_is_not_a_zero(tmp_path: Path) -> None:
    lost = write_measured(tmp_path / CRASH / "run-1", 6_300, client_events=None, redeliveries=None)
    whole = write_measured(tmp_path / CRASH / "run-2", 6_400)
    settings = {SESSION: "6000"}
    runs = [played(tmp_path, run, CRASH, settings, n) for n, run in enumerate((lost, whole), 1)]
    (spot,) = sweep_of(suite_of(tmp_path, {SESSION: ["6000", "45000"]}, *runs)).spots

    assert [None, 0] == [run["measured"][EVICTED.name] for run in spot.runs]
    assert "0, known of 1" == cell(spot, EVICTED)
    assert "0, known of 1" == cell(spot, AGAIN)


def drawn(sweep: Sweep, measure: Measure, css: str) -> list[Shape]:
    """The shapes of this class on a plot."""
    found = plot(sweep, measure)
    assert found is not None
    return [shape for shape in found.shapes if shape.attributes["class"] == css]


def test_a_plot_has_a_dot_for_each_run_and_a_ring_for_each_point() -> None:
    sweep = swept(MEASURED)

    assert [9, 9] == [len(drawn(sweep, AGAIN, css)) for css in ("m0 one", "m1 one")]
    assert {"6,000", "10,000", "45,000"} == {each.text for each in drawn(sweep, AGAIN, "name")}
    # Longer standstills are further to the right, and more repeats further up.
    crash, freeze = (
        [(dot.attributes["cx"], dot.attributes["cy"]) for dot in drawn(sweep, AGAIN, css)]
        for css in ("m0 middle", "m1 middle")
    )
    assert (3, 3) == (len(crash), len(freeze))
    assert crash == sorted(crash)
    assert float(str(freeze[0][1])) < float(str(freeze[2][1])) == crash[0][1]
    ticks = [shape.text for shape in drawn(sweep, AGAIN, "axis")]
    assert ["0", "20", "40", "60", "80", "0", "10", "20", "30", "40", "50"] == ticks[:-2]


def test_points_of_several_settings_are_labelled_by_their_number() -> None:
    labels = drawn(swept(GRID, SESSION, "members"), EVICTED, "name")

    assert ["1", "2", "3", "4"] == sorted(label.text for label in labels)


def test_labels_keep_off_each_other() -> None:
    """Two experiments that cost the same: each label has a place of its own."""
    same = {(name, s): of(2, int(s)) for name in (CRASH, FREEZE) for s in ("6000", "7000", "45000")}
    labels = [label.attributes for label in drawn(swept(same), EVICTED, "name")]

    assert 6 == len({(label["x"], label["y"]) for label in labels})


def test_without_a_run_there_is_no_plot(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        {SESSION: ["6000", "45000"]},
        played(tmp_path, None, CRASH, {SESSION: "6000"}, 1, State.PLANNED),
    )
    write(suite)

    assert plot(sweep_of(suite), EVICTED) is None
    assert "<svg" not in (suite.path / "sweep.html").read_text()


def of_protocols(results: Path, measured: Mapping[str, Sequence[Row]]) -> Suite:
    """A sweep of protocols: by protocol, what differs in each of its runs."""
    entries = []
    for protocol, runs in measured.items():
        for number, changes in enumerate(runs, start=1):
            run_dir = write_measured(results / CRASH / f"{protocol}-{number}", **changes)
            entries.append(played(results, run_dir, CRASH, {"protocol": protocol}, number))
    return suite_of(results, {"protocol": list(measured)}, *entries)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        # Whatever the order in which they were named.
        (
            {
                "cooperative": [(4_200, 0, 0), (4_300, 0, 0)],
                "consumer": [(2_100, 0, 0), (2_200, 0, 7)],
                "eager": [(6_700, 0, 20), (6_800, 0, 0)],
            },
            (
                "protocol kip-848 rather than eager buys a shorter standstill (by 4.60 s in "
                "consumer-crash: 6.75 s with eager, 4.25 s with cooperative, 2.15 s with "
                "kip-848). It costs nothing that these runs show."
            ),
        ),
        # Those that stand still alike are compared by what they repeat.
        (
            {"eager": of(1, 6_000), "consumer": of(1, 6_000, 0, 9), "cooperative": of(1, 6_000)},
            (
                "protocol cooperative rather than kip-848 buys fewer repeats (in consumer-crash 9 "
                "with kip-848, none with eager, none with cooperative). It costs nothing that "
                "single runs show."
            ),
        ),
        (
            {"eager": of(1, 6_000), "consumer": of(1, 6_000)},
            "protocol eager or kip-848 changes nothing that single runs can tell from chance.",
        ),
    ],
)
def test_which_protocol_is_better_is_said_with_by_how_much(
    runs: Mapping[str, Sequence[tuple[float, int, int]]], said: str
) -> None:
    sweep = swept({(CRASH, protocol): found for protocol, found in runs.items()}, "protocol")

    assert [said] == sentences(sweep)
    assert any("the worst and the best" in each for each in reading(sweep))


def test_what_stopped_is_shown_where_protocols_are_swept(tmp_path: Path) -> None:
    stops = [stop(0, 6_000, 4_000), stop(1, 9_000, 5_000), stop(2, 100, 0, stopped=False)]
    suite = of_protocols(
        tmp_path, {"eager": [{"stops": stops}], "consumer": [{"standstill_ms": 2_000}]}
    )
    eager, _ = sweep_of(suite).spots

    assert ["2", "15.0 s"] == [cell(eager, measure) for measure in (STOPPED, IN_ALL)]
    assert eager.where.startswith("detection 5.00 s")
