"""A night on real clusters: it goes on after a run that cannot start, and ends with what there is.

Method: the command plays experiments made for the purpose. One is a short one; the brokers of the
other refuse their settings.
"""

import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.base.priority import SHARES
from harness.base.wait import wait_until
from harness.history import manifest
from harness.provision import kafka

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.spark]

LONGEST_S: Final = 300
ROOT: Final = Path(__file__).resolve().parents[2]
TINY: Final = '''"""Nothing happens."""

from harness.experiment import Experiment, holds

experiment = Experiment(claim="Nothing is lost.", duration_s=3, rules=holds("X32a", "X32c"))
'''
DOOMED: Final = '''"""No broker starts."""

from harness.experiment import Cluster, Experiment, holds

experiment = Experiment(
    claim="Never told.",
    cluster=Cluster(settings={"num.io.threads": "0"}),
    rules=holds("X32a", "X32b"),
)
'''
# The command, with other experiments than the project's.
COMMAND: Final = (
    "import sys, experiments; experiments.__path__[:] = [sys.argv.pop(1)]; "
    "from harness.cli.main import main; sys.exit(main())"
)


def start(tmp_path: Path, *options: str, **experiments: str) -> subprocess.Popen[str]:
    """Begin a night of these experiments; its results are in `tmp_path / "results"`."""
    folder = tmp_path / "experiments"
    folder.mkdir()
    for name, text in experiments.items():
        (folder / f"{name}.py").write_text(text)
    results = ("--results", str(tmp_path / "results"))
    with (tmp_path / "stderr").open("w") as said:
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(folder), "nightly", *options, *results],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            cwd=ROOT,
        )


def statuses(results: Path, name: str) -> list[str]:
    """How each run of an experiment ended, by its manifest; nothing of it is left running."""
    runs = [path for path in sorted((results / name).iterdir()) if not path.is_symlink()]
    for run_dir in runs:
        assert [] == processes.marked(run_dir.name)
        assert not (run_dir / "scratch").exists()
    return [manifest.read(run_dir)["status"] for run_dir in runs]


@pytest.mark.long(25)
def test_a_night_goes_on_after_a_run_that_cannot_start(tmp_path: Path) -> None:
    night = start(tmp_path, "--only", "doomed,tiny", "--seed", "1", doomed=DOOMED, tiny=TINY)
    out, _ = night.communicate(timeout=LONGEST_S)
    said = (tmp_path / "stderr").read_text()
    results = tmp_path / "results"
    folder = (results / "nightly" / "latest").resolve()

    assert 3 == night.returncode, said
    assert ["void"] == statuses(results, "doomed")
    assert {"complete"} == set(statuses(results, "tiny"))
    entries = json.loads((folder / "suite.json").read_text())["entries"]
    assert [("doomed:librdkafka/eager", "void", 1), ("tiny:librdkafka/eager", 2)] == [
        (entries[0]["label"], entries[0]["state"], entries[0]["seed"]),
        (entries[1]["label"], entries[1]["seed"]),
    ]
    assert "ended while it started" in entries[0]["reason"]
    # A busy machine withholds timings.
    assert entries[1]["state"] in ("as expected", "differs", "spoilt")

    rows = pq.read_table(folder / "verdicts.parquet").to_pylist()
    verdicts = {(row["experiment"], row["rule"]): row for row in rows}
    assert "UNKNOWN" == verdicts["doomed", "X32a"]["verdict"]
    assert "ended while it started" in verdicts["doomed", "X32a"]["reason"]
    assert "HOLDS" == verdicts["tiny", "X32a"]["verdict"]
    assert {("librdkafka", "eager", kafka.DEFAULT_VERSION)} == {
        (row["client"], row["protocol"], row["kafka"]) for row in rows
    }

    page = (folder / "index.html").read_text()
    for name in ("doomed", "tiny"):
        address = f"../../{name}/{(results / name / 'latest').resolve().name}/report.html"
        assert address in page
        assert (folder / address).is_file()
    suites = list(ET.parse(folder / "junit.xml").getroot())
    assert ["1", "0"] == [suite.get("errors") for suite in suites][:2]
    assert "void" in (folder / "summary.md").read_text()
    assert out.startswith(f"nightly {folder.name}: ")
    assert "doomed:librdkafka/eager" in out


def test_ctrl_c_ends_a_night_with_what_there_is(tmp_path: Path) -> None:
    night = start(tmp_path, "--only", "first,second", first=TINY, second=TINY)
    said = tmp_path / "stderr"

    def second_has_begun() -> bool:
        assert night.poll() is None, said.read_text()
        _, begun, after = said.read_text().partition("run 2 of 2")
        return bool(begun) and "start cluster" in after

    try:
        wait_until(
            "start of the second cluster",
            second_has_begun,
            timeout_s=LONGEST_S,
            saw=said.read_text,
        )
        night.send_signal(signal.SIGINT)
        out, _ = night.communicate(timeout=LONGEST_S)
    finally:
        if night.poll() is None:
            night.kill()
            night.wait()
    results = tmp_path / "results"
    folder = (results / "nightly" / "latest").resolve()

    assert 2 == night.returncode, said.read_text()
    assert ["complete"] == statuses(results, "first")
    assert ["interrupted"] == statuses(results, "second")
    record = json.loads((folder / "suite.json").read_text())
    assert record["interrupted"]
    assert record["ended_at"]
    assert "interrupted" == record["entries"][1]["state"]
    for name in ("index.html", "junit.xml", "summary.md", "verdicts.parquet"):
        assert (folder / name).is_file()
    assert "interrupted" in out


@pytest.mark.long(21)
@pytest.mark.skipif(not SHARES.there(), reason="no shares of processor time here")
def test_the_next_run_is_warmed_up_and_a_night_that_is_killed_leaves_nothing_running(
    tmp_path: Path,
) -> None:
    names = ("first", "second", "third")
    # Time for the second to begin, with what a busy machine has left over.
    first = TINY.replace("duration_s=3", "duration_s=12")
    night = start(tmp_path, "--only", ",".join(names), first=first, second=TINY, third=TINY)
    results = tmp_path / "results"

    def manifests() -> list[dict[str, Any]]:
        folders = [results / name / "latest" for name in names]
        return [manifest.read(each) for each in folders if (each / manifest.FILE_NAME).exists()]

    def third_is_warmed_up() -> bool:
        assert night.poll() is None, (tmp_path / "stderr").read_text()
        return len(manifests()) == 3

    try:
        wait_until("start of the third run", third_is_warmed_up, timeout_s=LONGEST_S)
    finally:
        night.kill()
        night.communicate(timeout=LONGEST_S)
    runs = [(results / name / "latest").resolve().name for name in names]
    wait_until(
        "end of all that was started",
        lambda: not any(map(processes.marked, runs)),
        timeout_s=LONGEST_S,
        saw=lambda: str([processes.marked(run) for run in runs]),
    )

    one, two, three = manifests()
    assert ["complete", "interrupted", "interrupted"] == [
        each["status"] for each in (one, two, three)
    ]
    assert began(two, "start cluster") < began(one, "drain")
    assert began(two, "steady") > began(one, "stop")
    assert "steady" not in [phase["name"] for phase in three["phases"]]


def began(run: dict[str, Any], phase: str) -> str:
    """When a phase of a run began."""
    return next(str(each["from"]) for each in run["phases"] if each["name"] == phase)
