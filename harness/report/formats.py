"""Numbers and times as a reader wants them; nothing is ever shown as "nan" or "None"."""

import html
import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from harness.base.distribution import Distribution

NOTHING: Final = "–"
_MARKDOWN: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]|~#"})
_CODE: Final = re.compile(r"\\`[^`|]+\\`")  # in escaped text


def absent(value: object) -> bool:
    """True for null and for not-a-number, which Spark and pandas both write for "no value"."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def number(value: Any, unit: str = "") -> str:
    """Format with thousands separators and as many decimals as the size calls for."""
    if absent(value):
        return NOTHING
    if isinstance(value, float) and math.isinf(value):
        text = "∞" if value > 0 else "−∞"
    elif isinstance(value, float) and not value.is_integer():
        text = _decimals(value)
    else:
        text = f"{int(value):,}"
    return f"{text} {unit}".strip()


def _decimals(value: float) -> str:
    """Three digits that count, or a whole number that has more."""
    value = value if abs(value) >= 100 else float(f"{value:.3g}")
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"


def duration(ms: Any) -> str:
    """Format milliseconds as "340 ms", "6.20 s", "13.9 s" or "2 min 05 s"."""
    if absent(ms):
        return NOTHING
    value = float(ms)
    if abs(value) < 1_000:
        return f"{value:.0f} ms" if abs(value) >= 1 or value == 0 else f"{value:.2f} ms"
    if abs(value) < 120_000:
        return f"{_decimals(value / 1_000)} s"
    minutes, seconds = divmod(round(value / 1_000), 60)
    return f"{minutes} min {seconds:02d} s"


def spread(found: Distribution, written: Callable[[object], str]) -> str:
    """Median, and from the smallest to the largest where they differ."""
    middle, low, high = (written(value) for value in (found.p50, found.min, found.max))
    return middle if low == high else f"{middle} ({low} – {high})"


def bound(low: Any, high: Any, unit: str = "") -> str:
    """Format what a measurement must lie in: "≤ 250 ms", "6,000 – 6,250 ms"."""
    if absent(low) and absent(high):
        return NOTHING
    if absent(low):
        return f"≤ {number(high, unit)}"
    if absent(high):
        return f"≥ {number(low, unit)}"
    if low == high:
        return f"= {number(low, unit)}"
    return f"{number(low)} – {number(high, unit)}"


def measured_range(row: Any) -> str:
    """Format a verdict's measurement for a narrow column: "6,000 – 6,003 ms"."""
    return measured(row, ("min", "max"), " – ")


def measured(row: Any, which: Sequence[str] = ("min", "p50", "max"), between: str = " / ") -> str:
    """Format a verdict's measurement on one line: "6,000 / 6,001 / 6,003 ms", or one number."""
    values = [row.get(f"measured_{name}") for name in which]
    if all(map(absent, values)):
        return NOTHING
    texts = [number(value) for value in values]
    text = texts[0] if len(set(texts)) == 1 else between.join(texts)
    return f"{text} {row.get('unit') or ''}".strip()


def partition_name(topic: Any, partition: Any) -> str:
    """Format a partition as Kafka's tools do: "orders-3"."""
    return f"{topic or NOTHING}-{NOTHING if absent(partition) else partition}"


def generation_word(protocol: str | None) -> str:
    """What a group's rebalances are counted by: group epochs in KIP-848, else generations."""
    return "group epoch" if protocol == "consumer" else "generation"


def names(several: Sequence[str], most: int = 3) -> str:
    """Format "R01, R12" or, of more than `most`, "R01, R12, X07 and 25 more"."""
    shown = ", ".join(several[:most])
    return shown if len(several) <= most else f"{shown} and {len(several) - most:,} more"


def seconds(at: datetime | None, zero: datetime | None) -> str:
    if at is None or zero is None:
        return NOTHING
    value = (at - zero).total_seconds()
    sign = "−" if value < 0 else ""
    return f"{sign}{_decimals(abs(value))} s"


def utc(at: datetime | None) -> str:
    return NOTHING if at is None else at.strftime("%Y-%m-%d %H:%M:%S UTC")


def clip(text: object, most: int) -> str:
    """Cut a text that would otherwise flood a table."""
    whole = "" if absent(text) else " ".join(str(text).split())
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def table_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def safe(text: str) -> str:
    """Escape what Markdown and the HTML inside it would take as markup."""
    return html.escape(" ".join(text.split()).translate(_MARKDOWN), quote=False)


def coded(text: str) -> str:
    """The same, with what is between backticks as code, as on a page."""
    return _CODE.sub(lambda found: re.sub(r"\\(.)", r"\1", html.unescape(found[0])), safe(text))
