"""A grid of settings: which runs a sweep is made of, and what of it is refused before it starts."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final

from harness.base.errors import BadInput
from harness.catalogue import kafka_settings, registry
from harness.catalogue.choice import Choice
from harness.experiment import CLIENTS, PROTOCOLS, Expect, Experiment, Verdict, one_of
from harness.experiment.enums import protocol_said

# An experiment is declared for some of each, with a verdict expected of each.
_OFFERED: Final = {"group.client": CLIENTS, "group.protocol": PROTOCOLS}
_MEMBERS: Final = "group.members"
_JOIN_COST: Final = "join cost"


@dataclass(frozen=True)
class SettingValues:
    """One setting that is swept, ours or a broker's, and its values in order."""

    setting: str  # its whole name
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """As one may write it: the last part of our setting's name, the whole of a broker's."""
        known = self.setting in kafka_settings.KNOWN
        return self.setting if known else self.setting.rpartition(".")[2]


@dataclass(frozen=True)
class Point:
    """One experiment with one value of each setting, by the short names of those."""

    name: str
    settings: Mapping[str, str]
    experiment: Experiment


# Why a point cannot be, by its experiment and its values.
Refused = dict[tuple[str, tuple[str, ...]], str]


@dataclass(frozen=True)
class Grid:
    """All points, experiment by experiment; `left_out` says of each that makes no sense, why."""

    axes: tuple[SettingValues, ...]
    points: tuple[Point, ...]
    left_out: tuple[str, ...]


def grid_of(names: Sequence[str], over: Iterable[str], choice: Choice) -> Grid:
    """The grid of these experiments over texts such as "session_timeout_ms=6000,10000".

    What else is chosen is the same for all runs. Raises BadInput for an unknown experiment or
    setting (with the nearest name), and for a value that no run of one of the experiments could
    have, whatever the other settings are. A point that makes no sense for its values together is
    left out, and so is a client or protocol that an experiment is not for.
    """
    declared = {name: registry.load(name) for name in dict.fromkeys(names)}
    if not declared:
        raise BadInput(registry.WHICH)
    axes = _axes(over, next(iter(declared.values())), choice.settings)
    of_group = all(axis.setting in (*_OFFERED, _MEMBERS) for axis in axes)
    settings, short = [axis.setting for axis in axes], [axis.name for axis in axes]
    points: list[Point] = []
    refused: Refused = {}
    for name, values in product(declared, product(*(axis.values for axis in axes))):
        try:
            varied = _turned(declared[name], dict(zip(settings, values, strict=True)), choice)
            varied = _as_declared(varied) if of_group else _where_exercised(varied)
        except BadInput as error:
            refused[name, values] = str(error)
        else:
            points.append(Point(name, dict(zip(short, values, strict=True)), varied))
    _refuse_hopeless(declared, axes, refused)
    if not points:
        raise BadInput(next(iter(refused.values())))
    left_out = [
        f"{name} with {protocol_said(in_words(dict(zip(short, values, strict=True))))}: {why}"
        for (name, values), why in refused.items()
    ]
    return Grid(axes, tuple(points), tuple(left_out))


