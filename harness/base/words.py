"""Words that depend on a number, on a list or on a name."""

import difflib
from collections.abc import Iterable, Sequence


def plural(count: int, word: str, words: str = "") -> str:
    """Format "1 verdict" or "2 verdicts". `words` is the plural where it is not `word` and an s."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Format "a", "a and b" or "a, b and c"; of one part or more."""
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last


def hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to do about an unknown name, the end of a sentence: the nearest name, or all names."""
    known = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), known, n=1)
    all_names = otherwise or f"there are {', '.join(known.values())}"
    return f"did you mean {known[near[0]]!r}?" if near else all_names
