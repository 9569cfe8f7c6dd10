"""Spark SQL in DuckDB's dialect: sqlglot's translation, and what it leaves different.

What differs in meaning, and not only in words, is rewritten here: which rows an aggregate passes
over, what counts as the least of several, how numbers and JSON become other types.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import sqlglot
from sqlglot import exp

from harness.tables.engines.contract import fill

# Functions that DuckDB lacks, or that mean something else there.
MACROS: Final = (
    # True if any is; else null if any is; else false. DuckDB's own pass over nulls.
    """CREATE MACRO kc_any(l) AS CASE WHEN l IS NULL THEN NULL WHEN list_contains(l, true) THEN true
       WHEN len(l) > list_count(l) THEN NULL ELSE false END""",
    """CREATE MACRO kc_all(l) AS CASE WHEN l IS NULL THEN NULL WHEN list_contains(l, false)
       THEN false WHEN len(l) > list_count(l) THEN NULL ELSE true END""",
    # Spark counts down where the end comes first; DuckDB gives nothing.
    """CREATE MACRO kc_sequence(a, b) AS CASE WHEN a <= b THEN generate_series(a, b)
       ELSE list_reverse(generate_series(b, a)) END""",
    # Spark cuts off what is behind the point; DuckDB rounds.
    "CREATE MACRO kc_whole(x) AS trunc(CAST(x AS DOUBLE))",
    "CREATE MACRO kc_mod(a, b) AS ((a % b) + b) % b",
    # No function of DuckDB looks for bytes within bytes: each byte as two letters and a comma.
    "CREATE MACRO kc_bytes(x) AS regexp_replace(hex(x), '(..)', '\\1,', 'g')",
    "CREATE MACRO kc_contains_bytes(a, b) AS contains(kc_bytes(a), kc_bytes(b))",
)
# A text in a query, or a comment, in which no text begins.
_TEXT: Final = re.compile(r"--[^\n]*|'(?:[^'\\]|\\.|'')*'")
# Names that stand for tables and settings while a text is translated.
_TABLE: Final = "kc_table_"
_SETTING: Final = "kc_setting_"
_STANDS_FOR: Final = re.compile(rf'"(?:{_TABLE}|({_SETTING}))(\w+)"')


class Translator:
    """Translates queries, each once; `folder` keeps the results for other processes."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}
        # A change of this module or of sqlglot is a change of every translation.
        source = Path(__file__).read_bytes() + version("sqlglot").encode()
        self._edition = hashlib.sha256(source)

    def translated(self, query: str) -> str:
        """The query in DuckDB's SQL, its tables and settings as they were.

        Raises sqlglot's ParseError for a text that is no SQL.
        """
        if query not in self._known:
            self._known[query] = self._kept(query)
        return self._known[query]

    def _kept(self, query: str) -> str:
        if self._folder is None:
            return translate(query)
        digest = self._edition.copy()
        digest.update(query.encode())
        path = self._folder / f"{digest.hexdigest()}.sql"
        if path.is_file():
            return path.read_text(encoding="utf-8")
        text = translate(query)
        with suppress(OSError):  # a folder that cannot be written only costs time
            self._folder.mkdir(parents=True, exist_ok=True)
            # Another process may write the same, and in another container by the same pid.
            part = path.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        return text


def translate(query: str) -> str:
    """A query for Spark as one for DuckDB."""
    named = fill(query, lambda name: f"`{_TABLE}{name}`", lambda name: f"`{_SETTING}{name}`")
    tree = sqlglot.parse_one(_TEXT.sub(_with_escapes, named), read="spark")
    for select in tree.find_all(exp.Select):
        _group(select)
    for node in reversed(list(tree.walk(bfs=False))):  # what is within before what is around it
        change = _CHANGES.get(type(node))
        if change is not None:
            new = change(node)
            if new is not node:
                node.replace(new)
    text = tree.sql("duckdb", identify=True)
    return _STANDS_FOR.sub(lambda found: f":{found[2]}" if found[1] else f"{{{found[2]}}}", text)


def _with_escapes(found: re.Match[str]) -> str:
    """A text with its quotes escaped; sqlglot takes Spark's doubled quotes for two texts."""
    text = found[0]
    return text if text.startswith("--") else "'" + text[1:-1].replace("''", "\\'") + "'"


def _group(select: Any) -> None:
    """With `GROUP BY ALL`, DuckDB takes no column beside an aggregate in one expression.

    Such a column is the same in all rows of a group, so that the first will do.
    """
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    for each in select.expressions:
        if each.find(exp.AggFunc):
            for column in list(each.find_all(exp.Column)):
                if column.find_ancestor(exp.AggFunc, exp.Filter, exp.Lambda) is None:
                    column.replace(exp.First(this=column.copy()))


def _call(name: str, *arguments: Any) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _cast(node: Any) -> Any:
    """Spark raises what DuckDB's TRY_CAST would make null, and cuts off where DuckDB rounds."""
    value = node.this
    whole = node.to.this in (exp.DType.INT, exp.DType.BIGINT)
    if whole and not isinstance(value, exp.Literal | exp.Count | exp.Null):
        value = _call("kc_whole", value)
    return exp.Cast(this=value, to=node.to)


def _by(name: str) -> Callable[[Any], Any]:
    """The value where another is the greatest or least; DuckDB's own passes over null values."""

    def change(node: Any) -> Any:
        return _call(name, node.this, _key(node.expression))

    return change


