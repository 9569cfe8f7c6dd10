"""`trend` as a person calls it, on a Spark cluster that runs in JVMs of its own."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pyarrow.parquet as pq
import pytest

from harness.trend import dataset
from tests.commands import command, sentence
from tests.spark_servers import worked
from tests.trend.sample import write_series

pytestmark = pytest.mark.long(5)

LONGEST_S = 120
ROOT = Path(__file__).resolve().parents[2]


def trend(results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return command("trend", results, *options)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Thirty nights; what R01 measures has moved half-way."""
    results = tmp_path / "results"
    up = [6_000.0 + number % 3 for number in range(15)] + [6_040.0 + n % 3 for n in range(15)]
    write_series(results / dataset.FOLDER, "R01", up, bound_high=6_050.0)
    write_series(results / dataset.FOLDER, "R14", up[:15] * 2, bound_high=6_050.0)
    return results


def both_find(results: Path, spark: str) -> list[dict[str, Any]]:
    """What is said and written here, and with `--spark` alike: the rows that were written."""
    here = trend(results)
    rows = pq.read_table(results / "trend" / "trend.parquet").to_pylist()
    there = trend(results, "--spark", spark)

    assert (1, 1) == (here.returncode, there.returncode), there.stderr
    assert "session/silent-member" in there.stdout
    assert here.stdout == there.stdout
    assert rows == pq.read_table(results / "trend" / "trend.parquet").to_pylist()
    return rows


@pytest.mark.long(25)
@pytest.mark.spark
def test_a_connect_server_finds_what_one_machine_finds(results: Path, connect: str) -> None:
    assert both_find(results, connect)


@pytest.mark.long(35)
@pytest.mark.spark
def test_a_cluster_finds_what_one_machine_finds(tmp_path: Path, results: Path, master: str) -> None:
    rows = both_find(results, master)
    assert [("R01", "worse"), ("R14", "steady")] == [(row["rule"], row["trend"]) for row in rows]
    # The work was done by executors in JVMs of the workers', not in the command's.
    assert any(worked(tmp_path))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 5, "has no judged run: play some first"),
        (
            ("--spark", "yarn"),
            4,
            "is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT",
        ),
        (("--spark", "sc://127.0.0.1:9"), 3, "no Spark Connect server answers at sc://127.0.0.1:9"),
        (("--spark", "spark://127.0.0.1:9"), 3, "no Spark master answers at spark://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    if options:
        write_series(tmp_path / dataset.FOLDER, "R01", [1.0, 2.0])
    answer = trend(tmp_path, *options)

    assert code == answer.returncode
    assert said in sentence(answer)


@pytest.mark.parametrize("place", ["s3://nights/dataset", "s3n://nights/dataset"])
def test_a_store_by_a_name_that_hadoop_has_no_longer_is_shown_the_other(
    tmp_path: Path, place: str
) -> None:
    answer = trend(tmp_path, "--dataset", place)

    assert 4 == answer.returncode
    assert "Spark does not know: say s3a://nights/dataset" in sentence(answer)


def sentence_over(place: str | Path, results: Path, *options: str) -> tuple[int, str]:
    """The exit code and the one sentence of a trend whose dataset cannot be read."""
    answer = trend(results, "--dataset", str(place), *options)
    assert not (results / "trend").exists()
    return answer.returncode, sentence(answer)


@pytest.mark.long(21)
@pytest.mark.spark
def test_a_dataset_elsewhere_is_read_where_it_is(tmp_path: Path, results: Path) -> None:
    there = (results / dataset.FOLDER).as_uri()
    own, other = trend(results), trend(tmp_path / "other", "--dataset", there)

    assert (1, 1) == (own.returncode, other.returncode), other.stderr
    rows = [
        pq.read_table(each / "trend" / "trend.parquet").to_pylist()
        for each in (results, tmp_path / "other")
    ]
    assert rows[0] == rows[1]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3a://nights/dataset", "S3AFileSystem: name org.apache.hadoop:hadoop-aws in spark.jars"),
        ("ftp2://nights/dataset", "lacks what reads ftp2://: name the jars of ftp2:// in spark."),
    ],
)
def test_a_store_whose_jars_are_missing_is_one_sentence(
    tmp_path: Path, place: str, said: str
) -> None:
    code, sentence = sentence_over(place, tmp_path)

    assert 3 == code
    assert f"{place} cannot be read, for Spark lacks " in sentence
    assert said in sentence


@pytest.mark.spark
def test_a_connect_server_without_the_jars_is_the_same_sentence(
    tmp_path: Path, connect: str
) -> None:
    code, sentence = sentence_over("s3a://nights/dataset", tmp_path, "--spark", connect)

    assert 3 == code
    assert "lacks the class org.apache.hadoop.fs.s3a.S3AFileSystem: name" in sentence


def test_a_place_with_nothing_in_it_is_no_data(tmp_path: Path) -> None:
    code, sentence = sentence_over(tmp_path / "nowhere", tmp_path)

    assert 5 == code
    assert f"there is no folder {tmp_path / 'nowhere'}; name the folder of a dataset" in sentence


@pytest.mark.long(12)
@pytest.mark.spark
def test_a_damaged_file_elsewhere_is_one_sentence(tmp_path: Path, results: Path) -> None:
    """Its files are not looked at beforehand, as at those of the results of this machine."""
    damaged = min((results / dataset.FOLDER).glob("*/*/*/R14.parquet"))
    content = bytearray(damaged.read_bytes())
    group = pq.read_metadata(damaged).row_group(0)
    column = next(
        each
        for each in map(group.column, range(group.num_columns))
        if each.path_in_schema == "measured_p50"
    )
    begins = column.dictionary_page_offset or column.data_page_offset
    content[begins + column.total_compressed_size - 3] ^= 0x10
    damaged.write_bytes(content)
    code, sentence = sentence_over(results / dataset.FOLDER, tmp_path)

    assert 3 == code
    assert f"{results / dataset.FOLDER} cannot be read (" in sentence


@contextmanager
def silent() -> Iterator[int]:
    """A port where a listener never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def http() -> Iterator[int]:
    """A port where a web server answers."""

    class Quiet(BaseHTTPRequestHandler):
        def log_message(self, *said: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def another_grpc() -> Iterator[int]:
    """A port where a gRPC server answers that is not Spark's."""
    with futures.ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            server.stop(None).wait()


@pytest.mark.long(12)
@pytest.mark.parametrize(
    ("listens", "said"),
    [(silent, "Deadline Exceeded"), (http, "HTTP/2"), (another_grpc, "Method not found!")],
)
def test_what_listens_and_is_no_spark_is_one_sentence(
    tmp_path: Path, listens: Callable[[], AbstractContextManager[int]], said: str
) -> None:
    write_series(tmp_path / dataset.FOLDER, "R01", [1.0, 2.0])
    with listens() as port:
        answer = trend(tmp_path, "--spark", f"sc://127.0.0.1:{port}")

    assert 3 == answer.returncode
    assert f"no Spark Connect server answers at sc://127.0.0.1:{port} (" in answer.stderr
    assert said in sentence(answer)
