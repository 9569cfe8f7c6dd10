"""Tests that are left out for want of an engine are told of, in however many processes they run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.base.paths import ROOT
from tests.commands import python
from tests.machine import REQUIRED

TESTS = """
import pytest

@pytest.mark.docker
def test_of_containers(): raise AssertionError("there is no engine")

def test_of_nothing(): pass
"""


@pytest.mark.long(9)
@pytest.mark.parametrize("processes", [0, 2])
def test_what_is_left_out_is_told_once(tmp_path: Path, processes: int) -> None:
    (tmp_path / "test_sample.py").write_text(TESTS)
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no-engine.sock"}
    environment.pop(REQUIRED, None)
    options = ["-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml")]
    options += ["--numprocesses", str(processes), f"--basetemp={tmp_path / 'temp'}"]
    words = ("-m", "pytest", *options, str(tmp_path / "test_sample.py"))
    answer = python(*words, env=environment, timeout=120)

    assert 0 == answer.returncode, answer.stdout
    assert "1 passed" in answer.stdout
    assert 1 == answer.stdout.count("1 tests left out, for no Docker engine answers: ")
