from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import cache

HOLDER = """
import subprocess, sys
from pathlib import Path
from harness.provision.cache import exclusive
with exclusive(Path(sys.argv[1]), lambda: print("waiting", flush=True)) as fd:
    print("holding", flush=True)
    if len(sys.argv) > 2:
        subprocess.Popen(["cat"], stdin=0, stdout=subprocess.DEVNULL, pass_fds=(fd,))
        print("child started", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cache.REPOSITORY,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    ("own", "shared", "folder"),
    [
        ("/own", "/shared", "/own"),
        (None, "/shared", "/shared/kafka-chaos"),
        ("", "", "/home/.cache/kafka-chaos"),
        ("here", "", "/here"),  # below the folder one is in
    ],
)
def test_the_own_variable_wins_then_the_shared_one_and_home_is_the_default(
    monkeypatch: pytest.MonkeyPatch, own: str | None, shared: str, folder: str
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/home")
    monkeypatch.setenv("XDG_CACHE_HOME", shared)
    if own is None:
        monkeypatch.delenv("KAFKA_CHAOS_CACHE", raising=False)
    else:
        monkeypatch.setenv("KAFKA_CHAOS_CACHE", own)

    assert Path(folder) == cache.cache_dir()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("file/cache", "name another one in KAFKA_CHAOS_CACHE"),
        ("a:b", "take for a separator"),
        ("a,b", "take for a separator"),
    ],
)
def test_a_cache_in_a_file_or_at_a_path_that_java_would_split_is_refused(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / name))

    with pytest.raises(SetupError, match=says):
        cache.make_cache_dir()


def test_second_set_up_says_it_waits_and_goes_on_once_the_first_is_done(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        assert said(first) == "holding"
        with holder(tmp_path) as second:
            assert said(second) == "waiting"
            first.communicate()
            assert said(second) == "holding"
            second.communicate()


def test_killed_set_up_keeps_the_lock_until_its_installer_ends(tmp_path: Path) -> None:
    with holder(tmp_path, "with a child") as first:
        assert said(first) == "holding"
        assert said(first) == "child started"
        first.kill()
        first.wait()
        with holder(tmp_path) as second:
            assert said(second) == "waiting"
            assert first.stdin is not None
            first.stdin.close()  # the child reads to the end of this pipe, then ends
            assert said(second) == "holding"
            second.communicate()


def test_scratch_is_gone_after_a_failure(tmp_path: Path) -> None:
    def fail_halfway() -> None:
        with cache.scratch(tmp_path) as folder:
            (folder / "half").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()

    assert list(tmp_path.iterdir()) == []


def test_sweep_removes_scratch_folders_of_set_ups_only(tmp_path: Path) -> None:
    """The folder that KAFKA_CHAOS_CACHE names may be one that other programs use too."""
    (tmp_path / "tmp-notes").mkdir()
    (tmp_path / "tmp-notes" / "a.txt").write_text("a\n")
    with cache.scratch(tmp_path) as folder:
        left = folder.with_name(f"{folder.name}-of-a-killed-one")
        (left / "deep").mkdir(parents=True)
    (tmp_path / "env-1").mkdir()

    cache.sweep_scratch(tmp_path)

    assert {"env-1", "tmp-notes"} == {path.name for path in tmp_path.iterdir()}
    assert "a\n" == (tmp_path / "tmp-notes" / "a.txt").read_text()


def test_atomic_write_leaves_one_file(tmp_path: Path) -> None:
    cache.write_atomically(tmp_path / "marker", "1\n")
    cache.write_atomically(tmp_path / "marker", "2\n")

    assert [path.name for path in tmp_path.iterdir()] == ["marker"]
    assert (tmp_path / "marker").read_text() == "2\n"
