"""Every rule there is, by its id, found in the modules beside this one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from harness import rules as package
from harness.rules.rule import Rule

# Documented rules, rules of KIPs and our own, those about a program under test, about what is
# promised of our own members, and about the evidence.
_KINDS: Final = "RXPLE"


def _found() -> Iterator[Rule]:
    for module in iter_modules(package.__path__):
        if module.name not in ("catalogue", "lineage", "own"):  # they are made from the others
            for value in vars(import_module(f"{package.__name__}.{module.name}")).values():
                if isinstance(value, Rule):
                    yield value


def _in_order(rule: Rule) -> tuple[int, int, str]:
    number = re.match(r"[A-Z](\d+)", rule.id)
    if number is None or rule.id[0] not in _KINDS:
        raise ValueError(f"rule {rule.id!r}: an id is one of {_KINDS}, a number, and a suffix")
    return _KINDS.index(rule.id[0]), int(number[1]), rule.id[number.end() :]


def _collected() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for rule in sorted(_found(), key=_in_order):
        if rules.setdefault(rule.id, rule) is not rule:
            raise ValueError(f"there are two rules {rule.id}: give one of them another id")
    return rules


RULES: Final = _collected()
