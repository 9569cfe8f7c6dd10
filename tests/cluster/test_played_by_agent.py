"""An agent plays runs on real brokers by `kafka-chaos mcp`, to their end and not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.base import processes
from harness.base.errors import Exit
from harness.base.wait import wait_until
from harness.history import manifest
from tests.installed.test_agent import Agent

pytestmark = [pytest.mark.cluster, pytest.mark.long(45)]


def test_an_agent_is_given_what_its_run_showed(tmp_path: Path) -> None:
    heard: list[str] = []

    async def asks(client: Any) -> None:
        async def hear(_count: float, _total: float | None, line: str | None) -> None:
            heard.append((line or "").partition(" s  ")[2])

        called = {"name": "baseline", "limits": {"lost": 0}, "options": ["--seed", "7"]}
        found = await client.call_tool("experiment", called, progress_callback=hear)
        assert not found.is_error, found.content
        result = found.structured_content
        assert "baseline" == result["experiment"]
        assert result["exit_code"] in (Exit.AS_EXPECTED, Exit.BUSY)
        assert "promises/nothing-lost-by-members" in {each["name"] for each in result["verdicts"]}
        again = await client.call_tool("report", {"run": result["folder"]})
        assert result == again.structured_content

    Agent(tmp_path).does(asks, "--results", str(tmp_path / "results"))
    assert ["start cluster", "steady", "drain", "collect"] == [
        line for line in heard if line in {"start cluster", "steady", "drain", "collect"}
    ]


def test_a_run_whose_call_is_cancelled_is_healed_and_ended(tmp_path: Path) -> None:
    async def asks(client: Any) -> None:
        import anyio

        with anyio.CancelScope() as call:

            async def hear(_count: float, _total: float | None, line: str | None) -> None:
                if (line or "").endswith("  steady"):
                    call.cancel()

            await client.call_tool("experiment", {"name": "baseline"}, progress_callback=hear)
        assert call.cancelled_caught

    Agent(tmp_path).does(asks, "--results", str(tmp_path / "results"))
    [run] = [each.parent for each in (tmp_path / "results" / "baseline").glob("2*/manifest.json")]

    def status() -> str:
        return str(manifest.read(run)["status"])

    wait_until("its end", lambda: status() == "interrupted", timeout_s=60, saw=status)
    assert not processes.marked(run.name)
