"""One session judges many runs, and its death costs one; in processes that have their own JVM."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from harness.bench.synthetic import write_synthetic
from harness.suite.verdict_job import sentence_of

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
from harness.base.errors import HarnessError
from harness.tables.session import process_of
from harness.suite.judging import Judge

run_dir = Path(sys.argv[1])
with closing(Judge()) as judge:
    judge.judge(run_dir)
    process_of(judge._session).kill()
    try:
        judge.judge(run_dir)
    except HarnessError as error:
        print(str(error).split(" (")[0])
    (run_dir / "verdicts.parquet").unlink()
    judge.judge(run_dir)
    print("judged again")
"""


@pytest.mark.long(150)
def test_the_next_run_gets_another_session_after_spark_has_died(tmp_path: Path) -> None:
    run_dir = write_synthetic(tmp_path / "run", 10_000)
    done = ended(KILLED_BETWEEN, run_dir)

    assert "Spark could not judge it\njudged again\n" == done.stdout, done.stderr
    assert "Traceback" not in done.stderr


WORKER_DIES: Final = """
import sys
from contextlib import closing
from pathlib import Path
from harness.catalogue import own_modules
from harness.suite.again import judge_again
from harness.suite.judging import Judge

folder = Path(sys.argv[1])
with own_modules.used(None, folder / "rules"), closing(Judge()) as judge:
    judge.at_once = 1
    for each in judge_again([folder / "a", folder / "b"], judge, lambda _count, _judged: None):
        print(each.code, each.sentence.split(":")[0])
"""
# A rule of the owner's that ends the process which judges by it, once.
DEADLY: Final = """
import os
import signal
from harness.rules import Rule

@Rule("own-deadly", title="t", statement="s.", source="us", unit="", things="things", always=True)
def deadly() -> str:
    if "SPARK_LOCAL_DIRS" in os.environ and os.path.exists({marker!r}):  # in a worker
        os.unlink({marker!r})
        os.kill(os.getpid(), signal.SIGKILL)
    return "SELECT 'it' AS subject"
"""


@pytest.mark.long
def test_a_worker_that_dies_costs_its_run_and_no_other(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "deadly.py").write_text(DEADLY.format(marker=str(marker)))
    for name in ("a", "b"):
        write_synthetic(tmp_path / name, 2_000)
    done = ended(WORKER_DIES, tmp_path)

    dead, judged = done.stdout.splitlines()
    assert dead.startswith("3 Spark could not judge it ("), done.stderr
    assert "0 Every verdict as expected" == judged
    assert [tmp_path / "b" / "verdicts.parquet"] == list(tmp_path.glob("*/verdicts.parquet"))


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

    def steps(what, done, of):
        if what == "the rules":
            threading.Thread(target=interrupt, daemon=True).start()

    try:
        judge.judge(Path(sys.argv[1]), steps)
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


def test_what_workers_lack_is_named() -> None:
    said = "Traceback\nModuleNotFoundError: No module named 'pyarrow'\n SQLSTATE: 38000"
    assert sentence_of(RuntimeError(said), "").startswith("Spark's workers lack pyarrow: each of ")
