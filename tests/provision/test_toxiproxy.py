from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import toxiproxy
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


def test_intact_server_passes(copied_server: Path) -> None:
    toxiproxy.check_binary()


def test_damaged_server_is_named(copied_server: Path) -> None:
    with copied_server.open("ab") as file:
        file.write(b"x")

    with pytest.raises(SetupError, match=f"{copied_server} is damaged; run `make setup`"):
        toxiproxy.check_binary()


def test_missing_server_is_named(empty_cache: Path) -> None:
    with pytest.raises(SetupError, match="is missing; run `make setup`"):
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


def test_build_of_another_version_is_not_put_in_place(
    empty_cache: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = script("other-server", "echo 1.0.0")
    go = script(
        "go",
        'if [ "$1" = version ]; then echo go version go1.26.0 x/y; exit; fi\n'
        f'mkdir -p "$GOBIN" && cp {server} "$GOBIN/server"',
    )
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    with pytest.raises(SetupError, match=f"does not say it is {toxiproxy.VERSION}"):
        toxiproxy.build(Shell(empty_cache / "logs"))

    assert not toxiproxy.binary().exists()
    assert list(empty_cache.glob("tmp-*")) == []
