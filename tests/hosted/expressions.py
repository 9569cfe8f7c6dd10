"""What stands in `${{ }}` of a workflow, worked out: literals, contexts, comparisons, functions.

Stricter than a hosted runner, which takes whatever it does not know for an empty text: an unknown
name of a context is an error here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Contexts = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]

_TOKEN: Final = re.compile(
    r"\s*('(?:[^']|'')*'|\d+(?:\.\d+)?|[A-Za-z_][\w-]*(?:\.[\w-]+)*|&&|\|\||==|!=|[!(),])"
)
_OPERATORS: Final = {"&&": "and", "||": "or", "!": "~"}
_DASH: Final = "_dash_"
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
    tokens = _TOKEN.findall(text)
    if re.sub(r"\s", "", "".join(tokens)) != re.sub(r"\s", "", text):
        raise Wrong(f"{text!r} has something that is no token")
    try:
        tree = ast.parse(" ".join(map(_in_python, tokens)), mode="eval")
    except SyntaxError as error:
        raise Wrong(f"{text!r}: {error.msg}") from error
    return _worth(tree.body, contexts, functions)


def _in_python(token: str) -> str:
    """Its like in Python, of the same precedence. A name may have a dash in it."""
    if token.startswith("'"):
        return repr(token[1:-1].replace("''", "'")).join("()")
    return _OPERATORS.get(token) or token.replace("-", _DASH)


def _worth(node: ast.expr, contexts: Contexts, functions: Functions) -> Any:
    def of(each: ast.expr) -> Any:
        return _worth(each, contexts, functions)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if node.id in _WORDS:
            return _WORDS[node.id]
        case ast.Name():
            return _looked_up(node.id, contexts)
        case ast.Attribute():
            return _looked_up(node.attr, of(node.value))
        case ast.BoolOp():
            *first, found = map(of, node.values)
            wanted = isinstance(node.op, ast.Or)
            return next((each for each in first if bool(each) == wanted), found)
        case ast.UnaryOp(op=ast.Invert()):
            return not of(node.operand)
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as sign], comparators=[other]):
            same = as_text(of(node.left)).lower() == as_text(of(other)).lower()
            return same == isinstance(sign, ast.Eq)
        case ast.Call(func=ast.Name(id=name)) if name in functions:
            return functions[name](*map(of, node.args))
        case _:
            raise Wrong(f"there is no {ast.unparse(node)}")


def _looked_up(name: str, there: object) -> Any:
    name = name.replace(_DASH, "-")
    if not isinstance(there, Mapping) or name not in there:
        raise Wrong(f"there is no {name}")
    return there[name]
