"""Shortages of the machine: it stands still, files are too many, the disk is full or read-only."""

from __future__ import annotations

from pathlib import Path

from tests.torture.rounds import Outcome, Round


def play(this: Round, results: Path, alone: object) -> Outcome:
    raise NotImplementedError
