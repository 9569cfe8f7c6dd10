"""Reads and writes cosmic-ray's session; run by the Python that has cosmic-ray.

`session.py sample SESSION SIZE SEED` leaves out all but a sample of the changes of the SQL;
`session.py report SESSION` writes what became of them to stdout, as JSON.
"""

import json
import random
import sys
from typing import Any

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import WorkerOutcome, WorkResult


def sample(work: WorkDB, size: int, seed: int) -> None:
    """Leave a random choice of the changes, the same for the same seed and sources."""
    found = {_key(item): item for item in work.work_items if _is_ours(item)}
    chosen = random.Random(seed).sample(sorted(found), min(size, len(found)))
    kept = {found[key].job_id for key in chosen}
    others = [item.job_id for item in work.work_items if item.job_id not in kept]
    work.set_multiple_results(others, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))


def _is_ours(item: Any) -> bool:
    return bool(item.mutations[0].operator_name.startswith("sql/"))


def _key(item: Any) -> tuple[str, str, int]:
    mutation = item.mutations[0]
    return str(mutation.module_path), mutation.operator_name, mutation.occurrence


def report(work: WorkDB) -> list[dict[str, Any]]:
    """One row per change that was made."""
    return [
        {
            "module": str(item.mutations[0].module_path),
            "kind": item.mutations[0].operator_name.partition("/")[2],
            "line": item.mutations[0].start_pos[0],
            "outcome": _outcome(result),
            "said": result.output,
            "diff": result.diff,
        }
        for item, result in work.completed_work_items
        if result.worker_outcome is not WorkerOutcome.SKIPPED
    ]


def _outcome(result: WorkResult) -> str:
    """What the server said of it; a server that said nothing has noticed nothing."""
    said = (result.output or "").split("\n", 1)[0]
    return {"passed": "survived", "failed": "killed"}.get(said, "not tried")


if __name__ == "__main__":
    order, session, *more = sys.argv[1:]
    with use_db(session, WorkDB.Mode.open) as work:
        if order == "sample":
            sample(work, *map(int, more))
        else:
            json.dump(report(work), sys.stdout)
