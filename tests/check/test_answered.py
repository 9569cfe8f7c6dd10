"""How many requests and refusals rules judge: what they leave out is counted, and no more."""

from __future__ import annotations

import pytest

from harness.experiment import APP
from harness.rules.answered import counted
from harness.tables.engines.contract import Engine
from tests.histories import tables_of
from tests.notation import history_of

AT_WORK = "member member-1; join member-1 30; heartbeats member-1 10_000"
BROKEN = "fault pause-broker broker-1 19_000 22_000"


@pytest.mark.parametrize(
    ("more", "requests", "refusals"),
    [
        ("heartbeats member-1 20_000 error_code=25", (3, 3), (1, 1)),
        # 15 may be for want of a replica.
        (f"heartbeats member-1 20_000 error_code=15; {BROKEN}", (3, 2), (1, 0)),
        (f"heartbeats member-1 20_000 error_code=16; {BROKEN}", (3, 3), (1, 1)),
        ("heartbeats member-1 20_000 error_code=15", (3, 3), (1, 1)),
        ("request HEARTBEAT member-1 20_000 generation=- error_code=22", (3, 2), (1, 0)),
        ("request OFFSET_COMMIT member-1 20_000 member_id=- generation=-", (3, 2), (0, 0)),
        ("request JOIN_GROUP member-1 20_000 error_code=79", (3, 3), (0, 0)),
        # Neither the observer nor a request without an answer counts.
        ("request OFFSET_FETCH observer 20_000 error_code=16", (2, 2), (0, 0)),
        ("request HEARTBEAT member-1 20_000 error_code=-", (2, 2), (0, 0)),
        (f"group client={APP}", None, None),
    ],
)
def test_what_is_not_judged_is_counted(
    duckdb_engine: Engine, more: str, requests: tuple[int, int], refusals: tuple[int, int]
) -> None:
    tables = tables_of(history_of(f"{AT_WORK}; {more}"), duckdb_engine)
    found = {row["what"]: (row["answered"], row["judged"]) for row in counted(tables)}
    tables.close()

    assert (requests, refusals) == (found.get("requests"), found.get("refusals"))
