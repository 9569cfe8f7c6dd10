"""Why a program did not get into its group, in one sentence for its author."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from harness.base.words import listed, plural
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment.app import App
from harness.history.whose import SHARED
from harness.run.broker_side import BrokerSide
from harness.run.member import Member

_PORT_TAKEN: Final = re.compile(r"address already in use|EADDRINUSE|port .*in use", re.IGNORECASE)
SAY_START: Final = "say how long by start_s in app.toml, or --start-s"
_SAY_STEADY: Final = "say how long by steady_s in app.toml, or --steady-s"
Words = Callable[[str], str]  # the last words of the program of this name


def cannot_run(app: App) -> str:
    """Why its command cannot be run and what to do, as far as is known; empty if it can."""
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


def ended_early(member: Member, brokers: BrokerSide, words: Words) -> str:
    """A program's main process ended before it was in the group; others that it started may run."""
    code, left = member.exit_code, member.instance.left
    if left:
        others = "another process" if left == 1 else f"{left} other processes"
        return (
            f"{member.name} ended with exit code {code} and left {others} running: a supervisor "
            "takes that for its end, so let it stay in the foreground; its last words: "
            f"{words(member.name)}"
        )
    hint = f", {_seen(member, brokers)}" if brokers.requests.get(member.name) else ""
    if code == 0 and not hint:
        hint = " (its standard input is empty: does it wait for input?)"
    if _PORT_TAKEN.search(words(member.name)):
        hint = " (all processes are on this machine's network: let each take any free port)"
    return (
        f"{member.name} ended with exit code {code} before it joined the group{hint}; its last "
        f"words: {words(member.name)}"
    )


def ends_again(member: Member, started: int, words: Words) -> str:
    """Programs join and end, one after the other, before the group was steady once."""
    return (
        f"{member.name} joined the group and ended with exit code {member.exit_code}, as "
        f"others of {started} did before it; its last words: {words(member.name)}; if it cannot "
        "read its records, [records] in app.toml or --value says what they look like"
    )


def not_joined(members: Iterable[Member], brokers: BrokerSide, words: Words) -> str:
    """What is known of each living program that has no part in the group, in words."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.running and (what := _of_one(member, brokers)):
            found.setdefault(what, []).append(member)
    return "; ".join(
        f"{_each_of(alike)} {what}; last words of {alike[0].name}: {words(alike[0].name)}"
        for what, alike in found.items()
    )


def no_progress(members: Iterable[Member], partitions: int, words: Words, *, steady: bool) -> str:
    """Members are in the group, which was never `steady` or is stuck; empty if none runs."""
    every = list(members)
    running = [member for member in every if member.running]
    if not running:
        return ""
    committed = sorted({number for member in every for number in member.position})
    missing = sorted(set(range(partitions)) - set(committed))
    if not steady and not (committed and missing):
        what = f"there was no steady state: if it only takes long, {_SAY_STEADY}"
    elif not committed:
        what = (
            "committed nothing to Kafka: let the program commit to Kafka, and say by [records] or "
            "--value what it can read"
        )
    else:
        what = _committed(committed, missing, {n for each in running for n in each.assigned})
    return (
        f"{_each_of(running)} joined the group, and {what}; last words of {running[0].name}: "
        f"{words(running[0].name)}"
    )


def _committed(committed: list[int], missing: list[int], held: set[int]) -> str:
    """Where programs that commit to Kafka have done so, as what they have done."""
    slow = f"if it only takes long, {_SAY_STEADY}"
    if not missing:
        return f"committed in every partition, but not again in each of them in time: {slow}"
    unheld = [number for number in missing if number not in held]
    free = (
        f" ({_partitions(unheld)} {'are' if len(unheld) > 1 else 'is'} held by none)"
        if unheld
        else ""
    )
    return (
        f"committed in {_partitions(committed)}, and not in {_partitions(missing)}{free}: see "
        f"what keeps it there; {slow}"
    )


def _of_one(member: Member, brokers: BrokerSide) -> str:
    name = member.name
    groups = brokers.groups.get(name, set())
    if brokers.astray(name):
        return (
            f"reads {_names(brokers.topics[name])}, not {TOPIC}: let it take the topic from "
            "KAFKA_TOPIC"
        )
    if member.started:
        return ""
    if not brokers.requests.get(name):
        return _silent(member, brokers)
    if groups and GROUP not in groups:  # one process may be in several
        return (
            f"asked to join {_names(groups)}, not {GROUP}: let it take the group from "
            "KAFKA_GROUP_ID"
        )
    if others := brokers.others.get(name):
        found = " and ".join(f"the {sort} group {each!r}" for each, sort in sorted(others.items()))
        remedy = "let it use a consumer"
        if "Streams" in others.values():
            remedy = "let it use group.protocol=classic"
        return f"is in {found}, and only consumer groups can be followed here: {remedy}"
    if name in brokers.refused:
        return f"{_seen(member, brokers)}: see the group's settings of the program"
    if member.asked_at:
        return (
            f"{_seen(member, brokers)}, and is not in it yet: if it only takes long, {_SAY_STEADY}"
        )
    if not brokers.topics.get(name):
        return f"{_seen(member, brokers)}: let it subscribe to KAFKA_TOPIC, with KAFKA_GROUP_ID"
    return f"{_seen(member, brokers)}: let it subscribe, with KAFKA_GROUP_ID"


def _silent(member: Member, brokers: BrokerSide) -> str:
    """Of one that has asked for nothing: it may just be slow."""
    if member.lane == SHARED and brokers.nameless:
        return (
            f"cannot be recognized, because requests came with client.id "
            f"{_names(brokers.nameless)}: let it take client.id from KAFKA_CLIENT_ID"
        )
    slow = f"if it takes longer to start, {SAY_START}"
    if (secured := brokers.plan.secured) is not None:
        return (
            "was not let in by these brokers, or never came: let it use "
            "KAFKA_BOOTSTRAP_SERVERS and what it is given for KAFKA_SECURITY_PROTOCOL of "
            f"{secured.protocol}; {slow}"
        )
    lived_s = max(0.0, time.time() - member.started_at / 1e6)
    return (
        f"has asked these brokers for nothing in the {lived_s:.0f} s since its start: let "
        f"it use KAFKA_BOOTSTRAP_SERVERS; {slow}"
    )


def _seen(member: Member, brokers: BrokerSide) -> str:
    name = member.name
    if (error := brokers.refused.get(name)) is not None:
        return f"asked to join {GROUP}, and was refused with error {error}"
    if member.asked_at:
        after_s = (member.asked_at - member.started_at) / 1e6
        return f"asked to join {GROUP} {after_s:.1f} s after its start"
    count = plural(brokers.requests.get(name, 0), "request")
    topics = brokers.topics.get(name)
    asked = f"asked for the topic {_names(topics)}" if topics else "asked for no topic by its name"
    return f"sent these brokers {count}, {asked}, and no JoinGroup of it was answered"


def _partitions(numbers: list[int]) -> str:
    return f"partition{'s' if len(numbers) > 1 else ''} {listed([*map(str, numbers)])}"


def _each_of(members: list[Member]) -> str:
    names = listed([member.name for member in members])
    return f"each of {names}" if len(members) > 1 else names


def _names(found: Iterable[str]) -> str:
    return " and ".join(repr(name) for name in sorted(found))
