"""What Kafka's group coordinators log, from the class files of each version.

`make coordinator-words` fetches the jars and writes tests/data/coordinator_words.txt: of each text
the minor versions that have it, its level (or "reason", of a rebalance), and the text with {} for
a value. Class files are read as The Java Virtual Machine Specification describes them, chapter 4.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final
from zipfile import ZipFile

from harness.base.paths import ROOT
from harness.base.whole import whole
from harness.provision.kafka import Jar
from harness.provision.shell import Shell

WORDS: Final = Path(__file__).parent / "data" / "coordinator_words.txt"
READ: Final = ROOT / "results" / "coordinator-words"  # by version, until all are
# The last release of each minor version, and those that are pinned.
VERSIONS: Final = (
    *("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2"),
    *("3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.1"),
    *("4.1.1", "4.2.1", "4.2.2", "4.3.1", "4.4.0"),
)
_CLASSES: Final = re.compile(
    r"kafka/coordinator/group/Group\w+(?:\$\w*)*\.class|"
    r"org/apache/kafka/coordinator/group/(?!generated/|assignor/|metrics/|Group\w*Config)"
    r"[\w/$]+\.class|"
    r"org/apache/kafka/coordinator/common/runtime/[\w$]+\.class"
)
_LEVELS: Final = ("info", "warn", "error", "fatal")
_SILENT: Final = ("debug", "trace")
_REASONS: Final = re.compile("ebalance|removeMember")
_SAID: Final = re.compile(r"^[A-Z]|\{\}|\.$")  # else it is a name that is given to somebody
_ONE: Final = {0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC}
_TWO: Final = {
    *(0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1),
    *(0xC6, 0xC7),
}
_FOUR: Final = {0xB9, 0xBA, 0xC8, 0xC9}
# What ends a text that is put together, and what stands between its parts.
_ENDS: Final = {("java/lang/StringBuilder", "toString"): "", ("scala/StringContext", "s"): "{}"}
Text = tuple[str, str]  # level and text


class _Class:
    """A class file: its constants, and the texts that its methods log."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pool: list[Any] = [None]
        self._at = 8
        count = self._u2()
        while len(self._pool) < count:
            self._constant()
        self._at += 6
        interfaces = self._u2()
        self._at += 2 * interfaces
        self._skip_members()
        self._methods = list(self._codes())
        self._bootstrap: list[list[int]] = []
        for name, at, _ in list(self._attributes()):
            if name == "BootstrapMethods":
                self._read_bootstrap(at)

    def _u2(self) -> int:
        self._at += 2
        return int.from_bytes(self._data[self._at - 2 : self._at])

    def _u4(self) -> int:
        return self._u2() << 16 | self._u2()

    def _constant(self) -> None:
        tag = self._data[self._at]
        self._at += 1
        if tag == 1:
            size = self._u2()
            self._pool.append(self._data[self._at : self._at + size].decode("utf-8", "replace"))
            self._at += size
        elif tag == 15:
            self._at += 1
            self._pool.append((tag, self._u2()))
        elif tag in (7, 8, 16, 19, 20):
            self._pool.append((tag, self._u2()))
        else:
            self._pool.append((tag, self._u2(), self._u2()))
            if tag in (5, 6):
                self._at += 4
                self._pool.append(None)

    def _attributes(self) -> Iterator[tuple[str, int, int]]:
        for _ in range(self._u2()):
            name, size = self._pool[self._u2()], self._u4()
            at = self._at
            self._at += size
            yield name, at, size

    def _skip_members(self) -> None:
        for _ in range(self._u2()):
            self._at += 6
            list(self._attributes())

    def _codes(self) -> Iterator[tuple[str, bytes]]:
        for _ in range(self._u2()):
            self._at += 2
            name = self._pool[self._u2()]
            self._at += 2
            for what, at, _ in list(self._attributes()):
                if what == "Code":
                    size = int.from_bytes(self._data[at + 4 : at + 8])
                    yield name, self._data[at + 8 : at + 8 + size]

    def _read_bootstrap(self, at: int) -> None:
        self._at = at
        for _ in range(self._u2()):
            self._at += 2
            self._bootstrap.append([self._u2() for _ in range(self._u2())])

    def _named(self, index: int) -> tuple[str, str]:
        """Class and name of a method that is called."""
        _, owner, named = self._pool[index]
        return self._pool[self._pool[owner][1]], self._pool[self._pool[named][1]]

    def texts(self) -> set[Text]:
        """What the methods log; Scala's in a function of its own, which `links` says whose."""
        found: set[Text] = set()
        links: dict[str, str] = {}
        returned: list[tuple[str, str]] = []
        for name, code in self._methods:
            for level, text in _Method(self, code, links).texts():
                if level == "return":
                    returned.append((name, text))
                else:
                    found.add((level, text))
        return found | {(links[name], text) for name, text in returned if name in links}


