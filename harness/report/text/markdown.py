"""Markdown, for summaries: rows of its tables, and text that is taken for nothing but text."""

import html
from typing import Final

_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]|~#"})


def table_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def safe(text: str) -> str:
    """Escape what Markdown and the HTML inside it would take as markup."""
    return html.escape(" ".join(text.split()).translate(_MARKS), quote=False)
