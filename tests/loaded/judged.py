"""Prints the verdicts of a run as JSON, by the rules of whichever checkout PYTHONPATH names.

It is started as a script, and uses only what commits since 0cfe280 have.
"""

import json
import sys
from contextlib import closing
from pathlib import Path

from harness.check.check import first_look
from harness.suite.judging import duckdb_engine

with closing(duckdb_engine()) as engine:
    verdicts, others = first_look(Path(sys.argv[1]), engine)
kept = ("rule", "expected", "verdict", "reason")
print(
    json.dumps(
        {
            "verdicts": [{name: row[name] for name in kept} for row in verdicts],
            "others": [{"rule": row["rule"], "verdict": row["verdict"]} for row in others],
        }
    )
)
