"""Container images by name, with the digests that `locks/images.txt` has for them."""

from __future__ import annotations

import re

from harness.base.errors import SetupError
from harness.provision.cache import LOCKS

LOCK = LOCKS / "images.txt"
_LINE = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


def read_lock() -> list[str]:
    """Every locked image, as `name:tag@sha256:…`; SetupError for a line that is anything else."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line[:1] not in ("", "#")]
    for number, line in numbered:
        if not _LINE.fullmatch(line):
            raise SetupError(
                f"{LOCK}:{number} reads {line!r}, not `name:tag@sha256:…`; "
                "restore the file from git"
            )
    return [line for _, line in numbered]


def with_digest(image: str) -> str:
    """The image `name:tag` with its digest, where there is one."""
    return next((line for line in read_lock() if line.startswith(f"{image}@")), image)
