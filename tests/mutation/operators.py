"""The changes of `sql` as operators of cosmic-ray, which finds them by the entry point in plugin/.

Imported by cosmic-ray only, which is not among the project's packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from cosmic_ray.operators.operator import Example, Operator

from tests.mutation.sql import Change, changes, is_sql

KINDS: Final = (
    *("aggregate", "arithmetic", "compare", "constant", "join"),
    *("logic", "negate", "null", "number", "order"),
)
_Position = tuple[tuple[int, int], tuple[int, int]]


class _Sql(Operator):  # type: ignore[misc]
    """Changes of one kind, in every text that is SQL and no docstring."""

    kind = ""

    def mutation_positions(self, node: Any) -> Iterator[_Position]:
        """Where in the module each change is."""
        for change in self._changes(node):
            yield _position(node, change.start), _position(node, change.end)

    def mutate(self, node: Any, index: int) -> Any:
        """The text with one change."""
        change = self._changes(node)[index]
        text = node.value
        made = text[: change.start] + change.to + text[change.end :]
        return type(node)(made, node.start_pos, node.prefix)

    def _changes(self, node: Any) -> list[Change]:
        if node.type not in {"string", "fstring_string"} or not is_sql(node.value):
            return []
        if node.parent.type == "simple_stmt":
            return []
        return [change for change in changes(node.value) if change.kind == self.kind]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Told by the tests of `sql`."""
        return ()


def _position(node: Any, at: int) -> tuple[int, int]:
    """Line and column of a place in a leaf's text."""
    line, column = node.start_pos
    before = node.value[:at].split("\n")
    rows = len(before) - 1
    return line + rows, len(before[-1]) + (0 if rows else column)


class Provider:
    """Operators by the kind of their changes."""

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __getitem__(self, name: str) -> type[_Sql]:
        return type(f"Sql{name.title()}", (_Sql,), {"kind": name})
