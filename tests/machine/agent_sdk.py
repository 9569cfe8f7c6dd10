"""The SDK that `kafka-chaos mcp` needs, which the environment of the harness does not have.

`make lock` pins its packages by their versions; pip holds each against its index.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Final

from harness.provision.cache import cache_dir, exclusive, make_cache_dir, scratch

PINS: Final = Path(__file__).with_name("mcp.txt")
_PIP: Final = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-input")


def packages() -> Path:
    """A folder of its packages, for PYTHONPATH. Raises CalledProcessError where pip fails."""
    folder = cache_dir() / f"mcp-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]}"
    with exclusive(make_cache_dir(), lambda: None), scratch(cache_dir()) as made:
        if not folder.is_dir():
            what = ["--only-binary", ":all:", "--requirement", PINS, "--target", made / "sdk"]
            subprocess.run([*_PIP, *map(str, what)], check=True)
            (made / "sdk").rename(folder)
    return folder
