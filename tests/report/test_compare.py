"""Two folders side by side: what is set differently, what got worse, what moved."""

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from harness.base.errors import Exit, NoData
from harness.cli.main import main
from harness.history.suites import State, Suite
from harness.report.many.compare import (
    Beside,
    Compared,
    Comparison,
    RunGroup,
    better,
    compare,
    print_compared,
    settings_of,
    shifts,
)
from harness.report.many.numbers import UNITS, Spread
from tests.report.sample_run import Row, manifest, verdict, write_manifest
from tests.report.sample_suite import entry, write_judged, write_night, write_repeats


def printed(a: Path, b: Path) -> list[str]:
    file = io.StringIO()
    print_compared(compare(a, b), Console(file=file, width=120))
    return file.getvalue().splitlines()


def test_a_run_beside_itself_is_alike(tmp_path: Path) -> None:
    run = write_judged(tmp_path / "run", verdict("R01"))
    found = compare(run, run)

    assert [] == found.worse
    assert {} == found.pairs[0].settings
    assert "set up alike" in printed(run, run)


def set_up(run: Path, session_ms: int, **versions: str) -> None:
    """Have a run declare this session, and say that it had these versions and another seed."""
    changed = json.loads(json.dumps(manifest()))
    changed["declared"]["group"]["session_timeout_ms"] = session_ms
    changed["versions"] |= versions
    write_manifest(run, **{**changed, "seed": 5})


def test_settings_that_differ_are_shown_and_a_runs_own_are_not(tmp_path: Path) -> None:
    a = write_judged(tmp_path / "a", verdict("R01"))
    b = write_judged(tmp_path / "b", verdict("R01"))
    set_up(b, 10_000, librdkafka="2.17.0")
    found = compare(a, b).pairs[0].settings

    assert {
        "group.session_timeout_ms": ("6000", "10000"),
        "version.librdkafka": ("2.16.0", "2.17.0"),
    } == found


def test_of_settings_that_one_side_alone_has_there_is_the_number(tmp_path: Path) -> None:
    a = write_judged(tmp_path / "a", verdict("R01"))
    b = write_judged(tmp_path / "b", verdict("R01"))
    set_up(a, 6_000, librdkafka="2.17.0", java="21")
    set_up(b, 6_000, rdkafka="2.17.0", sarama="1.61.1")
    lines = [line.strip() for line in printed(a, b)]

    assert "settings that differ" in lines
    assert "2 more settings that one side alone has: --json has them" in lines
    assert not any(line.startswith("version.rdkafka") for line in lines)


@pytest.mark.parametrize(
    ("standstill", "again", "said"),
    [
        (
            ([5_240.0, 5_240.0], [2_810.0, 2_810.0]),
            ([341.0, 341.0], [12.0, 12.0]),
            (
                "B is better: longest standstill 2.81 s instead of 5.24 s (46% less) and "
                "redelivered 12 instead of 341 (96% less)."
            ),
        ),
        (
            ([5_240.0, 5_240.0], [2_810.0, 2_810.0]),
            ([0.0, 0.0], [12.0, 12.0]),
            (
                "A is better: redelivered 0 instead of 12. B is better: longest standstill 2.81 s "
                "instead of 5.24 s (46% less)."
            ),
        ),
        (
            ([5_240.0, 2_000.0], [2_810.0, 2_810.0]),
            ([9.0, 9.0], [9.0, 9.0]),
            "Neither is clearly better in lost, longest standstill and redelivered.",
        ),
        (
            ([5_240.0], [2_810.0, 2_810.0]),
            ([9.0], [9.0, 9.0]),
            (
                "B is better: longest standstill 2.81 s instead of 5.24 s (46% less). One run may "
                "differ from another by chance."
            ),
        ),
    ],
)
def test_which_side_is_better_and_by_how_much(
    standstill: tuple[list[float], list[float]], again: tuple[list[float], list[float]], said: str
) -> None:
    numbers = {"lost": ([0.0], [0.0]), "longest standstill": standstill, "redelivered": again}
    figures = [
        Beside(*(Spread(name, UNITS[name], [[value] for value in side]) for side in sides))
        for name, sides in numbers.items()
    ]
    a, b = (RunGroup("a run", judged=[{}] * len(side)) for side in standstill)

    assert said == better(Comparison(a, b, {}, [], figures))


