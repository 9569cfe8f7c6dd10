"""Prints the verdicts of a run as JSON, by the rules of whichever checkout PYTHONPATH names.

It is started as a script, and uses only what commits since 0cfe280 have.
"""

import json
import sys
from contextlib import closing
from pathlib import Path

import harness.check.check as checking
from harness.suite.judging import duckdb_engine

run_dir = Path(sys.argv[1])
with closing(duckdb_engine()) as engine:
    if first_look := getattr(checking, "first_look", None):  # of commits that judged a run twice
        verdicts, others = first_look(run_dir, engine)
    else:
        found = checking.check(run_dir, engine, keep=False)
        verdicts, others = found.verdicts, found.others
kept = ("rule", "expected", "verdict", "reason")
print(
    json.dumps(
        {
            "verdicts": [{name: row[name] for name in kept} for row in verdicts],
            "others": [{"rule": row["rule"], "verdict": row["verdict"]} for row in others],
        }
    )
)
