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
from dataclasses import dataclass
from typing import Any, Final

from consumers.probes.classic_member import Admin, ProbeMember, form, join_all, settle
from consumers.probes.epoch_member import EpochMember
from consumers.probes.script import Script

TOGETHER: Final[Mapping[str, Callable[..., object]]] = {
    "form": form,
    "join_all": join_all,
    "settle": settle,
}
_SCENE: Final = re.compile(r"(?P<group>\S+) (?P<rule>\S+?)(?P<epochs> epochs)?: .+")
_STEP: Final = re.compile(r" +([\w ]+): (\w+)(\??)((?: \S+=\S*)*)(?: \| (.+))?")


@dataclass(frozen=True)
class SceneTable:
    """One scene. `epochs`: the state of its group is that of one of KIP-848."""

    group: str
    rule: str
    epochs: bool
    member: type[ProbeMember | EpochMember]
    steps: list[tuple[str, str, str, str, str | None]]

    def __call__(self, script: Script) -> None:
        group = script.group(self.group, epochs=self.epochs)
        acting: dict[str, Any] = {"group": Admin(script, group, self.rule)}

        def named(name: str) -> Any:
            if name not in acting:
                acting[name] = self.member(script, group, self.rule)
            return acting[name]

        for who, call, known, fields, step in self.steps:
            members = [named(name) for name in who.split()]
            members = [each for each in members if not known or each.member_id]
            fields = fields.replace("TOPIC", script.config.topic)
            fields = fields.replace("GROUP", script.config.group)
            fields = re.sub(r"@(\w+)", lambda name: str(named(name[1]).had), fields)
            values = {key: _value(text) for key, text in (f.split("=", 1) for f in fields.split())}
            said = () if step is None else (step,)
            if together := TOGETHER.get(call):
                together(members, *said, **values)
                continue
            for member in members:
                if call == "be":
                    vars(member).update(values)
                else:
                    getattr(member, call)(*said, **values)


def tables(
    text: str, member: type[ProbeMember | EpochMember] = ProbeMember
) -> Sequence[SceneTable]:
    """The scenes in a text. Raises ValueError for a line that is neither a scene nor a step."""
    found: list[SceneTable] = []
    for line in filter(None, text.splitlines()):
        if scene := _SCENE.fullmatch(line):
            found.append(
                SceneTable(scene["group"], scene["rule"], bool(scene["epochs"]), member, [])
            )
            continue
        step = _STEP.fullmatch(line)
        kind = Admin if line.lstrip().startswith("group:") else member
        if step is None or not (step[2] in (*TOGETHER, "be") or hasattr(kind, step[2])):
            raise ValueError(f"{line.strip()!r} is neither a scene nor a step")
        found[-1].steps.append((step[1], step[2], step[3], step[4], step[5]))
    return found


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
