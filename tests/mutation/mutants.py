"""Every small change to the SQL of a module of rules."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutation.sql import changes, is_sql

_QUOTES: Final = re.compile(r"""[a-zA-Z]*(\"""|'''|"|')""")


@dataclass(frozen=True)
class Mutant:
    """`start` to `end` of a module's source becomes `to`; `within` is what is defined there.

    A module is named as below harness/, such as "rules.joining".
    """

    module: str
    within: str
    line: int
    kind: str
    start: int
    end: int
    to: str

    def apply(self, source: str) -> str:
        """The module's source with this change."""
        return source[: self.start] + self.to + source[self.end :]


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every change to the SQL texts of a module, in their order. Docstrings are none."""
    tree = ast.parse(source)
    docs = {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    lines = source.splitlines(keepends=True)
    for begin, end in _texts(source):
        start, stop = _within_quotes(source, _offset(lines, begin), _offset(lines, end))
        text = source[start:stop]
        formatted = "f" in source[_offset(lines, begin) : start].lower()  # it has Python within
        if begin not in docs and is_sql(text):
            within = _defined_at(tree, begin[0])
            for change in changes(text):
                line = source.count("\n", 0, start + change.start) + 1
                place = (start + change.start, start + change.end)
                made = Mutant(module, within, line, change.kind, *place, change.to)
                if not formatted or _is_python(made.apply(source)):
                    yield made


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def sources_in(harness: Path, packages: Sequence[str]) -> dict[str, str]:
    """The sources of the modules of these packages, by their names, such as "rules.joining"."""
    return {
        f"{package}.{path.stem}": path.read_text(encoding="utf-8")
        for package in packages
        for path in sorted((harness / package).glob("*.py"))
    }


def _texts(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where each string is, with its quotes. From Python 3.12 an f-string is several tokens."""
    opened: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            opened.append(token.start)
        elif kind == "FSTRING_END":
            begin = opened.pop()
            if not opened:
                yield begin, token.end
        elif kind == "STRING" and not opened:
            yield token.start, token.end


def _within_quotes(source: str, start: int, stop: int) -> tuple[int, int]:
    """The same without prefix and quotes, which to SQL would begin a text."""
    opened = _QUOTES.match(source, start)
    assert opened is not None
    return opened.end(), stop - len(opened[1])


def _offset(lines: list[str], place: tuple[int, int]) -> int:
    return sum(map(len, lines[: place[0] - 1])) + place[1]


def _defined_at(tree: ast.Module, line: int) -> str:
    """The name that is defined at the module's top in this line."""
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    return name
                case ast.Assign(targets=[ast.Name(id=name)]):
                    return name
                case ast.AnnAssign(target=ast.Name(id=name)):
                    return name
    return ""
