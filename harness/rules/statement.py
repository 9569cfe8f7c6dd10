"""A statement of one of the documents, and the rules that hold it against a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a document.

    `rules` are the ids that hold it against a run as it stands; `instead` are those of what
    replaced it, where it does not hold any more, and `since` the version in which that began. A
    statement without `rules` is refuted where what replaced it holds; one without both is not
    judged, and `today` says why. `apart` are experiments whose
    application does not do what the statement is about: their runs say nothing of it.
    """

    id: str
    says: str
    rules: tuple[str, ...]
    instead: tuple[str, ...] = ()
    today: str = ""
    since: str = ""
    apart: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The number of the document that it is from."""
        return self.id.partition(".")[0]
