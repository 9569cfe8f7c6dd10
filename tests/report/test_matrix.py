"""Client by situation: every run counted, what shows nothing named, and nothing shown as fine."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base import processes
from harness.base.errors import Exit, NoData
from harness.cli.main import main
from harness.history.suites import State, Suite
from harness.report.load import Row
from harness.report.many.blocks import Line
from harness.report.many.matrix import as_json, load_matrix, matrix_of, matrix_of_runs
from harness.report.many.matrix_text import ends_of, lines_of, markdown, publish, shown, write
from harness.report.parts.situations import AT_THE_END, IN_SITUATIONS, SignFound
from tests.report.sample_matrix import played, suite_of, write_app_run, write_matrix

SETTING: Final = ("brokers", "partitions", "records_per_s", "processes", "cores")


def run_of(
    client: str = "franz-go",
    experiment: str = "everyday",
    number: int = 1,
    *,
    ends: dict[str, SignFound] | None = None,
    library: str = "kgo v1.22.2",
    **crash: Any,
) -> Row:
    """A run in which a process crashed, as `matrix.json` has it."""
    fine = {words.rule: SignFound.FINE for words in (*AT_THE_END, *IN_SITUATIONS)}
    known = {"standstill_ms": 7_500.0, "never_again": False, "again": 40, "signs": fine}
    return {
        "client": client,
        "experiment": experiment,
        "label": f"{client}, {experiment}, run {number}",
        "run": f"{client} {experiment} {number}",
        "link": "",
        "state": State.AS_EXPECTED,
        "reason": "",
        "sample": {
            "situations": {"crash": known | crash},
            "at_the_end": fine | (ends or {}),
            "fetched_only": False,
        },
        "facts": {
            "libraries": [library],
            "protocol": "eager",
            "assignors": [],
            "session_timeout_ms": 45_000,
            "kafka": "4.3.1",
            "date": "2026-11-20",
            "setting": dict.fromkeys(SETTING, "3"),
        },
    }


def matrix_with(*runs: Row, examples: bool = True) -> Row:
    about = {"name": "m", "started_at": "2026", "ended_at": None, "command": "matrix"}
    return matrix_of_runs(runs, {**about, "examples": examples})


def client(matrix: Row, name: str) -> Row:
    return next(each for each in matrix["clients"] if each["name"] == name)


def cell(matrix: Row, name: str) -> list[str]:
    """What is said of a program's crashes."""
    return [line.text for line in lines_of(client(matrix, name)["cells"][0])]


def end(matrix: Row, name: str) -> list[str]:
    """What is said of the ends of a program's runs."""
    return [line.text for line in ends_of(client(matrix, name))]


def test_one_run_of_three_is_not_all() -> None:
    bad = {"P1": SignFound.VIOLATED, "P10": SignFound.UNKNOWN, "P6": SignFound.NOTHING}
    last = run_of(number=3, ends=bad, standstill_ms=17_000.0, never_again=True)
    matrix = matrix_with(run_of(number=1), run_of(number=2), last)

    assert [
        "did not catch up: 1 of 3 runs of everyday",
        "unknown if it lost nothing: 1 of 3 runs of everyday",
        "worked to the end",
    ] == end(matrix, "franz-go")
    stopped = cell(matrix, "franz-go")
    assert ["≥ 7.50 s", "7.50 s – 17.0 s, n = 3", "never went on: 1 of 3 runs"] == stopped[:3]


def test_what_is_not_on_record_is_not_shown() -> None:
    lost = run_of(standstill_ms=None, again=None)

    assert ["not known", "n = 1", "records not known: 1 of 1 run"] == cell(
        matrix_with(lost), "franz-go"
    )
    assert [
        "7.50 s, known of 1",
        "n = 2",
        "records not known: 1 of 2 runs",
        "40 redelivered",
    ] == cell(matrix_with(lost, run_of(number=2)), "franz-go")


