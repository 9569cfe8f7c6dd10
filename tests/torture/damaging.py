"""Ways in which the bytes of a file are damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import Final

from consumers.journal import MAGIC

Damaged = tuple[str, bytes]  # what was done, and what came of it
_PREFIX: Final = struct.Struct("<II")


def of_any_file(data: bytes, randomness: random.Random) -> Damaged:
    """Bits flipped, mostly near the end (footers have no checksum), or parts cut and moved."""
    ways = (_flip, _flip, _flip, _cut, _zeros, _without_a_part, _part_twice)
    return randomness.choice(ways)(data, randomness)


def of_a_journal(data: bytes, randomness: random.Random) -> Damaged:
    """The same, or whole frames missing, doubled, swapped, cut off at a border."""
    if randomness.random() < 0.5:
        return of_any_file(data, randomness)
    what, pieces = _pieces(_frames(data), "frame", randomness)
    return what, MAGIC + b"".join(pieces)


def of_lines(data: bytes, randomness: random.Random) -> Damaged:
    """The same, or whole lines missing, doubled, swapped, cut off."""
    if randomness.random() < 0.5:
        return of_any_file(data, randomness)
    what, pieces = _pieces(data.splitlines(keepends=True), "line", randomness)
    return what, b"".join(pieces)


def of_json(data: bytes, randomness: random.Random) -> Damaged:
    """The same, or one digit of it another: it is read as ever then."""
    digits = [at for at, byte in enumerate(data) if chr(byte).isdecimal()]
    if not digits or randomness.random() < 0.4:
        return of_any_file(data, randomness)
    at, digit = randomness.choice(digits), randomness.choice(b"0123456789")
    return f"byte {at} is {chr(digit)}", data[:at] + bytes([digit]) + data[at + 1 :]


def _frames(data: bytes) -> list[bytes]:
    found, at = [], len(MAGIC)
    while at < len(data):
        length, _crc = _PREFIX.unpack_from(data, at)
        end = at + _PREFIX.size + length
        found.append(data[at:end])
        at = end
    return found


def _pieces(
    pieces: Sequence[bytes], name: str, randomness: random.Random
) -> tuple[str, Sequence[bytes]]:
    changed = list(pieces)
    if len(changed) < 2:
        return f"without any {name}", []
    one, other = sorted(randomness.sample(range(len(changed)), 2))
    match randomness.choice(
        ("missing", "missing", "doubled", "swapped", "cut off", "many missing")
    ):
        case "missing":
            del changed[one]
            return f"{name} {one} missing", changed
        case "doubled":
            changed.insert(other, changed[one])
            return f"{name} {one} again at {other}", changed
        case "swapped":
            changed[one], changed[other] = changed[other], changed[one]
            return f"{name}s {one} and {other} swapped", changed
        case "cut off":
            return f"cut off at {name} {other}", changed[:other]
        case _:
            return f"{name}s {one} to {other} missing", changed[:one] + changed[other:]


def _flip(data: bytes, randomness: random.Random) -> Damaged:
    if not data:
        return "one byte more", b"\0"
    changed = bytearray(data)
    begin = 0 if randomness.random() < 0.5 else max(0, len(data) - 2_000)
    bits = sorted(
        randomness.randrange(begin * 8, len(data) * 8) for _ in range(randomness.choice((1, 1, 3)))
    )
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return f"bit {', '.join(map(str, bits))} flipped", bytes(changed)


def _cut(data: bytes, randomness: random.Random) -> Damaged:
    length = randomness.randrange(len(data) + 1)
    return f"cut at byte {length}", data[:length]


def _zeros(data: bytes, randomness: random.Random) -> Damaged:
    length = randomness.randrange(len(data) + 1)
    return f"zeros from byte {length}", data[:length] + bytes(len(data) - length)


def _without_a_part(data: bytes, randomness: random.Random) -> Damaged:
    one, other = _two(data, randomness)
    return f"without bytes {one} to {other}", data[:one] + data[other:]


def _part_twice(data: bytes, randomness: random.Random) -> Damaged:
    one, other = _two(data, randomness)
    return f"bytes {one} to {other} twice", data[:other] + data[one:]


def _two(data: bytes, randomness: random.Random) -> tuple[int, int]:
    one, other = sorted(randomness.randrange(len(data) + 1) for _ in range(2))
    return one, other


Way = Callable[[bytes, random.Random], Damaged]
