"""`check` of a run in another store: it is copied here, and judged as any other."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.base.paths import ROOT
from harness.history import manifest
from harness.history.derived import VERDICTS_FILE
from tests.commands import command, sentence

pytestmark = pytest.mark.spark

RECORDED = ROOT / "tests" / "recorded" / "runs" / "baseline.librdkafka.eager.4.3.1"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A run that another machine has put somewhere."""
    return Path(shutil.copytree(RECORDED, tmp_path / "bucket" / "run"))


def check(results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return command("check", results, *options)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.long(60)
def test_a_run_elsewhere_is_judged_in_a_copy(tmp_path: Path, stored: Path) -> None:
    results, before = tmp_path / "results", files(stored)
    told = manifest.read(stored)
    answer = check(results, stored.as_uri())

    assert 0 == answer.returncode, answer.stderr
    copy = results / told["experiment"] / told["run"]
    assert f"copied to {copy}" in answer.stderr
    assert (copy / VERDICTS_FILE).is_file()
    assert before <= files(copy)
    assert before == files(stored)  # what is there is left as it was
    assert [copy.parent] == list(results.glob("*"))
    assert not any(name.endswith(".crc") for name in files(copy))


def test_a_run_that_is_here_already_is_not_written_over(tmp_path: Path, stored: Path) -> None:
    told = manifest.read(stored)
    copy = tmp_path / "results" / told["experiment"] / told["run"]
    copy.mkdir(parents=True)
    answer = check(tmp_path / "results", stored.as_uri())

    assert 4 == answer.returncode
    assert "is here already: check that, or remove it first" in sentence(answer)
    assert [copy.parent] == list((tmp_path / "results").iterdir())
    assert not list(copy.iterdir())


@pytest.mark.long(9)
@pytest.mark.parametrize("name", ["../../elsewhere", "..", "a/b", ""])
def test_a_manifest_leads_out_of_the_results_to_nothing(
    tmp_path: Path, stored: Path, name: str
) -> None:
    told = json.loads((stored / manifest.FILE_NAME).read_text())
    manifest.write(stored, told | {"run": name})
    before = files(tmp_path)
    answer = check(tmp_path / "results", stored.as_uri())

    assert 5 == answer.returncode
    assert "names no run of an experiment" in sentence(answer)
    assert before | {"results"} == files(tmp_path)


@pytest.mark.long(9)
@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("s3a://nights/results/baseline/x", 3, "lacks the class org.apache.hadoop.fs.s3a.S3AFile"),
        ("s3://nights/results/baseline/x", 4, "say s3a://nights/results/baseline/x"),
        ("file:///nowhere/at/all", 5, "no run is at file:///nowhere/at/all: name the folder of"),
    ],
)
def test_a_place_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, place: str, code: int, said: str
) -> None:
    answer = check(tmp_path / "results", place)

    assert code == answer.returncode
    assert said in sentence(answer)


def test_a_connect_server_copies_nothing(tmp_path: Path, stored: Path, connect: str) -> None:
    answer = check(tmp_path / "results", "--spark", connect, stored.as_uri())

    assert 4 == answer.returncode
    assert "a Spark Connect server cannot copy" in sentence(answer)
