"""The name of each rule, `group/verb-phrase`: the folder and the name of its file.

A rule has an id as well: stored runs, datasets, suites and experiments have ids, and go on to be
understood. A rule that takes the place of others keeps their ids in its header: `was: R12-first`,
and `was not: R11` for one that said the opposite. Where the opposite was expected to be violated,
the rule is expected to hold, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.experiment import Verdict
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
_ID: Final = re.compile(r"^-- id: ([\w-]+)", re.MULTILINE)
_WAS: Final = re.compile(r"(?:-- |\| )was( not)?: ([^|\n]+)")
_OPPOSITE: Final = {Verdict.HOLDS: Verdict.VIOLATED, Verdict.VIOLATED: Verdict.HOLDS}


def _named() -> tuple[dict[str, str], dict[str, tuple[str, bool]]]:
    """Names by their ids, group by group; and by the ids of former rules those of what took their
    place, and whether it says the opposite.
    """
    found: dict[str, str] = {}
    former: dict[str, tuple[str, bool]] = {}
    for group in GROUPS:
        for path in sorted((FOLDER / group).glob(f"*{SUFFIX}")):
            header = path.read_text(encoding="utf-8").partition("\n\n")[0].replace("\n--   ", " ")
            if rule := _ID.search(header):
                found[rule[1]] = f"{group}/{path.stem}"
                for opposite, ids in _WAS.findall(header):
                    former |= {each.strip(): (rule[1], bool(opposite)) for each in ids.split(",")}
    return found, former


NAMES, FORMER = _named()
_IDS: Final = {name: rule for rule, name in NAMES.items()}


def id_of(rule: str) -> str:
    """The id of a rule that is given by its id or its name; any other text as it is.

    An id of a former rule gives the id of what took its place.
    """
    return FORMER[rule][0] if rule in FORMER else _IDS.get(rule, rule)


def name_of(rule: str) -> str:
    """The name of a rule that is given by its id; one of a user's own has its id alone.

    So has a former rule whose opposite took its place: a verdict on it would be read wrongly.
    """
    now, opposite = FORMER.get(rule, (rule, False))
    return rule if opposite else NAMES.get(now, now)


def today(expected: Mapping[str, Any]) -> dict[str, Any]:
    """An expectation (the fields of an `Expect`) by the rule of today.

    The opposite of a former rule is expected where it can be examined: limits of the violation
    that was expected say nothing of it.
    """
    rule, opposite = FORMER.get(expected["rule"], (id_of(expected["rule"]), False))
    if not opposite:
        return {**expected, "rule": rule}
    before = expected.get("verdict", Verdict.HOLDS)
    verdict = _OPPOSITE.get(before, before)
    reason = "" if verdict == Verdict.HOLDS else f"it is the opposite of {expected['rule']}"
    limits = {"by": "", "at_most": None, "up_to": None, "sometimes": False, "if_seen": True}
    return {**expected, **limits, "rule": rule, "verdict": verdict, "because": reason}


def each_today(declared: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The expectations of a run by the rules of today, one for each rule.

    One by the rule's own id comes before those by ids of former rules.
    """
    found: dict[str, dict[str, Any]] = {}
    for each in map(today, sorted(declared, key=lambda each: each["rule"] in FORMER)):
        found.setdefault(each["rule"], each)
    return tuple(found.values())
