"""The commands about a cluster to play with by hand: `up`, `fault` and `down`."""

import argparse
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any, Final

from harness.base import processes
from harness.base.errors import BadInput, Exit, HarnessError
from harness.base.paths import COMMAND, here
from harness.base.wait import wait_until
from harness.experiment import Cluster, Load
from harness.history import manifest
from harness.run.screen import LATER_S, Screen

_TOPIC: Final = re.compile(r"(?P<name>[a-zA-Z0-9._-]{1,249})(?::(?P<partitions>[1-9]\d{0,3}))?")
_END_S: Final = 60.0


def up_command(arguments: argparse.Namespace) -> int:
    """Bring up a cluster to play with by hand, until Ctrl-C or `down`."""
    from harness.catalogue.kafka_settings import check_release
    from harness.run.by_hand.up import bring_up

    named = {"kafka_version": arguments.kafka, "security": arguments.security}
    named = {name: value for name, value in named.items() if value}
    settings = dict(_setting(item) for item in arguments.set)
    cluster = Cluster(brokers=arguments.brokers, settings=settings, **named)
    topics = dict(_topic(text) for text in arguments.topic or ["t"])
    check_release(settings, cluster.kafka_version)
    if arguments.detach and (code := _gone_on_alone()) is not None:
        return code

    def ready(
        folder: Path, members: str, producers: str, direct: str, secured: Path | None
    ) -> None:
        print(f"bootstrap  {members}")
        print(f"           {producers}  for producers: faults can hit these alone")
        print(f"           {direct}  direct: faults of links do not affect it")
        if secured is not None:
            print(f"secured    settings of clients are in {here(secured)}")
        print(f"folder     {here(folder)}")
        print(f"break it   {COMMAND} fault kill-broker any broker", flush=True)
        if arguments.detach:
            _point_to_nowhere(1, 2)

    results, base = arguments.results.resolve(), arguments.port_base
    _print_kept(bring_up(cluster, topics, results, Screen(), ready, base))
    return Exit.AS_EXPECTED


def _print_kept(folder: Path) -> None:
    """What is left of a cluster, and how it is read if there is anything to read."""
    print(f"kept       {here(folder)}")
    if manifest.read(folder).get("groups"):
        logs = shlex.quote(here(folder / "logs"))
        print(f"explain    {COMMAND} explain {logs}/broker-*.log --timezone UTC")


def _gone_on_alone() -> int | None:
    """Go on in a process of its own; null there, and here the exit code once it is up or has ended.

    It shares standard error until it is up, and what it prints by then is printed here.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()  # the terminal's Ctrl-C is not meant for it
        os.close(reader)
        os.dup2(writer, 1)
        os.close(writer)
        _point_to_nowhere(0)
        return None
    os.close(writer)
    try:
        with os.fdopen(reader, encoding="utf-8") as printed:
            text = printed.read()
        if not text:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code < 0:
                raise HarnessError(
                    f"the cluster's process was ended by signal {-code} before it was up: "
                    "run `up` again"
                )
            return code
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    print(text, end="", flush=True)
    return Exit.AS_EXPECTED


def _point_to_nowhere(*numbers: int) -> None:
    """Have standard streams, by their numbers, read nothing and write nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        os.dup2(nowhere, number)
    os.close(nowhere)


def _setting(item: str) -> tuple[str, str]:
    """A setting of brokers with its value. Raises BadInput for one that is not known."""
    from harness.catalogue import kafka_settings
    from harness.run.by_hand.up import fitted

    name, equals, value = item.partition("=")
    if not equals or not name:
        raise BadInput(f"--set {item!r} is not of the form NAME=VALUE")
    if name in kafka_settings.KNOWN:
        return name, kafka_settings.checked(name, value)
    ours = fitted(Cluster()).settings  # timers of groups among them, which experiments declare
    if name not in ours:
        near = kafka_settings.nearest(name, ours)
        hint = f"did you mean {near!r}?" if near else "use the name that Kafka's documents have"
        raise BadInput(f"there is no setting {name!r} of brokers that can be set here: {hint}")
    return name, value


def _topic(text: str) -> tuple[str, int]:
    found = _TOPIC.fullmatch(text)
    if found is None:
        raise BadInput(
            f"--topic {text!r} is not of the form NAME or NAME:PARTITIONS, such as orders:6"
        )
    return found["name"], int(found["partitions"] or Load().partitions)


def fault_command(arguments: argparse.Namespace) -> int:
    """Break something in the cluster that is up; without a kind, list what can be broken."""
    from harness.run.by_hand.breakable import MORE, experiment_of, fault_of, listing
    from harness.run.by_hand.control_socket import ask
    from harness.run.by_hand.up import the_one

    usual = experiment_of(Cluster())
    if arguments.kind is None:
        print("\n".join(listing(usual)))
        return Exit.AS_EXPECTED
    given = {name: getattr(arguments, name) for name in MORE}
    fault: dict[str, Any] = {
        "kind": arguments.kind,
        "target": " ".join(arguments.target),
        "lasts_s": arguments.lasts_s,
        "more": {name: value for name, value in given.items() if value is not None},
    }
    fault_of(usual, **fault)  # slips are reported in any case
    folder = the_one(arguments.results.resolve())
    body = {"do": "fault", "fault": fault, "group": arguments.group}
    ask(folder, body, lambda text: print(text, flush=True))
    return Exit.AS_EXPECTED


def down_command(arguments: argparse.Namespace) -> int:
    """End the cluster that is up."""
    from harness.run.by_hand.control_socket import ask
    from harness.run.by_hand.up import the_one

    folder = the_one(arguments.results.resolve())
    ask(folder, {"do": "down"}, print)
    with Screen().counting("down", LATER_S) as steps:
        steps("the cluster ends", 0, 0)
        wait_until(
            f"end of the cluster in {here(folder)}",
            lambda: not processes.held(folder),
            timeout_s=_END_S,
            saw=lambda: "its `up` still runs",
        )
    _print_kept(folder)
    return Exit.AS_EXPECTED
