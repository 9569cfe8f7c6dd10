"""Words that depend on a number."""


def plural(count: int, word: str, words: str = "") -> str:
    """Format "1 verdict" or "2 verdicts". `words` is the plural where it is not `word` and an s."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"
