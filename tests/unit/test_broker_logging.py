"""What brokers log of their clients' words is no line of their own, whatever those words are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from harness.base.paths import ROOT
from harness.cluster.files import LOGGING
from harness.history.coordinator_log import read_coordinator_events
from harness.provision import kafka
from harness.provision.java import find_java

# Logs one message as a broker's coordinator does, by Kafka's own Log4j.
LOGS: Final = """
import sys
from consumers import jvm
java_home, class_path, configuration, logs, message = sys.argv[1:]
jvm.start(
    java_home, class_path, f"-Dlog4j2.configurationFile={configuration}", f"-Dharness.logs={logs}"
)
import jpype
name = "org.apache.kafka.coordinator.group.GroupMetadataManager"
jpype.JClass("org.slf4j.LoggerFactory").getLogger(name).info(message)
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


def test_a_line_feed_in_a_reason_begins_no_line(tmp_path: Path) -> None:
    """A member may give any reason, and a group have any name."""
    logs = tmp_path / "broker-1"
    java = find_java().binary.parent.parent
    class_path = kafka.classpath(kafka.DEFAULT_VERSION)
    configuration = ROOT / "harness" / "cluster" / LOGGING
    message = LEFT.format(f"because\r\n{FORGED}\n")
    command = [sys.executable, "-c", LOGS, java, class_path, configuration, logs]

    subprocess.run([*map(str, command), message], cwd=ROOT, check=True, timeout=120)

    log = tmp_path / "broker-1.server.log"
    [line] = log.read_text().splitlines()
    assert rf"because\r\n{FORGED}\n" in line
    assert ["m-1"] == [row["member_id"] for row in read_coordinator_events(log, 1)]