def in_words(settings: Mapping[str, str]) -> str:
    """Settings as they are written: "session_timeout_ms=6000, members=5"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _axes(
    over: Iterable[str], experiment: Experiment, settings: Mapping[str, str]
) -> tuple[SettingValues, ...]:
    known = registry.settings_in(experiment)
    fixed = {registry.setting_named(name, known): value for name, value in settings.items()}
    axes: dict[str, SettingValues] = {}
    for text in over:
        name, equals, listed = (part.strip() for part in text.partition("="))
        values = [value.strip() for value in listed.split(",") if value.strip()]
        if not equals or not name:
            raise BadInput(f"--over {text!r} is not of the form NAME=VALUE,VALUE")
        setting = registry.setting_named(name, known)
        if setting in axes:
            raise BadInput(f"{name} is swept twice: give all its values in one --over")
        if setting in fixed:
            raise BadInput(
                f"{name} is swept, and set to {fixed[setting]!r} for all runs as well: leave out "
                "one of the two"
            )
        same = [registry.canonical(experiment, setting, value) for value in values]
        for value in same if setting in _OFFERED else ():
            one_of(name, value, _OFFERED[setting])
        if len(set(same)) < len(same):
            twice = next(value for value in same if same.count(value) > 1)
            raise BadInput(f"--over {name} has {twice} twice: leave one of them out")
        if len(same) < 2:
            raise BadInput(
                f"--over {text!r} sweeps nothing: give two values or more, as in "
                f"{name}=VALUE,VALUE, or use --set"
            )
        with suppress(ValueError):  # what is no number stays as it was given
            same = sorted(same, key=float)
        axes[setting] = SettingValues(setting, tuple(same))
    if not axes:
        raise BadInput(
            "what is to be swept? Name a setting and its values: "
            "--over session_timeout_ms=6000,10000,45000"
        )
    return tuple(axes.values())


def _turned(experiment: Experiment, swept: Mapping[str, str], choice: Choice) -> Experiment:
    """The experiment with the settings of one point. Raises BadInput for a value of another type.

    A version of the client is for Java's alone where clients are swept. A larger group gets a
    partition for each member and for one that joins, unless the partitions are set.
    """
    settings = choice.settings
    if swept.get("group.client", "java") != "java":
        settings = {
            name: value for name, value in settings.items() if not name.endswith("client_version")
        }
    turned = registry.with_settings(experiment, {**settings, **swept})
    known = registry.settings_in(experiment)
    set_ = {registry.setting_named(name, known) for name in (*settings, *swept)}
    if _MEMBERS in swept and "load.partitions" not in set_:
        partitions = max(turned.load.partitions, turned.group.members + 1)
        turned = replace(turned, load=replace(turned.load, partitions=partitions))
    return choice.held(turned)


def _as_declared(turned: Experiment) -> Experiment:
    """The experiment with the verdicts that it expects of its client and protocol.

    What a join costs is judged besides, where one is seen. Raises BadInput where no run could be
    like that.
    """
    from harness.rules.catalogue import RULES

    cost = next(rule.id for rule in RULES.values() if rule.headline == _JOIN_COST)
    if all(expect.rule != cost for expect in turned.rules):
        turned = replace(turned, rules=(*turned.rules, Expect(rule=cost, if_seen=True)))
    return registry.resolved(registry.checked(turned))


def _where_exercised(turned: Experiment) -> Experiment:
    """The experiment of one point. Raises BadInput where no run could be like that.

    Whether a setting brings about what a rule is about is what a sweep asks. So each rule is judged
    where it is exercised, and a statement that Kafka is known not to keep is not judged: whether a
    run shows that depends on the setting.
    """
    from harness.rules.catalogue import RULES

    asked = tuple(replace(expect, if_seen=True) for expect in turned.rules)
    resolved = registry.resolved(registry.checked(replace(turned, rules=asked)))
    group = resolved.group
    rules = tuple(
        expect
        for expect in resolved.rules
        if expect.verdict is Verdict.HOLDS
        or not RULES[expect.rule].is_contradicted(group.client, group.protocol, static=group.static)
    )
    return replace(resolved, rules=rules)


def _refuse_hopeless(names: Iterable[str], axes: Sequence[SettingValues], refused: Refused) -> None:
    """Refuse a value that an experiment cannot have in any point. Raises BadInput.

    A client or protocol that an experiment is not for is no mistake, and is left out.
    """
    of_each = prod(len(axis.values) for axis in axes)
    for name, (place, axis) in product(names, enumerate(axes)):
        for value in axis.values if axis.setting not in _OFFERED else ():
            reasons = [
                why for (of, values), why in refused.items() if (of, values[place]) == (name, value)
            ]
            if len(reasons) == of_each / len(axis.values):
                raise BadInput(f"{name} with {axis.name}={value}: {reasons[0]}")
