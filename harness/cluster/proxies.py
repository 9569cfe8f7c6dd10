"""Toxiproxy: the only module that speaks to it.

toxiproxy-python sets its server's address on a class, sets no time-outs, and takes a 500 for
success, so each call here is limited in time, checked, and read back.
"""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import requests
from toxiproxy.api import APIConsumer

from harness.base import processes
from harness.base.errors import ClusterError
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until

_TIMEOUT_S: Final = 5.0
_NO_PROXY: Final = {"no_proxy": LOOPBACK}  # HTTP_PROXY is for the world outside


@dataclass(frozen=True)
class Toxic:
    type: str  # latency | bandwidth | timeout
    stream: str  # upstream (towards what is behind the proxy) | downstream
    attributes: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.type}-{self.stream}"


def both_ways(kind: str, attributes: dict[str, int]) -> list[Toxic]:
    """The same for what goes through a proxy to the server and back."""
    return [Toxic(kind, "upstream", attributes), Toxic(kind, "downstream", attributes)]


class Toxiproxy:
    """One server, by the port of its API; each of its proxies is known by its name."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, binary: str | Path, config: Path, proxies: Iterable[str], run: str, log: Path
    ) -> None:
        """Start it as a process of a run on loopback, as `await_up`; `config` has the proxies."""
        command = [binary, "-host", LOOPBACK, "-port", str(self._port), "-config", config]
        self._process = process = processes.spawn(command, run=run, log=log)
        tail = partial(processes.last_lines, log)
        self.await_up(proxies, lambda: process.poll() is None, tail)

    @property
    def exit_code(self) -> int | None:
        """That of the process which was started here; null while it runs, or if none was."""
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        """End the process that was started here."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=10)

    def await_up(
        self, proxies: Iterable[str], running: Callable[[], bool], tail: Callable[[], str]
    ) -> None:
        """Wait until it answers with these proxies.

        Raises ClusterError with its last words (`tail`) if it ends instead.
        """
        wanted = set(proxies)

        def up() -> bool:
            if not running():
                raise ClusterError(f"Toxiproxy ended at its start: {tail()}")
            try:
                return set(self._call("get", "/proxies")) >= wanted
            except ClusterError:
                return False

        wait_until("answer from Toxiproxy", up, timeout_s=20, saw=tail)

    def version(self) -> str:
        return str(self._call("get", "/version")["version"])

    def add(self, proxies: Iterable[str], toxics: Iterable[Toxic]) -> None:
        toxics = list(toxics)
        for proxy in proxies:
            for toxic in toxics:
                body = {
                    "name": toxic.name,
                    "type": toxic.type,
                    "stream": toxic.stream,
                    "toxicity": 1.0,
                    "attributes": toxic.attributes,
                }
                self._call("post", f"/proxies/{proxy}/toxics", json=body)
            present = self.toxics(proxy)
            missing = {toxic.name for toxic in toxics} - set(present)
            if missing:
                raise ClusterError(
                    f"Toxiproxy took {', '.join(sorted(missing))} on {proxy} but does not have it"
                )

    def remove(self, proxies: Iterable[str], toxics: Iterable[Toxic]) -> None:
        """Take toxics off again; one that is not there any more is no error."""
        toxics = list(toxics)
        for proxy in proxies:
            present = self.toxics(proxy)
            for toxic in toxics:
                if toxic.name in present:
                    self._call("delete", f"/proxies/{proxy}/toxics/{toxic.name}")
            left = {toxic.name for toxic in toxics} & set(self.toxics(proxy))
            if left:
                raise ClusterError(f"Toxiproxy still has {', '.join(sorted(left))} on {proxy}")

    def _listens(self, proxy: str) -> bool:
        return bool(self._call("get", f"/proxies/{proxy}")["enabled"])

    def end_connections(self, proxies: Iterable[str]) -> None:
        """End every connection through proxies; new ones can be made at once.

        To a broker that is dead there are none, and its proxies go on refusing. Raises ClusterError
        if a proxy does not listen again.
        """
        for proxy in filter(self._listens, proxies):
            self.switch([proxy], on=False)
            self.switch([proxy], on=True)

    def switch(self, proxies: Iterable[str], *, on: bool) -> None:
        """Have proxies listen, or end their connections and refuse new ones; and read that back.

        A dead broker's refuse: Toxiproxy would take a connection first and then find that nothing
        is behind it. A client sees one that is made and ended at once, which no broker does: some
        libraries take it for a wrong configuration, and do not try again.
        """
        for proxy in proxies:
            self._call("post", f"/proxies/{proxy}", json={"enabled": on})
            if self._listens(proxy) != on:
                raise ClusterError(
                    f"Toxiproxy does not listen for {proxy} again"
                    if on
                    else f"Toxiproxy still listens for {proxy}"
                )

    @contextmanager
    def proxy_to(self, name: str, upstream: str) -> Iterator[int]:
        """One more proxy, for as long as it is needed; the port on which it listens."""
        body = {"name": name, "listen": f"{LOOPBACK}:0", "upstream": upstream, "enabled": True}
        made = self._call("post", "/proxies", json=body)
        try:
            yield int(str(made["listen"]).rpartition(":")[2])
        finally:
            self._call("delete", f"/proxies/{name}")

    def clear(self) -> None:
        """Take every toxic off every proxy, and have each listen."""
        self._call("post", "/reset")

    def toxics(self, proxy: str) -> list[str]:
        return [str(toxic["name"]) for toxic in self._call("get", f"/proxies/{proxy}/toxics")]

    def _call(self, verb: str, path: str, **arguments: Any) -> Any:
        APIConsumer.host = LOOPBACK
        APIConsumer.port = self._port
        try:
            response: requests.Response = getattr(APIConsumer, verb)(
                path, timeout=_TIMEOUT_S, proxies=_NO_PROXY, **arguments
            )
            response.raise_for_status()
            return response.json() if response.content else None
        except (requests.RequestException, Exception) as error:
            # The library's own exceptions are bare subclasses of Exception made at import time.
            raise ClusterError(f"Toxiproxy refused {verb} {path}: {error}") from error
