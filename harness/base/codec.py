"""Kafka's messages as bytes, by specifications of their fields in one line of text.

    name:i                 a number of 4 bytes (b: 1, h: 2, H: 2 without a sign, q: 8)
    name:text              other kinds are octets and uuid
    name:i*                an array of these
    name[...]              an array of structs with the fields in the brackets
    name{...}  name?{...}  a struct, and one that may be null
    name@2[...]            a tagged field, by its tag: read if it is there, never written
    ~                      in front of everything: a flexible version (KIP-482)

A flexible version has compact lengths, and tagged fields at the end of each struct; those that the
specification does not have are skipped. A struct is a dict of its fields. None is written as null;
null is read as an empty text, octets or array, and as None for a struct.
"""

import re
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

Body = dict[str, Any]

# What a leader gives a member by the classic protocol, up to the user data.
ASSIGNMENT: Final = "version:h topicPartitions[topicName:text partitions:i*]"

_TOKEN: Final = re.compile(r"(\w+)(?:@(\d+))?(?::(\w+)(\*?)|(\[|\??\{))|[\]}]")
_NULL: Final = b"\xff"  # instead of a struct; before one is b"\1"
_UUID_BYTES: Final = 16


def encoded(spec: str, values: Body) -> bytes:
    return _message(spec).write(values)


def decoded(spec: str, data: bytes) -> Body:
    """The fields that the bytes begin with. Raises ValueError if they end too early."""
    found: Body = _message(spec).read(_Source(data))
    return found


class _Source:
    """Bytes, and how far they have been read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        begin, self._at = self._at, self._at + max(0, length)
        if self._at > len(self._data):
            raise ValueError(f"a message of {len(self._data)} bytes ends too early")
        return self._data[begin : self._at]


@dataclass(frozen=True)
class _Kind:
    """How values of one kind are written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[_Source], Any]


def _number(code: str) -> _Kind:
    form = struct.Struct(f">{code}")
    return _Kind(form.pack, lambda source: form.unpack(source.take(form.size))[0])


def _write_varint(value: int) -> bytes:
    """Unsigned, seven bits per byte, the lowest first."""
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def _read_varint(source: _Source) -> int:
    value = shift = 0
    while True:
        (byte,) = source.take(1)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


# A length, of which -1 is that of null.
_COMPACT: Final = _Kind(
    lambda length: _write_varint(length + 1), lambda source: _read_varint(source) - 1
)


def _sized(length: _Kind, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]) -> _Kind:
    def write(value: Any) -> bytes:
        if value is None:
            return length.write(-1)
        data = encode(value)
        return length.write(len(data)) + data

    return _Kind(write, lambda source: decode(source.take(length.read(source))))


def _array(of: _Kind, length: _Kind) -> _Kind:
    def write(values: list[Any] | None) -> bytes:
        if values is None:
            return length.write(-1)
        return length.write(len(values)) + b"".join(map(of.write, values))

    return _Kind(write, lambda source: [of.read(source) for _ in range(length.read(source))])


def _struct(
    fields: Mapping[str, _Kind], tagged: Mapping[int, tuple[str, _Kind]], *, flexible: bool
) -> _Kind:
    end = b"\0" if flexible else b""  # no tagged fields

    def write(values: Body) -> bytes:
        return b"".join(kind.write(values[name]) for name, kind in fields.items()) + end

    def read(source: _Source) -> Body:
        found = {name: kind.read(source) for name, kind in fields.items()}
        for _ in range(_read_varint(source) if flexible else 0):
            tag, data = _read_varint(source), source.take(_read_varint(source))
            if tag in tagged:
                name, kind = tagged[tag]
                found[name] = kind.read(_Source(data))
        return found

    return _Kind(write, read)


def _nullable(of: _Kind) -> _Kind:
    return _Kind(
        lambda value: _NULL if value is None else b"\1" + of.write(value),
        lambda source: None if source.take(1) == _NULL else of.read(source),
    )


@cache
def _message(spec: str) -> _Kind:
    """Put together once for each specification: answers of thousands of fields are read by it."""
    flexible = spec.startswith("~")
    kinds = {code: _number(code) for code in "bhHiq"}
    short, long = (_COMPACT, _COMPACT) if flexible else (kinds["h"], kinds["i"])
    kinds |= {"text": _sized(short, str.encode, bytes.decode), "octets": _sized(long, bytes, bytes)}
    kinds["uuid"] = _Kind(bytes, lambda source: source.take(_UUID_BYTES))

    def parsed(tokens: Iterator[tuple[str, ...]]) -> _Kind:
        """The fields up to the bracket that closes them."""
        fields: dict[str, _Kind] = {}
        tagged: dict[int, tuple[str, _Kind]] = {}
        for name, tag, kind, many, opens in tokens:
            if not name:
                break
            found = parsed(tokens) if opens else kinds[kind]
            if opens == "?{":
                found = _nullable(found)
            if many or opens == "[":
                found = _array(found, long)
            if tag:
                tagged[int(tag)] = name, found
            else:
                fields[name] = found
        return _struct(fields, tagged, flexible=flexible)

    return parsed(iter(_TOKEN.findall(spec)))


def answer_on(link: socket.socket, deadline: float) -> bytes:
    """The next message on a connection, less the length that stands before it. Raises OSError.

    `deadline` is of the monotonic clock, in seconds.
    """

    def read(size: int) -> bytes:
        data = b""
        while len(data) < size:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"{len(data)} of {size} bytes of an answer came in time")
            link.settimeout(left_s)
            part = link.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the connection was closed in the middle of an answer")
            data += part
        return data

    return read(int.from_bytes(read(4), "big"))