def test_ports_and_names_are_no_settings() -> None:
    effective = {
        "brokers": {"broker-1": {"listeners": "x:1", "node.id": "1", "num.io.threads": "4"}},
        "clients": {"member-1": {"bootstrap.servers": "x:2", "session.timeout.ms": 6_000}},
    }

    assert {"broker.num.io.threads": "4", "member.session.timeout.ms": "6000"} == settings_of(
        {"effective": effective}
    )


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ([verdict("R01")], [verdict("R01", "VIOLATED")], True),
        ([verdict("R01")], [verdict("R01", "UNKNOWN")], True),
        ([verdict("R01", "VIOLATED")], [verdict("R01")], False),
        ([verdict("R01")], [verdict("R01", "VIOLATED", "VIOLATED")], False),
        ([verdict("R01", "VIOLATED")], [verdict("R01", "VIOLATED")], False),
        ([], [verdict("R01", "VIOLATED")], False),
        ([verdict("R01")], [], False),
    ],
)
def test_worse_is_what_was_as_expected_and_is_not_any_more(
    before: list[Row], after: list[Row], worse: bool
) -> None:
    assert worse is Beside(Spread("R01", rows=before), Spread("R01", rows=after)).worse


def test_medians_have_moved_only_if_there_are_runs_enough_to_tell() -> None:
    def repeats(start: float, times: int) -> Spread:
        return Spread("R01", per_run=[[start + n] for n in range(times)])

    six, higher, close, few = repeats(0, 6), repeats(20, 6), repeats(3, 6), repeats(20, 5)

    assert [True, False, None] == [Beside(six, other).moved for other in (higher, close, few)]


def test_two_nights_are_compared_run_by_run(tmp_path: Path) -> None:
    one, other = write_night(tmp_path / "one"), write_night(tmp_path / "other")
    other.entries[1].state = State.PLANNED
    other.save()
    found = compare(one.path, other.path)

    assert ["baseline:librdkafka/eager", "broker-kill:librdkafka/eager"] == [
        pair.a.label for pair in found.pairs
    ]
    assert ["consumer-crash:java/eager"] == found.only_a
    assert [] == found.worse


def test_a_run_that_shows_nothing_any_more_got_worse(tmp_path: Path) -> None:
    """One of the repeats is void: so are all of its rules, and nothing was measured in it."""
    one = write_repeats(tmp_path / "one", [[6_000.0], [6_010.0]])
    other = write_repeats(tmp_path / "other", [[6_000.0]], "a broker died")
    found = compare(one.path, other.path)
    rule = found.pairs[0].rules[0]

    assert ["session/silent-member-is-evicted in consumer-crash:librdkafka/eager"] == found.worse
    assert rule.b is not None
    assert ({"HOLDS": 1, "UNKNOWN": 1}, 1) == (rule.b.verdicts, rule.b.values.n)
    assert Exit.DIFFERS == main(["compare", str(one.path), str(other.path)])
    assert [] == compare(other.path, one.path).worse


def test_a_group_of_which_nothing_was_judged_got_worse(tmp_path: Path) -> None:
    one, other = write_night(tmp_path / "one"), write_night(tmp_path / "other")
    one.entries[2].state, one.entries[2].folder = State.AS_EXPECTED, one.entries[0].folder
    one.save()

    assert ["session/silent-member-is-evicted in broker-kill:librdkafka/eager"] == compare(
        one.path, other.path
    ).worse
    lines = printed(one.path, other.path)
    start = lines.index("broker-kill:librdkafka/eager (1 run)")
    assert "no run of B was judged, so there are no settings to compare" == lines[start + 1]