class _Method:
    """Follows the instructions of a method, in the order in which they stand."""

    def __init__(self, owner: _Class, code: bytes, links: dict[str, str]) -> None:
        self._class, self._code, self._links = owner, code, links
        self._parts: list[list[str]] = []  # of texts that are being put together
        self._waiting: list[str] = []  # texts that nobody took yet
        self._last: str | None = None  # what the instruction before pushed, if it is a text
        self._function: str | None = None

    def texts(self) -> Iterator[Text]:
        for op, operand in _instructions(self._code):
            last, self._last = self._last, None
            if op in (0x12, 0x13):
                constant = self._class._pool[operand]
                if constant[0] == 8:
                    self._last = self._class._pool[constant[1]]
                    self._waiting.append(self._last)
            elif op == 0xBB and self._made(operand):
                self._parts.append([])
            elif op == 0x53 and last is not None and self._parts:  # into an array
                self._parts[-1].append(self._waiting.pop())
            elif op == 0xBA:
                self._dynamic(self._class._pool[operand])
            elif op in (0xB6, 0xB7, 0xB8, 0xB9):
                yield from self._call(*self._class._named(operand), last)
            elif op == 0xB0:  # return
                yield from (("return", text) for text in self._waiting)
                self._waiting = []

    def _made(self, operand: int) -> bool:
        name = self._class._pool[self._class._pool[operand][1]]
        return name in ("java/lang/StringBuilder", "scala/StringContext")

    def _dynamic(self, constant: tuple[int, int, int]) -> None:
        for index in self._class._bootstrap[constant[1]]:
            argument = self._class._pool[index]
            if argument[0] == 8 and "\1" in (text := self._class._pool[argument[1]]):
                self._waiting.append(text.replace("\1", "{}"))
            elif argument[0] == 15:
                self._function = self._class._named(argument[1])[1]

    def _call(self, owner: str, name: str, last: str | None) -> Iterator[Text]:
        if owner == "java/lang/StringBuilder" and name == "append" and self._parts:
            self._parts[-1].append(self._waiting.pop() if last is not None else "{}")
        elif self._parts and (owner, name) in _ENDS:
            self._last = _ENDS[owner, name].join(self._parts.pop())
            self._waiting.append(self._last)
        elif name in (*_LEVELS, *_SILENT) or _REASONS.search(name):
            level = name if name in (*_LEVELS, *_SILENT) else "reason"
            if self._function is not None:
                self._links[self._function] = level
            yield from ((level, text) for text in self._waiting)
            self._waiting, self._function = [], None
        elif name == "<init>" and owner.endswith(("Exception", "Error")):
            self._waiting = []


