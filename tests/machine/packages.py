"""Debian's packages, by root."""

from __future__ import annotations

import os
import shutil
import subprocess

from harness.base.errors import SetupError


def install(*names: str) -> None:
    """Install packages, if any is named. Raises SetupError where that cannot be done."""
    if not names:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(
            f"{' and '.join(names)} are missing, and only root of a Debian can install them"
        )
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names],
    ):
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise SetupError(f"{' '.join(command[:2])} of {' and '.join(names)} failed: {last}")
