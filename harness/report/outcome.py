"""What the verdicts add up to, said once for the page, the summary, JUnit and the terminal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from harness.base.errors import Exit
from harness.base.paths import COMMAND
from harness.base.words import plural
from harness.experiment import Verdict
from harness.history.derived import KEPT, SPOILT, STOOD_STILL
from harness.report.formats import names
from harness.report.load import JudgedRun, Manifest, Row, load_verdicts


class Standing(StrEnum):
    AS_EXPECTED = "as-expected"
    # The documented statement was expected to be violated, and was: the finding of an experiment.
    RESULT = "result"
    DIFFERS = "differs"
    # It could not be judged, for no fault of the group: this machine was busy, or the run is void.
    WITHHELD = "withheld"


# How the reason of the rule about this machine's clock ends (check.doubt.pressure).
_BUSY: Final = re.compile(r"; ([\w.-]+ waited for a processor for .*)$")

WORST_FIRST: Final = (
    *(Standing.DIFFERS, Standing.WITHHELD, Standing.RESULT, Standing.AS_EXPECTED),
)
_UNFINISHED: Final = {
    "void": "Void: the run was spoilt, so it shows nothing",
    "interrupted": "Interrupted: the run did not finish, so it shows nothing",
    "running": "Not finished: the run is still going on, or its harness was killed",
}
SIGNS: Final = dict(zip(WORST_FIRST, "✗?≠✓", strict=True))


def verdict_of(row: Row) -> str:
    """Return the verdict; a missing one is UNKNOWN, never a pass."""
    return str(row["verdict"] or Verdict.UNKNOWN)


def name_of(rule: str | None) -> str:
    """The name of a rule by its id; the id of one that has none, as of another version."""
    from harness.rules import rule_names  # which reads every rule, and most commands need none

    return rule_names.name_of(rule or "")


def title_of(row: Row) -> str:
    """What the rule says, as a heading; nothing for a rule that this version does not have."""
    from harness.rules import RULES

    found = RULES.get(row["rule"] or "")
    return found.title if found else ""


def expected_of(row: Row) -> str:
    """Return the expected verdict, HOLDS unless the experiment says otherwise."""
    return str(row["expected"] or Verdict.HOLDS)


def differs(row: Row) -> bool:
    return verdict_of(row) != expected_of(row)


def standing(row: Row) -> Standing:
    if differs(row):
        return Standing.WITHHELD if is_withheld(row) else Standing.DIFFERS
    return Standing.RESULT if verdict_of(row) == Verdict.VIOLATED else Standing.AS_EXPECTED


def sign_of(row: Row) -> str:
    """The sign of how a verdict stands: what could not be judged does not look like a failure."""
    unknown = differs(row) and verdict_of(row) == Verdict.UNKNOWN
    return "?" if unknown else SIGNS[standing(row)]


def is_excused(row: Row) -> bool:
    """Whether the reason mentions a row that holds outside its bound (check.judge writes it so)."""
    return re.search(r"; [\d,]+ (is|are) excused", row["reason"] or "") is not None


def in_order(verdicts: Sequence[Row]) -> list[Row]:
    """Sort what differs first (violated before unknown), then results, then the rest as given."""
    return sorted(
        verdicts,
        key=lambda row: (WORST_FIRST.index(standing(row)), verdict_of(row) != Verdict.VIOLATED),
    )


@dataclass(frozen=True)
class Overall:
    """The overall result. `kind` is as-expected, withheld, differs or unjudged.

    The headline of a run is what it found, and `finding` the name of that, if it has one; without
    its tables, and of one that shows nothing, it is what the verdicts come to.
    """

    kind: str
    headline: str
    detail: str
    finding: str = ""


def of_verdicts(manifest: Manifest, verdicts: Sequence[Row] | None) -> Overall:
    if not manifest.complete:
        unknown = f"Run status {manifest.status}: nothing can be concluded"
        reason = manifest.status_reason or "The manifest gives no reason."
        all_the_same = "The verdicts below were given all the same; do not rely on them."
        detail = f"{reason} {'No rule was judged.' if verdicts is None else all_the_same}"
        return Overall("unjudged", _UNFINISHED.get(manifest.status, unknown), detail)
    if not verdicts:
        return Overall(
            "unjudged", "No rule was judged", "The list of verdicts is empty, which shows nothing."
        )
    withheld = withheld_in_words(verdicts)
    detail = _detail(verdicts) + f" {withheld}".rstrip()
    differing = [row for row in verdicts if standing(row) is Standing.DIFFERS]
    if differing:
        verb = "differs" if len(differing) == 1 else "differ"
        said = f"{plural(len(differing), 'verdict')} {verb} from the expected"
        return Overall("differs", said, detail)
    if withheld:
        return Overall("withheld", "Every verdict that could be judged as expected", detail)
    return Overall("as-expected", "Every verdict as expected", detail)


def is_withheld(row: Row) -> bool:
    """Whether a verdict is UNKNOWN for no fault of the group: by what `load_verdicts` found in its
    rows, or by its reason.
    """
    spoilt = row.get("withheld", any(words in (row["reason"] or "") for words in SPOILT))
    return verdict_of(row) == Verdict.UNKNOWN and bool(spoilt)


def withheld_in_words(verdicts: Sequence[Row]) -> str:
    """Which rules are not judged because of this machine, and what it did; nothing if none is."""
    found = [row for row in verdicts if standing(row) is Standing.WITHHELD]
    if not found:
        return ""
    busy = any(words in (row["reason"] or "") for row in found for words in (STOOD_STILL, KEPT))
    why = [said[1] for row in verdicts if (said := _BUSY.search(row["reason"] or ""))]
    return (
        f"Not judged because {'this machine was busy' if busy else 'its clock was not watched'}"
        f"{''.join(f' ({each})' for each in why)}: {plural(len(found), 'rule')}, "
        f"{names([name_of(row['rule']) for row in found])}."
    )


def exit_code(run_dir: Path) -> Exit:
    """The exit code that a checked run ends its command with. Raises NoData as `load_verdicts`."""
    return exit_code_of(*load_verdicts(run_dir))


def exit_code_of(manifest: Manifest, verdicts: Sequence[Row] | None) -> Exit:
    kind = of_verdicts(manifest, verdicts).kind
    codes = {"as-expected": Exit.AS_EXPECTED, "withheld": Exit.BUSY, "differs": Exit.DIFFERS}
    return codes.get(kind, Exit.FAILED)


def left_out(manifest: Manifest) -> tuple[str, str]:
    """How many rules a user's program is not judged by, and which; else nothing."""
    from harness.rules.lineage import left_out_of_an_app

    if manifest.app is None:
        return "", ""
    names = left_out_of_an_app()
    why = "they are about our own consumers, or need what only these write down"
    return f"{len(names)} rules are left out: {why}", ", ".join(map(name_of, names))


