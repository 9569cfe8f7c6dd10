"""The whole programs, without a broker: what they do must not depend on one."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers.journal import read_journal, tail_journal
from harness.base.wait import wait_until

REPOSITORY = Path(__file__).parents[2]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(written: Callable[[object], Path]) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, settings: dict[str, Any], *before: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "consumers", role, "--config", str(written(settings))]
        process = subprocess.Popen(
            [*before, *program],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def journal_of(settings: dict[str, Any]) -> Path:
    return Path(settings["journal"])


def wait_for_frame(settings: dict[str, Any], kind: str) -> None:
    def seen() -> list[str]:
        return [frame["kind"] for frame in tail_journal(journal_of(settings), 0)[0]]

    wait_until(
        f"frame {kind!r}", lambda: kind in seen(), timeout_s=20, saw=lambda: f"journal {seen()}"
    )


@pytest.mark.parametrize("how", ["order", "end of input", "SIGTERM"])
@pytest.mark.parametrize(("role", "order"), [("consumer", b"close\n"), ("producer", b"stop\n")])
def test_each_way_to_end_a_program_ends_it_properly(
    start: Start,
    consumer_settings: dict[str, Any],
    producer_settings: dict[str, Any],
    how: str,
    role: str,
    order: bytes,
) -> None:
    # Failing records soon leaves the producer nothing to flush for.
    producer_settings |= {"message_timeout_ms": 300, "idempotence": False}
    settings = consumer_settings if role == "consumer" else producer_settings
    process = start(role, settings)
    assert process.stdin is not None
    wait_for_frame(settings, "started")
    process.send_signal(signal.SIGINT)  # must change nothing
    if how == "order":
        process.stdin.write(order)
        process.stdin.flush()
    elif how == "SIGTERM":
        process.send_signal(signal.SIGTERM)
    else:
        process.stdin.close()
        process.stdin = None
    assert process.wait(timeout=30) == 0
    content = read_journal(journal_of(settings))
    assert not content.torn
    assert content.frames[-1]["kind"] == "closed"
    (closing,) = [frame for frame in content.frames if frame["kind"] == "closing"]
    assert closing["why"] == {"order": "ordered", "end of input": "end of standard input"}.get(
        how, how
    )


def test_a_producer_without_a_broker_accounts_for_every_record(
    start: Start, producer_settings: dict[str, Any]
) -> None:
    producer_settings |= {"message_timeout_ms": 300, "idempotence": False, "acks": "1"}
    process = start("producer", producer_settings)
    wait_for_frame(producer_settings, "failed")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    frames = read_journal(journal_of(producer_settings)).frames
    sent = [frame["sent"] for frame in frames if frame["kind"] == "sending"][-1]
    for partition, count in enumerate(sent):
        numbers = sorted(
            number
            for frame in frames
            if frame["kind"] in ("failed", "unanswered") and frame["partition"] == partition
            for number in range(frame["first_number"], frame["last_number"] + 1)
        )
        assert numbers == list(range(count))
    assert {"_MSG_TIMED_OUT"} == {f["error"] for f in frames if f["kind"] == "failed"}


def test_a_full_disk_ends_a_program_with_3_and_one_sentence(
    start: Start, producer_settings: dict[str, Any]
) -> None:
    # A limit on file size is the disk that only this process finds full.
    process = start("producer", producer_settings, "bash", "-c", 'ulimit -f 4; exec "$@"', "bash")
    assert process.wait(timeout=30) == 3
    _, heard = process.communicate()
    sentences = [line for line in heard.decode().splitlines() if not line.startswith("%")]
    assert len(sentences) == 1
    assert "journal" in sentences[0]
    assert read_journal(journal_of(producer_settings)).frames


def test_a_journal_that_exists_is_refused(start: Start, consumer_settings: dict[str, Any]) -> None:
    journal_of(consumer_settings).touch()
    process = start("consumer", consumer_settings)
    _, heard = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "exists already" in heard.decode()
    assert journal_of(consumer_settings).stat().st_size == 0
