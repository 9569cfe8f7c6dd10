from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.base.errors import SetupError
from harness.base.wait import wait_until
from harness.tables import session
from tests.conftest import java_and_aot

_CHILD = """
import os, sys
from pathlib import Path
from harness.tables import session

spark = session.start(Path(sys.argv[1]), None, Path(sys.argv[2]))
print(session.process_of(spark).pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.spark
def test_the_jvm_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    java, _ = java_and_aot()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(java), str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    pid = int(child.stdout)
    wait_until("end of the JVM whose starter was killed", lambda: _ended(pid), timeout_s=30)


def _ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_java_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="make setup"):
        session.start(tmp_path / "java", None, tmp_path / "log")


def test_a_java_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no memory left >&2\nexit 1\n")
    java.chmod(0o755)
    with pytest.raises(SetupError, match="no memory left"):
        session.start(java, None, tmp_path / "log")


def test_a_java_that_takes_too_long_is_named_with_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    java.chmod(0o755)
    monkeypatch.setattr(session, "START_TIMEOUT_S", 0)
    with pytest.raises(SetupError, match="did not start within 0 s: it said nothing"):
        session.start(java, None, tmp_path / "log")
