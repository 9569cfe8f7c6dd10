"""Queries about one run, made queries about a dataset of runs.

Rules and tables are written about one run, as a person thinks of them. Of many runs they are asked
at once: every table has a column `run` then, the number of the run in the dataset, and each query
gives such a column, as its first. Nothing of one run may meet anything of another:

- what a select joins is of the same run, and so is what it groups, orders in a window, or counts
- a subquery looks at the run of the row that it is asked for
- an aggregate without GROUP BY gives a row of each run, of those as well that have no rows
- `:session_ms` is the setting of the run, where runs differ in it
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import count
from typing import Any, Final, NamedTuple

import sqlglot
from sqlglot import exp

from harness.tables.engines.contract import fill
from harness.tables.engines.dialect import _SETTING, _TABLE, _TEXT, _with_escapes

RUN: Final = "run"
RUNS: Final = "runs"  # the table that has nothing but a row of each run
_STANDS_FOR: Final = re.compile(rf"`(?:{_TABLE}|({_SETTING}))(\w+)`")
_COUNTS: Final = (exp.Count, exp.CountIf)
_LISTS: Final = (exp.ArrayAgg, exp.ArrayUniqueAgg)
_OUTER: Final = (exp.Select, exp.SetOperation, exp.With)


class CannotLift(Exception):
    """A query that cannot be asked of many runs at once; the message says what is in the way."""


class _SelectSource(NamedTuple):
    """What a select reads: a table, or another query. One without runs has no alias."""

    alias: str
    join: Any  # None of the first

    @property
    def is_filter(self) -> bool:
        """Whether it gives no columns."""
        return self.join is not None and self.join.kind in ("SEMI", "ANTI")


def lifted(query: str, varying: Collection[str]) -> str:
    """The query about a dataset of runs; `varying` are the settings in which these differ.

    Its tables and settings stay words. One that varies is an array by run, of which it takes one.
    Raises CannotLift, and sqlglot's ParseError for a text that is no SQL.
    """
    named = fill(query, lambda name: f"`{_TABLE}{name}`", lambda name: f"`{_SETTING}{name}`")
    tree = sqlglot.parse_one(_TEXT.sub(_with_escapes, named), read="spark")
    numbers = count()
    selects = list(tree.find_all(exp.Select))
    sources = {id(each): _sources(each, numbers) for each in selects}
    asked = {id(each): _asked_by(each) for each in selects}
    for select in reversed(selects):  # what is within before what is around it
        within = sources[id(select)]
        around = asked[id(select)]
        _Lift(select, within, sources[id(around)][0].alias if around else "", numbers).lift(varying)
    text = tree.sql("spark", comments=False)
    return _STANDS_FOR.sub(lambda it: f":{it[2]}" if it[1] else f"{{{it[2]}}}", text)


def _sources(select: Any, numbers: Iterator[int]) -> list[_SelectSource]:
    """What a select reads, that with runs first; one that reads nothing reads the runs."""
    first = select.args.get("from_")
    joins = select.args.get("joins") or []
    read = [*([(first.this, None)] if first else []), *((each.this, each) for each in joins)]
    found = [_SelectSource(_alias(node, numbers), join) for node, join in read]
    known = [each for each in found if each.alias]
    if known:
        return known
    alias = f"kc_runs{next(numbers)}"
    runs = _all_runs(alias)
    if first is None:
        select.set("from_", exp.From(this=runs))
    else:
        select.append("joins", exp.Join(this=runs, kind="CROSS"))
    return [_SelectSource(alias, None)]


def _all_runs(alias: str) -> Any:
    """The table of a row for each run."""
    name = exp.to_identifier(f"{_TABLE}{RUNS}", quoted=True)
    return exp.alias_(exp.Table(this=name), alias, table=True)


def _alias(node: Any, numbers: Iterator[int]) -> str:
    """The name of a source that has runs, which a query gets if it has none."""
    if isinstance(node, exp.Table):
        return str(node.alias_or_name)
    if not isinstance(node, exp.Subquery):
        return ""
    if not node.alias:
        name = exp.to_identifier(f"kc_query{next(numbers)}")
        node.set("alias", exp.TableAlias(this=name))
    return str(node.alias)


def _asked_by(select: Any) -> Any:
    """The select that asks a subquery for a value, or whether it has rows; None of another."""
    node = select
    while isinstance(node.parent, exp.SetOperation):
        node = node.parent
    parent = node.parent
    if isinstance(parent, exp.Subquery) and isinstance(
        parent.parent, exp.From | exp.Join | exp.SetOperation
    ):
        return None
    if isinstance(parent, exp.Subquery | exp.Exists | exp.In):
        return parent.find_ancestor(exp.Select)
    return None


def _own(select: Any, kind: type[Any]) -> list[Any]:
    """What a select has of a kind, and no select within it."""

    def is_another(node: Any) -> bool:
        return node is not select and isinstance(node, _OUTER)

    return [each for each in select.walk(bfs=False, prune=is_another) if isinstance(each, kind)]


def _column(source: str, name: str = RUN) -> Any:
    return exp.column(name, table=source or None, quoted=True)


class _Lift:
    """One select on its way."""

    def __init__(
        self, select: Any, sources: list[_SelectSource], around: str, numbers: Iterator[int]
    ) -> None:
        self._select = select
        self._sources = sources
        self._first = sources[0].alias
        self._around = around  # the first source of the select that asks this one
        self._numbers = numbers
        self._full = any(each.join is not None and each.join.side == "FULL" for each in sources)

    def lift(self, varying: Collection[str]) -> None:
        """Keep its runs apart."""
        select = self._select
        if select.args.get("limit") is not None and not self._around:
            raise CannotLift("LIMIT is of the rows of all runs: take the first with row_number()")
        for source in self._sources:
            if source.join is not None and source.alias != self._first:
                self._join(source)
        for window in _own(select, exp.Window):
            if not _is_named(window):
                by = window.args.get("partition_by") or []
                window.set("partition_by", [self._run(), *by])
        for column in _own(select, exp.Column):
            name = column.name.removeprefix(_SETTING)
            if name != column.name and name in varying:
                column.replace(exp.Anonymous(this="get", expressions=[column.copy(), self._run()]))
        group = select.args.get("group")
        if self._around:
            self._correlate()
        elif group is None and (found := self._aggregates()):
            self._aggregate(found)
            return
        if group is not None and not group.args.get("all"):
            group.set("expressions", [self._run(), *group.expressions])
        if not self._around:
            self._give_run()

    def _run(self) -> Any:
        """The run of a row; of a full join it is whichever side's there is."""
        return _column("" if self._full else self._first)

    def _join(self, source: _SelectSource) -> None:
        """Rows of the same run alone."""
        join = source.join
        if using := join.args.get("using"):
            join.set("using", [exp.to_identifier(RUN, quoted=True), *using])
            return
        if join.side in ("FULL", "RIGHT"):
            raise CannotLift(f"{join.side} JOIN … ON: join with USING")
        same = exp.EQ(this=_column(source.alias), expression=_column(self._first))
        condition = join.args.get("on")
        join.set("on", same if condition is None else exp.and_(same, condition))
        if join.kind in ("CROSS", ""):
            join.set("kind", "" if join.side else "INNER")

    def _correlate(self) -> None:
        """Only rows of the run that asks."""
        if self._full or self._around in [each.alias for each in self._sources]:
            raise CannotLift(f"a subquery has {self._around} within and around it: give it a name")
        same = exp.EQ(this=_column(self._first), expression=_column(self._around))
        self._select.where(same, copy=False)

    def _give_run(self) -> None:
        """Its run as the first column, and only once."""
        select = self._select
        shown = [each for each in self._sources if not each.is_filter]
        merged = all(each.join is None or each.join.args.get("using") for each in shown)
        items = []
        for each in select.expressions:
            if isinstance(each, exp.Star):
                if merged:
                    items.append(_without_run(each))
                else:
                    items += [_without_run(each.copy(), source.alias) for source in shown]
            elif _is_star(each) and each.table in {source.alias for source in self._sources}:
                items.append(_without_run(each.this, each.table))
            else:
                items.append(each)
        select.set("expressions", [self._run(), *items])

    def _aggregates(self) -> list[Any]:
        """The outermost aggregates of what it gives, each with its filter."""
        parts = [*self._select.expressions, self._select.args.get("having")]
        found = []
        for each in _own(self._select, exp.AggFunc):
            if each.find_ancestor(exp.Window) is not None:
                continue
            outer = each.find_ancestor(exp.AggFunc)
            if outer is not None and outer.find_ancestor(exp.Select) is self._select:
                continue
            if not any(_is_within(each, part) for part in parts if part is not None):
                continue
            node = each
            while isinstance(node.parent, exp.Filter | exp.IgnoreNulls):
                node = node.parent
            found.append(node)
        return found

    def _aggregate(self, found: list[Any]) -> None:
        """A row of each run, whether it has rows or not."""
        select = self._select
        spine, grouped = (f"kc_{what}{next(self._numbers)}" for what in ("runs", "grouped"))
        inner = []
        for number, node in enumerate(found):
            name = f"kc_value{number}"
            value = _column(grouped, name)
            kinds = {type(each) for each in (node, node.this)}
            if kinds & set(_COUNTS):
                value = exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
            elif kinds & set(_LISTS):
                value = exp.Coalesce(this=value, expressions=[exp.Array(expressions=[])])
            inner.append(exp.alias_(node.copy(), name, quoted=True))
            if node.parent is select:
                value = exp.alias_(value, f"kc_given{number}", quoted=True)
            node.replace(value)
        of_a_run = exp.Select(expressions=[_column(self._first), *inner])
        for part in ("from_", "joins", "laterals", "where"):
            if (value := select.args.get(part)) is not None:
                of_a_run.set(part, value)
                select.set(part, None)
        of_a_run.set("group", exp.Group(expressions=[_column(self._first)]))
        having = select.args.get("having")
        if having is not None:
            select.set("having", None)
            select.set("where", exp.Where(this=having.this))
        # What stands outside of the aggregates is about the run alone.
        for part in (*select.expressions, *filter(None, [select.args.get("where")])):
            for column in list(part.find_all(exp.Column)):
                if column.name == RUN and column.table == self._first:
                    column.replace(_column(spine))
        values = exp.Subquery(
            this=of_a_run, alias=exp.TableAlias(this=exp.to_identifier(grouped, quoted=True))
        )
        same = exp.EQ(this=_column(spine), expression=_column(grouped))
        select.set("from_", exp.From(this=_all_runs(spine)))
        select.set("joins", [exp.Join(this=values, side="LEFT", on=same)])
        select.set("expressions", [_column(spine), *select.expressions])


def _is_named(window: Any) -> bool:
    """Whether it is no more than the name of one that stands elsewhere: OVER w."""
    parts = (window.args.get(each) for each in ("partition_by", "order", "spec"))
    return bool(window.alias) and not any(parts) and not isinstance(window.this, exp.Identifier)


def _is_star(node: Any) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)


def _is_within(node: Any, part: Any) -> bool:
    while node is not None and node is not part:
        node = node.parent
    return node is part


def _without_run(star: Any, source: str = "") -> Any:
    """A star without the run."""
    left_out = star.args.get("except_") or []
    star.set("except_", [*left_out, exp.to_identifier(RUN, quoted=True)])
    return exp.Column(this=star, table=exp.to_identifier(source, quoted=True)) if source else star
