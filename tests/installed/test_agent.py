"""What an agent gets of `kafka-chaos mcp`, by the SDK's own client; and that nothing stays behind.

The commands are the real ones; those that are ended wait for a set-up that goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.base.errors import Exit
from harness.base.paths import ROOT
from harness.base.wait import wait_until
from harness.cli.main import main
from harness.report.load import load
from harness.report.text import values
from kafka_chaos.command import EXTRA
from tests.installed.conftest import WAITS, waiting
from tests.machine import agent_sdk
from tests.report.sample_logs import storm_of_a_slow_member, write
from tests.report.sample_run import write_run

pytestmark = pytest.mark.long(15)

COMMAND = [sys.executable, str(ROOT / "kafka-chaos"), "mcp"]
_INFO = {"name": "a test", "version": "0"}
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _INFO}


class Agent:
    """A client of the server that `kafka-chaos mcp` starts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(agent_sdk.packages())}

    def does(self, what: Callable[[Any], Awaitable[None]], *options: str) -> None:
        sys.path.append(self.environment["PYTHONPATH"])
        import anyio
        from mcp import Client, StdioServerParameters, stdio_client

        [program, *words] = [*COMMAND, *options]
        server = StdioServerParameters(
            command=program, args=words, env=self.environment, cwd=self.folder
        )

        async def session() -> None:
            with (self.folder / "stderr").open("w") as errors:
                async with Client(stdio_client(server, errors)) as client:
                    await what(client)

        try:
            anyio.run(session)
        finally:
            sys.path.remove(self.environment["PYTHONPATH"])

    def starts(self, *asked: dict[str, Any]) -> subprocess.Popen[str]:
        """The server alone, asked these by hand."""
        started = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
        )
        assert started.stdin is not None
        for number, each in enumerate(asked):
            started.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **each}) + "\n")
        started.stdin.flush()
        return started


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def commands(cache: Path) -> list[psutil.Process]:
    """Those that the server has started."""
    return [each for each in waiting(cache) if "experiment" in each.cmdline()]


def test_tools_answer_what_the_commands_print(
    agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> str:
        main(words)
        said = capsys.readouterr()
        return said.out or said.err.removeprefix("kafka-chaos: ").strip()

    log = write(tmp_path, storm_of_a_slow_member())
    run = write_run(tmp_path / "results" / "broker-kill" / "run")

    async def asks(client: Any) -> None:
        async def answer(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        async def text(tool: str, **arguments: Any) -> tuple[bool, str]:
            found = await answer(tool, **arguments)
            return found.is_error, found.content[0].text

        listed = await client.list_tools()
        assert ["list", "describe", "experiment", "try", "explain", "report"] == [
            tool.name for tool in listed.tools
        ]
        [found] = (await answer("list", search="BROKER-KILL-S")).structured_content["experiments"]
        assert ("broker-kill-short-session", False) == (found["name"], found["needs_app"])
        assert (False, printed("describe", "kill-broker")) == await text(
            "describe", name="kill-broker"
        )
        assert (True, printed("describe", "baselin")) == await text("describe", name="baselin")
        is_error, said = await text("explain", logs=[str(log)], options=["--group", "orders"])
        assert (False, "orders-3") == (is_error, "orders-3" if "orders-3" in said else said)
        found = await answer("report", run=str(run))
        assert (
            values.values(load(run))
            == found.structured_content
            == json.loads(found.content[0].text)
        )
        assert (True, printed("experiment", "baseline", "--set", "members=0")) == await text(
            "experiment", name="baseline", settings={"members": 0}, limits={"lost": 0}
        )
        assert (True, printed("try", "--experiment", "everyday")) == await text("try")
        assert (True, printed("try", "--clint", "x", "--", "true")) == await text(
            "try", program=["true"], options=["--clint", "x"]
        )

    agent.does(asks, "--results", str(tmp_path / "results"))


def test_a_call_shows_its_progress_and_ends_where_it_is_cancelled(agent: Agent, busy: Path) -> None:
    agent.environment["KAFKA_CHAOS_CACHE"] = str(busy)

    async def asks(client: Any) -> None:
        import anyio

        heard: list[tuple[float, str]] = []
        with anyio.CancelScope() as call:

            async def hear(count: float, _total: float | None, line: str | None) -> None:
                heard.append((count, line or ""))
                assert commands(busy)
                call.cancel()

            await client.call_tool("experiment", {"name": "baseline"}, progress_callback=hear)
        assert call.cancelled_caught
        assert [1.0] == [count for count, line in heard if WAITS in line]
        while commands(busy):
            await anyio.sleep(0.05)
        assert await client.list_tools()  # it serves on

    agent.does(asks)
    assert not waiting(busy)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (None, Exit.AS_EXPECTED),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGINT, Exit.INTERRUPTED),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_nothing_outlives_the_agent(
    agent: Agent, busy: Path, number: signal.Signals | None, code: int
) -> None:
    """The pipe closes, or the server is ended; nothing but the protocol came through the pipe."""
    agent.environment["KAFKA_CHAOS_CACHE"] = str(busy)
    called = {"name": "experiment", "arguments": {"name": "baseline"}}
    server = agent.starts(
        {"method": "initialize", "params": _HELLO}, {"method": "tools/call", "params": called}
    )
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            assert any(WAITS in line for line in server.stderr)
            assert commands(busy)
            if number is None:
                server.stdin.close()
            else:
                server.send_signal(number)
            wait_until("end of all", lambda: not waiting(busy), timeout_s=60)
            assert all("2.0" == json.loads(line)["jsonrpc"] for line in server.stdout)
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()
    assert code == server.returncode


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], Exit.FAILED, f"needs the SDK of MCP: install it by `{sys.executable} -m pip install"),
        (["--resluts", "x"], Exit.BAD_ARGUMENTS, "--resluts is no option of it: see"),
        (["--results"], Exit.BAD_ARGUMENTS, "--results needs a value: see `./kafka-chaos mcp --h"),
        (["--help"], Exit.AS_EXPECTED, f"It needs {EXTRA}, which pip install"),
    ],
)
def test_what_cannot_be_served_is_a_sentence(words: list[str], code: Exit, says: str) -> None:
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)

    assert code == done.returncode
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_sdk_is_pinned_once() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert [EXTRA] == extras["optional-dependencies"]["mcp"]
    assert EXTRA in agent_sdk.PINS.read_text().splitlines()
