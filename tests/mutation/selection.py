"""Which tests can notice a change of a rule: cases of a rule that uses what was changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Final

from tests import cases

RULES: Final = Path("harness/rules")
TESTS: Final = Path("tests/rules")
# Where derived tables are tested themselves: by hand-written histories, and by recorded runs.
TABLES: Final = ("tests/tables/", "tests/recorded/test_recorded_tables.py")
_PACKAGE: Final = "harness.rules"
_CONSTANT: Final = re.compile(r"[:{]([A-Z][A-Z_]*)")  # in a query: tables/vocabulary.py

Item = tuple[str, str]  # module, and the name of what is defined at its top


class Selection:
    """Who uses what in the rules, and which tests name which rule, as of the sources in `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        trees = {path.stem: ast.parse(path.read_text()) for path in (root / RULES).glob("*.py")}
        self._uses = {
            item: used for module, tree in trees.items() for item, used in _uses(module, tree)
        }
        self.rules = {
            rule: (module, name) for module, tree in trees.items() for rule, name in _rules(tree)
        }

    def users(self, item: Item) -> set[str]:
        """Ids of the rules that use what is defined there."""
        return {rule for rule, own in self.rules.items() if item in self._closure(own)}

    def _closure(self, item: Item) -> set[Item]:
        found, todo = {item}, [item]
        while todo:
            new = self._uses.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def tests(self, rules: Iterable[str]) -> list[Path]:
        """The files of cases that have one of these rules."""
        wanted = set(rules)
        return [path for path, named in self._named.items() if named & wanted]

    @cached_property
    def _named(self) -> dict[Path, set[str]]:
        """The rules of each file of cases."""
        return {
            path: {case.rule for case in cases.read(path.read_text(encoding="utf-8"))[0]}
            for path in sorted((self._root / TESTS).glob(f"*{cases.SUFFIX}"))
        }


def _tops(tree: ast.Module) -> Iterable[tuple[str, ast.stmt]]:
    """What a module defines at its top."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node


def _uses(module: str, tree: ast.Module) -> Iterable[tuple[Item, set[Item]]]:
    imported = _imported(tree)
    tops = dict(_tops(tree))
    for name, node in tops.items():
        used: set[Item] = set()
        for each in ast.walk(node):
            match each:
                case ast.Name(id=found) if found in tops:
                    used.add((module, found))
                case ast.Name(id=found) if found in imported:
                    used.add(imported[found])
                case ast.Constant(value=str(text)):
                    named = {found[1] for found in _CONSTANT.finditer(text)}
                    used |= {(module, found) for found in named & tops.keys()}
                    used |= {imported[found] for found in named & imported.keys()}
                case ast.Attribute(value=ast.Name(id=found), attr=attr) if found in imported:
                    used.add((imported[found][1], attr))  # a module of the package
        yield (module, name), used


def _imported(tree: ast.Module) -> dict[str, Item]:
    """Names that come from other modules of the package; a module itself is ("", its name)."""
    found: dict[str, Item] = {}
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(_PACKAGE):
            continue
        module = (node.module or "").removeprefix(_PACKAGE).lstrip(".")
        for alias in node.names:
            found[alias.asname or alias.name] = (module, alias.name)
    return found


def _rules(module: ast.Module) -> Iterable[tuple[str, str]]:
    """Each rule's id, and the name of what defines it: a decorated query."""
    for name, node in _tops(module):
        made = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign):
            made = [node.value]
        for call in made:
            match call:
                case ast.Call(func=ast.Name(id="Rule"), args=[ast.Constant(value=str(rule))]):
                    yield rule, name
                case ast.Call(func=ast.Name(id="Rule"), keywords=[first, *_]):
                    assert isinstance(first.value, ast.Constant)
                    yield str(first.value.value), name
