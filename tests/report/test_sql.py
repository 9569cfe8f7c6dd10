"""`sql`: every table has words and a question that works, of one run and of many."""

import csv
import json
import shutil
from contextlib import closing
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.base.errors import BadInput, Exit, NoData
from harness.check.check import check
from harness.cli.main import main
from harness.history import manifest
from harness.history.derived import TABLES, VERDICTS
from harness.history.schema import HISTORY
from harness.report.text import sql
from harness.report.text.sql_tables import EXAMPLES
from harness.tables.engines.duckdb import DuckDb
from tests.recorded.keep import RUNS

KEPT = "consumer-crash.java.eager.4.3.1"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one experiment, judged, and `latest`; brackets in the folder's name."""
    folder = tmp_path_factory.mktemp("results") / "of [two] runs*"
    for number in (1, 2):
        run = folder / "consumer-crash" / f"run-{number}"
        shutil.copytree(RUNS / KEPT, run)
        with closing(DuckDb()) as engine:
            check(run, engine)
    (folder / "consumer-crash" / "latest").symlink_to("run-2")
    return folder


@pytest.fixture
def run(results: Path) -> Path:
    return results / "consumer-crash" / "run-1"


@pytest.fixture
def whole(run: Path, tmp_path: Path) -> Path:
    """A run that has every table there is, some of them empty."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    for place, tables in (("history", HISTORY), ("tables", TABLES)):
        for name, schema in tables.items():
            if not (folder / place / f"{name}.parquet").exists():
                pq.write_table(schema.empty_table(), folder / place / f"{name}.parquet")
    return folder


def test_every_table_has_words() -> None:
    assert {*HISTORY, *TABLES, "verdicts"} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_answered(whole: Path, name: str) -> None:
    with sql.opened([whole]) as database:
        columns, _ = sql.ask(database, EXAMPLES[name][2])
        assert columns


def test_a_view_has_what_its_file_has(run: Path) -> None:
    with sql.opened([run]) as database:
        columns, rows = sql.ask(database, "SELECT * FROM verdicts")

    assert list(VERDICTS.names) == columns
    assert pq.read_metadata(run / "verdicts.parquet").num_rows == len(rows)


def test_of_several_runs_each_row_says_whose_it_is(results: Path) -> None:
    with sql.opened(manifest.runs_in(results)) as database:
        for name in ("verdicts", "evictions", "requests"):
            query = f"SELECT DISTINCT experiment, run FROM {name} ORDER BY ALL"
            assert [("consumer-crash", "run-1"), ("consumer-crash", "run-2")] == sql.ask(
                database, query
            )[1]


def test_a_run_that_was_not_judged_has_its_history_only(tmp_path: Path) -> None:
    with sql.opened([RUNS / KEPT]) as database:
        assert sql.ask(database, "SELECT count(*) FROM requests")[1][0][0] > 0
        with pytest.raises(BadInput, match=r"verdicts does not exist.*`sql RUN` lists the tables"):
            sql.ask(database, "SELECT * FROM verdicts")


@pytest.mark.parametrize(
    "wrong", ["'x'::INTEGER", "9223372036854775807::BIGINT + 1", "now()::TIME"]
)
def test_what_a_query_asks_in_vain_is_its_own_fault(run: Path, wrong: str) -> None:
    with sql.opened([run]) as database, pytest.raises(BadInput):
        sql.ask(database, f"SELECT {wrong} FROM evictions")


def test_a_slip_in_a_query_is_one_sentence(run: Path) -> None:
    with (
        sql.opened([run]) as database,
        pytest.raises(BadInput, match=r'"generatio" not found .*"generation"') as said,
    ):
        sql.ask(database, "SELECT generatio FROM rebalances")
    assert "\n" not in str(said.value)


def test_what_does_not_fit_into_memory_is_not_put_where_the_user_is(run: Path, here: Path) -> None:
    with sql.opened([run]) as database:
        database.execute("SET memory_limit = '60MB'")
        sorted_rows = "SELECT hash(range) AS k, range FROM range(6_000_000) ORDER BY k"
        _, [(most,)] = sql.ask(database, f"SELECT max(k) FROM ({sorted_rows} LIMIT 5_999_999)")

    assert most > 0
    assert [] == [*here.iterdir(), *(here.parent / "temporary").iterdir()]


def test_a_damaged_file_is_no_data(run: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "run"
    shutil.copytree(run, damaged)
    (damaged / "history" / "host.parquet").write_bytes(b"PAR1 and no more")

    with pytest.raises(NoData, match=r"host cannot be read: .*host\.parquet"):
        sql.opened([damaged]).__enter__()


def test_the_command_prints_a_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT member, silence_ms FROM evictions"

    assert Exit.AS_EXPECTED == main(["sql", str(run), query])
    head, row = capsys.readouterr().out.splitlines()
    assert ["member", "silence_ms"] == head.split()
    assert "member-" in row


def test_the_command_writes_csv_and_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT evicted_at, member, [1, 2] AS both FROM evictions"

    main(["sql", str(run), query, "--format", "csv"])
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    main(["sql", str(run), query, "--format", "json"])
    (same,) = json.loads(capsys.readouterr().out)

    assert ("[1, 2]", [1, 2]) == (row.pop("both"), same.pop("both"))
    assert row == same
    assert row["evicted_at"].endswith("+00:00")


def test_json_has_every_type_that_a_query_may_give(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (
        "SELECT evicted_at::DATE AS day, TIME '10:00:00' AS hour, 0.5 AS half, [0.5] AS halves, "
        "NULL AS nothing, true AS yes, uuid() AS name, {'at': evicted_at::DATE} AS nested "
        "FROM evictions"
    )
    for how in ("json", "csv", "table"):
        assert Exit.AS_EXPECTED == main(["sql", str(run), query, "--format", how])
        said = capsys.readouterr().out
        if how == "json":
            (row,) = json.loads(said)
            assert (0.5, [0.5], None, True) == tuple(
                row[name] for name in ("half", "halves", "nothing", "yes")
            )
            assert row["day"] == row["nested"]["at"] == date.fromisoformat(row["day"]).isoformat()


def test_without_a_query_it_lists_what_there_is(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["sql", str(run)])
    said = capsys.readouterr().out

    assert "evictions  members whose session ran out (1 rows)" in said
    assert EXAMPLES["evictions"][2] in said
    main(["sql"])
    assert EXAMPLES["calls"][0] in capsys.readouterr().out


def test_a_folder_without_runs_is_named(tmp_path: Path) -> None:
    assert Exit.NO_DATA == main(["sql", str(tmp_path)])


def test_a_long_answer_says_how_to_have_all(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["sql", str(run), "SELECT * FROM range(1234)"])

    *_, last = capsys.readouterr().out.splitlines()
    assert "… and 1,034 more rows: --format csv has all" == last
