"""What `list` prints: the experiments with their rules, and the rules with their experiments."""

from collections.abc import Iterable
from typing import Any

from harness.catalogue import registry
from harness.experiment import APP, Expect, Experiment, Verdict, protocol_said
from harness.rules import RULES, Rule
from harness.rules.rule import OF_A_PROGRAM, OF_THE_KIND
from harness.rules.rule_names import NAMES, name_of
from harness.run.faults import KINDS, Kind, Lever, needs_app
from harness.run.faults.targets import roles_of


def experiments() -> list[dict[str, Any]]:
    """Every experiment, with the rules that it declares and the verdict expected of each."""
    return [
        {
            "name": name,
            "claim": experiment.claim,
            "clients": list(experiment.clients),
            "protocols": list(experiment.protocols),
            "long": experiment.long,
            "needs_app": needs_app(experiment),
            "rules": [
                {
                    "id": expect.rule,
                    "source": RULES[expect.rule].source,
                    "statement": RULES[expect.rule].statement,
                    "unit": RULES[expect.rule].unit,
                    **_expected(expect),
                }
                for expect in experiment.rules
            ],
        }
        for name, experiment in registry.every()[0].items()
    ]


def rules() -> list[dict[str, Any]]:
    """Every rule of the catalogue, also those that no experiment judges.

    `clients` and `protocols` are those that its statement is about. `experiments` are those that
    judge it, with the verdict expected, and of which clients, protocols and versions of Kafka
    (by its first characters; none means all). Where several of one experiment fit, the last counts.
    What needs a user's program judges whatever can be judged of one.
    One of a `limit` of our own members is judged where that is promised. One that is `always` is
    judged besides in every run that has something of the kind, and expected to hold.
    """
    declared, _ = registry.every()
    return [_rule(rule, declared) for rule in RULES.values()]


def _rule(rule: Rule, declared: dict[str, Experiment]) -> dict[str, Any]:
    judging = [
        _judging(rule, name, experiment, expect)
        for name, experiment in declared.items()
        for expect in _judges_by(rule, experiment)
    ]
    return {
        "id": rule.id,
        "name": name_of(rule.id),
        "title": rule.title,
        "statement": rule.statement,
        "source": rule.source,
        "unit": rule.unit,
        "kind": "evidence" if rule.evidence else "rule",
        "always": rule.always,
        "limit": rule.limit,
        "clients": list(rule.clients),
        "protocols": list(rule.protocols),
        "experiments": [item for item in judging if item["clients"] and item["protocols"]],
    }


def _judges_by(rule: Rule, experiment: Experiment) -> list[Expect]:
    declared = () if needs_app(experiment) else experiment.rules
    found = [expect for expect in declared if expect.rule == rule.id]
    return found or ([Expect(rule=rule.id)] if rule.evidence else [])


def _judging(rule: Rule, name: str, experiment: Experiment, expect: Expect) -> dict[str, Any]:
    return {
        "name": name,
        **_expected(expect),
        "clients": _both(rule.clients, experiment.clients, expect.clients),
        "protocols": _both(rule.protocols, experiment.protocols, expect.protocols),
        "kafka": list(expect.kafka),
    }


def _expected(expect: Expect) -> dict[str, str]:
    verdict = f"{expect.verdict}{' sometimes' if expect.sometimes else ''}"
    return {"expected": verdict, "because": expect.because, "within": _within(expect)}


def _within(expect: Expect) -> str:
    """How far an expected violation may go, in words; empty if that is not said."""
    return expect.within.in_words(RULES[expect.rule].unit)


def _both(
    of_rule: tuple[str, ...], of_experiment: tuple[str, ...], expected: tuple[str, ...]
) -> list[str]:
    return [
        name for name in of_rule if name in of_experiment and (not expected or name in expected)
    ]


