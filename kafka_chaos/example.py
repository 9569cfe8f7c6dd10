"""`kafka-chaos init`: a small consumer, its app.toml and a test of it, into a folder of the user's.

Nothing is overwritten: a file that is there already is named, and none is written then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

TEMPLATE: Final = Path(__file__).resolve().parent / "template"
FILES: Final = (
    *("app.toml", "consumer.py", "requirements.txt", "build.sh", "test_orders.py"),
    *("README.md", ".gitignore"),
)
FOLDER: Final = "chaos"
_HELP: Final = f"""\
usage: kafka-chaos init [FOLDER]

Write a small example into FOLDER ({FOLDER} by default): {", ".join(FILES)}.
"""
_BAD_ARGUMENTS: Final = 4
_FAILED: Final = 3


def init(words: Sequence[str], complain: Callable[[str, int], int]) -> int:
    if any(word in ("-h", "--help") for word in words):
        sys.stdout.write(_HELP)
        return 0
    if len(words) > 1 or any(word.startswith("-") for word in words):
        sentence = f"init takes one folder, not {' '.join(words)}: `kafka-chaos init {FOLDER}`"
        return complain(sentence, _BAD_ARGUMENTS)
    folder = Path(words[0] if words else FOLDER)
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        sentence = f"{folder / there[0]} is there already, and nothing is overwritten"
        return complain(f"{sentence}: name another folder", _BAD_ARGUMENTS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            # "x": whoever has written one meanwhile keeps it.
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write((TEMPLATE / name).read_text(encoding="utf-8"))
    except OSError as error:
        why = error.strerror or str(error)
        return complain(
            f"{error.filename or folder} cannot be written ({why}): name another folder", _FAILED
        )
    sys.stdout.write(
        f"{folder}: a consumer, its app.toml, and a test of it\n"
        f"next  pytest {folder}, or kafka-chaos try --app {folder}\n"
    )
    return 0
