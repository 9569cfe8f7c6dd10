"""The lines of a log file, plain or compressed, as far as it can be read."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from harness.base.errors import BadInput
from harness.base.paths import here

BLOCK: Final = 1 << 20  # bytes read at a time
LONGEST: Final = 16 * BLOCK  # of a line: a file without line ends is no log
_LONG: Final = 4 * BLOCK
_STDIN: Final = Path("/dev/stdin")
_DAMAGED: Final = (EOFError, OSError, zlib.error, lzma.LZMAError, pa.ArrowException)


def files_of(arguments: list[Path]) -> list[Path]:
    """The files that arguments name, each once; a folder stands for the files in it, - for stdin.

    Raises BadInput where one is not there, or cannot be opened.
    """
    found: dict[Path, Path] = {}
    for each in arguments:
        argument = _STDIN if each == Path("-") else each
        if not argument.exists():
            raise BadInput(f"{here(argument)} is not there: name the brokers' log files")
        inside = sorted(argument.iterdir()) if argument.is_dir() else [argument]
        for path in inside:
            if path.is_file() or path.is_fifo():
                found.setdefault(path.resolve(), path)
    if not found:
        raise BadInput(f"{here(arguments[0])} has no file to read: name the brokers' log files")
    return list(found.values())


def blocks_of(path: Path, damage: Callable[[str], None]) -> Iterator[tuple[bytes, bool]]:
    """The file in pieces of whole lines, each with whether its last line has an end.

    A line that is too long is left out. `damage` gets why the file cannot be read to
    its end. Raises OSError where it cannot be opened.
    """
    with path.open("rb") as file:
        begins = file.peek(8)[:8]  # a pipe cannot be read twice
        rest = b""
        try:
            read = _reader(file, begins)
            while block := read(BLOCK):
                rest += block
                cut = rest.rfind(b"\n") + 1
                if not cut and len(rest) > _LONG:  # a JSON array may have all its objects in one
                    cut = max(rest.rfind(b"},{"), rest.rfind(b"}, {")) + 1
                if cut:
                    yield rest[:cut], True
                    rest = rest[cut:]
                elif len(rest) > LONGEST:
                    damage("has a line of more than 16 MB, which is left out")
                    rest = b""
        except _DAMAGED as error:
            [reason, *_] = str(error).splitlines() or [type(error).__name__]
            damage(f"is damaged from somewhere on ({reason[:120]})")
        if rest:
            yield rest, False


def _reader(file: io.BufferedReader, begins: bytes) -> Callable[[int], bytes]:
    """What reads so many bytes of the file, unpacked; none at the end."""
    if begins.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file).read
    if begins.startswith(b"BZh"):
        return bz2.BZ2File(file).read
    if begins.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(file).read
    if begins.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd").read
    if begins.startswith(b"\x04\x22\x4d\x18"):
        return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "lz4").read
    if begins.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell redirects so
        return codecs.EncodedFile(file, "utf-8", "utf-16", "replace").read
    return file.read
