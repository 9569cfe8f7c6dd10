"""The commands behind `make check` and `make test`: what fails or is interrupted ends the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.base.paths import ROOT
from harness.base.wait import wait_until
from tests import checks, everything
from tests.commands import dry_make
from tests.everything import WITH_BROKERS

FOREVER = ("-c", "import signal; signal.pause()")


def ends_with(code: int) -> tuple[str, str]:
    return ("-c", f"raise SystemExit({code})")


def touches(path: Path) -> tuple[str, str]:
    return ("-c", f"open({str(path)!r}, 'w')")


def test_nothing_is_checked_after_a_failure(tmp_path: Path) -> None:
    assert 5 == checks.done([ends_with(0), ends_with(5), touches(tmp_path / "done")])
    assert not (tmp_path / "done").exists()


def test_the_set_up_goes_on_beside_the_checks(tmp_path: Path) -> None:
    """Each end of a pipe waits for the other one."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)

    assert 0 == checks.done_beside(
        ("-c", f"open({pipe!r}, 'w').close()"), [("-c", f"open({pipe!r}).close()")]
    )


@pytest.mark.parametrize(
    ("set_up", "check", "code"),
    [(ends_with(3), ends_with(0), 3), (FOREVER, ends_with(5), 5)],
    ids=["it is waited for", "it is ended"],
)
def test_a_failure_of_either_is_that_of_both(
    set_up: tuple[str, str], check: tuple[str, str], code: int
) -> None:
    assert code == checks.done_beside(set_up, [check])


def test_an_interruption_ends_both(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    begun = f"open({str(pipe)!r}, 'w').close(); {FOREVER[1]}"
    code = (
        "from tests import checks\n"
        "checks.REST_OF_SET_UP = ('-c', 'import signal; signal.pause()')\n"
        f"checks.CHECKS = (('-c', {begun!r}),)\n"
        "raise SystemExit(checks.main(['--set-up']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as child:
        pipe.open().close()
        child.send_signal(signal.SIGTERM)

        assert Exit.INTERRUPTED == child.wait()


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
    ) as tests:
        begun = tmp_path / "parts"
        wait_until("the test has begun", lambda: begun.exists() and begun.read_text(), timeout_s=60)
        if number == signal.SIGINT:
            os.killpg(tests.pid, number)
        else:
            tests.send_signal(number)

        assert pytest.ExitCode.INTERRUPTED == tests.wait()
    # The second part was not begun.
    assert "begun cleaned " == (tmp_path / "parts").read_text()


@pytest.mark.parametrize(
    ("command", "word", "says"),
    [
        (checks.main, "--setup", "--setup is not known: use --set-up, or nothing\n"),
        (everything.main, "each", "each is not known: use every, or nothing\n"),
    ],
)
def test_a_slip_is_one_sentence(
    command: Callable[[list[str]], int], word: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.BAD_ARGUMENTS == command([word])
    assert says == capsys.readouterr().err


def test_make_checks_first_and_tests_with_brokers_what_everything_does() -> None:
    run = "py -m harness.provision exec"

    assert [f"{run} -- -m tests.checks"] == dry_make("check")
    assert [
        f"{run} -- -m tests.checks --set-up",
        f"{run} --whole -- -m tests.everything",
    ] == dry_make("test", "ALL=1")
    assert f"{run} --whole -- -m tests.everything every" == dry_make("test", "ALL=every")[-1]
    assert f"{run} -- -m tests.checks --set-up" == dry_make("test-fast")[0]
    last = f'-m pytest {" ".join(WITH_BROKERS)} -m "cluster and not long"'
    assert dry_make("test")[-1].endswith(last)


def test_only_these_folders_have_tests_with_brokers() -> None:
    """They are all that is collected for them: a test elsewhere would not be run."""
    of_brokers = "mark." + "cluster"
    found = [path for path in (ROOT / "tests").rglob("*.py") if of_brokers in path.read_text()]

    assert found
    folders = {path.relative_to(ROOT).parent.as_posix() for path in found}
    assert folders == set(WITH_BROKERS)
