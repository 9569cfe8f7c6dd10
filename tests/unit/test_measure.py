"""What a command costs, as benchmarks measure it."""

from __future__ import annotations

import sys

from harness.bench.measure import cost_of


def test_the_cost_of_a_command_includes_its_children() -> None:
    child = "x = bytearray(150 << 20); import time; time.sleep(1)"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); sys.exit(7)"
    )

    cost = cost_of([sys.executable, "-c", parent])

    assert 7 == cost.exit_code
    assert 150 < cost.memory_mb < 400
    assert 1 <= cost.wall_s


def test_a_child_before_its_exec_has_no_memory_of_its_own() -> None:
    """For a moment a process that starts another one is there twice."""
    twice = "import os, time; x = bytearray(300 << 20); os.fork(); time.sleep(1)"

    cost = cost_of([sys.executable, "-c", twice])

    assert 300 < cost.memory_mb < 450
