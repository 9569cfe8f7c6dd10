"""Client by situation: every run counted, what shows nothing named, and nothing told as fine."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.errors import Exit, NoData
from harness.cli.main import main
from harness.history.suites import State
from harness.report.load import Row
from harness.report.many import matrix_text
from harness.report.many.matrix import Matrix, as_json, load_matrix, matrix_of
from harness.report.many.matrix_text import cell_lines, end_lines, markdown, write
from tests.report.sample_matrix import (
    STOP_S,
    judgement,
    played,
    read,
    suite_of,
    write_app_run,
    write_matrix,
)
from tests.report.sample_run import TOPIC


def client(matrix: Matrix, name: str) -> Row:
    return next(each for each in matrix.clients if each["name"] == name)


def cell(matrix: Matrix, name: str, situation: str) -> Row:
    cells = client(matrix, name)["cells"]
    return next(each for each in cells if each["column"]["situation"] == situation)


def texts(found: Row) -> list[str]:
    lines = cell_lines(found) if "column" in found else end_lines(found)
    return [line.text for line in lines]


def test_one_run_of_three_is_not_all(tmp_path: Path) -> None:
    bad = [
        judgement("P1", 52, ok=False, subject=f"{TOPIC}-0"),
        judgement("P7", STOP_S),
        judgement("P10", STOP_S, ok=None),
    ]
    runs = [
        write_app_run(tmp_path / "everyday" / "run-1"),
        write_app_run(tmp_path / "everyday" / "run-2"),
        write_app_run(tmp_path / "everyday" / "run-3", judgements=bad, reads=[read(0, 9, 41.0)]),
    ]
    entries = [played(tmp_path, run, number=n) for n, run in enumerate(runs, start=1)]
    matrix = matrix_of(suite_of(tmp_path, *entries))

    (end,) = client(matrix, "franz-go")["ends"]
    assert [
        "did not catch up: 1 of 3 runs",
        "unknown if it lost nothing: 1 of 3 runs",
        "worked to the end",
        "n = 3",
    ] == texts(end)
    stopped = texts(cell(matrix, "franz-go", "own link dead"))
    assert ["≥ 0 ms (0 ms – 17.00 s)", "never went on: 1 of 3 runs"] == stopped[:2]


def test_what_is_not_on_record_is_not_told(tmp_path: Path) -> None:
    lost = write_app_run(tmp_path / "everyday" / "run-1", stops=None, redeliveries=None)
    one = matrix_of(suite_of(tmp_path, played(tmp_path, lost)))
    both = matrix_of(
        suite_of(
            tmp_path,
            played(tmp_path, lost),
            played(tmp_path, write_app_run(tmp_path / "everyday" / "run-2"), number=2),
        )
    )

    assert ["standstill not known", "records not known: 1 of 1 run", "n = 1"] == texts(
        cell(one, "franz-go", "crash")
    )
    assert [
        "7.50 s, known of 1",
        "records not known: 1 of 2 runs",
        "40 came twice",
        "n = 2",
    ] == texts(cell(both, "franz-go", "crash"))


def test_a_client_of_which_no_run_shows_anything_keeps_its_row(tmp_path: Path) -> None:
    run = write_app_run(tmp_path / "everyday" / "run-1")
    void = played(tmp_path, None, client="sarama", state=State.VOID, reason="it was not built")
    matrix = matrix_of(suite_of(tmp_path, played(tmp_path, run), void))

    assert ["no run of 1 shows it"] == texts(cell(matrix, "sarama", "crash"))
    assert "no run shows anything" in markdown(matrix)
    assert "sarama, everyday, run 1: void (it was not built)" in markdown(matrix)


def test_experiments_are_kept_apart(tmp_path: Path) -> None:
    runs = [
        played(tmp_path, write_app_run(tmp_path / "everyday" / "run-1")),
        played(
            tmp_path, write_app_run(tmp_path / "consumer-crash" / "run-1"),
            experiment="consumer-crash",
        ),
    ]  # fmt: skip
    matrix = matrix_of(suite_of(tmp_path, *runs))

    crashes = [each["experiment"] for each in matrix.columns if each["situation"] == "crash"]
    assert ["everyday", "consumer-crash"] == crashes
    ends = matrix.clients[0]["ends"]
    assert ["everyday", "consumer-crash"] == [end["experiment"] for end in ends]


def test_ends_of_which_the_same_is_said_are_told_once(tmp_path: Path) -> None:
    bad = [judgement("P1", 52, ok=False, subject=f"{TOPIC}-0"), judgement("P10", STOP_S)]
    folders = {name: tmp_path / name / "run-1" for name in ("everyday", "consumer-crash")}
    written = {name: write_app_run(folder) for name, folder in folders.items()}
    written["rough-day"] = write_app_run(tmp_path / "rough-day" / "run-1", judgements=bad)
    runs = [played(tmp_path, run, experiment=name) for name, run in written.items()]
    text = markdown(matrix_of(suite_of(tmp_path, *runs)))

    assert (
        "<sub>everyday, consumer-crash</sub><br>caught up, worked to the end, lost nothing, left "
        "in order<br><sub>n = 1 each</sub><br><sub>rough-day</sub><br>**did not catch up: 1 of 1 "
        "run**<br>lost nothing<br><sub>n = 1</sub>"
    ) in text


def test_programs_of_ones_own_are_not_said_to_have_defaults(tmp_path: Path) -> None:
    matrix = matrix_of(write_matrix(tmp_path))

    assert "default" not in markdown(replace(matrix, examples=False))


def test_the_page_leads_to_the_runs_and_escapes_what_they_say(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    write(suite)
    page = (suite.path / "clients.html").read_text()

    for number in (1, 2, 3, 4):
        assert f'href="../../everyday/run-{number}/report.html"' in page
    assert "<b>ended</b>" not in page
    assert "<script" not in page
    assert str(tmp_path) not in page
    assert "wedged: 1 of 1 run" in page


def test_the_record_has_every_number(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    write(suite)
    record = json.loads((suite.path / "matrix.json").read_text())

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
    assert str(tmp_path) not in json.dumps(record)


def test_a_run_that_was_removed_is_named(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    write(suite)
    shutil.rmtree(tmp_path / "everyday" / "run-1")
    matrix = matrix_of(suite)

    assert (3, "its folder has been removed") == (matrix.shown, matrix.unshown[0]["reason"])
    assert "n = 2 of 3" == texts(cell(matrix, "franz-go", "crash"))[-1]


def test_report_writes_a_matrix_again(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    suite.save()

    assert Exit.FAILED == main(["report", str(suite.path)])  # of the void run
    assert (suite.path / "clients.md").exists()


def test_the_record_of_a_matrix_that_goes_on_is_its_own(tmp_path: Path) -> None:
    """Its next run is being played, and no report may call that one interrupted."""
    suite = write_matrix(tmp_path)
    suite.entries[0].state = State.INTERRUPTED
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


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    write(suite)

    text = (suite.path / "matrix.json").read_text()
    found = load_matrix(suite.path / "matrix.json")
    assert text == as_json(found)
    assert markdown(matrix_of(suite)) == markdown(found)


def test_what_is_published_leads_to_no_run(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    suite.save()
    into = tmp_path / "pages"

    assert Exit.FAILED == main(["report", str(suite.path), "--into", str(into)])
    page = (into / "clients.html").read_text()
    assert not re.findall(r'href="(?!data:|#)', page)
    assert "7.50 s (7.50 s – 9.80 s)" in page
    assert "kafkajs, everyday, run 2: void" in page
    assert "kafkajs, everyday, run 3" not in page  # it was never begun
    assert "report.html" not in (into / "matrix.json").read_text()
    assert "4 of 5 runs shown" in (into / "clients.md").read_text()


def test_publishing_adds_runs_and_programs(tmp_path: Path) -> None:
    """Rounds of other evenings count with those that are there."""
    into = tmp_path / "pages"
    first = write_matrix(tmp_path / "first")
    runs = [
        played(
            tmp_path / "second",
            write_app_run(tmp_path / "second" / "everyday" / f"of-{name}"),
            client=name,
        )
        for name in ("franz-go", "sarama")
    ]
    matrix_text.publish(matrix_of(first), into)
    both = matrix_text.publish(matrix_of(suite_of(tmp_path / "second", *runs)), into)

    assert ["franz-go", "kafkajs", "sarama"] == [each["name"] for each in both.clients]
    assert (7, 6, 0) == (both.planned, both.shown, both.repeats)
    assert ["n = 4", "n = 1 of 2", "n = 1"] == [
        texts(cell(both, each["name"], "crash"))[-1] for each in both.clients
    ]
    again = matrix_text.publish(matrix_of(first), into)
    assert both.clients == again.clients  # a run counts once, however often it is published


def test_runs_of_another_version_take_the_place_of_those_that_are_there(tmp_path: Path) -> None:
    into = tmp_path / "pages"
    newer = {"clients": ["kgo v1.23.0"], "protocol": "cooperative", "session_timeout_ms": 45_000}
    run = write_app_run(tmp_path / "second" / "everyday" / "run-9", observed=newer)
    matrix_text.publish(matrix_of(write_matrix(tmp_path / "first")), into)
    second = suite_of(tmp_path / "second", played(tmp_path / "second", run))
    both = matrix_text.publish(matrix_of(second), into)

    assert ["kgo v1.23.0"] == client(both, "franz-go")["libraries"]
    assert "n = 1" == texts(cell(both, "franz-go", "crash"))[-1]
    assert "n = 1 of 2" == texts(cell(both, "kafkajs", "crash"))[-1]


def test_a_broken_record_is_not_added_to(tmp_path: Path) -> None:
    suite = write_matrix(tmp_path)
    into = tmp_path / "pages"
    into.mkdir()
    (into / "matrix.json").write_text('{"schema_version": 2}')

    with pytest.raises(NoData, match=r"matrix\.json cannot be read .*remove it, and publish"):
        matrix_text.publish(matrix_of(suite), into)
    (into / "matrix.json").write_text('{"schema_version": 7}')
    with pytest.raises(NoData, match="is of schema 7"):
        matrix_text.publish(matrix_of(suite), into)


def test_only_a_matrix_is_published(tmp_path: Path) -> None:
    run = write_app_run(tmp_path / "everyday" / "run-1")

    assert Exit.BAD_ARGUMENTS == main(["report", str(run), "--into", str(tmp_path / "pages")])
    assert not (tmp_path / "pages").exists()