def others_in(run: JudgedRun) -> Sequence[Row]:
    """What rules say that the experiment does not declare; an older run has none."""
    return run.tables.get("other_rules", ())


def by_verdict(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {str(each): [row for row in rows if verdict_of(row) == each] for each in Verdict}


def others_in_words(rows: Sequence[Row]) -> str:
    """How many were looked at and what they came to; nothing if none was."""
    found = by_verdict(rows)
    count = len(found[Verdict.HOLDS])
    parts = [f"{count} {'holds' if count == 1 else 'hold'}"]
    for verdict, words in (
        (Verdict.VIOLATED, "violated"),
        (Verdict.UNKNOWN, "could not be judged"),
    ):
        if names := [name_of(row["rule"]) for row in found[verdict]]:
            parts.append(f"{len(names)} {words} ({', '.join(names)})")
    said = f"{plural(len(rows), 'rule')} that the experiment does not declare: {', '.join(parts)}"
    return said if rows else ""


def files_lost(run: JudgedRun) -> str:
    """Say which files of a run are missing or damaged, and what to do; nothing if none is."""
    if not run.problems:
        return ""
    return (
        f"What is made from these files is left out: {'; '.join(run.problems)}. "
        f"`{COMMAND} collect RUN` makes history files again from whole journals, and "
        f"`{COMMAND} check RUN` makes tables from whole history files."
    )


def _detail(verdicts: Sequence[Row]) -> str:
    standings = [standing(row) for row in verdicts]
    parts = [f"{plural(len(verdicts), 'rule')} judged"]
    others = (Standing.DIFFERS, Standing.WITHHELD)
    matching = len(standings) - sum(map(standings.count, others))
    if matching != len(standings):
        parts.append(f"{matching} as expected")
    results = standings.count(Standing.RESULT)
    if results:
        parts.append(
            f"{plural(results, 'documented statement')} contradicted by measurement, as expected"
        )
    return "; ".join(parts) + "."
