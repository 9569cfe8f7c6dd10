"""Both engines give the same rows for what they word or count differently by themselves.

Each value is Spark's; `--engine both` has Spark show it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from harness.tables.engines.contract import Engine, Frame, Setting
from tests.check.evicted import ON_TIME, evicted
from tests.histories import History, at, judged, tables_of

NUMBERS = pa.table(
    {
        "k": pa.array([1, 2, 2, None, 3]),
        "v": pa.array(["a", "b", "c", "d", None]),
    }
)


def value(engine: Engine, expression: str, **settings: Setting) -> Any:
    """The one value of an expression or an aggregate over `NUMBERS`."""
    engine.define("numbers", engine.rows(NUMBERS))
    try:
        query = f"SELECT {expression} AS found FROM {{numbers}} LIMIT 1"
        rows = engine.query(query, {"numbers": "numbers"}, settings).toArrow().to_pylist()
    finally:
        engine.drop("numbers")
    found = rows[0]["found"]
    return found.astimezone(UTC) if isinstance(found, datetime) else found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # A null is no value for some aggregates, and one for others.
        ("max_by(v, k)", None),
        ("min_by(v, k)", "a"),
        ("count_if(k > 1)", 3),
        ("collect_list(v) FILTER (WHERE k = 9)", []),
        ("array_sort(collect_list(k))", [1, 2, 2, 3]),
        ("array_sort(collect_set(k))", [1, 2, 3]),
        ("max_by(v, struct(k, v)) FILTER (WHERE k IS NULL OR k < 3)", "c"),
        ("min_by(v, struct(k, v))", "d"),
        ("max(struct(k, v)).k", 3),
        ("min(struct(k, v)).v", "d"),
        ("max(struct(k < 3, v)).v", "c"),
        # Texts.
        ("concat('a', null)", None),
        ("concat('it''s ', 1, ' ', true, ' ', 2.5D)", "it's 1 true 2.5"),
        (r"regexp_extract('at offset 17 for', 'offset (\\d+)', 1)", "17"),
        ("regexp_replace('a-b-c', '-', '')", "abc"),
        ("octet_length('ü')", 2),
        ("contains(unbase64('q80='), unbase64('vA=='))", False),  # abcd; half bytes: bc
        ("contains(unbase64('q80='), unbase64('zQ=='))", True),
        ("array_join(reverse(array(1, 2)), '+')", "2+1"),
        # Lists.
        ("exists(array(1, null), x -> x > 1)", None),
        ("exists(array(2, null), x -> x > 1)", True),
        ("exists(CAST(array() AS array<int>), x -> x > 1)", False),
        ("forall(array(2, null), x -> x > 1)", None),
        ("array(1, 2)[0]", 1),
        ("get(array(1, 2), 2)", None),
        ("size(array_except(array(1, 2, 2), array(1)))", 1),
        ("sequence(3, 1)", [3, 2, 1]),
        ("array_sort(array(2, null, 1))", [1, 2, None]),
        # Numbers.
        ("CAST(2.7D AS INT)", 2),
        ("CAST(-2.7D AS BIGINT)", -2),
        ("CAST('12' AS INT)", 12),
        ("7 DIV 2", 3),
        ("7 / 2", 3.5),
        ("pmod(-7, 3)", 2),
        ("sum(k)", 8),
        # JSON.
        ("get_json_object('{\"a\": [{\"b\": null}]}', '$.a[0].b')", None),
        ("get_json_object('{\"a\": true}', '$.a') = 'true'", True),
        ("from_json('[{\"a\": 1}]', 'array<struct<a:int,' || 'b:string>>')[0].b", None),
        ("from_json('{\"a\": {\"b\": 1}}', 'map<string,struct<b:int>>')['a'].b", 1),
        ("size(map_keys(from_json('{\"a\": 1, \"b\": 2}', 'map<string,int>')))", 2),
        # Times.
        ("timestampdiff(MICROSECOND, :from, timestampadd(MILLISECOND, -3, :from)) / 1e3", -3.0),
        ("date_format(:from, 'HH:mm:ss.SSS')", "12:00:00.001"),
        ("unix_seconds(:from) DIV 10", int(at(0).timestamp()) // 10),
        ("timestampadd(MICROSECOND, 1500, :from)", at(2.5)),
    ],
)  # fmt: skip
def test_an_expression_means_what_it_means_in_spark(
    engine: Engine, expression: str, expected: object
) -> None:
    assert expected == value(engine, expression, **{"from": at(1)})


@pytest.mark.parametrize("text", ["it's", "a\\b", "{numbers}", ":from"])
def test_a_setting_is_a_value_whatever_is_in_it(engine: Engine, text: str) -> None:
    assert text == value(engine, ":text", text=text)


@pytest.mark.parametrize("query", ["SELECT", "SELECT nothing FROM {requests}", "SELECT 'a' + 1"])
def test_a_query_that_is_wrong_fails(engine: Engine, query: str) -> None:
    with (
        closing(tables_of(History().join("member-1", 5), engine)) as tables,
        pytest.raises(Exception, match=r"\S"),
    ):
        tables.sql(query).toArrow()


def test_a_failing_query_is_raised_and_no_verdict(duckdb_engine: Engine) -> None:
    broken: Any = _Broken(duckdb_engine)

    with pytest.raises(Exception, match="no_such_column"):
        judged(evicted(ON_TIME), broken, "R01")


class _Broken:
    """An engine whose every second word for a table is wrong."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def query(self, query: str, views: Mapping[str, str], settings: Mapping[str, Setting]) -> Frame:
        wrong = query.replace("evicted_at", "no_such_column") if "{evictions}" in query else query
        return self._engine.query(wrong, views, settings)
