"""One run of a program is kept beside the others, without what names this machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.history import manifest
from tests.recorded.keep import PROGRAMS, keep_program

RUN = PROGRAMS / "everyday.franz-go.4.3.1"


def a_run(tmp_path: Path, folder: str, **changes: Any) -> Path:
    """The same run as a harness left it, with its program in this folder."""
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    facts = {**json.loads((RUN / "manifest.json").read_text()), **changes}
    facts["declared"]["app"]["folder"] = folder
    (run / "manifest.json").write_text(json.dumps(facts))
    return run


def kept(run: Path, into: Path) -> dict[str, Any]:
    folder = keep_program(run, into)
    assert [folder] == list(into.iterdir())
    return {name: value for name, value in manifest.read(folder).items() if name != manifest.SEAL}


def test_an_example_is_kept_under_its_folder_of_this_repository(tmp_path: Path) -> None:
    run = a_run(tmp_path, "/home/somebody/kafka-chaos/consumers/apps/franz-go")
    facts = kept(run, tmp_path / "kept")
    assert "consumers/apps/franz-go" == facts["declared"]["app"]["folder"]
    assert json.loads((RUN / "manifest.json").read_text()) == facts


def test_another_program_is_kept_under_its_name_and_in_place_of_an_older_run(
    tmp_path: Path,
) -> None:
    run = a_run(tmp_path, "/srv/teams/orders")
    (tmp_path / "kept" / "everyday.franz-go.4.3.1").mkdir(parents=True)
    assert "orders" == kept(run, tmp_path / "kept")["declared"]["app"]["folder"]


def test_another_path_of_this_machine_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, "/srv/teams/orders", status_reason="see /srv/teams/log")
    with pytest.raises(ValueError, match="/srv/teams"):
        keep_program(run, tmp_path / "kept")


def test_a_run_that_was_spoilt_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, "/srv/orders", status="void")
    with pytest.raises(ValueError, match="no complete run"):
        keep_program(run, tmp_path / "kept")


def test_a_large_run_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    run = a_run(tmp_path, "/srv/orders")
    with (run / "history" / "host.parquet").open("ab") as file:
        file.write(b"\0" * 500_000)
    with pytest.raises(ValueError, match="bytes of history"):
        keep_program(run, tmp_path / "kept")
    assert [] == list((tmp_path / "kept").iterdir())
