"""Clients' messages whose fields have a line each, as pino-pretty and Node's console print them.

The line with the message gets what it needs of the other lines; those stay as they are, so that the
lines keep their numbers. A record that two blocks share is not put together.
"""

from __future__ import annotations

import re
from typing import Final

# Below its line: "ERROR: The coordinator is not aware …" and "    groupId: "orders"".
_BELOW: Final = re.compile(
    rb"(?m)^(?P<head>[^\n]*?)(?P<text>The coordinator is not aware of this member, re-join[^\n]*|"
    rb"The group is rebalancing, re-join[^\n]*|Consumer has joined the group|Crash: [^\n]*|Stopped)"
    rb"\r?\n(?P<fields>(?:[ \t]+\w+: [^\n]*\n?)+)"
)
_NAMESPACE: Final = re.compile(rb"\bnamespace: [\"']?(Runner|ConsumerGroup|Consumer)\b")
_NAMED: Final = re.compile(rb"\b((?:groupId|memberId): [^\s,]+)")
# An object of Node's: "{", fields such as "fac: 'MAXPOLL',", "}".
_OBJECT: Final = re.compile(rb"(?m)^[^\n]*\{\r?\n((?:[ \t]+\w+: [^\n]*\n)+)[ \t]*\}")
_MESSAGE: Final = re.compile(rb"(?m)^[ \t]+message: ['\"`](?P<text>\[thrd:[^\n]*?)['\"`],?\r?$")
_TIME: Final = re.compile(rb"\b(?:timestamp|time): ['\"]?([^'\",\n]+)")
_HANDLE: Final = re.compile(rb"\bname: ['\"]([^'\"\n]*#[^'\"\n]*)")


def on_one_line(block: bytes, mark: bytes) -> bytes:
    """The same lines; of such records the line with the message has the mark and what it needs."""
    if b"namespace: " in block:
        block = _BELOW.sub(lambda found: _named(found, mark), block)
    if b"message: '[thrd:" in block or b'message: "[thrd:' in block:
        block = _OBJECT.sub(lambda found: _timed(found, mark), block)
    return block


def _named(found: re.Match[bytes], mark: bytes) -> bytes:
    namespace = _NAMESPACE.search(found["fields"])
    if namespace is None or b"[" + namespace[1] + b"]" in found["head"]:
        return found[0]
    about = b", ".join(_NAMED.findall(found["fields"]))
    return (
        found["head"] + mark + b"[" + namespace[1] + b"] " + found["text"] + b" {" + about + b"}\n"
    ) + found["fields"]


def _timed(found: re.Match[bytes], mark: bytes) -> bytes:
    time, handle = _TIME.search(found[1]), _HANDLE.search(found[1])
    if time is None:
        return found[0]
    name = handle[1] + b" " if handle else b""
    return _MESSAGE.sub(lambda said: time[1] + b" " + mark + name + said["text"], found[0])
