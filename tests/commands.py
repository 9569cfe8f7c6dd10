"""A command of the harness, or of make, as a person calls it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.base.paths import ROOT

LONGEST_S = 120


def python(*words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """What this Python prints, given these words, and its exit code; `more` is of its process."""
    return subprocess.run(
        [sys.executable, *words],
        **{"cwd": ROOT, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def command(name: str, results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What a command of the harness prints, and its exit code."""
    return python("-m", "harness", name, "--results", results, *options, timeout=LONGEST_S)


def sentence(answer: subprocess.CompletedProcess[str]) -> str:
    """The last line on its standard error; only lines of progress stand before it."""
    *progress, said = answer.stderr.strip().splitlines()
    assert all(re.match(r" *\d+\.\d s  ", f" {line}") for line in progress), answer.stderr
    return said


def dry_make(*arguments: str, **exported: str) -> list[str]:
    """The lines that `make` would run; an option that was not given leaves no blank.

    The `make` that calls the tests hands down its level, its flags and what it was given: none of
    these reaches this one, whose environment has only what is `exported`.
    """
    command = ["make", "--dry-run", "PYTHON=py", *arguments]
    own = {"PATH": os.environ["PATH"], **exported}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=own)
    return [" ".join(line.split()) for line in answer.stdout.splitlines()]
