"""Changes rules and derived tables one small thing at a time: which changes does no test notice?

See the package. No file but those of the results is written.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from harness.provision.cache import REPOSITORY
from tests.mutation import mutated_tables, survivors
from tests.mutation.mutants import Mutant, mutants, sources_in
from tests.mutation.records import Records
from tests.mutation.selection import TABLES, Selection, rules_of
from tests.mutation.trials import Trial, Trials
from tests.remembering import Remembering

# Violations that are put into kept runs.
_TAMPERED: Final = "tests/tampered/test_tampered.py::test_a_violation_is_noticed"
_SAME: Final = ("file", "within", "kind", "diff")  # by what a change is known again
_OPTIONS: Final = (
    *("-q", "-s", "--no-header", "-p", "no:cacheprovider", "--snapshot-warn-unused"),
    "--one-by-one",
)


def main(arguments: Sequence[str]) -> int:
    """0 if every change was tried, whatever came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, help="so many changes (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument(
        "--only", nargs="+", help="folders or files, such as rules, session or has-a-known-cause"
    )
    parser.add_argument(
        "--by-hand",
        action="store_true",
        help="ask hand-written histories and pinned tables alone, no verdicts of kept runs",
    )
    parser.add_argument(
        "--known",
        type=Path,
        help="a changes.json of before: what was noticed there is not tried again",
    )
    parser.add_argument("--results", type=Path, default=Path("results/mutation"))
    given = parser.parse_args(arguments)
    selection = Selection(REPOSITORY)
    sources = sources_in(REPOSITORY / "harness")
    chosen = _chosen(sources, given)
    if not chosen:
        parser.error(f"there is no SQL in {' or '.join(given.only)}")
    known = _noticed_before(given.known, chosen, sources)
    to_try = [each for each in chosen if each not in known]
    reached = {each: _rules_reached(each) for each in to_try}
    records = None if given.by_hand else Records()
    trials = Trials(to_try, sources, reached.__getitem__, records, workers=2)
    tests = list(map(str, selection.tests(set().union(*reached.values()))))
    if any(each.file.startswith("tables/") for each in to_try):
        tests += TABLES
    if not given.by_hand:
        tests.append(_TAMPERED)
    Remembering.most = None  # each change is tried with what all tests have asked for
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-mutation-") as folder:
        pytest.main([*_OPTIONS, f"--basetemp={folder}/pytest", *tests], plugins=[trials])
    rows = [each.row(sources) for each in (*known.values(), *trials.found)]
    rows.sort(key=lambda each: (each["file"], each["line"], each["kind"]))
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "changes.json").write_text(json.dumps(rows, indent=1))
    (given.results / "survivors.md").write_text(survivors.page(rows))
    print(_summary(rows))
    print(f"survivors  {given.results / 'survivors.md'}")
    for test in trials.failed:
        print(f"left out, as it fails without any change: {test}")
    return int(bool(trials.failed) or len(trials.found) < len(to_try))


def _rules_reached(mutant: Mutant) -> set[str]:
    return (mutated_tables.rules_reached if mutant.file.startswith("tables/") else rules_of)(mutant)


def _chosen(sources: dict[str, str], given: argparse.Namespace) -> list[Mutant]:
    found = [
        mutant
        for file, source in sources.items()
        if given.only is None or set(file.split("/")) & set(given.only)
        for mutant in mutants(file, source)
    ]
    if given.sample is None or given.sample >= len(found):
        return found
    numbers = sorted(random.Random(given.seed).sample(range(len(found)), given.sample))
    return [found[number] for number in numbers]


def _noticed_before(
    file: Path | None, chosen: Sequence[Mutant], sources: Mapping[str, str]
) -> dict[Mutant, Trial]:
    """What tests noticed then, of the changes that are the same: alike lines may have moved."""
    if file is None:
        return {}
    before: dict[tuple[str, ...], str | None] = {}
    for row in json.loads(file.read_text()):
        key = _known_by(row)
        noticed = row["said"] if row["outcome"] == "killed" else None
        before[key] = before.get(key, noticed) and noticed  # of two that are alike, neither
    found = {}
    for mutant in chosen:
        if said := before.get(_known_by(Trial(mutant, "killed", "").row(sources))):
            found[mutant] = Trial(mutant, "killed", said)
    return found


def _known_by(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in _SAME)


def _summary(found: Sequence[dict[str, Any]]) -> str:
    """How many changes were noticed, by their kind and file."""
    lines = []
    for what in ("kind", "file"):
        made = Counter(each[what] for each in found)
        lost = Counter(each[what] for each in found if each["outcome"] != "killed")
        lines += [
            f"{name:<36} {made[name] - lost[name]:>4} of {made[name]:>4}" for name in sorted(made)
        ]
        lines.append("")
    total = len(found)
    killed = sum(each["outcome"] == "killed" for each in found)
    lines.append(f"{killed} of {total} changes noticed ({killed / max(1, total):.1%})")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
