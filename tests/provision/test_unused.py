"""Only what set-up made and nothing uses any more is offered, and nothing of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.errors import Exit, SetupError
from harness.cli.main import main
from harness.provision import aot, environment, kafka, toxiproxy, unused
from harness.provision.cache import mark, translations
from harness.provision.java import Java

JAVA = Java(Path("/somewhere/java"), "25.0.1")
OLD = "0123456789ab"


@pytest.fixture(autouse=True)
def _java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.provision.unused.find_java", lambda: JAVA)


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("something\n")


def write_current(cache: Path) -> set[str]:
    """What this version uses; the names."""
    mark(environment.env_dir())
    mark(toxiproxy.home())
    mark(kafka.home(kafka.DEFAULT_VERSION))
    for purpose in aot.TRAINERS:
        path = aot.cache_of(purpose, kafka.DEFAULT_VERSION, JAVA)
        assert path is not None
        write(path)
    write(cache / "logs" / "pip.log")
    return {path.name for path in cache.iterdir()}


def write_old(cache: Path) -> set[str]:
    """What earlier versions made; the names."""
    before = {path.name for path in cache.iterdir()}
    for name in (f"env-{OLD}", "kafka-1.2.3", "toxiproxy-1.2.3", f"tree-{OLD}"):
        mark(cache / name)
    mark(translations())
    for purpose in ("spark", "kafka-1.2.3", f"client-{kafka.DEFAULT_VERSION}"):
        write(cache / f"{purpose}-{OLD}-{OLD}.aot")
    return {path.name for path in cache.iterdir()} - before


def write_theirs(cache: Path) -> set[str]:
    """Files and folders of other programs whose names are like ours; the names."""
    before = {path.name for path in cache.iterdir()}
    for name in (
        f"env-{OLD.replace('0', 'f')}/notes.md",
        "env-production/pyvenv.cfg",
        "kafka-3.2.1/bin/kafka-server-start.sh",
        "toxiproxy-2.0.0/toxiproxy-server",
        "app.aot",
    ):
        write(cache / name)
    mark(cache / "notes")  # by a later version
    (cache / f"env-{'e' * 12}").symlink_to(f"env-{OLD}")
    return {path.name for path in cache.iterdir()} - before


def test_what_earlier_versions_made_is_offered_and_removed(empty_cache: Path) -> None:
    kept = write_current(empty_cache) | write_theirs(empty_cache)
    old = write_old(empty_cache)

    offered = unused.unused()
    removed = unused.remove(offered, lambda _path: False, lambda: None)

    assert old == {each.path.name for each in offered}
    assert offered == removed
    assert all(each.size > 0 and each.what for each in offered)
    assert kept | {"setup.lock"} == {path.name for path in empty_cache.iterdir()}


def test_the_users_environment_is_unused_beside_the_developers(empty_cache: Path) -> None:
    users, developers = environment.env_dir(), environment.developers_env()
    for env in (users, developers):
        mark(env)
        write(env / "bin" / "python")
    assert [] == unused.unused()  # one of them may be half made

    write(developers / environment.COMPLETE)

    assert [users] == [each.path for each in unused.unused()]


def test_without_java_no_aot_cache_is_offered(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java() -> Java:
        raise SetupError("there is no Java")

    write_old(empty_cache)
    monkeypatch.setattr("harness.provision.unused.find_java", no_java)

    names = [each.path.name for each in unused.unused()]

    assert f"env-{OLD}" in names
    assert not [name for name in names if name.endswith(".aot")]


def test_what_a_process_was_started_from_stays(empty_cache: Path, tmp_path: Path) -> None:
    write_old(empty_cache)
    used = empty_cache / f"env-{OLD}"
    with processes.spawn(
        [sys.executable, "-c", "import sys; print(); sys.stdin.read()", used / "bin"],
        run="no-run",
        log=tmp_path / "log",
        stdin=-1,
    ) as process:
        removed = unused.remove(unused.unused(), processes.uses, lambda: None)
        process.communicate()

    assert removed
    assert [used.name] == [each.path.name for each in unused.unused()]


@pytest.mark.parametrize(
    ("options", "goes"), [((), False), (("--yes",), True)], ids=["not asked", "yes"]
)
def test_nothing_is_removed_without_a_yes(
    empty_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    goes: bool,
) -> None:
    monkeypatch.setattr("harness.run.folder.sweep", lambda _say: 0)
    old = write_old(empty_cache)

    code = main(["clean", "--cache", *options, "--results", str(tmp_path / "results")])

    assert Exit.AS_EXPECTED == code
    printed = capsys.readouterr().out
    assert all(name in printed for name in old)
    assert goes == ("8 of 8 removed" in printed)
    assert goes != ("nothing was removed: add --yes" in printed)
    assert goes != bool(old & {path.name for path in empty_cache.iterdir()})


def test_a_yes_to_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.BAD_ARGUMENTS == main(["clean", "--yes"])
    assert "--yes has no effect without --cache" in capsys.readouterr().err
