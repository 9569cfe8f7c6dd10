"""Experiments by NAME, and their settings."""

import difflib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Final, get_type_hints

import experiments
from consumers.sabotage import conduct_of
from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.words import hint
from harness.catalogue import kafka_settings, modules, own_modules
from harness.catalogue.refusals import check_exercised, check_together, sorts_of_members
from harness.experiment import Expect, Experiment, Need, protocol_named
from harness.rules.rule_names import NAMES, id_of, name_of, today
from harness.run.faults import KINDS, Needed, needs_app
from harness.run.roles import check_role

WHICH: Final = f"which experiment? Name one, such as broker-kill: `{COMMAND} list` has all"
_LIKE_A_RULE: Final = re.compile(r"[RXPLE]\d")


def names() -> list[str]:
    """Every experiment's NAME: its file name with dashes."""
    return sorted(
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(experiments.__path__)
        if not module.name.startswith("_")
    )


def load(name: str) -> Experiment:
    """The experiment with this NAME, checked.

    Raises BadInput with the nearest name if there is none, or with what is wrong in it.
    """
    if name not in names():
        what = hint(name, names(), f"see `{COMMAND} list`")
        raise BadInput(f"there is no experiment {name!r}: {what}")
    return replace(modules.read(name, checked), sources=own_modules.sources_of(name))


def every() -> tuple[dict[str, Experiment], list[str]]:
    """Every experiment that can be played by its NAME, and a sentence for each that cannot."""
    found, refused = {}, []
    for name in names():
        try:
            found[name] = load(name)
        except BadInput as error:
            refused.append(str(error))
    return found, refused


def describe(name: str) -> str:
    """The docstring of an experiment's module: claim, why, what to watch."""
    return (modules.imported(name).__doc__ or "").strip()


def checked(experiment: Experiment) -> Experiment:
    """The experiment, after everything that can be refused before anything runs.

    Raises BadInput with a sentence.
    """
    from harness.rules.catalogue import RULES  # reads the file of every rule

    for fault in experiment.faults:
        if fault.kind not in KINDS:
            raise BadInput(f"there is no fault {fault.kind!r}: {hint(fault.kind, KINDS)}")
        KINDS[fault.kind].check_way(fault)
    check_together(experiment)
    for member in sorts_of_members(experiment.group):
        conduct_of(member.sabotage)
    if not experiment.rules:
        raise BadInput("an experiment without rules cannot fail: name at least one")
    by_id = tuple(Expect(**today(vars(each))) for each in experiment.rules)
    experiment = replace(experiment, rules=by_id)
    for expect in experiment.rules:
        if expect.rule not in RULES:
            raise BadInput(f"there is no rule {expect.rule!r}: {nearest_rule(expect.rule)}")
        if RULES[expect.rule].limit and experiment.app is None:
            name = RULES[expect.rule].limit
            raise BadInput(
                f"{name_of(expect.rule)} judges what is promised: write limits=Limits({name}=10) "
                "instead of naming the rule"
            )
        if experiment.app is None:  # else faults that it cannot meet are left out
            _check_limits(expect, experiment)
    needed = _needed(experiment)
    for fault in experiment.faults:
        check_role(fault, experiment)
        KINDS[fault.kind].validate(fault, experiment, needed)
    check_exercised(experiment, needed)
    return experiment


def _check_limits(expect: Expect, experiment: Experiment) -> None:
    from harness.rules.catalogue import RULES

    faults = sorted({fault.kind for fault in experiment.faults})
    for kind in expect.within.kinds:
        if kind not in faults:
            raise BadInput(
                f"by={expect.by!r} of {name_of(expect.rule)} names whom {kind or 'nothing'} hits, "
                f"and the experiment has {', '.join(faults) or 'no fault'}: name one of its faults"
            )
    if expect.up_to is not None and not RULES[expect.rule].unit:
        raise BadInput(
            f"{name_of(expect.rule)} measures nothing that up_to={expect.up_to:g} could limit: use "
            "by= or at_most="
        )


def _needed(experiment: Experiment) -> Needed:
    """What the declared rules need, by their names; not those judged only if they are exercised."""
    from harness.rules.catalogue import RULES

    rules = sorted({expect.rule for expect in experiment.rules if not expect.if_seen})
    found = {
        need: tuple(name_of(rule) for rule in rules if need in RULES[rule].needs) for need in Need
    }
    return {need: needing for need, needing in found.items() if needing}


def is_rule(name: str) -> bool:
    """Whether this names a rule, by its name or its id, and no experiment.

    Raises BadInput for a name that neither has.
    """
    from harness.rules.catalogue import RULES

    rule, known = id_of(name) in RULES, names()
    if not rule and ("/" in name or _LIKE_A_RULE.match(name)):
        rules_named([name])
    if not rule and name not in known:
        what = hint(name, [*known, *NAMES.values()], f"see `{COMMAND} list`, and `list --rules`")
        raise BadInput(f"there is no experiment and no rule {name!r}: {what}")
    return rule and name not in known


def rules_named(names: Iterable[str]) -> list[str]:
    """The ids of these rules, each once; they are given by names or ids.

    Raises BadInput for an unknown one.
    """
    from harness.rules.catalogue import RULES

    found = {name: id_of(name) for name in names}
    for name, rule in found.items():
        if rule not in RULES:
            raise BadInput(f"there is no rule {name!r}: {nearest_rule(name)}")
    return list(dict.fromkeys(found.values()))


def nearest_rule(name: str) -> str:
    """What to do about an unknown name of a rule: the end of a sentence."""
    from harness.rules.catalogue import RULES

    by_letters = {rule.casefold(): rule for rule in (*RULES, *NAMES.values())}
    near = difflib.get_close_matches(name.casefold(), by_letters, n=1)
    listed = f"`{COMMAND} list --rules` prints all"
    return f"did you mean {by_letters[near[0]]}? {listed}" if near else listed


