"""What stands in `${{ }}` of a workflow, worked out: literals, contexts, comparisons, functions.

Stricter than a hosted runner, which takes whatever it does not know for an empty text: an unknown
name of a context is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Contexts = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]

_TOKEN: Final = re.compile(
    r"\s*('(?:[^']|'')*'|-?\d+(?:\.\d+)?|[A-Za-z_][\w-]*(?:\.[\w-]+)*|&&|\|\||==|!=|[!(),])"
)
_IN_TEXT: Final = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_WORDS: Final = {"true": True, "false": False, "null": None}


class Wrong(Exception):
    """An expression that cannot be worked out."""


def in_text(text: object, contexts: Contexts, functions: Functions) -> str:
    """A value of a workflow with all its expressions worked out, as text."""
    if not isinstance(text, str):
        return as_text(text)
    return _IN_TEXT.sub(lambda found: as_text(value(found[1], contexts, functions)), text)


def condition(text: str, contexts: Contexts, functions: Functions) -> bool:
    """An `if:`, with or without `${{ }}`; it means `success()` as well unless it says otherwise."""
    whole = _IN_TEXT.fullmatch(text.strip())
    inside = whole[1] if whole else text
    if not re.search(r"\b(success|failure|cancelled|always)\(\)", inside):
        inside = f"success() && ({inside})"
    return bool(value(inside, contexts, functions))


def as_text(found: object) -> str:
    """A value as a runner writes it."""
    if found is None:
        return ""
    return str(found).lower() if isinstance(found, bool) else str(found)


def value(text: str, contexts: Contexts, functions: Functions) -> Any:
    """The value of one expression. Raises Wrong."""
    return _Reading(text, contexts, functions).whole()


class _Reading:
    def __init__(self, text: str, contexts: Contexts, functions: Functions) -> None:
        self._tokens = _TOKEN.findall(text)
        if re.sub(r"\s", "", "".join(self._tokens)) != re.sub(r"\s", "", text):
            raise Wrong(f"{text!r} has something that is no token")
        self._text, self._contexts, self._functions = text, contexts, functions

    def whole(self) -> Any:
        found = self._or()
        if self._tokens:
            raise Wrong(f"{self._text!r} goes on with {self._tokens[0]!r}")
        return found

    def _next(self, *wanted: str) -> str:
        if self._tokens and (not wanted or self._tokens[0] in wanted):
            return str(self._tokens.pop(0))
        if wanted:
            return ""
        raise Wrong(f"{self._text!r} ends too soon")

    def _or(self) -> Any:
        found = self._and()
        while self._next("||"):
            other = self._and()
            found = found or other
        return found

    def _and(self) -> Any:
        found = self._equal()
        while self._next("&&"):
            other = self._equal()
            found = found and other
        return found

    def _equal(self) -> Any:
        found = self._one()
        while sign := self._next("==", "!="):
            same = as_text(found).lower() == as_text(self._one()).lower()
            found = same == (sign == "==")
        return found

    def _one(self) -> Any:
        token = self._next()
        if token == "!":
            return not self._one()
        if token == "(":
            found = self._or()
            self._closed()
            return found
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token[0].isdigit() or token[0] == "-":
            return float(token) if "." in token else int(token)
        if token in _WORDS:
            return _WORDS[token]
        return self._called(token) if self._next("(") else self._looked_up(token)

    def _called(self, name: str) -> Any:
        if name not in self._functions:
            raise Wrong(f"there is no function {name} in {self._text!r}")
        arguments: list[Any] = []
        while not self._next(")"):
            arguments.append(self._or())
            if not self._next(","):
                self._closed()
                break
        return self._functions[name](*arguments)

    def _closed(self) -> None:
        if not self._next(")"):
            raise Wrong(f"{self._text!r} has a bracket that is not closed")

    def _looked_up(self, name: str) -> Any:
        found: Any = self._contexts
        for part in name.split("."):
            if not isinstance(found, Mapping) or part not in found:
                raise Wrong(f"there is no {name} for {self._text!r}")
            found = found[part]
        return found
