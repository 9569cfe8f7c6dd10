"""What a program uses besides Kafka, and the proxies in front of it.

A dependency is its owner's real server, so nothing is ever done to it: faults change its proxies
alone, and what the harness asks to see whether they bite, it asks a server of its own.
"""

import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import psutil

from harness.base.errors import BadInput, VoidRun
from harness.base.ports import LOOPBACK, Ports
from harness.cluster.proxies import Toxic, Toxiproxy
from harness.experiment import Experiment
from harness.experiment.app import Address

_REACH_S: Final = 5.0
_PROXY: Final = "probe"  # the one that leads to the harness's own server
_FILE: Final = "dependencies.json"


def check_reachable(experiments: Iterable[Experiment]) -> None:
    """See that something listens at the address of each dependency, before anything is started.

    Raises BadInput naming the first where nothing does.
    """
    apps = [each.app for each in experiments if each.app is not None]
    wanted = {(app.name, *found): None for app in apps for found in app.addresses.items()}
    for app_name, name, address in wanted:
        try:
            host = address.host.strip("[]")
            socket.create_connection((host, address.port), timeout=_REACH_S).close()
        except OSError as error:
            raise BadInput(
                f"nothing listens at {address}, which is [dependency] {name} of {app_name} "
                f"({error}): start it there, or name another address"
            ) from None


@dataclass(frozen=True)
class DependencyLink:
    """The way from one lane to one dependency: a proxy, which listens on `port`."""

    lane: str
    dependency: str
    port: int

    @property
    def proxy(self) -> str:
        return f"{self.dependency}.{self.lane}"


class Dependencies:
    """The proxies of one run in front of what its app uses: one for each lane and dependency.

    They are a Toxiproxy of their own on loopback. That of a cluster may be in a container, which
    reaches neither this machine's loopback nor, perhaps, what this machine reaches.
    """

    def __init__(
        self, addresses: Mapping[str, Address], lanes: Sequence[str], run: str, ports: Ports
    ) -> None:
        self._addresses = addresses
        self._run = run
        self.toxiproxy = Toxiproxy(ports.take())
        self.links = tuple(
            DependencyLink(lane, name, ports.take())
            for lane in lanes
            if lane.startswith("member-")
            for name in addresses
        )
        self._before: set[tuple[Address, Address]] = set()

    def start(self, binary: Path, folder: Path, logs: Path) -> None:
        """Start Toxiproxy, and wait until it has every proxy. Raises ClusterError."""
        config = [
            {
                "name": link.proxy,
                "listen": f"{LOOPBACK}:{link.port}",
                "upstream": str(self._addresses[link.dependency]),
                "enabled": True,
            }
            for link in self.links
        ]
        (folder / _FILE).write_text(json.dumps(config))
        self._before = _connections()
        names, log = [link.proxy for link in self.links], logs / "dependencies.log"
        self.toxiproxy.start(binary, folder / _FILE, names, self._run, log)

    def places(self, lane: str) -> dict[str, str]:
        """What is filled in for each dependency in the command and environment of a process."""
        found = {}
        for link in self.links:
            if link.lane == lane:
                found[link.dependency] = f"{LOOPBACK}:{link.port}"
                found[f"{link.dependency}.host"] = LOOPBACK
                found[f"{link.dependency}.port"] = str(link.port)
        return found

    def connected(self, links: Sequence[DependencyLink]) -> list[DependencyLink]:
        """Those of these links over which there is a connection, or was one within a minute.

        It is the kernel that says so, which keeps a connection on its list for a while after its
        end. What was there before the proxies is another program's: a port that the kernel finds
        free may have been another program's a moment ago.
        """
        used = set(chain.from_iterable(_connections() - self._before))
        return [link for link in links if Address(LOOPBACK, link.port) in used]

    def unplanned_ends(self) -> list[str]:
        code = self.toxiproxy.exit_code
        return [] if code is None else [f"Toxiproxy before the dependencies (exit code {code})"]

    def echo_ms(self, toxics: Sequence[Toxic], timeout_s: float) -> float | None:
        """How long an echo takes through a proxy with such toxics, in ms; null without an answer.

        The proxy is made for this alone, and leads to a server of the harness.
        """
        with _echoing() as port, self.toxiproxy.proxy_to(_PROXY, f"{LOOPBACK}:{port}") as proxied:
            self.toxiproxy.add([_PROXY], toxics)
            started = time.monotonic()
            try:
                with socket.create_connection((LOOPBACK, proxied), timeout=timeout_s) as link:
                    link.sendall(b"?")
                    answer = link.recv(1)
                    return (time.monotonic() - started) * 1_000 if answer else None
            except OSError:
                return None


def refused(link: DependencyLink) -> bool:
    try:
        socket.create_connection((LOOPBACK, link.port), timeout=_REACH_S).close()
    except ConnectionRefusedError:
        return True
    except OSError as error:
        raise VoidRun(f"{link.proxy} neither accepts nor refuses a connection: {error}") from error
    return False


def _connections() -> set[tuple[Address, Address]]:
    """Both ends of each TCP connection of this machine, open or ended within a minute."""
    return {
        (_end(*each.laddr), _end(*each.raddr))
        for each in psutil.net_connections("tcp")
        if each.raddr
    }


def _end(host: str, port: int) -> Address:
    """Java's sockets are of IPv6, and write an address of IPv4 as one of IPv6."""
    return Address(host.removeprefix("::ffff:"), port)


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while said := self.request.recv(1_000):
            self.request.sendall(said)


@contextmanager
def _echoing() -> Iterator[int]:
    """A server on loopback that sends back what it gets; its port."""
    with socketserver.ThreadingTCPServer((LOOPBACK, 0), _Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
