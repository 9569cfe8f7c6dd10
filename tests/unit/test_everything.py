from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.base.paths import ROOT
from harness.base.wait import wait_until
from tests import everything

# Both parts are this module; it notes that it has begun, waits, and cleans up.
TEST = """
import os
import signal
from pathlib import Path

def test_that_waits():
    here = Path(__file__).parent
    with (here / "parts").open("a") as parts:
        parts.write("begun ")
    try:
        signal.pause()
    finally:
        with (here / "parts").open("a") as parts:
            parts.write("cleaned ")
"""
OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--engine")
    parser.addoption("--in-turn", action="store_true")
"""
COMMAND = """
import signal
import sys
from tests import everything

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if it was where this began
everything.PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", sys.argv[1])
everything.TWO = everything.WITH_BROKERS = ()
sys.exit(everything.main([]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interruption_ends_the_tests_which_clean_up(tmp_path: Path, number: int) -> None:
    (tmp_path / "conftest.py").write_text(OPTIONS)
    (tmp_path / "test_that_waits.py").write_text(TEST)
    command = [sys.executable, "-c", COMMAND, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True
    ) as everything:
        begun = tmp_path / "parts"
        wait_until("the test has begun", lambda: begun.exists() and begun.read_text(), timeout_s=60)
        if number == signal.SIGINT:
            os.killpg(everything.pid, number)
        else:
            everything.send_signal(number)

        assert pytest.ExitCode.INTERRUPTED == everything.wait()
    # The second part was not begun.
    assert "begun cleaned " == (tmp_path / "parts").read_text()


def test_a_slip_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.BAD_ARGUMENTS == everything.main(["each"])
    assert "each is not known: use every, or nothing\n" == capsys.readouterr().err
