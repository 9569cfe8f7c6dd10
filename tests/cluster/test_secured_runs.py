"""Secured clusters on real brokers: the verdicts that are expected, and no secret in what is left.

The runs are of experiments in which a user loses something, for a client each: those are the kinds
of faults that need a secured cluster.

Method: while the command plays a run, its secrets are read from its scratch folder; afterwards they
are looked for in every file that is left, Parquet's columns included, and in all that was printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from harness.base.wait import wait_until
from harness.check.check import check
from harness.cluster.secured import AUTHORITY, FOLDER
from harness.history import manifest
from harness.report import exit_code, report
from harness.run.folder import SCRATCH
from harness.tables.engines.duckdb import DuckDb

pytestmark = [pytest.mark.cluster, pytest.mark.long]

_START_S: Final = 60.0
_LONGEST_S: Final = 120.0


@pytest.mark.long(31)
@pytest.mark.parametrize(
    ("name", "client"), [("acl-revoked", "librdkafka"), ("credentials-expire", "java")]
)
def test_a_secured_run_is_judged_as_usual_and_keeps_its_secrets(
    tmp_path: Path, name: str, client: str
) -> None:
    command = ["-m", "harness", "run", name, "--results", str(tmp_path), "--client", client]
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as playing:
        try:
            secrets = _secrets(tmp_path / name / "latest" / SCRATCH / FOLDER)
            said, _ = playing.communicate(timeout=_LONGEST_S)
        finally:
            playing.kill()
    assert 0 == playing.returncode, said
    run_dir = (tmp_path / name / "latest").resolve()
    with closing(DuckDb()) as engine:
        rows = check(run_dir, engine).verdicts
    report(run_dir)
    assert 0 == exit_code(run_dir), [row for row in rows if row["verdict"] != row["expected"]]
    assert all(row["examined"] > 0 for row in rows)

    told = manifest.read(run_dir)
    assert "sasl_ssl" == told["declared"]["cluster"]["security"]
    assert "SASL_SSL" == told["effective"]["clients"]["member-1"]["security.protocol"]
    assert not (run_dir / SCRATCH).exists()
    assert len(secrets) > 10
    assert not [secret for secret in secrets if secret in said]
    assert not [
        f"{path.relative_to(run_dir)} has a secret"
        for path in run_dir.rglob("*")
        if path.is_file() and _has_any(path, secrets)
    ]


def _secrets(folder: Path) -> set[str]:
    """Passwords and lines of private keys, once they are all there; nobody else may read them."""
    found: set[str] = set()

    def read() -> bool:
        found.clear()
        with suppress(OSError, ValueError):
            for path in folder.iterdir():
                text = path.read_text()
                if path.name == AUTHORITY:
                    continue
                assert 0o600 == path.stat().st_mode & 0o777
                if path.suffix == ".json":
                    found.add(json.loads(text)["password"])
                else:
                    found.update(text.partition("-----END PRIVATE")[0].splitlines()[1:])
        return (folder / "producers.json").exists() and len(found) > 10

    wait_until("the secrets of a run", read, timeout_s=_START_S)
    return found - {""}


def _has_any(path: Path, secrets: Iterable[str]) -> bool:
    data = path.read_bytes()
    if path.suffix == ".parquet":
        data += json.dumps(pq.read_table(path).to_pylist(), default=str).encode()
    return any(secret.encode() in data for secret in secrets)
