"""The Markdown summary for a CI job: outcome, verdicts, numbers, where the rest is."""

from typing import Final

from harness.report import outcome
from harness.report.formats import NOTHING, bound, clip, coded, measured, number, safe, table_row
from harness.report.load import JudgedRun, Row
from harness.report.parts.story import figures

# GitHub drops a step summary above 1 MiB whole; many runs may write into one.
MOST_RULES: Final = 150
_MOST_REASON: Final = 300
_FILES: Final = (
    "In its folder: [report.html](report.html), [verdicts.parquet](verdicts.parquet), "
    "[tables/](tables/), [history/](history/), [logs/](logs/)."
)


def summary(run: JudgedRun, found: outcome.Overall) -> str:
    manifest, numbers = run.manifest, figures(run)
    kafka = f"Kafka {safe(manifest.kafka or NOTHING)}"
    kafka += f" ({safe(manifest.secured)})" if manifest.secured else ""
    origin = (
        f"Run {safe(manifest.run)}, seed {safe(manifest.seed)}, {kafka}, {safe(manifest.client)}."
    )
    lines = [
        f"## {safe(manifest.experiment)}: {coded(found.headline)}",
        "",
        f"> {safe(manifest.claim)}" if manifest.claim else "",
        "",
        safe(found.detail),
        "",
        *([safe(outcome.files_lost(run)), ""] if run.problems else []),
        *_verdicts(outcome.in_order(run.verdicts or [])),
        *(f"- {safe(said)}" for about, said in numbers if about == "cost"),
        *(f"- {about}: {safe(said)}" for about, said in numbers if about != "cost"),
        "",
        f"{origin} {_FILES}",
        "",
    ]
    return "\n".join(lines)


def _verdicts(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    lines = [
        "| | rule | verdict | measured (min / median / max) | bound | examined | why |",
        "|---|---|---|---|---|---:|---|",
    ]
    for row in rows[:MOST_RULES]:
        verdict = outcome.verdict_of(row)
        if verdict != outcome.expected_of(row):
            verdict = f"**{verdict}**, expected {outcome.expected_of(row)}"
        elif verdict != "HOLDS":
            verdict += ", as expected"
        why = " ".join(text for text in (row["reason"], row["because"]) if text)
        cells = (
            outcome.sign_of(row),
            safe(outcome.name_of(row["rule"])),
            verdict,
            safe(measured(row)),
            safe(bound(row["bound_low"], row["bound_high"], row["unit"] or "")),
            number(row["examined"]),
            safe(clip(why, _MOST_REASON)),
        )
        lines.append(table_row(*cells))
    if len(rows) > MOST_RULES:
        lines += ["", f"{len(rows) - MOST_RULES} more rules are in report.html."]
    return [*lines, ""]
