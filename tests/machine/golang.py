"""Programs in Go that tests use: built once, from source that is pinned with all it depends on.

`go/<name>.mod` and `go/<name>.sum` are made by `go get <package>@<version>` in an empty module.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from harness.provision import toxiproxy
from harness.provision.cache import cache_dir, make_cache_dir
from harness.provision.shell import Shell

LOCKS: Final = Path(__file__).with_name("go")


def built(name: str, version: str, package: str, place: str = "", flags: str = "") -> Path:
    """The program `name`, built if it is not there: at `place` in a folder of its version.

    Raises SetupError where there is no Go and none can be had, and CalledProcessError where the
    source cannot be had, or is not what was pinned.
    """
    program = cache_dir() / f"{name}-{version}" / (place or name)
    if program.is_file():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f"kafka-chaos-{name}-", dir=make_cache_dir()
    ) as scratch:
        folder = Path(scratch)
        (folder / "module").mkdir()
        for kind in ("mod", "sum"):
            shutil.copyfile(LOCKS / f"{name}.{kind}", folder / "module" / f"go.{kind}")
        go = toxiproxy.find_go(folder, Shell(cache_dir() / "logs"), _oldest(name))
        command = [go, "build", "-mod=readonly", "-trimpath", "-ldflags", f"-s -w {flags}"]
        subprocess.run(
            [*map(str, command), "-o", str(folder / name), package],
            cwd=folder / "module",
            env={**os.environ, **toxiproxy.go_environment(folder)},
            check=True,
        )
        (folder / name).replace(program)
    return program


def _oldest(name: str) -> tuple[int, int]:
    """The oldest Go that surely builds it: where it wants some patch of one, the next."""
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?", (LOCKS / f"{name}.mod").read_text(), re.M)
    assert found, f"{name}.mod names no Go"
    return int(found[1]), int(found[2]) + (int(found[3] or 0) > 0)