def test_json_has_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write_judged(tmp_path / "a", verdict("R01"), R01=[1.0])
    b = write_judged(tmp_path / "b", verdict("R01", "VIOLATED"), R01=[9.0])

    assert Exit.DIFFERS == main(["compare", str(a), str(b), "--json"])
    content = json.loads(capsys.readouterr().out)
    (rule,) = content["pairs"][0]["rules"]
    assert rule["worse"]
    assert (1.0, 9.0) == (rule["a"]["measured"]["p50"], rule["b"]["measured"]["p50"])
    assert {"VIOLATED": 1} == rule["b"]["verdicts"]


def test_a_run_that_shows_nothing_is_not_compared(tmp_path: Path) -> None:
    fine = write_judged(tmp_path / "fine", verdict("R01"))
    void = write_judged(tmp_path / "void", verdict("R01"))
    write_manifest(void, status="void")

    with pytest.raises(NoData, match="is void and shows nothing"):
        compare(fine, void)
    with pytest.raises(NoData, match="there is no folder"):
        compare(fine, tmp_path / "nowhere")


def a_night(folder: Path, values: list[float], session_ms: int = 6_000, wrong: int = -1) -> Path:
    """A night of an experiment for each value that R01 measured; in one of them it is VIOLATED."""
    night = Suite(folder / "nightly" / "night-1", "nightly", "2026-11-20T10:00:00Z", [])
    night.path.mkdir(parents=True)
    for number, value in enumerate(values):
        run = folder / f"experiment-{number}" / "run-1"
        found = "VIOLATED" if number == wrong else "HOLDS"
        write_judged(run, verdict("R01", found, unit="ms"), R01=[value])
        set_up(run, session_ms)
        state = State.DIFFERS if number == wrong else State.AS_EXPECTED
        label = f"experiment-{number}:librdkafka/eager"
        night.entries.append(entry(label, state, folder=os.path.relpath(run, night.path)))
    night.save()
    return night.path


TWELVE = [6_000.0 + 100 * number for number in range(12)]


def test_of_two_nights_each_run_is_shown_if_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night = a_night(tmp_path, TWELVE)

    assert Exit.AS_EXPECTED == main(["compare", str(night), str(night), "--each-run"])
    said = capsys.readouterr().out
    assert "every rule has the same verdict in both, run by run" in said
    assert "no number is higher or lower in nearly all runs" in said
    assert 12 == said.count(":librdkafka/eager (1 run)")


@pytest.mark.parametrize(
    ("higher", "moved"),
    [
        (12, [12]),
        (11, []),  # of a handful of numbers chance does that to one in one comparison of twenty
        (6, []),
        (0, [0]),
    ],
)
def test_a_number_has_moved_if_chance_would_hardly_do_it(higher: int, moved: list[int]) -> None:
    """All else that is measured in the runs is the same."""
    alike = [Beside(Spread(name, per_run=[[1.0]]), Spread(name, per_run=[[1.0]])) for name in UNITS]
    group = RunGroup("a run")
    pairs = []
    for n, value in enumerate(TWELVE):
        other = value + (5 if n < higher else -5)
        rule = Beside(Spread("R01", per_run=[[value]]), Spread("R01", per_run=[[other]]))
        pairs.append(Comparison(group, group, {}, [rule], alike))
    found = shifts(Compared(Path("a"), Path("b"), pairs, (), ()))

    assert [("R01", 12, count) for count in moved] == [
        (each["name"], each["runs"], each["higher"]) for each in found
    ]


def test_as_json_two_nights_have_what_differs_over_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = a_night(tmp_path / "a", TWELVE)
    b = a_night(tmp_path / "b", [value / 2 for value in TWELVE], session_ms=10_000)

    assert Exit.AS_EXPECTED == main(["compare", str(a), str(b), "--json"])
    found = json.loads(capsys.readouterr().out)
    name = "group.session_timeout_ms"
    assert [{"name": name, "a": "6000", "b": "10000", "runs": 12}] == found["settings"]
    moved = {"name": "R01", "unit": "ms", "runs": 12, "higher": 0, "change": -0.5}
    assert moved in found["moved"]
