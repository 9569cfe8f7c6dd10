"""A grid of settings: which runs a sweep is made of, and what of it is refused before it starts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from harness.base.errors import BadInput
from harness.catalogue import broker_settings, registry
from harness.catalogue.limits import with_limits
from harness.experiment import Experiment, Verdict
from harness.experiment.limits import Limits


@dataclass(frozen=True)
class Axis:
    """One setting that is swept: a knob, or a broker's setting, and its values in order."""

    setting: str  # its whole name
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """As one may write it: the last part of a knob's name, the whole of a broker's setting."""
        return _short(self.setting)


@dataclass(frozen=True)
class Point:
    """One experiment with one value of each setting, by the short names of those."""

    name: str
    settings: Mapping[str, str]
    experiment: Experiment


@dataclass(frozen=True)
class Grid:
    """All points, experiment by experiment; `left_out` says of each that makes no sense, why."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    left_out: tuple[str, ...]


def grid_of(
    names: Sequence[str],
    over: Iterable[str],
    settings: Mapping[str, str],
    limits: Limits,
    of_project: Limits,
) -> Grid:
    """The grid of these experiments over texts such as "session_timeout_ms=6000,10000".

    `settings` are the same for all runs. Raises BadInput for an unknown experiment or setting (with
    the nearest name), and for a value that no run of one of the experiments could have, whatever
    the other settings are. A point that makes no sense for its values together is left out.
    """
    declared = {name: registry.load(name) for name in dict.fromkeys(names)}
    if not declared:
        raise BadInput(f"which experiment? NAME is one of {', '.join(registry.names())}")
    axes = _axes(over, next(iter(declared.values())), settings)
    points: list[Point] = []
    refused: dict[str, dict[tuple[str, ...], str]] = {name: {} for name in declared}
    for name, experiment in declared.items():
        for values in product(*(axis.values for axis in axes)):
            turned = {axis.setting: value for axis, value in zip(axes, values, strict=True)}
            try:
                varied = _varied(experiment, {**settings, **turned}, limits, of_project)
            except BadInput as error:
                refused[name][values] = str(error)
                continue
            shown = {axis.name: value for axis, value in zip(axes, values, strict=True)}
            points.append(Point(name, shown, varied))
    _refuse_hopeless(axes, refused)
    left_out = [
        f"{name} with {told(dict(zip((axis.name for axis in axes), values, strict=True)))}: {why}"
        for name, found in refused.items()
        for values, why in found.items()
    ]
    return Grid(axes, tuple(points), tuple(left_out))


def told(settings: Mapping[str, str]) -> str:
    """Settings as they are written: "session_timeout_ms=6000, members=5"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _axes(
    over: Iterable[str], experiment: Experiment, settings: Mapping[str, str]
) -> tuple[Axis, ...]:
    known = registry.knobs(experiment)
    fixed = {registry.knob_named(name, known): value for name, value in settings.items()}
    axes: dict[str, Axis] = {}
    for text in over:
        name, equals, listed = (part.strip() for part in text.partition("="))
        values = [value.strip() for value in listed.split(",") if value.strip()]
        if not equals or not name:
            raise BadInput(f"--over {text!r} is not of the form NAME=VALUE,VALUE")
        setting = registry.knob_named(name, known)
        if setting in axes:
            raise BadInput(f"{name} is swept twice: give all its values in one --over")
        if setting in fixed:
            raise BadInput(
                f"{name} is swept, and set to {fixed[setting]!r} for all runs as well: leave out "
                "one of the two"
            )
        same = [registry.canonical(experiment, setting, value) for value in values]
        if len(set(same)) < len(same):
            twice = next(value for value in same if same.count(value) > 1)
            raise BadInput(f"--over {name} has {twice} twice: leave one of them out")
        if len(same) < 2:
            raise BadInput(
                f"--over {text!r} sweeps nothing: give two values or more, as in "
                f"{name}=VALUE,VALUE, or use --set"
            )
        axes[setting] = Axis(setting, tuple(_in_order(same)))
    if not axes:
        raise BadInput(
            "what is to be swept? Name a setting and its values: "
            "--over session_timeout_ms=6000,10000,45000"
        )
    return tuple(axes.values())


def _in_order(values: Sequence[str]) -> list[str]:
    """Numbers from the smallest to the largest; other values as they were given."""
    try:
        return sorted(values, key=float)
    except ValueError:
        return list(values)


def _varied(
    experiment: Experiment, settings: Mapping[str, str], limits: Limits, of_project: Limits
) -> Experiment:
    """The experiment of one point. Raises BadInput where no run could be like that.

    Whether a setting brings about what a rule is about is what a sweep asks. So each rule is judged
    where it is exercised, and a statement that Kafka is known not to keep is not judged: whether a
    run shows that depends on the setting.
    """
    from harness.rules.catalogue import RULES

    turned = registry.with_knobs(experiment, settings)
    asked = tuple(replace(expect, if_seen=True) for expect in turned.rules)
    held = with_limits(replace(turned, rules=asked), limits, of_project)
    resolved = registry.resolved(registry.checked(held))
    group = resolved.group
    rules = tuple(
        expect
        for expect in resolved.rules
        if expect.verdict is Verdict.HOLDS
        or not RULES[expect.rule].is_contradicted(group.client, group.protocol, static=group.static)
    )
    return replace(resolved, rules=rules)


def _refuse_hopeless(
    axes: Sequence[Axis], refused: Mapping[str, Mapping[tuple[str, ...], str]]
) -> None:
    """Refuse a value that an experiment cannot have in any point. Raises BadInput."""
    for name, found in refused.items():
        for place, axis in enumerate(axes):
            others = [each.values for each in axes if each is not axis]
            of_each = len(list(product(*others)))
            for value in axis.values:
                reasons = [why for values, why in found.items() if values[place] == value]
                if len(reasons) == of_each:
                    raise BadInput(f"{name} with {axis.name}={value}: {reasons[0]}")


def _short(setting: str) -> str:
    return setting if setting in broker_settings.KNOWN else setting.rpartition(".")[2]