def test_a_client_of_which_no_run_shows_anything_keeps_its_row() -> None:
    nothing = {"state": "void", "reason": "it was not built", "sample": None, "facts": None}
    matrix = matrix_with(run_of(), {**run_of("sarama"), **nothing})

    assert ["no run of 1 shows it"] == cell(matrix, "sarama")
    assert "no run shows anything" in markdown(matrix)
    assert "sarama, everyday, run 1: void (it was not built)" in markdown(matrix)


def test_experiments_are_kept_apart_and_the_same_is_said_of_their_ends_once() -> None:
    bad = {"P1": SignFound.VIOLATED, "P7": SignFound.NOTHING, "P6": SignFound.NOTHING}
    names = ("everyday", "consumer-crash")
    matrix = matrix_with(
        *(run_of(experiment=name) for name in names), run_of(experiment="rough-day", ends=bad)
    )

    assert [*names, "rough-day"] == [each["experiment"] for each in matrix["columns"]]
    assert (
        "**did not catch up: 1 of 1 run of rough-day**<br><sub>worked to the end, lost nothing, "
        "left in order</sub>"
    ) in markdown(matrix)


def test_the_headline_says_what_a_crash_costs_who_lost_records_and_who_went_on() -> None:
    lost = {"P10": SignFound.VIOLATED}
    went_on = {words.rule: SignFound.FINE for words in IN_SITUATIONS} | {"P9": SignFound.VIOLATED}
    matrix = matrix_with(
        run_of("sarama", signs=went_on),
        run_of("sarama", number=2),
        run_of("kafka-go", standstill_ms=31_000.0, ends=lost),
    )
    said = (
        "With default settings a crash stops a partition for 7.50 s (sarama) to 31.0 s (kafka-go)."
        " kafka-go lost records (1 of 1 run of everyday)."
        " sarama went on after its removal (1 of 2 runs of crash)."
    )
    assert f"**{said}**" in markdown(matrix)
    assert "**No run shows" not in markdown(matrix)
    few = markdown(matrix_with(run_of(), examples=False))
    assert (
        "**A crash stops a partition for 7.50 s (franz-go). No run shows a lost record."
        " No run shows work after a removal.**"
    ) in few


def test_clients_are_in_the_order_of_what_a_crash_costs() -> None:
    matrix = matrix_with(
        run_of("a", standstill_ms=31_000.0), run_of("b"), run_of("c", standstill_ms=None)
    )
    (table, *_) = shown(matrix).blocks
    # Further lines of a cell are what is known of each.
    names = [cell[0] for cell in (row.cells[0] for row in table.rows) if isinstance(cell, list)]

    assert ["b", "a", "c"] == [line.text for line in names if isinstance(line, Line)]


def test_programs_of_ones_own_are_not_said_to_have_defaults() -> None:
    assert "default" in markdown(matrix_with(run_of()))
    assert "default" not in markdown(matrix_with(run_of(), examples=False))


def test_publishing_adds_runs_and_programs(tmp_path: Path) -> None:
    """Rounds of other evenings count with those that are there, each run once."""
    first = matrix_with(*(run_of(number=n) for n in (1, 2, 3)), run_of("kafkajs"))
    publish(first, tmp_path)
    both = publish(matrix_with(run_of(number=9), run_of("sarama")), tmp_path)

    assert ["franz-go", "kafkajs", "sarama"] == [each["name"] for each in both["clients"]]
    assert (6, 6, 0) == (both["planned"], both["shown"], both["repeats"])
    assert ["n = 4", "n = 1", "n = 1"] == [cell(both, each["name"])[1] for each in both["clients"]]
    assert both["clients"] == publish(first, tmp_path)["clients"]


