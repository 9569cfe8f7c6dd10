"""What an experiment is made from where that is not ours."""

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that an experiment is made from and that is not ours: its path in a run, its text."""

    path: str
    text: str

    @property
    def data(self) -> bytes:
        return self.text.encode(errors="surrogateescape")

    @property
    def digest(self) -> str:
        return sha256(self.data).hexdigest()
