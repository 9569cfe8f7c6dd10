"""What a wheel carries is copied to the cache once, whole, and by what is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.wait import wait_until
from harness.provision import unused
from harness.provision.cache import exclusive, is_marked
from harness.provision.tree import PREFIX, digest, settle
from tests.commands import python


@pytest.fixture
def carried(tmp_path: Path) -> Path:
    tree = tmp_path / "carried"
    (tree / "harness").mkdir(parents=True)
    (tree / "harness" / "__init__.py").touch()
    (tree / "harness" / "one.py").write_text("ONE = 1\n")
    (tree / "requirements.lock").write_text("a==1\n")
    return tree


def never() -> None:
    raise AssertionError("no other set-up goes on")


def test_it_is_copied_once_and_compiled(empty_cache: Path, carried: Path) -> None:
    (carried / "harness" / "__pycache__").mkdir()
    (carried / "harness" / "__pycache__" / "one.cpython-39.pyc").write_text("of another Python")

    copy = settle(carried, never)

    assert empty_cache == copy.parent
    assert "a==1\n" == (copy / "requirements.lock").read_text()
    compiled = {path.name for path in (copy / "harness" / "__pycache__").iterdir()}
    tag = sys.implementation.cache_tag
    assert {f"__init__.{tag}.pyc", f"one.{tag}.pyc"} == compiled
    before = copy.stat().st_ino
    assert (copy, before) == (settle(carried, never), copy.stat().st_ino)


def test_a_trace_names_the_copy(empty_cache: Path, carried: Path) -> None:
    copy = settle(carried, never)
    code = f"import sys; sys.path.insert(0, {str(copy)!r}); from harness import one; "
    code += "print(one.__spec__.loader.get_code('harness.one').co_filename)"

    assert f"{copy / 'harness' / 'one.py'}\n" == python("-c", code).stdout


def test_other_contents_have_another_copy_and_what_is_compiled_or_marked_does_not_count(
    empty_cache: Path, carried: Path
) -> None:
    first = settle(carried, never)
    assert first.name == f"{PREFIX}{digest(carried)}" == f"{PREFIX}{digest(first)}"

    (carried / "harness" / "one.py").write_text("ONE = 2\n")
    assert first != settle(carried, never)


def test_a_copy_of_another_version_is_offered_for_removal(empty_cache: Path, carried: Path) -> None:
    copy = settle(carried, never)
    (empty_cache / f"{PREFIX}{'0' * 12}").mkdir()  # made by another set-up

    assert is_marked(copy)
    assert [copy] == [each.path for each in unused.unused()]


def test_a_copy_waits_for_a_set_up(empty_cache: Path, carried: Path, tmp_path: Path) -> None:
    """A set-up sweeps half-made folders, of which this is one."""
    said = tmp_path / "said"
    code = (
        "import sys; from pathlib import Path; from harness.provision.tree import settle; "
        f"settle(Path({str(carried)!r}), lambda: Path({str(said)!r}).touch())"
    )
    with exclusive(empty_cache, never):
        waiting = subprocess.Popen([sys.executable, "-c", code])
        wait_until("word that it waits", said.exists, timeout_s=60)
        assert waiting.poll() is None

    assert 0 == waiting.wait(60)
    assert [*empty_cache.glob(f"{PREFIX}*")]
