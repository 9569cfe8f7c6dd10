"""One session judges many runs, and its death costs the run that was being judged only.

Method: a process of its own, because pyspark knows one JVM per process and this one's is shared.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from harness.bench.synthetic import write_synthetic

pytestmark = pytest.mark.spark


def ended(script: str, run_dir: Path) -> subprocess.CompletedProcess[str]:
    """A script about the run, once it has ended."""
    return subprocess.run(
        [sys.executable, "-c", script, str(run_dir)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )


KILLED_BETWEEN: Final = """
import sys
from contextlib import closing
from pathlib import Path
from harness.tables.session import process_of
from harness.suite.judging import Judge

def gone(_said):
    raise OSError("nobody reads")

run_dir = Path(sys.argv[1])
with closing(Judge()) as judge:
    judge.judge(run_dir, first=print)
    process_of(judge._session).kill()
    try:
        judge.judge(run_dir)
    except Exception:
        judge.close()
        (run_dir / "verdicts.parquet").unlink()
        judge.judge(run_dir, first=gone)
        print("judged again")
"""


@pytest.mark.long(150)
def test_the_next_run_gets_another_session_after_spark_has_died(tmp_path: Path) -> None:
    run_dir = write_synthetic(tmp_path / "run", 10_000)
    done = ended(KILLED_BETWEEN, run_dir)

    [first, again] = done.stdout.splitlines()
    assert first.startswith("first verdict (DuckDB): Every verdict as expected; "), done.stderr
    assert "judged again" == again, done.stderr
    assert "DuckDB could not judge run, so Spark judges all of it (OSError: nobody reads)" in (
        done.stderr
    )
    assert 0 == done.returncode, done.stderr
    assert (run_dir / "verdicts.parquet").exists()


INTERRUPTED: Final = """
import os, signal, sys, threading
from contextlib import closing
from pathlib import Path
from harness.suite.judging import Judge

with closing(Judge()) as judge:
    judge.session()

    heard = threading.Event()

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        while not heard.wait(20):  # one that comes while Python frees something is lost
            os.kill(os.getpid(), signal.SIGINT)

    def first(said):
        threading.Thread(target=interrupt, daemon=True).start()

    try:
        judge.judge(Path(sys.argv[1]), first=first)
    except KeyboardInterrupt:
        heard.set()
        print("interrupted")
"""


@pytest.mark.long
def test_ctrl_c_while_spark_judges_prints_no_traceback(tmp_path: Path) -> None:
    run_dir = write_synthetic(tmp_path / "run", 10_000)
    done = ended(INTERRUPTED, run_dir)

    assert "interrupted\n" == done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    assert not (run_dir / "verdicts.parquet").exists()
