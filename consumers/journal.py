"""The journal: what a client process did, in a file that survives its SIGKILL.

A file is the magic bytes, then frames: `length u32 | crc32 u32 | payload`, little endian, the
payload one JSON object in UTF-8. Each frame is appended by a single `os.write`, so the kernel has
it when the call returns: a killed writer loses nothing that it said. (A machine that loses power
would; that is no fault the harness makes, so nothing is fsynced.)

A SIGKILL that comes during the write can cut the frame in one place only. The kernel copies a write
page by page into its cache, and looks between two pages, not within one, whether its process is to
die (`generic_perform_write` in Linux's mm/filemap.c). So what a SIGKILL leaves of a frame is its
beginning, and ends where a page of the file ends.

Frames are numbered from 0 (`seq`), and a writer that ends in order says so in the last one.
"""

import json
import os
import struct
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from harness.base.errors import BadInput, HarnessError, NoData

MAGIC: Final = b"kcjrnl1\n"
# Since 2 every journal has a closing frame; of 1 only those of consumers and producers have one.
FORMAT_VERSION: Final = 2
_PREFIX: Final = struct.Struct("<II")
_BEGINS: Final = b'{"kind":"'  # every payload
# No frame comes near this; a longer "length" is garbage, not a reason to allocate.
_LONGEST_PAYLOAD: Final = 64 * 1024 * 1024
# The smallest page that Linux has; larger ones end where one of these ends.
_PAGE: Final = 4096


class JournalError(HarnessError):
    """The journal cannot be written, so nothing that follows would be known: exit code 3."""


class Journal:
    """Writes one journal. Not thread-safe: it belongs to the one thread of a client process."""

    def __init__(self, path: Path | str, member: str) -> None:
        """Create the file, which must not exist yet (BadInput), and write its header frame."""
        self._path = Path(path)
        self._seq = 0
        encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False)
        self._encode = encoder.encode
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(self._path, flags, 0o644)
        except FileExistsError:
            raise BadInput(
                f"the journal {path} exists already, and two processes must not share one: "
                "give this process a journal of its own"
            ) from None
        except OSError as error:
            raise BadInput(f"cannot create the journal {path}: {error.strerror}") from None
        self._append(MAGIC)
        self.write("header", format=FORMAT_VERSION, member=member, pid=os.getpid())

    def write(self, kind: str, **fields: Any) -> int:
        """Append one frame; its `at`, in epoch microseconds. Raises JournalError on a full disk."""
        return self.write_encoded(kind, self._encode(fields)[1:-1])

    def write_encoded(self, kind: str, members: str) -> int:
        """As `write`, for the frames of every poll: fields in ASCII that are JSON already."""
        at = time.time_ns() // 1000
        more = "," if members else ""
        text = f'{{"kind":"{kind}","at":{at},"seq":{self._seq}{more}{members}}}'
        payload = text.encode("ascii")  # JSON escapes every other character
        self._seq += 1
        self._append(_PREFIX.pack(len(payload), zlib.crc32(payload)) + payload)
        return at

    def close(self) -> None:
        """Close the file; the journal cannot be written afterwards."""
        os.close(self._fd)

    def end(self) -> None:
        """Write the closing frame, and close the file. Raises JournalError as `write` does."""
        self.write("closed")
        self.close()

    def _append(self, data: bytes) -> None:
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise JournalError(
                f"cannot write the journal {self._path}: {error.strerror}; make room and run again"
            ) from None
        if written != len(data):
            raise JournalError(
                f"only {written} of {len(data)} bytes of a frame fitted into the journal "
                f"{self._path}: the disk is full; make room and run again"
            )