def test_runs_of_another_version_take_the_place_of_those_that_are_there(tmp_path: Path) -> None:
    publish(matrix_with(run_of(number=1), run_of(number=2), run_of("kafkajs")), tmp_path)
    both = publish(matrix_with(run_of(number=9, library="kgo v1.23.0")), tmp_path)

    assert ["kgo v1.23.0"] == client(both, "franz-go")["libraries"]
    assert ["n = 1", "n = 1"] == [cell(both, name)[1] for name in ("franz-go", "kafkajs")]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ('{"schema_version": 2}', r"matrix\.json cannot be read .*remove it, and publish"),
        ('{"schema_version": 7}', "is of schema 7"),
    ],
)
def test_a_broken_record_is_not_added_to(tmp_path: Path, record: str, why: str) -> None:
    (tmp_path / "matrix.json").write_text(record)

    with pytest.raises(NoData, match=why):
        publish(matrix_with(run_of()), tmp_path)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A matrix that has been played and written; nothing changes it."""
    suite = write_matrix(tmp_path_factory.mktemp("results"))
    suite.save()
    write(suite)
    return suite


def test_the_page_leads_to_the_runs_and_escapes_what_they_say(suite: Suite) -> None:
    page = (suite.path / "clients.html").read_text()

    for number in (1, 2, 3, 4):
        assert f'href="../../everyday/run-{number}/report.html"' in page
    assert "<b>ended</b>" not in page
    assert "<script" not in page
    assert str(suite.path.parents[1]) not in page
    assert "wedged: 1 of 1 run of everyday" in page


def test_the_record_has_every_number_and_is_read_as_it_was_written(suite: Suite) -> None:
    text = (suite.path / "matrix.json").read_text()
    record = json.loads(text)

    assert (2, 3, 6, 4) == tuple(
        record[name] for name in ("schema_version", "repeats", "planned", "shown")
    )
    crash = record["clients"][0]["cells"][0]
    assert {"experiment": "everyday", "situation": "crash"} == crash["column"]
    assert (3, 9_800.0) == (crash["standstill_ms"]["n"], crash["standstill_ms"]["max"])
    assert "../../everyday/run-2/report.html" == crash["longest"]
    assert [{"rule": "P6", "violated": 1, "unknown": 0, "runs": 1}] == (
        record["clients"][1]["cells"][1]["signs"]
    )
    assert str(suite.path.parents[1]) not in text
    found = load_matrix(suite.path / "matrix.json")
    assert text == as_json(found)
    assert markdown(matrix_of(suite)) == markdown(found)


def test_what_is_published_leads_to_no_run(suite: Suite, tmp_path: Path) -> None:
    (suite.path / "clients.md").unlink()

    assert Exit.FAILED == main(["report", str(suite.path), "--into", str(tmp_path)])  # a void run
    assert (suite.path / "clients.md").exists()
    page = (tmp_path / "clients.html").read_text()
    assert not re.findall(r'href="(?!data:|#)', page)
    assert "7.50 s – 9.80 s, n = 3" in page
    assert "kafkajs, everyday, run 2: void" in page
    assert "kafkajs, everyday, run 3" not in page  # it was never begun
    assert "report.html" not in (tmp_path / "matrix.json").read_text()
    assert "4 of 5 runs shown" in (tmp_path / "clients.md").read_text()


def test_the_record_of_a_matrix_that_goes_on_is_its_own(tmp_path: Path) -> None:
    """Its next run is being played, and no report may call that one interrupted."""
    run = write_app_run(tmp_path / "everyday" / "run-1")
    suite = suite_of(tmp_path, played(tmp_path, run, state=State.INTERRUPTED))
    suite.save()
    before = (suite.path / "suite.json").read_text()

    with processes.holding(suite.path):
        main(["report", str(suite.path)])
    assert before == (suite.path / "suite.json").read_text()
    main(["report", str(suite.path)])
    assert before != (suite.path / "suite.json").read_text()


def test_without_a_judged_run_there_is_still_a_page(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, played(tmp_path, None, state=State.VOID, reason="no Java"))
    write(suite)

    assert "void (no Java)" in (suite.path / "clients.md").read_text()
    assert "no run shows anything" in (suite.path / "clients.html").read_text()


def test_only_a_matrix_is_published(tmp_path: Path) -> None:
    run = write_app_run(tmp_path / "everyday" / "run-1")

    assert Exit.BAD_ARGUMENTS == main(["report", str(run), "--into", str(tmp_path / "pages")])
    assert not (tmp_path / "pages").exists()
