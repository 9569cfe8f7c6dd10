import os
import signal
from collections.abc import Iterator

import pytest

from consumers.control import Control
from harness.base.wait import wait_until


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


def test_lines_come_once_and_whole(pipe: tuple[int, int]) -> None:
    read, write = pipe
    control = Control(read)
    assert control.poll() == []
    os.write(write, b"stall 500\n\nclo")
    assert control.poll() == ["stall 500"]
    assert control.poll() == []
    os.write(write, b"se\n")
    assert control.poll() == ["close"]
    assert control.gone is None
    os.close(write)


def test_an_order_ends_the_wait_for_one(pipe: tuple[int, int]) -> None:
    read, write = pipe
    control = Control(read)
    control.wait(0.001)
    assert control.poll() == []
    os.write(write, b"join\n")
    control.wait(3_600)
    assert control.poll() == ["join"]
    os.close(write)


def test_the_end_of_standard_input_means_the_harness_is_gone(pipe: tuple[int, int]) -> None:
    read, write = pipe
    control = Control(read)
    os.write(write, b"stall 5\n")
    os.close(write)
    assert control.poll() == ["stall 5"]
    assert control.poll() == []
    assert control.gone == "end of standard input"
    assert control.poll() == []


def test_sigterm_means_close_and_sigint_nothing(pipe: tuple[int, int]) -> None:
    control = Control(pipe[0])
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    control.install_signals()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        assert control.gone is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert wait_until("SIGTERM", lambda: control.gone, timeout_s=5) == "SIGTERM"
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
        os.close(pipe[1])