class Frames(Sequence[dict[str, Any]]):
    """The frames of a journal, read as they are asked for: a day has six million of them."""

    def __init__(self, path: Path, starts: "array[int]") -> None:
        self._path = path
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.of_kinds()

    def of_kinds(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """Those of these kinds, or all; the others are not decoded."""
        begins = tuple(_BEGINS + f'{kind}"'.encode() for kind in kinds) or b""
        with self._path.open("rb") as file:
            file.seek(self._starts[0] if self._starts else 0)
            for _ in self._starts:
                if (found := _next_payload(file)) is None:
                    raise self._changed()
                payload, _crc = found
                if payload.startswith(begins):
                    yield json.loads(payload)

    def __getitem__(self, which: int) -> dict[str, Any]:  # type: ignore[override]  # no slices
        with self._path.open("rb") as file:
            file.seek(self._starts[which])
            if (found := _next_frame(file)) is None:
                raise self._changed()
            return found

    def _changed(self) -> NoData:
        return NoData(f"{self._path} has changed while it was read: read it again")


def of_kinds(frames: Iterable[Mapping[str, Any]], *kinds: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(frames, Frames):
        return frames.of_kinds(*kinds)
    return (frame for frame in frames if frame["kind"] in kinds)


class JournalContent(NamedTuple):
    """A journal as read: every whole frame, and whether bytes remain behind the last one.

    `cut`: these bytes are what a SIGKILL leaves of a frame that is just being written. `gaps` are
    the places at which a frame does not have the number after that of the frame before it: frames
    are missing there, or stand there twice or in another order.
    """

    frames: Sequence[dict[str, Any]]
    torn: bool
    whole_bytes: int
    cut: bool = False
    gaps: int = 0


def read_journal(path: Path | str) -> JournalContent:
    """Read every frame up to the first bad one. NoData if there is no journal at `path`."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise NoData(f"cannot read the journal {path}: {error.strerror}") from None


def _read(path: Path, file: BinaryIO) -> JournalContent:
    starts = array("Q")
    whole = due = gaps = 0
    if _begins_as_journal(path, file.read(len(MAGIC))):
        whole = len(MAGIC)
        while (frame := _next_frame(file)) is not None:
            starts.append(whole)
            whole = file.tell()
            seq = frame.get("seq")
            gaps += seq != due
            due = (seq if isinstance(seq, int) else due) + 1
    size = os.fstat(file.fileno()).st_size
    file.seek(whole)
    begins = file.read(_PREFIX.size + len(_BEGINS))
    return JournalContent(
        Frames(path, starts),
        torn=whole < size,
        whole_bytes=whole,
        cut=_cut_by_kill(begins, size, whole),
        gaps=gaps,
    )


def _begins_as_journal(path: Path | str, begins: bytes) -> bool:
    """Whether this is the whole beginning of a journal. Raises NoData for another file."""
    if begins != MAGIC[: len(begins)]:
        raise NoData(
            f"{path} is no journal of this version: it does not start with {MAGIC!r}; "
            "check it with the version of the harness that wrote it"
        )
    return len(begins) == len(MAGIC)


def _next_frame(file: BinaryIO) -> dict[str, Any] | None:
    """The frame that starts where the file is, or None if no whole one is there."""
    found = _next_payload(file)
    if found is None or zlib.crc32(found[0]) != found[1]:
        return None
    try:
        frame = json.loads(found[0])
    except ValueError:  # a CRC that fits by chance, say over zeros
        return None
    return frame if isinstance(frame, dict) else None


def _next_payload(file: BinaryIO) -> tuple[bytes, int] | None:
    """What the next frame says that it holds, unread, and its checksum; None where that is cut."""
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        return None
    length, crc = _PREFIX.unpack(prefix)
    if length > _LONGEST_PAYLOAD:
        return None
    payload = file.read(length)
    return (payload, crc) if len(payload) == length else None


def _cut_by_kill(begins: bytes, size: int, whole: int) -> bool:
    """Whether the bytes from `whole` on, which `begins`, end with a page of the file."""
    if size == whole or size % _PAGE:
        return False
    if len(begins) < _PREFIX.size:
        return True
    length, _crc = _PREFIX.unpack_from(begins)
    payload = begins[_PREFIX.size :]
    return bool(
        size - whole - _PREFIX.size < length <= _LONGEST_PAYLOAD
        and payload == _BEGINS[: len(payload)]
    )


def tail_journal(path: Path | str, offset: int) -> tuple[list[dict[str, Any]], int]:
    """Read the whole frames behind `offset` (0 at first), if any, and say where to go on.

    Raises NoData for a file that is no journal.
    """
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], offset
    frames: list[dict[str, Any]] = []
    at = 0
    if offset == 0:
        if not _begins_as_journal(path, data[: len(MAGIC)]):
            return frames, 0
        at = len(MAGIC)
    rest = BytesIO(data)
    rest.seek(at)
    while (frame := _next_frame(rest)) is not None:
        frames.append(frame)
        at = rest.tell()
    return frames, offset + at