def _instructions(code: bytes) -> Iterator[tuple[int, int]]:
    """Each instruction with its first operand, an index into the constants where it has one."""
    at = 0
    while at < len(code):
        op = code[at]
        if op in (0xAA, 0xAB):  # a switch
            begin = at + 4 - at % 4
            low, high = struct.unpack(">ii", code[begin + 4 : begin + 12])
            at = begin + (12 + 4 * (high - low + 1) if op == 0xAA else 8 + 8 * low)
            continue
        if op == 0xC4:  # wide
            at += 6 if code[at + 1] == 0x84 else 4
            continue
        size = 1 * (op in _ONE) + 2 * (op in _TWO) + 3 * (op == 0xC5) + 4 * (op in _FOUR)
        yield op, int.from_bytes(code[at + 1 : at + 1 + min(size, 2)])
        at += 1 + size


def texts_in(jars: Iterable[Path]) -> set[Text]:
    """What the coordinators in these jars log, and their reasons for a rebalance."""
    found: set[Text] = set()
    for jar in jars:
        with ZipFile(jar) as packed:
            for name in packed.namelist():
                if _CLASSES.fullmatch(name):
                    found |= _Class(packed.read(name)).texts()
    return {
        (level, " ".join(text.split()))
        for level, text in found
        if level not in _SILENT and " " in text and _SAID.search(text)
        if level != "reason" or "{}" in text
    }


def lines_of(by_version: Iterable[tuple[str, set[Text]]]) -> Iterator[str]:
    """A line for each text: the versions that have it, its level and the text."""
    found: dict[Text, list[str]] = {}
    for version, texts in by_version:
        for each in texts:
            found.setdefault(each, []).append(version)
    for (level, text), versions in sorted(found.items(), key=lambda each: each[0][::-1]):
        yield f"{','.join(_ranges(versions))} {level} {text}"


def _ranges(versions: list[str]) -> Iterator[str]:
    """Versions as ranges: 2.0.1-3.9.2."""
    for _, run in groupby(enumerate(versions), lambda each: VERSIONS.index(each[1]) - each[0]):
        first, *_, last = [*(each for _, each in run)] * 2
        yield first if first == last else f"{first}-{last}"


def kept() -> Iterator[tuple[str, str, set[str]]]:
    """Each text of the list: its level, itself, and the versions that have it."""
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        ranges, level, text = line.split(" ", 2)
        ends = [each.partition("-") for each in ranges.split(",")]
        yield (
            level,
            text,
            {
                version
                for first, _, last in ends
                for version in VERSIONS[VERSIONS.index(first) : VERSIONS.index(last or first) + 1]
            },
        )


def jars_of(version: str, into: Path) -> list[Path]:
    """Fetch the jars in which a version has its coordinators."""
    from harness.provision.ivy import ivy_command, ivy_module  # slow to load
    from harness.provision.java import find_java

    names = ["kafka_2.12" if version < "2.4" else "kafka_2.13"]
    names += ["kafka-group-coordinator"] * (version >= "3.7")
    names += ["kafka-coordinator-common"] * (version >= "4")
    module = ivy_module([Jar("org.apache.kafka", name, version, "") for name in names])
    Shell(into).run(f"fetching {version}", ivy_command(module, find_java(), into), log="ivy.log")
    return sorted((into / "jars").glob("*.jar"))


def _of_version(version: str, read: Path) -> set[Text]:
    """The texts of a version, which are fetched once: an interrupted list goes on from there."""
    if not read.exists():
        with TemporaryDirectory() as folder, whole(read) as half:
            found = texts_in(jars_of(version, Path(folder)))
            half.write_text("".join(f"{level} {text}\n" for level, text in sorted(found)), "utf-8")
    parts = [line.partition(" ") for line in read.read_text(encoding="utf-8").splitlines()]
    return {(level, text) for level, _, text in parts}


def main() -> None:
    """Write the list anew."""
    READ.mkdir(parents=True, exist_ok=True)
    by_version = []
    for version in VERSIONS:
        by_version.append((version, _of_version(version, READ / f"{version}.txt")))
        print(f"{version}: {len(by_version[-1][1])} texts", flush=True)
    WORDS.write_text("".join(f"{line}\n" for line in lines_of(by_version)), encoding="utf-8")
    rmtree(READ)


if __name__ == "__main__":
    main()
