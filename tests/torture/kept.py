"""Whole runs to be damaged: one with journals and logs, kept as an archive, and recorded ones.

`python -m tests.torture --keep RUN` renews the archive from a complete run.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import tarfile
import zlib
from pathlib import Path
from typing import Final

from consumers.journal import MAGIC, read_journal
from harness.history import manifest, seals
from harness.history.collect import collect
from tests.recorded.keep import RUNS

ARCHIVE: Final = Path(__file__).with_name("kept.tar.xz")
RAW: Final = "raw"
# Of several clients and protocols, with violated verdicts among them.
RECORDED: Final = (
    "consumer-crash.librdkafka.eager.3.9.2",
    "coordinator-kill.librdkafka.eager.4.3.1",
    "consumer-freeze.librdkafka.eager.4.3.1",
    "consumer-leave.java.consumer.4.3.1",
    "transactions.librdkafka.eager.4.3.1",
)
_FOLDERS: Final = ("journals", "logs")
_LEFT_OUT: Final = re.compile(r"(toxiproxy|watchdog|controller.*)\.log|.*\.out")


def keep(run_dir: Path, scratch: Path) -> None:
    """Make the archive from a run, without the paths of this machine."""
    folder = scratch / RAW
    folder.mkdir()
    facts = {key: value for key, value in manifest.read(run_dir).items() if key != seals.FIELD}
    (folder / manifest.FILE_NAME).write_text(_without_paths(json.dumps(facts), run_dir))
    for part in _FOLDERS:
        (folder / part).mkdir()
        for path in sorted((run_dir / part).iterdir()):
            if _LEFT_OUT.fullmatch(path.name):
                continue
            if path.suffix == ".journal":
                rewrite(path, folder / part / path.name, run_dir)
            else:
                text = _without_paths(path.read_text(), run_dir)
                (folder / part / path.name).write_text(text)
    manifest.update(folder, **{seals.FIELD: seals.made(folder)})
    recollect(folder)  # after the seals: what was collected says that nothing has changed since
    seals.renew(folder)
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        archive.add(folder, RAW, filter=_unowned)


def rewrite(path: Path, target: Path, run_dir: Path) -> None:
    """Copy a journal without paths."""
    target.write_bytes(MAGIC)
    with target.open("ab") as file:
        for frame in read_journal(path).frames:
            text = _without_paths(json.dumps(frame, separators=(",", ":")), run_dir)
            file.write(frame_of(text.encode("ascii")))


def frame_of(payload: bytes) -> bytes:
    """A frame, as `consumers/journal.py` writes it."""
    return struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


def recollect(run_dir: Path) -> None:
    """Make the history of a run anew, from its journals and logs."""
    collect(run_dir, killed=json.loads((run_dir / manifest.FILE_NAME).read_text())["killed"])


def unpacked(scratch: Path) -> dict[str, Path]:
    """Copies of all kept runs in a folder, each with seals."""
    found = {RAW: raw(scratch)}
    for name in RECORDED:
        found[name] = Path(shutil.copytree(RUNS / name, scratch / name))
        manifest.update(found[name], **{seals.FIELD: seals.made(found[name])})
    return found


def raw(scratch: Path) -> Path:
    """A copy of the run that has its journals and logs."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(scratch, filter="data")
    manifest.update(scratch / RAW)  # so that it has a seal, whatever made the archive
    return scratch / RAW


def _without_paths(text: str, run_dir: Path) -> str:
    return text.replace(str(run_dir), "/run-dir").replace(str(Path.home()), "/home-dir")


def _unowned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member
