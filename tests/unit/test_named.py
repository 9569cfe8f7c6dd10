"""Which records a program names: in posts, in records of an output topic, in lines."""

from __future__ import annotations

import pytest

from harness.experiment.app import App, Records, Shows
from harness.run.named import Naming, Unnamed, joined, lines_of, naming_of_app

PARTITIONS = 3
PLAIN = Naming(('{"id": {n}, "customer": "c{n}"}',), PARTITIONS)


def number(n: int) -> tuple[str, int, int]:
    return "number", n % PARTITIONS, n // PARTITIONS


@pytest.mark.parametrize(
    ("header", "query", "body"),
    [
        ("17", "", ""),
        ("17", "n=5", '{"id": 6}'),
        (None, "n=17&more=x", '{"id": 6}'),
        (None, "", '{"id": 17, "customer": "c17"}'),
        (None, "", '{"customer":"c17","id":17,"more":[1]}'),
        (None, "", '{"id": "17"}'),
        (None, "", '{"n": 17}'),
        (None, "", '[{"id": 17}]'),
    ],
)
def test_a_post_names_a_record_by_header_query_or_json(
    header: str | None, query: str, body: str
) -> None:
    assert [number(17)] == PLAIN.in_post(header, query, body)


def test_a_post_may_name_several_records() -> None:
    assert [number(4), number(9)] == PLAIN.in_post(None, "", '[{"id": 4}, {"id": 9}]')
    assert [number(4), number(9)] == PLAIN.in_post(None, "n=4&n=9", "")


@pytest.mark.parametrize(
    ("header", "query", "body"),
    [
        ("x", "", '{"id": 6}'),
        (None, "n=", ""),
        (None, "n=1.5", ""),
        (None, "", ""),
        (None, "", "hello 17"),
        (None, "", '{"id": true}'),
        (None, "", '{"id": 1.5}'),
        (None, "", '{"other": 17}'),
        (None, "", '[{"id": 17}, {"other": 18}]'),
        (None, "", "[17]"),
        (None, "", '{"id": {"id": 17}}'),
    ],
)
def test_what_names_no_record_is_refused(header: str | None, query: str, body: str) -> None:
    with pytest.raises(Unnamed):
        PLAIN.in_post(header, query, body)


@pytest.mark.parametrize(
    ("template", "body"),
    [
        ('{"order": {"no": "{n}"}, "c": "c{n}"}', '{"order": {"no": "17"}}'),
        ("{n};milk;c{n}", "17;milk;c17"),
        ("<o id='{n}'/>", "<all><o id='17'/></all>"),
        ("{n}", "17"),
    ],
)
def test_records_of_the_owners_own_are_known_again(template: str, body: str) -> None:
    records = Records(samples=("no number in it", template))
    app = App(name="a", command=("a",), folder="/", records=records, effects=Shows(http=True))
    assert [number(17)] == naming_of_app(app, PARTITIONS).in_post(None, "", body)


def test_a_pattern_is_looked_for_in_the_query_and_the_body() -> None:
    naming = Naming((), PARTITIONS, r"order[= ](?P<n>\d+)")
    assert [number(3), number(4)] == naming.in_post("9", "a=1&order%203", "n=8 order=4")
    with pytest.raises(Unnamed, match="nothing"):
        naming.in_post("9", "n=3", "nothing")


def test_a_pattern_may_name_a_place() -> None:
    naming = Naming((), PARTITIONS, r'"p":(?P<partition>\d+),"o":(?P<offset>\d+)')
    assert [("offset", 2, 40)] == naming.in_post(None, "", '{"p":2,"o":40}')


@pytest.mark.parametrize(
    ("header", "key", "value"),
    [
        (b"17", None, b'{"id": 6}'),
        (None, b"6", b'{"id": 17}'),
        (None, b'{"id": 17}', None),
    ],
)
def test_a_record_of_an_output_topic_names_one(
    header: bytes | None, key: bytes | None, value: bytes | None
) -> None:
    assert number(17) == PLAIN.in_record(header, key, value)


def test_a_record_of_an_output_topic_is_known_by_the_owners_pattern() -> None:
    naming = Naming((), PARTITIONS, r"o(?P<n>\d+)")
    assert number(17) == naming.in_record(None, b"o17", b"done")
    assert number(4) == naming.in_record(b"4", b"o17", b"done")
    with pytest.raises(Unnamed, match="done"):
        naming.in_record(None, b"17", b"done")


def test_the_lines_of_kafkas_verifiable_consumer_are_offsets() -> None:
    lines = lines_of(Shows(verifiable=True), PLAIN, "t")
    assert lines is not None
    consumed = (
        '{"timestamp":1,"name":"records_consumed","count":4,"partitions":['
        '{"topic":"t","partition":2,"count":3,"minOffset":5,"maxOffset":7},'
        '{"topic":"t","partition":0,"count":1,"minOffset":0,"maxOffset":0},'
        '{"topic":"other","partition":0,"count":1,"minOffset":0,"maxOffset":0}]}'
    )
    assert [["offset", 2, 5, 7], ["offset", 0, 0, 0]] == lines(consumed)
    for other in (
        '{"timestamp":1,"name":"startup_complete"}',
        '{"timestamp":1,"name":"record_data","topic":"t","partition":2,"value":"records_consumed"}',
        "a line about records_consumed",
        '{"name":"records_consumed","partitions":[{"topic":"t","partition":2}]}',
    ):
        assert [] == lines(other)


def test_ranges_that_go_on_are_joined() -> None:
    shown = [["offset", 1, 0, 4], ["offset", 0, 0, 0], ["offset", 1, 5, 6], ["offset", 1, 0, 0]]
    assert [
        ["offset", 1, 0, 6],
        ["offset", 0, 0, 0],
        ["offset", 1, 0, 0],
    ] == joined([list(each) for each in shown])
