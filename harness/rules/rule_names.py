"""The name of each rule, `group/verb-phrase`: the folder and the name of its file.

A rule has an id as well: stored runs, datasets, suites and experiments have ids, and go on to be
understood. A rule that takes the place of others keeps their ids in `was`, beside its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from harness.tables.sql_file import SUFFIX

FOLDER: Final = Path(__file__).parent
# A group of rules, and what they are about, in the order in which lists have them.
GROUPS: Final = {
    "session": "when the coordinator takes a member for dead, and what keeps it alive",
    "poll": "what a poll returns, and what becomes of a member that does not poll",
    "rebalance": "how a rebalance begins, runs and ends",
    "assignment": "who gets which partitions",
    "callbacks": "what a rebalance listener hears, and when",
    "commits": "what may be committed, when, and what is read back",
    "delivery": "what becomes of records",
    "coordinator": "what a coordinator answers, and which broker it is",
    "static": "members with a group.instance.id",
    "epochs": "the protocol of KIP-848",
    "probes": "what coordinators answer to scripted members, which ask what no client asks",
    "promises": "what the owner of a group promises",
    "record": "what the record itself has to be; not counted as rules of a group",
}
_ID: Final = re.compile(r"^-- id: ([\w-]+)(?:.*?\| was: ([\w ,-]+))?", re.MULTILINE)


def _named() -> dict[str, str]:
    """Names by their ids, group by group."""
    found: dict[str, str] = {}
    for group in GROUPS:
        for path in sorted((FOLDER / group).glob(f"*{SUFFIX}")):
            if ids := _ID.search(path.read_text(encoding="utf-8")):
                for rule in (ids[1], *(ids[2] or "").replace(",", " ").split()):
                    found[rule] = f"{group}/{path.stem}"
    return found


NAMES: Final = _named()
_IDS: Final = {name: rule for rule, name in reversed(NAMES.items())}


def id_of(rule: str) -> str:
    """The id of a rule that is given by its id or its name; any other text as it is.

    An id of a rule whose place another has taken gives the id of that.
    """
    return _IDS.get(NAMES.get(rule, rule), rule)


def name_of(rule: str) -> str:
    """The name of a rule that is given by its id; one of a user's own has its id alone."""
    return NAMES.get(rule, rule)
