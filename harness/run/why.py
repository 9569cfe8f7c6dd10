"""Why a program did not get into its group, in one sentence for whoever wrote it."""

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from harness.experiment.app import App
from harness.history.whose import SHARED
from harness.run.broker_side import BrokerSide
from harness.run.member import Member

_PORT_TAKEN: Final = re.compile(r"address already in use|EADDRINUSE|port .*in use", re.IGNORECASE)
Words = Callable[[Member], str]  # the last words of a program


def cannot_run(app: App) -> str:
    """Why its command cannot be run, and what to do about it; empty where nothing speaks against.

    Raises nothing: what cannot be known here, such as a script without its first line, shows when
    the program is started.
    """
    word = app.command[0] if app.command else ""
    if not word or "{" in word or app.image:  # what is in an image shows when it is started
        return ""
    if "/" not in word:
        path = app.environment.get("PATH", os.environ.get("PATH", os.defpath))
        if shutil.which(word, path=path):
            return ""
        beside = Path(app.folder) / word
        hint = f"write ./{word}" if beside.is_file() else "install it, or write its whole path"
        return f"there is no program {word!r} on the PATH: {hint}"
    file = Path(app.folder) / word
    where = repr(word) if Path(word).is_absolute() else f"{word!r} in {app.folder}"
    if not file.exists():
        return f"there is no {where}: name a program that is there"
    if file.is_dir():
        return f"{where} is a folder: name the program in it"
    if not os.access(file, os.X_OK):
        return (
            f"{where} cannot be executed: make it executable (chmod +x), or write what runs it "
            "before it"
        )
    return ""


def ended_early(member: Member, words: Words) -> str:
    """A program's main process ended before it was in the group; others that it started may run."""
    code, left = member.exit_code, member.instance.left
    if left:
        others = "another process" if left == 1 else f"{left} other processes"
        return (
            f"{member.name} ended with exit code {code} and left {others} running: a supervisor "
            "takes that for its end, so let it stay in the foreground; its last words: "
            f"{words(member)}"
        )
    hint = " (its standard input is empty: does it wait for input?)" if code == 0 else ""
    if _PORT_TAKEN.search(words(member)):
        hint = " (all processes are on this machine's network: let each take any free port)"
    return (
        f"{member.name} ended with exit code {code} before it joined the group{hint}; its last "
        f"words: {words(member)}"
    )


def ends_again(member: Member, started: int, words: Words) -> str:
    """Programs join and end, one after the other, before the group was steady once."""
    return (
        f"{member.name} joined the group and ended with exit code {member.exit_code}, as "
        f"others of {started} did before it; its last words: {words(member)}; if it cannot read "
        "its records, [records] in app.toml or --value says what they look like"
    )


def not_joined(
    members: Iterable[Member], brokers: BrokerSide, group: str, topic: str, words: Words
) -> str:
    """What is known of each living program that has no part in the group, in words."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.running and (what := _of_one(member, brokers, group, topic)):
            found.setdefault(what, []).append(member)
    return "; ".join(
        f"{_each_of(alike)} {what}; last words of {alike[0].name}: {words(alike[0])}"
        for what, alike in found.items()
    )


def no_progress(members: Iterable[Member], words: Words) -> str:
    """All are in the group, and it does not get further in every partition; empty if none runs."""
    running = [member for member in members if member.running]
    if not running:
        return ""
    return (
        f"{_each_of(running)} joined the group, but not every partition has a commit: let the "
        "program commit to Kafka, and say by [records] or --value what it can read; last words of "
        f"{running[0].name}: {words(running[0])}"
    )


def _of_one(member: Member, brokers: BrokerSide, group: str, topic: str) -> str:
    groups = brokers.groups.get(member.name, set())
    topics = brokers.topics.get(member.name, set())
    if topics and topic not in topics:
        return f"reads {_names(topics)}, not {topic}: let it take the topic from KAFKA_TOPIC"
    if member.started:
        return ""
    if not brokers.requests.get(member.name):
        if member.lane == SHARED and brokers.nameless:
            return (
                f"cannot be recognized, because requests came with client.id "
                f"{_names(brokers.nameless)}: let it take client.id from KAFKA_CLIENT_ID"
            )
        if (secured := brokers.plan.secured) is not None:
            return (
                "was not let in by these brokers, or never came: let it use "
                "KAFKA_BOOTSTRAP_SERVERS and what it is given for KAFKA_SECURITY_PROTOCOL of "
                f"{secured.protocol}"
            )
        return "has asked these brokers for nothing: let it use KAFKA_BOOTSTRAP_SERVERS"
    if groups - {group}:
        return f"joined {_names(groups)}, not {group}: let it take the group from KAFKA_GROUP_ID"
    if not topics:
        return "has spoken to the brokers, but asked for no topic: let it subscribe to KAFKA_TOPIC"
    return "has asked for the topic, but joined no group: let it subscribe, with KAFKA_GROUP_ID"


def _each_of(members: list[Member]) -> str:
    *others, last = (member.name for member in members)
    return f"each of {', '.join(others)} and {last}" if others else last


def _names(found: Iterable[str]) -> str:
    return " and ".join(repr(name) for name in sorted(found))
