"""Every rule there is, by its id, found in the folders beside this module: a file for each."""

from __future__ import annotations

import re
from typing import Final

from harness.rules.rule import Rule
from harness.rules.rule_file import rule_in
from harness.rules.rule_names import FOLDER, GROUPS, NAMES
from harness.tables.sql_file import PIECES, SUFFIX

# Documented rules, rules of KIPs and our own, those about a program under test, about what is
# promised of our own members, and about the evidence.
_KINDS: Final = "RXPLE"
_FREE: Final = f"X{1 + max(map(int, re.findall(r'X([0-9]+)', ' '.join(NAMES))))}"


def read_all() -> dict[str, Rule]:
    """All rules as their files are now, by their ids, in the order of these.

    Raises ValueError for a file that is no rule, and for an id that two have.
    """
    found: dict[str, Rule] = {}
    for group in GROUPS:
        for path in sorted((FOLDER / group).glob(f"*{SUFFIX}")):
            try:
                rule = rule_in(path, FOLDER / PIECES)
                _order_of(rule.id)
            except ValueError as error:
                raise ValueError(f"{path.relative_to(FOLDER)}: {error}") from error
            if rule.id in found:
                raise ValueError(f"there are two rules {rule.id}: give the newer one {_FREE}")
            found[rule.id] = rule
    return {name: found[name] for name in sorted(found, key=_order_of)}


def _order_of(rule: str) -> tuple[int, int, str]:
    number = re.match(r"[A-Z](\d+)", rule)
    if number is None or rule[0] not in _KINDS:
        raise ValueError(f"{rule!r} is no id of a rule: write `-- id: {_FREE}`, which is free")
    return _KINDS.index(rule[0]), int(number[1]), rule[number.end() :]


RULES: Final = read_all()
