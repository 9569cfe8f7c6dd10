from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.base.paths import ROOT
from tests import checks
from tests.commands import dry_make
from tests.everything import WITH_BROKERS

Capture = pytest.CaptureFixture[str]
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


def test_the_set_up_is_waited_for_and_may_fail() -> None:
    assert 3 == checks.done_beside(ends_with(3), [ends_with(0)])


def test_a_failure_ends_the_set_up() -> None:
    assert 5 == checks.done_beside(FOREVER, [ends_with(5)])


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


def test_a_slip_is_told(capsys: Capture) -> None:
    assert Exit.BAD_ARGUMENTS == checks.main(["--setup"])
    assert "--setup is not known: use --set-up, or nothing\n" == capsys.readouterr().err


def test_make_checks_first() -> None:
    run = "py -m harness.provision exec"

    assert [f"{run} -- -m tests.checks"] == dry_make("check")
    assert [
        f"{run} -- -m tests.checks --set-up",
        f"{run} --whole -- -m tests.everything",
    ] == dry_make("test", "ALL=1")
    assert f"{run} --whole -- -m tests.everything every" == dry_make("test", "ALL=every")[-1]
    assert f"{run} -- -m tests.checks --set-up" == dry_make("test-fast")[0]


def test_make_test_plays_what_has_brokers_where_everything_does() -> None:
    *_, last = dry_make("test")

    assert last.endswith(f'-m pytest {" ".join(WITH_BROKERS)} -m "cluster and not long"')


def test_only_these_folders_have_tests_with_brokers() -> None:
    """They are all that is collected for them: a test elsewhere would not be run."""
    of_brokers = "mark." + "cluster"
    found = [path for path in (ROOT / "tests").rglob("*.py") if of_brokers in path.read_text()]

    assert found
    folders = {path.relative_to(ROOT).parent.as_posix() for path in found}
    assert folders == set(WITH_BROKERS)
