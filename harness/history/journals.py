"""Reading the journals of a run, each with what is known of its being whole (table `journals`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from consumers.journal import FORMAT_VERSION, JournalContent, of_kinds, read_journal
from harness.base.errors import NoData
from harness.history import seals, shown

Row = dict[str, Any]
OBSERVER: Final = "observer"
FAULTS: Final = "faults"
WATCHDOG: Final = "watchdog"
OUTPUT: Final = "output"
PROGRAMS: Final = "programs"
SINK: Final = Path(shown.JOURNAL).stem
WRITTEN: Final = Path(shown.WRITTEN).stem

_SUFFIX: Final = ".journal"
_NOTHING: Final = JournalContent([], torn=False, whole_bytes=0)
_ENDINGS: Final = {"closed": "closed", "fatal": "failed"}


@dataclass
class Journals:
    """The journals in a folder; `rows` has one for each that was asked for.

    `killed` names the processes that the harness ended by SIGKILL: these cannot close theirs.
    `sealed` are the seals of the run's files.
    """

    folder: Path
    killed: frozenset[str] = frozenset()
    sealed: Mapping[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def read(self, name: str, role: str | None = None, *, there: bool = True) -> JournalContent:
        """The journal of this name; without a frame where it is not there.

        `role` is that of the table; the name, where it is left out. `there` says whether the run
        must have it: one that it need not have gives no row where there is none.
        """
        path = self.folder / f"{name}.journal"
        beside = f"journals/{name}.journal", f"journals/{name}.json", f"logs/{name}.log"
        row: Row = {
            "journal": name,
            "role": role or name,
            "changed": seals.changed(self.folder.parent, self.sealed, *beside),
        }
        if not path.exists():
            self.rows += [row] if there else []
            return _NOTHING
        self.rows.append(row)
        try:
            content = read_journal(path)
        except NoData:  # it is no journal of this version
            row |= {"frames": 0, "torn": True, "cut": False, "gaps": 0}
            return _NOTHING
        first, last = (content.frames[0], content.frames[-1]) if content.frames else ({}, {})
        row |= {
            "frames": len(content.frames),
            "torn": content.torn,
            "cut": content.cut,
            "gaps": content.gaps,
            "ending": self._ending(row, content),
            "first_at": first.get("at"),
            "last_at": last.get("at"),
        }
        return content

    def unread(self, name: str) -> None:
        """Put on record that it is not known what wrote this journal: its settings are damaged."""
        self.rows.append({"journal": name, "frames": 0, "changed": True})

    def note_others(self) -> None:
        """Put on record each journal that is there, or was sealed, and was not asked for."""
        known = {row["journal"] for row in self.rows}
        there = [path.name for path in self.folder.glob(f"*{_SUFFIX}")]
        sealed = [Path(name).name for name in self.sealed if name.startswith("journals/")]
        for name in sorted({*there, *sealed}):
            if name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX) not in known:
                self.unread(name.removesuffix(_SUFFIX))

    def _ending(self, row: Row, content: JournalContent) -> str | None:
        if row["journal"] in self.killed:
            return "killed"
        endings = [_ENDINGS[frame["kind"]] for frame in of_kinds(content.frames, *_ENDINGS)]
        if endings:
            return endings[-1]
        ours = row["role"] in ("consumer", "producer")
        header: Mapping[str, Any] = content.frames[0] if content.frames else {}
        older = header.get("format", FORMAT_VERSION) < FORMAT_VERSION
        return "untold" if older and not ours else None
