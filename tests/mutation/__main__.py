"""Changes rules and derived tables one small thing at a time: which changes does no test notice?

See the package. No file but those of the results is written.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from harness.provision.cache import REPOSITORY
from tests.mutation import survivors
from tests.mutation.mutants import Mutant, mutants, sources_in
from tests.mutation.trials import Trial, trials_of

WORKERS: Final = 2
_SAME: Final = ("file", "within", "kind", "diff")  # by what a change is known again


def main(arguments: Sequence[str]) -> int:
    """0 if every change was tried, whatever came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, help="so many changes (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument(
        "--only", nargs="+", help="folders or files, such as rules, session or has-a-known-cause"
    )
    parser.add_argument(
        "--known",
        type=Path,
        help="a changes.json of before: what was noticed there is not tried again",
    )
    parser.add_argument("--results", type=Path, default=Path("results/mutation"))
    given = parser.parse_args(arguments)
    sources = sources_in(REPOSITORY / "harness")
    chosen = _chosen(sources, given)
    if not chosen:
        parser.error(f"there is no SQL in {' or '.join(given.only)}")
    found = _noticed_before(given.known, chosen, sources)
    for trials in _tried([each for each in chosen if each not in found], sources):
        found |= {each.mutant: each for each in trials}
        _print(trials, sources, len(found), len(chosen))
    rows = [each.row(sources[each.mutant.file]) for each in found.values()]
    rows.sort(key=lambda each: (each["file"], each["line"], each["kind"]))
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "changes.json").write_text(json.dumps(rows, indent=1))
    (given.results / "survivors.md").write_text(survivors.page(rows))
    print(_summary(rows))
    print(f"survivors  {given.results / 'survivors.md'}")
    return int(len(found) < len(chosen))


def _tried(chosen: Sequence[Mutant], sources: Mapping[str, str]) -> Iterator[list[Trial]]:
    """What became of these changes, file by file as each is done; the largest files come first."""
    files = [list(each) for _, each in groupby(chosen, key=lambda mutant: mutant.file)]
    files.sort(key=len, reverse=True)
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as workers:
        tasks = [workers.submit(trials_of, each, sources[each[0].file]) for each in files]
        for done in as_completed(tasks):
            yield done.result()


def _print(trials: Sequence[Trial], sources: Mapping[str, str], done: int, of: int) -> None:
    """Print the unnoticed changes of a file at once, so that cases can be written early."""
    for each in trials:
        if not each.noticed_by:
            row = each.row(sources[each.mutant.file])
            print(f"not noticed: {row['file']}:{row['line']}: {survivors.change(row)}")
    print(f"{trials[0].mutant.file}: {len(trials)} changes; {done} of {of}", flush=True)


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
        noticed = row["noticed_by"] or None
        before[key] = before.get(key, noticed) and noticed  # of two that are alike, neither
    found = {}
    for mutant in chosen:
        if noticed := before.get(_known_by(Trial(mutant, "").row(sources[mutant.file]))):
            found[mutant] = Trial(mutant, noticed)
    return found


def _known_by(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in _SAME)


def _summary(found: Sequence[dict[str, Any]]) -> str:
    """How many changes were noticed, by their kind and file."""
    lines = []
    for what in ("kind", "file"):
        made = Counter(each[what] for each in found)
        lost = Counter(each[what] for each in found if not each["noticed_by"])
        lines += [
            f"{name:<36} {made[name] - lost[name]:>4} of {made[name]:>4}" for name in sorted(made)
        ]
        lines.append("")
    total = len(found)
    noticed = sum(bool(each["noticed_by"]) for each in found)
    lines.append(f"{noticed} of {total} changes noticed ({noticed / max(1, total):.1%})")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
