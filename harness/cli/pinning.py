"""The commands about a project's own rules and the runs that it keeps: `keep` and `pinned`."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from harness.base.errors import BadInput, Exit
from harness.base.paths import COMMAND, here
from harness.catalogue import own_modules
from harness.catalogue.project import FILE, Project
from harness.run.screen import LATER_S, Screen

_MOST: Final = 20  # lines of one difference that are printed


def keep_command(arguments: argparse.Namespace) -> int:
    """Keep a small copy of a run in your project, and pin what your own rules find in it."""
    from harness.suite import kept_runs
    from harness.suite.judging import duckdb_engine

    recorded = _recorded(arguments.project)
    with closing(duckdb_engine()) as engine:
        project = arguments.project.folder
        folder, pins = kept_runs.keep(arguments.run, arguments.name, recorded, project, engine)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"kept as {here(folder)}, {size / 1_000:,.0f} kB")
    for pin in pins.values():
        print(": ".join(pin.split("\n")[:2]))
    return Exit.AS_EXPECTED


def pinned_command(arguments: argparse.Namespace) -> int:
    """Judge your kept runs by your own rules, and show what is not as pinned."""
    from harness.base.words import plural
    from harness.suite import kept_runs
    from harness.suite.judging import duckdb_engine

    folders = kept_runs.runs_in(_recorded(arguments.project))
    differing, found = 0, []
    with closing(duckdb_engine()) as engine, Screen().counting("pinned", LATER_S) as steps:
        for number, folder in enumerate(folders):
            steps("kept runs are judged", number, len(folders))
            found.append(kept_runs.compare(folder, engine, renew=arguments.renew))
    for folder, (rules, differences) in zip(folders, found, strict=True):
        if not differences:
            print(f"{folder.name}: {plural(rules, 'rule')}, as pinned")
            continue
        differing += 1
        print(f"{folder.name}: {'pinned anew' if arguments.renew else 'not as pinned'}")
        for sentence, lines in differences:
            print(f"  {sentence}")
            if not arguments.renew:  # the file shows the rest, now that it has changed
                _print_some(lines)
    if not differing:
        print(f"{plural(len(folders), 'kept run')} as pinned")
        return Exit.AS_EXPECTED
    count = f"{differing} of {plural(len(folders), 'kept run')}"
    if arguments.renew:
        pins = kept_runs.FILE_NAME
        print(f"{count} pinned anew: review the change of {pins} before you commit it")
        return Exit.AS_EXPECTED
    print(
        f"{count} not as pinned: correct the rules, or pin what they say now by "
        f"`{COMMAND} pinned --renew`"
    )
    return Exit.DIFFERS


def _print_some(lines: Sequence[str]) -> None:
    for line in lines[:_MOST]:
        print(f"    {line}")
    if len(lines) > _MOST:
        print(f"    … and {len(lines) - _MOST:,} more lines, which --renew would write")


def _recorded(project: Project) -> Path:
    """The folder of a project's kept runs. Raises BadInput where it has none, or no rules."""
    if project.recorded is None:
        where = FILE if project.file is None else here(project.file)
        raise BadInput(
            f'no folder of kept runs is named: write recorded = "chaos/recorded" into {where}'
        )
    if not own_modules.has_rules():
        raise BadInput(
            "the project has no rules of its own, and only these are pinned: name their folder, "
            'rules = "chaos/rules", in the same file'
        )
    return project.recorded
