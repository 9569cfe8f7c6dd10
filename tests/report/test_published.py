"""docs/clients.md is what docs/matrix.json has, in the words of today."""

from pathlib import Path

import pytest

from harness.base.paths import ROOT
from harness.catalogue import apps
from harness.report.load import Row
from harness.report.many.matrix import load_matrix
from harness.report.many.matrix_text import RECORD, TEXT, write_into

DOCS = ROOT / "docs"
FEWEST = 3


@pytest.fixture(scope="module")
def matrix() -> Row:
    return load_matrix(DOCS / RECORD)


def test_the_text_is_as_the_code_writes_them(matrix: Row, tmp_path: Path) -> None:
    write_into(tmp_path, matrix)

    for name in (RECORD, TEXT):
        assert (DOCS / name).read_text() == (tmp_path / name).read_text(), "make docs writes it"


def test_every_example_is_in_it(matrix: Row) -> None:
    """But for Kafka Streams, which is no client library: a kept run shows what it does."""
    examples = {app.name for app in map(apps.named, map(str, apps.examples()))}

    assert examples - {"kafka-streams"} <= {client["name"] for client in matrix["clients"]}


def test_there_are_several_runs_behind_every_cell(matrix: Row) -> None:
    few = [
        (client["name"], cell["column"]["situation"], cell["runs"])
        for client in matrix["clients"]
        for cell in client["cells"]
        if cell["runs"] < FEWEST
    ]
    assert [] == few
