"""Scenes as tables: a line `group rule: what it is about`, and its steps, indented.

A step is a line `who: call field=value … | what it is, on record`. `who` are members, made when
they are first named, or `group`, an `Admin` of it. The call is a method of theirs, made for one
after the other, or one of `TOGETHER` for all of them; `be` sets fields, and `call?` is made for
those alone that have a member id. Values are JSON without spaces, or else text. `TOPIC` and `GROUP`
are those of the run, `@name` the last epoch of a member.

    leave X29: leaving a group of two, and an empty one
        a b: form | form the group
        b: be topics=["TOPIC"]
        a b: leave | leave
        group: until state=Empty
        a: leave | leave an empty group
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from consumers.probes.classic_member import Admin, ProbeMember, form, join_all, settle
from consumers.probes.epoch_member import EpochMember
from consumers.probes.script import Scene, Script

TOGETHER: Final[Mapping[str, Callable[..., object]]] = {
    "form": form,
    "join_all": join_all,
    "settle": settle,
}
_SCENE: Final = re.compile(r"(?P<group>\S+) (?P<rule>\S+?)(?P<epochs> epochs)?: .+")
_STEP: Final = re.compile(
    r" +(?P<who>[\w ]+): (?P<call>\w+)(?P<known>\??)(?P<fields>(?: \S+=\S*)*)(?: \| (?P<said>.+))?"
)


def tables(text: str, member: type[ProbeMember | EpochMember] = ProbeMember) -> Sequence[Scene]:
    """The scenes in a text. Raises ValueError for a line that is neither a scene nor a step."""
    found: list[tuple[re.Match[str], list[re.Match[str]]]] = []
    for line in filter(None, text.splitlines()):
        if scene := _SCENE.fullmatch(line):
            found.append((scene, []))
            continue
        step = _STEP.fullmatch(line)
        kind = Admin if line.lstrip().startswith("group:") else member
        if step is None or not (step["call"] in (*TOGETHER, "be") or hasattr(kind, step["call"])):
            raise ValueError(f"{line.strip()!r} is neither a scene nor a step")
        found[-1][1].append(step)
    return [partial(_play, member, *each) for each in found]


def _play(
    member: type[ProbeMember | EpochMember],
    scene: re.Match[str],
    steps: Sequence[re.Match[str]],
    script: Script,
) -> None:
    group = script.group(scene["group"], epochs=bool(scene["epochs"]))
    acting: dict[str, Any] = {"group": Admin(script, group, scene["rule"])}
    for step in steps:
        names, call = step["who"].split(), step["call"]
        for name in names:
            if name not in acting:
                acting[name] = member(script, group, scene["rule"])
        members = [acting[name] for name in names if not step["known"] or acting[name].member_id]
        fields = step["fields"].replace("TOPIC", script.config.topic)
        fields = fields.replace("GROUP", script.config.group)
        fields = re.sub(r"@(\w+)", lambda name: str(acting[name[1]].had), fields)
        values = {key: _value(text) for key, text in (f.split("=", 1) for f in fields.split())}
        said = [step["said"]] if step["said"] else []
        if call in TOGETHER:
            TOGETHER[call](members, *said, **values)
        for each in members if call not in TOGETHER else ():
            if call == "be":
                vars(each).update(values)
            else:
                getattr(each, call)(*said, **values)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