def resolved(experiment: Experiment) -> Experiment:
    """The experiment with the rules that a run of it is judged by.

    Left out are rules that are not about its client and protocol, and expectations meant for
    others; of several of one rule the last one counts. What a known defect may do to any run is
    added where the experiment does not name the rule. Raises BadInput for an experiment that
    nothing but a user's program can be the members of, where there is none.
    """
    from harness.rules.catalogue import RULES

    group = experiment.group
    if experiment.app is not None:  # what it speaks is known only when it has spoken
        return experiment
    check_app(experiment)
    expected = {
        expect.rule: expect
        for expect in experiment.rules
        if RULES[expect.rule].speaks_of(group.client, group.protocol)
        and expect.fits(group, *experiment.cluster.releases)
    }
    for known in experiments.ANY_RUN:
        if expected and known.fits(group, *experiment.cluster.releases):
            expected.setdefault(known.rule, known)
    return replace(experiment, rules=tuple(expected.values()))


def check_app(experiment: Experiment) -> None:
    """Refuse to play what needs a user's program without one. Raises BadInput."""
    if experiment.app is None and needs_app(experiment):
        raise BadInput(
            f"{experiment.faults[0].kind} needs a program of yours, because our own members use "
            "nothing besides Kafka: name a program by --app, as docs/app-toml.md says"
        )


_PARTS = ("cluster", "load", "group")


def settings_in(experiment: Experiment) -> dict[str, Any]:
    """Every setting that can be overridden, "group.members" and the like, with its value."""
    found: dict[str, Any] = {"duration_s": experiment.duration_s}
    for part in _PARTS:
        value = getattr(experiment, part)
        found |= {f"{part}.{item.name}": getattr(value, item.name) for item in fields(value)}
    for name in ("cluster.settings", "group.settings", "group.differing"):
        found.pop(name)
    return found


def with_settings(
    experiment: Experiment, settings: Mapping[str, str], *, of_app: bool = False
) -> Experiment:
    """The experiment with some settings changed, all at once: together they must make sense.

    Brokers' own settings are turned likewise, by Kafka's names; with `of_app` also the timers of a
    group, which follow from no other then. Raises BadInput for an unknown one (with the nearest
    name), one that is turned twice, or a value of the wrong type.
    """
    known = settings_in(experiment)
    turned: dict[str, dict[str, Any]] = {}
    of_brokers: dict[str, str] = {}
    for text, value in settings.items():
        name = setting_named(text, known, of_app=of_app)
        if name in kafka_settings.KNOWN:
            part, item, values = "cluster", name, of_brokers
        else:
            part, _, item = name.rpartition(".")
            values = turned.setdefault(part, {})
        if item in values:
            raise BadInput(f"{name} is set twice, also as {text!r}: set it once")
        if name in kafka_settings.KNOWN:
            values[item] = kafka_settings.checked(name, value)
        else:
            values[item] = _typed(name, value, known[name], getattr(experiment, part, experiment))
    if of_brokers:
        settings_of_brokers = {**experiment.cluster.settings, **of_brokers}
        turned.setdefault("cluster", {})["settings"] = settings_of_brokers
    whole = turned.pop("", {})
    parts = {part: replace(getattr(experiment, part), **values) for part, values in turned.items()}
    return replace(experiment, **parts, **whole)


def variant(
    experiment: Experiment,
    client: str,
    protocol: str,
    settings: Mapping[str, str] | None = None,
    versioned: str = "java",
) -> Experiment:
    """The experiment for this client and protocol, with other settings changed as well.

    A version of the client is for `versioned` only. Raises BadInput as `with_settings` does.
    """
    changed = {**(settings or {}), "group.client": client, "group.protocol": protocol}
    if client != versioned:
        changed = {
            name: value for name, value in changed.items() if not name.endswith("client_version")
        }
    return with_settings(experiment, changed)


def setting_named(text: str, known: Iterable[str], *, of_app: bool = False) -> str:
    """The whole name of a setting, of which `text` may be the last part, or of a broker's setting.

    Raises BadInput with the nearest name.
    """
    names = {name.rpartition(".")[2]: name for name in known} | {name: name for name in known}
    if text in names:
        return names[text]
    if (of_brokers := kafka_settings.named(text, of_app=of_app)) is not None:
        return of_brokers
    near = kafka_settings.nearest(text, names)
    listed = f"`{COMMAND} describe NAME` lists an experiment's; brokers' go by Kafka's names"
    raise BadInput(f"there is no setting {text!r}: {f'did you mean {near!r}?' if near else listed}")


def canonical(experiment: Experiment, name: str, text: str) -> str:
    """The text of a value, of which there may be several spellings; `name` as of `setting_named`.

    Raises BadInput for a value of another type.
    """
    if name in kafka_settings.KNOWN:
        return kafka_settings.checked(name, text)
    part = getattr(experiment, name.rpartition(".")[0], experiment)
    value = _typed(name, text, settings_in(experiment)[name], part)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(name: str, text: str, now: object, part: object) -> Any:
    """A value as its field is declared: a whole number may stand where any number may."""
    declared = get_type_hints(type(part))[name.rpartition(".")[2]]
    if name == "group.protocol":
        return protocol_named(text)
    try:
        if declared is bool:
            return {"true": True, "false": False}[text.lower()]
        if declared in (int, float):
            return declared(text)
    except (ValueError, KeyError):
        wanted = {int: f"a whole number, such as {now}", float: f"a number, such as {now}"}
        said = wanted.get(declared, "true or false")
        raise BadInput(f"{name} takes {said}, not {text!r}") from None
    return text or None if declared == str | None else text
