"""The command `mcp`: our commands as tools of an agent, over standard input and output.

It needs the Model Context Protocol's own SDK, which is an extra (`EXTRA` of `kafka_chaos.command`).
Each call runs a command as a process of its own, so that an agent is given what a person is, in the
same words; what that says of its progress is the progress of the call. It is asked to end when the
call is cancelled or the agent is gone, and by the kernel when this process is. In a session of its
own it is spared by clients that kill the server's processes all together, and heals what it broke.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent

from kafka_chaos.playing import JUDGED, LAST_LINES, PATIENCE_S, command, sentence, words_of

_ABOUT: Final = """\
kafka-chaos plays chaos experiments on Kafka consumer groups, on real brokers of its own, and judges
what happened by rules. `list` and `describe` show what can be played and what is judged;
`experiment` plays it on kafka-chaos's own consumers, `try` on the user's consumer. A run takes one
to several minutes. Its result has the headline, the numbers and every verdict with its reason;
`report` gives that of a run that was played before, by the folder that the result names. `explain`
needs no run: it reads logs of any Kafka. Paths are those of the folder that the server is in."""


@dataclass(frozen=True)
class CommandTools:
    """Each of its tools is called as the command that it runs.

    `common` are options for every command. Runs are played one at a time: they are measured.
    """

    common: Sequence[str]
    _playing: anyio.Lock = field(default_factory=anyio.Lock)

    def server(self) -> MCPServer:
        from harness import __version__

        server = MCPServer("kafka-chaos", instructions=_ABOUT, version=__version__)
        for tool in (
            *(self.list_experiments, self.describe, self.experiment, self.try_program),
            *(self.explain, self.report),
        ):
            server.add_tool(tool, name=tool.__name__.partition("_")[0])
        return server

    async def list_experiments(self, context: Context, search: str = "") -> CallToolResult:
        """List the experiments with this text in their name or claim; without it all of them."""
        result = await self._answer(context, "list", "--json")
        if result.is_error:
            return result
        found = [
            {name: value for name, value in each.items() if name != "rules"}
            for each in result.structured_content["experiments"]
            if search.casefold() in f"{each['name']} {each['claim']}".casefold()
        ]
        return _of({"experiments": found})

    async def describe(self, context: Context, name: str) -> CallToolResult:
        """Describe an experiment (its faults, rules and settings), a rule, or a kind of fault."""
        return await self._answer(context, "describe", name)

    async def experiment(
        self,
        context: Context,
        name: str,
        limits: dict[str, int | float] | None = None,
        settings: dict[str, str | bool | int | float] | None = None,
        options: list[str] | None = None,
    ) -> CallToolResult:
        """Play an experiment on kafka-chaos's own consumers, and judge it.

        `limits` are promises, each judged: standstill_s, repeats, lost, drained_s, out_of_order.
        `settings` are those that `describe` shows. `options` are further words of the command line,
        such as ["--client", "java", "--protocol", "kip-848", "--kafka", "4.1.2", "--seed", "42",
        "--backend", "docker", "--security", "ssl"].
        """
        words = words_of(name, limits=limits, settings=settings, options=options or [])
        return await self._played(context, words)

    async def try_program(
        self,
        context: Context,
        program: list[str] | None = None,
        app: str | None = None,
        image: str | None = None,
        experiment: str = "everyday",
        limits: dict[str, int | float] | None = None,
        settings: dict[str, str | bool | int | float] | None = None,
        options: list[str] | None = None,
    ) -> CallToolResult:
        """Play the usual faults on the user's own consumer, and judge what they cost it.

        Name one: `program` is its command, word by word, in which {bootstrap}, {topic} and {group}
        are replaced; `app` the path of its app.toml; `image` its container image. The rest is as
        for `experiment`; options such as ["--instances", "3", "--env", "KAFKA={bootstrap}",
        "--stdout", "done (?P<n>[0-9]+)"] say how it is started and shows what it processed.
        """
        words = words_of(
            experiment,
            app=app or None,
            image=image or None,
            program=program or [],
            limits=limits,
            settings=settings,
            options=options or [],
        )
        if words[0] != "try":  # no program is named here
            words = ["try", "--experiment", *words[1:]]
        return await self._played(context, words)

    async def explain(
        self, context: Context, logs: list[str], options: list[str] | None = None
    ) -> CallToolResult:
        """Explain who rebalanced a group and why, from log files of brokers or clients.

        `options` are ["--group", NAME], ["--timezone", "Europe/Berlin"], ["--into", FOLDER].
        """
        return await self._answer(context, "explain", *(options or []), "--", *logs)

    async def report(self, context: Context, run: str) -> CallToolResult:
        """Give the finding of a stored run: its headline, numbers, costs, verdicts and page."""
        return await self._answer(context, "report", "--json", "--", run)

    async def _played(self, context: Context, words: Sequence[str]) -> CallToolResult:
        if self._playing.locked():
            await context.report_progress(0, None, "waiting for the end of another run")
        async with self._playing:
            return await self._answer(context, *words)

    async def _answer(self, context: Context, *words: str) -> CallToolResult:
        """What a command printed, its JSON as a value too; its sentence as an error if it failed.

        In `words` the command comes first; the common options follow it.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            code, lines = await _run([words[0], *self.common, *words[1:]], output, context)
            output.seek(0)
            text = output.read()
        if code not in JUDGED or not text:
            return CallToolResult(content=[_text(sentence(lines))], is_error=True)
        return _of(json.loads(text)) if text[0] == "{" else CallToolResult(content=[_text(text)])


def _of(value: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[_text(json.dumps(value))], structured_content=value)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


async def _run(
    words: Sequence[str], output: IO[str], context: Context
) -> tuple[int | None, Sequence[str]]:
    """Run a command to its end, which comes soon if the call is cancelled; its exit code and the
    last lines of its progress, all of which standard error and the client get, if it asked.
    """
    process = await anyio.open_process(
        [*command(), *words], stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
    )
    said, last, rest = TextReceiveStream(process.stderr, errors="replace"), list[str](), ""
    try:
        async for text in said:
            _hand_on(text)
            *lines, rest = (rest + text).split("\n")
            for count, line in enumerate(lines, len(last) + 1):
                last.append(line)
                await context.report_progress(count, None, line.strip())
        return await process.wait(), last[-LAST_LINES:]
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, said)


def _hand_on(text: str) -> None:
    with suppress(OSError):  # its reader is gone
        sys.stderr.write(text)


async def _end(process: Process, said: TextReceiveStream) -> None:
    """Ask it to end, and wait until it has healed and removed all; kill it if it does not."""
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(PATIENCE_S):
            async for text in said:
                _hand_on(text)
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


def serve(common: Sequence[str]) -> None:
    """Serve until standard input ends; `common` are options for every command."""
    CommandTools(common).server().run("stdio")
