"""Words that depend on a number."""

from collections.abc import Sequence


def plural(count: int, word: str, words: str = "") -> str:
    """Format "1 verdict" or "2 verdicts". `words` is the plural where it is not `word` and an s."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Format "a", "a and b" or "a, b and c"; of one part or more."""
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last