def render_experiments() -> str:
    lines = []
    for name, experiment in registry.every()[0].items():
        ids = dict.fromkeys(expect.rule for expect in experiment.rules)
        marked = (_marked(name_of(rule), _judges_by(RULES[rule], experiment)) for rule in ids)
        named = f"rules: {', '.join(marked)}"
        if needs_app(experiment):
            named = "played with a program of yours only (--app), by the rules about programs"
        lines += [f"{name:<28} {experiment.claim}", f"{'':<28} {named}"]
    return "\n".join(lines)


def _of_whom(expect: Expect) -> tuple[str, ...]:
    """The clients, protocols and releases that are expected to; empty for all."""
    protocols = map(protocol_said, expect.protocols)
    return (*expect.clients, *protocols, *(f"Kafka {each}*" for each in expect.kafka))


def in_words(expect: Expect) -> str:
    """A rule with its title, the verdict expected of it, of whom, why, and within which limits."""
    text = f"{name_of(expect.rule)} {_expected(expect)['expected']}"
    if of_whom := _of_whom(expect):
        text += f" for {', '.join(of_whom)}"
    text += ", if it is exercised" if expect.if_seen else ""
    text += f": {RULES[expect.rule].title}"
    text += f"\n       because {expect.because}" if expect.because else ""
    if expect.verdict is not Verdict.VIOLATED:
        return text
    if within := _within(expect):
        return f"{text}\n       expected {within}; any other violation is not as expected"
    return f"{text}\n       any violation is as expected; limit it with by=, at_most= or up_to="


def render_rules() -> str:
    """Rules for people: what each is about, where it is from, and which experiments judge it."""
    lines, every = [], registry.every()[0]
    order = {rule: number for number, rule in enumerate(NAMES)}
    for item in sorted(rules(), key=lambda item: order.get(item["id"], len(order))):
        about = f"{', '.join(item['clients'])}; {', '.join(map(protocol_said, item['protocols']))}"
        lines += [
            item["name"],
            f"  {item['title']}",
            f"  source: {item['source']}",
            f"  about: {about}",
            f"  judged by: {_judges(item, every)}",
        ]
    return "\n".join(lines)


def render_fault(name: str) -> str:
    """A kind of fault for people: its targets, its ways, its fields, and what plays it."""
    kind = KINDS[name]
    playing = [
        experiment
        for experiment, declared in registry.every()[0].items()
        if any(fault.kind == name for fault in declared.faults)
    ]
    takes = [*(["lasts_s"] if kind.heals else []), *kind.takes]
    lines = {
        "targets": roles_of(kind.targets),
        "how": " or ".join(filter(None, kind.ways)),
        "takes": ", ".join(takes),
        "needs": _needed(kind),
        "played by": ", ".join(playing) or "no experiment",
    }
    shown = [f"{what:<10} {text}" for what, text in lines.items() if text]
    return "\n".join([f"{name}: a kind of fault", "", *shown])


def _needed(kind: Kind) -> str:
    if kind.lever is not Lever.NONE:
        return f"a program of yours with a {kind.lever}"
    return "our own members, by whom it is done" if kind.by_order else ""


def _judges(item: dict[str, Any], every: dict[str, Experiment]) -> str:
    if item["kind"] == "evidence":
        return "every run"
    names = dict.fromkeys(it["name"] for it in item["experiments"])
    rule = RULES[item["id"]]
    declared = ", ".join(_marked(name, _judges_by(rule, every[name])) for name in names)
    if item["always"]:
        return "; ".join(filter(None, (OF_THE_KIND, declared)))
    if item["limit"] and APP not in item["clients"]:
        return f"every run with the limit {item['limit']}"
    return declared or (OF_A_PROGRAM if item["clients"] == [APP] else "no experiment")


def _marked(name: str, expects: Iterable[Expect]) -> str:
    """A name, once, with each verdict that is not HOLDS, and of whom it is expected."""
    other = [
        " for ".join(filter(None, (_expected(each)["expected"], ", ".join(_of_whom(each)))))
        for each in expects
        if each.verdict is not Verdict.HOLDS
    ]
    return f"{name} ({'; '.join(dict.fromkeys(other))})" if other else name
