"""What members wrote in transactions, as runs of offsets."""

from collections import Counter

from harness.run.output import ranges


def test_offsets_with_as_many_copies_are_one_run() -> None:
    copies = Counter({("t", 0, 1): 1, ("t", 0, 2): 1, ("t", 0, 3): 2, ("t", 0, 5): 2})
    copies[("t", 1, 6)] = 2

    assert [("t", 0, 1, 2, 1), ("t", 0, 3, 3, 2), ("t", 0, 5, 5, 2), ("t", 1, 6, 6, 2)] == list(
        ranges(copies)
    )
    assert [] == list(ranges(Counter()))
