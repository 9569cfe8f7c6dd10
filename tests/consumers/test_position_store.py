from pathlib import Path

from consumers.client import Partition, Position
from consumers.commits import PositionStore


def test_the_latest_position_is_read_by_those_that_comes_next(tmp_path: Path) -> None:
    one, other = PositionStore(tmp_path / "store"), PositionStore(tmp_path / "store")
    one.write([Position("t", 0, 123_456), Position("t", 1, 7)])
    one.write([Position("t", 0, 9)])
    assert [Position("t", 0, 9), Position("t", 1, 7)] == other.read(
        [Partition("t", 0), Partition("t", 1), Partition("t", 2)]
    )