def _of_struct(name: str) -> Callable[[Any], Any]:
    """The greatest or least struct, by Spark's order."""

    def change(node: Any) -> Any:
        if not isinstance(node.this, exp.Struct):
            return node
        return _call(name, node.this, _key(node.this))

    return change


def _key(node: Any) -> Any:
    """What is compared: in a struct Spark puts a null before all values, DuckDB behind them."""
    if not isinstance(node, exp.Struct):
        return node
    fields: list[Any] = []
    for number, each in enumerate(node.expressions):
        value = each.expression if isinstance(each, exp.PropertyEQ) else each
        known = exp.Not(this=exp.Is(this=exp.Paren(this=value.copy()), expression=exp.Null()))
        for letter, part in (("n", known), ("v", value)):
            name = exp.to_identifier(f"{letter}{number}")
            fields.append(exp.PropertyEQ(this=name, expression=part))
    return exp.Struct(expressions=fields)


def _between(node: Any) -> Any:
    """Whole units that have gone by, where DuckDB's date_diff counts boundaries."""
    unit = exp.Literal.string(node.unit.name.lower())
    return _call("date_sub", unit, node.expression, node.this)


def _elements(node: Any) -> Any:
    """A list of the values that are not null; of none it is empty, where DuckDB's is null."""
    values = node.this
    is_set = isinstance(node, exp.ArrayUniqueAgg)
    listed = _call("list", exp.Distinct(expressions=[values]) if is_set else values)
    outer = node
    where: Any = exp.Not(this=exp.Is(this=exp.Paren(this=values.copy()), expression=exp.Null()))
    if isinstance(outer.parent, exp.Filter):
        outer = outer.parent
        where = exp.And(this=where, expression=exp.Paren(this=outer.expression.this))
    inner: Any = exp.Filter(this=listed, expression=exp.Where(this=where))
    if isinstance(outer.parent, exp.Window):
        outer = outer.parent
        window = outer.copy()
        window.set("this", inner)
        inner = window
    outer.replace(exp.Coalesce(this=inner, expressions=[exp.Array(expressions=[])]))
    return node


def _exists(node: Any) -> Any:
    """`exists(list, predicate)`; of a subquery it stays as it is."""
    if not isinstance(node.expression, exp.Lambda):
        return node
    return _call("kc_any", _call("list_transform", node.this, node.expression))


def _json(node: Any) -> Any:
    """Keys that lack are null. The type is a text, of one or of several literals."""
    kind = exp.DataType.build(_text(node.expression), dialect="spark").sql("duckdb", identify=True)
    return _call("json_transform", node.this, exp.Literal.string(json.dumps(kind)))


def _text(node: Any) -> str:
    if isinstance(node, exp.DPipe):
        return _text(node.this) + _text(node.expression)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise ValueError(f"from_json needs a literal type, not {node.sql('spark')}")


def _contains(node: Any) -> Any:
    if isinstance(node.this, exp.FromBase64 | exp.Encode):
        return _call("kc_contains_bytes", node.this, node.expression)
    return node


def _format(node: Any) -> Any:
    """A time as a text, its pattern in strftime's letters."""
    moment = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    pattern = str(node.args["format"].this).replace("strict", "")
    pattern = pattern.replace("SSSSSS", "%f").replace("SSS", "%g")
    return _call("strftime", moment, exp.Literal.string(pattern))


def _count_if(node: Any) -> Any:
    """Zero of no rows at all, where DuckDB's is null in the empty frame of a window."""
    met = exp.If(this=node.this, true=exp.Literal.number(1))
    return exp.Count(this=exp.Case(ifs=[met]))


def _concat(node: Any) -> Any:
    """Null if any part is; DuckDB's own passes over nulls. Each part as a text."""
    parts = [
        part if isinstance(part, exp.Literal) and part.is_string else exp.cast(part, "text")
        for part in node.expressions
    ]
    text: Any = parts[0]
    for part in parts[1:]:
        text = exp.DPipe(this=text, expression=part, safe=True)
    return exp.Paren(this=text)


def _anonymous(node: Any) -> Any:
    """Functions of Spark that sqlglot passes on by their names."""
    match node.name.lower(), node.expressions:
        case "get", [values, number]:
            index = exp.Add(this=exp.Paren(this=number), expression=exp.Literal.number(1))
            return _call("list_extract", values, index)
        case "forall", [values, predicate]:
            return _call("kc_all", _call("list_transform", values, predicate))
        case "octet_length", [text]:
            return _call("strlen", text)
        case "timestamp_micros", [number]:
            return _call("make_timestamptz", number)
        case "pmod", [left, right]:
            return _call("kc_mod", left, right)
    return node


_CHANGES: Final[dict[type[Any], Callable[[Any], Any]]] = {
    exp.TryCast: _cast,
    exp.ArgMax: _by("arg_max_null"),
    exp.ArgMin: _by("arg_min_null"),
    exp.Max: _of_struct("arg_max_null"),
    exp.Min: _of_struct("arg_min_null"),
    exp.TimestampDiff: _between,
    exp.ArrayAgg: _elements,
    exp.ArrayUniqueAgg: _elements,
    exp.Exists: _exists,
    exp.FromJson: _json,
    exp.Contains: _contains,
    exp.TimeToStr: _format,
    exp.Anonymous: _anonymous,
    exp.CountIf: _count_if,
    exp.Concat: _concat,
    exp.ArraySize: lambda node: _call("len", node.this),
    exp.Reverse: lambda node: _call("list_reverse", node.this),
    exp.AnyValue: lambda node: _call("first", node.this),
    exp.GenerateSeries: lambda node: _call("kc_sequence", node.args["start"], node.args["end"]),
}
