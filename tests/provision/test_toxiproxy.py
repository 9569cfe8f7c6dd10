from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import toxiproxy
from harness.provision.cache import LOCKS
from harness.provision.shell import Shell

Script = Callable[[str, str], Path]


@pytest.fixture
def copied_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = toxiproxy.home()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    shutil.copytree(real, toxiproxy.home())
    return toxiproxy.binary()


def test_server_says_the_pinned_version() -> None:
    answer = subprocess.run(
        [toxiproxy.binary(), "-version"], capture_output=True, text=True, check=True
    )

    assert toxiproxy.VERSION in answer.stdout


def test_a_damaged_or_missing_server_is_named(copied_server: Path) -> None:
    toxiproxy.check_binary()

    with copied_server.open("ab") as file:
        file.write(b"x")
    with pytest.raises(SetupError, match=f"{copied_server} is damaged; run `./kafka-chaos setup`"):
        toxiproxy.check_binary()

    copied_server.unlink()
    with pytest.raises(SetupError, match=r"is missing; run `\./kafka-chaos setup`"):
        toxiproxy.check_binary()


@pytest.mark.parametrize(
    ("answer", "usable"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.23 linux/amd64", True),
        ("go version go1.22.9 linux/amd64", False),
        ("a board game", False),
    ],
)
def test_only_a_go_that_is_new_enough_is_used(
    answer: str, usable: bool, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = script("go", f"echo {answer}")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    assert toxiproxy.go_on_path() == (go if usable else None)


def test_go_writes_only_inside_the_scratch_folder(tmp_path: Path) -> None:
    variables = toxiproxy.go_environment(tmp_path)

    for name in ("GOBIN", "GOPATH", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "XDG_CONFIG_HOME"):
        assert Path(variables[name]).is_relative_to(tmp_path), name
    assert "-modcacherw" in variables["GOFLAGS"]


def test_the_lock_has_the_hash_of_the_server_and_of_all_that_it_needs() -> None:
    """Of each module its source and its go.mod."""
    hashed = set()
    for line in (LOCKS / "toxiproxy.sum").read_text().splitlines():
        module, version, digest = line.split()
        assert re.fullmatch(r"h1:[A-Za-z0-9+/]{43}=", digest), line
        hashed.add((module, version))
    wanted = re.findall(r"^\t(\S+) (v\S+)", (LOCKS / "toxiproxy.mod").read_text(), re.M)

    assert (toxiproxy.MODULE, f"v{toxiproxy.VERSION}") in wanted
    for module, version in wanted:
        assert {(module, version), (module, f"{version}/go.mod")} <= hashed


# Answers as Go does, and keeps what it was asked to build and the hashes that it would look at.
GO = """
if [ "$1" = version ]; then echo go version go1.26.0 x/y; exit; fi
echo "$@" > {kept}/asked
cp "$3/go.mod" "$3/go.sum" {kept}
while [ "$1" != -o ]; do shift; done
cp {server} "$2"
"""


def test_go_builds_what_has_the_hashes_of_the_lock(
    empty_cache: Path, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    server = script("server", f"echo {toxiproxy.VERSION}")
    go = script("go", GO.format(kept=kept, server=server))
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    toxiproxy.build(Shell(empty_cache / "logs"))

    toxiproxy.check_binary()
    assert "-mod=readonly" in (kept / "asked").read_text()
    for name in ("mod", "sum"):
        lock = LOCKS / f"toxiproxy.{name}"
        assert lock.read_bytes() == (kept / f"go.{name}").read_bytes()


def test_build_of_another_version_is_not_put_in_place(
    empty_cache: Path, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = script("other-server", "echo 1.0.0")
    go = script("go", GO.format(kept=tmp_path, server=server))
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    with pytest.raises(SetupError, match=f"does not report version {toxiproxy.VERSION}"):
        toxiproxy.build(Shell(empty_cache / "logs"))

    assert not toxiproxy.binary().exists()
    assert list(empty_cache.glob("tmp-*")) == []
