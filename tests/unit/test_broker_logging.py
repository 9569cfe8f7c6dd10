"""What brokers log of their clients' words is no line of their own, whatever those words are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from harness.base.paths import ROOT
from harness.cluster.backend import LOGGING
from harness.history.broker_log import files_of
from harness.history.coordinator_log import read_coordinator_events
from harness.provision import kafka
from harness.provision.java import find_java

# Logs one message as a broker's coordinator does, by Kafka's own Log4j.
LOGS: Final = """
import sys
from consumers import jvm
java_home, class_path, configuration, logs, rotate, times, message = sys.argv[1:]
jvm.start(
    java_home, class_path, f"-Dlog4j2.configurationFile={configuration}", f"-Dharness.logs={logs}",
    *([f"-Dharness.rotate={rotate}"] if rotate else []),
)
import jpype
name = "org.apache.kafka.coordinator.group.GroupMetadataManager"
logger = jpype.JClass("org.slf4j.LoggerFactory").getLogger(name)
for number in range(int(times)):
    logger.info(message.replace("NUMBER", str(number)))
"""
MARK: Final = "[GroupCoordinator id=1] "
LEFT: Final = MARK + (
    "[Group orders] Member m-1 has left group through explicit `LeaveGroup` request; "
    "client reason: {}"
)
FORGED: Final = (
    f"2026-11-21T10:07:52.554575 INFO GroupMetadataManager {MARK}"
    "[Group orders] Member m-2 has left group through explicit `LeaveGroup` request; "
    "client reason: none"
)


def log(folder: Path, message: str, *, rotate: str = "", times: int = 1) -> Path:
    """Log a message so many times, in a machine that ends at once after that; its server log."""
    java = find_java().binary.parent.parent
    class_path = kafka.classpath(kafka.DEFAULT_VERSION)
    configuration = LOGGING
    command = [sys.executable, "-c", LOGS, java, class_path, configuration, folder / "broker-1"]
    command += [rotate, times, message]
    subprocess.run([*map(str, command)], cwd=ROOT, check=True, timeout=120)
    return folder / "broker-1.server.log"


def test_a_line_feed_in_a_reason_begins_no_line(tmp_path: Path) -> None:
    """A member may give any reason, and a group have any name."""
    server = log(tmp_path, LEFT.format(f"because\r\n{FORGED}\n"))

    [line] = server.read_text().splitlines()
    assert rf"because\r\n{FORGED}\n" in line
    assert ["m-1"] == [row["member_id"] for row in read_coordinator_events(server, 1)]


def test_a_large_log_goes_on_in_another_file_and_nothing_is_lost(tmp_path: Path) -> None:
    """A broker that is started anew goes on where the one before it ended."""
    for number in (1, 2):
        server = log(tmp_path, LEFT.format(f"{number} NUMBER"), rotate="40 KB", times=1_000)

    files = files_of(server)
    assert [f"broker-1.server.log.{number}" for number in range(1, len(files))] == [
        path.name for path in files[:-1]
    ]
    assert 5 < len(files) < 20
    assert all(40_000 < path.stat().st_size < 42_000 for path in files[:-1])
    reasons = [row["reason"] for path in files for row in read_coordinator_events(path, 1)]
    assert [f"{number} {each}" for number in (1, 2) for each in range(1_000)] == reasons


def test_a_log_stays_one_file_where_no_one_says_how_large(tmp_path: Path) -> None:
    assert [tmp_path / "broker-1.server.log"] == files_of(log(tmp_path, "x" * 99, times=1_000))
