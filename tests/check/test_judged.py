"""The files of a judgement take the place of an earlier one's together, whoever is killed when."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.errors import NoData
from harness.history import judged

OLD: Final = {
    "tables/gone.parquet": "old",
    "tables/stops.parquet": "old",
    "violations/R01.parquet": "old",
    "report.html": "old",
    "summary.md": "old",
    "junit.xml": "old",
    "trace.json": "old",
    "verdicts.parquet": "old",
}
NEW: Final = {
    "tables/come.parquet": "new",
    "tables/stops.parquet": "new",
    "violations/R02.parquet": "new",
    "report.html": "new",
    "summary.md": "new",
    "junit.xml": "new",
    "verdicts.parquet": "new",
}
RAW: Final = {"manifest.json": "raw", "history/host.parquet": "raw", "logs/broker-1.log": "raw"}


class Killed(BaseException):
    """What comes after it is never done."""


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    write(tmp_path, OLD | RAW)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def judge(run_dir: Path, files: dict[str, str] = NEW) -> None:
    with judged.anew(run_dir) as folder:
        write(folder, files)


def found(run_dir: Path) -> dict[str, str]:
    paths = [path for path in run_dir.rglob("*") if path.is_file()]
    return {path.relative_to(run_dir).as_posix(): path.read_text() for path in paths}


def kill_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    """Nothing is written, moved or removed any more after so many times."""
    left = [steps]

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return function(*arguments, **named)

        return called

    for name in ("replace", "rename", "unlink", "mkdir", "write_text", "symlink_to"):
        patch.setattr(Path, name, dying(getattr(Path, name)))
    patch.setattr(shutil, "rmtree", dying(shutil.rmtree))
    patch.setattr(os, "utime", dying(os.utime))


def test_a_judgement_is_there_as_it_was_or_as_it_will_be(run_dir: Path) -> None:
    """It is killed between any two steps, and whoever reads it next finds one of the two."""
    seen: list[bool] = []  # whether it is the new one
    done = False
    while not done:
        shutil.rmtree(run_dir)
        write(run_dir, OLD | RAW)
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            kill_after(len(seen), patch)
            judge(run_dir)
            done = True
        here = found(run_dir)
        assert {"report.html", "summary.md", "junit.xml", "verdicts.parquet"} < here.keys()
        judged.settle(run_dir)
        here = {name: text for name, text in found(run_dir).items() if name[0] != "."}
        assert here in (OLD | RAW, NEW | RAW), len(seen)
        seen.append(here == NEW | RAW)
        judge(run_dir, {"verdicts.parquet": "third"})
        assert {"verdicts.parquet": "third"} | RAW == found(run_dir)
        assert {"history", "logs", "manifest.json", "tables", "verdicts.parquet", "violations"} == {
            path.name for path in run_dir.iterdir()
        }
    assert len(seen) > 25
    assert sorted(seen) == seen, "once it is the new one it stays so"
    assert not seen[0]
    assert seen[-2]


def test_what_goes_wrong_changes_nothing(run_dir: Path) -> None:
    def fail() -> None:
        with judged.anew(run_dir) as folder:
            write(folder, NEW)
            raise NoData("the disk is full")

    with pytest.raises(NoData):
        fail()

    assert OLD | RAW == found(run_dir)


def test_pages_alone_leave_the_rest(run_dir: Path) -> None:
    with judged.anew(run_dir, pages_only=True) as folder:
        write(folder, {"report.html": "new", "summary.md": "new", "junit.xml": "new"})
        assert "raw" == (folder / "history" / "host.parquet").read_text()

    kept = {name: text for name, text in OLD.items() if "/" in name or name.startswith("verd")}
    assert kept | RAW | {"report.html": "new", "summary.md": "new", "junit.xml": "new"} == found(
        run_dir
    )


def test_whoever_reads_waits_for_what_is_just_put_into_place(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves, goes_on = threading.Event(), threading.Event()
    utime = os.utime

    def slow(*arguments: Any) -> None:
        moves.set()
        assert goes_on.wait(30)
        utime(*arguments)

    monkeypatch.setattr(os, "utime", slow)
    writer = threading.Thread(target=judge, args=(run_dir,))
    writer.start()
    assert moves.wait(30)
    reader = threading.Thread(target=judged.settle, args=(run_dir,))
    reader.start()
    assert (run_dir / judged.READY).is_dir()
    goes_on.set()
    writer.join(30)
    reader.join(30)

    assert NEW | RAW == found(run_dir)


def test_what_cannot_be_put_into_place_is_one_sentence(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run_dir, {f"{judged.READY}/verdicts.parquet": "new"})

    def refused(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refused)
        with pytest.raises(NoData, match=r"has parts of two judgements.*make its folder writable"):
            judged.settle(run_dir)
    judged.settle(run_dir)

    assert "new" == (run_dir / "verdicts.parquet").read_text()


def test_nothing_but_a_judgements_own_files_is_moved_or_removed(run_dir: Path) -> None:
    """Whatever a folder of that name holds."""
    ready = f"{judged.READY}/"
    write(run_dir, {f"{ready}manifest.json": "theirs", f"{ready}verdicts.parquet": "new"})
    write(run_dir, {f"{ready}gone": "manifest.json\n../x\nhistory/host.parquet\ntables/../a\n"})

    judged.settle(run_dir)

    assert OLD | RAW | {"verdicts.parquet": "new"} == found(run_dir)


def test_the_dataset_takes_what_is_put_into_place(run_dir: Path) -> None:
    """However long ago its verdicts were written."""
    with judged.anew(run_dir) as folder:
        write(folder, NEW)
        os.utime(folder / "verdicts.parquet", (1, 1))

    assert (run_dir / "verdicts.parquet").stat().st_mtime > 1
