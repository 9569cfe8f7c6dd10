from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from harness.base.errors import SetupError
from harness.base.wait import wait_until
from harness.provision.shell import Shell


def test_failure_is_one_sentence_with_the_last_line_and_the_log(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        Shell(tmp_path).run(
            "the work",
            ["sh", "-c", "echo first; echo no room left >&2; exit 7"],
            log="work.log",
            remedy="buy a disk",
        )

    log = tmp_path / "work.log"
    assert str(caught.value) == f"the work failed: no room left (whole output in {log}); buy a disk"
    assert "first" in log.read_text()


@pytest.mark.parametrize(
    ("command", "timeout_s", "says"),
    [
        (["false"], 60, "the work failed: it said nothing"),
        (["/no/such/thing"], 60, "/no/such/thing does not start"),
        (["cat", "/dev/zero"], 0, "did not end within 0 s"),
    ],
    ids=["silent", "missing", "endless"],
)
def test_a_failure_says_what_is_known(
    tmp_path: Path, command: list[str], timeout_s: float, says: str
) -> None:
    with pytest.raises(SetupError, match=says):
        Shell(tmp_path).run("the work", command, log="work.log", timeout_s=timeout_s)


def is_gone(pid: int) -> bool:
    """Also where the machine's first process waits for no child."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_what_an_endless_program_has_started_is_ended_too(tmp_path: Path) -> None:
    """In a session of its own, as Spark's JVM is that writes an AOT cache."""
    starts = f"setsid sh -c 'echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; "
    starts += "exec sleep 600' & wait"
    shell = Shell(tmp_path)
    with ThreadPoolExecutor() as thread:
        ended = thread.submit(shell.run, "the work", ["sh", "-c", starts], log="work.log")
        wait_until("start of it", (tmp_path / "pid").exists, timeout_s=20)
        shell.stop()
        assert isinstance(ended.exception(), SetupError)

    started = int((tmp_path / "pid").read_text())
    wait_until("end of it", lambda: is_gone(started), timeout_s=20)


def test_log_keeps_what_earlier_set_ups_said(tmp_path: Path) -> None:
    for word in ("one", "two"):
        Shell(tmp_path).run("the work", ["echo", word], log="work.log")

    said = (tmp_path / "work.log").read_text().split("\n")
    assert ["$ echo one", "one", "$ echo two", "two"] == [line for line in said if line]
