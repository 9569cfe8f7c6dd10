"""The page of a rule (`describe RULE`)."""

from collections.abc import Iterable, Sequence

from experiments import ANY_RUN
from harness.catalogue import registry
from harness.experiment import APP, CLIENTS, PROTOCOLS, Expect, Experiment, Verdict, protocol_said
from harness.rules.catalogue import RULES
from harness.rules.rule import OF_A_PROGRAM, OF_THE_KIND, Rule
from harness.rules.rule_file import written
from harness.rules.rule_names import id_of, name_of
from harness.rules.statements import STATEMENTS
from harness.run.faults import needs_app


def page(rule: str) -> str:
    """The page of a rule, given by its name or its id, as plain text."""
    return pages([id_of(rule)])[id_of(rule)]


def sql(rule: str) -> str:
    """The file of a rule, given by its name or its id."""
    return written(RULES[id_of(rule)])


def pages(rules: Iterable[str]) -> dict[str, str]:
    """The same of several rules, by id: every experiment is read once."""
    experiments = registry.every()[0]
    return {rule: _section(RULES[rule], experiments) for rule in rules}


def _section(rule: Rule, experiments: dict[str, Experiment]) -> str:
    lines = [f"{name_of(rule.id)} ({rule.id}): {rule.title}", "", rule.statement, ""]
    if rule.matters:
        lines += [f"Why it matters: {rule.matters}", ""]
    lines.append(f"- source: {rule.source}")
    lines.append(f"- examined: {rule.things}{_measured(rule)}")
    clients = "your own program" if rule.clients == (APP,) else _some(rule.clients, CLIENTS)
    lines.append(f"- clients: {clients}; protocols: {_some(rule.protocols, PROTOCOLS)}")
    if rule.since:
        lines.append(
            f"- brokers: Kafka {rule.since} or newer; older ones only if an experiment declares it"
        )
    lines += [
        f"- {how} document {each.document}: {each.says}"
        for how, by in (("tests", "rules"), ("replaces", "instead"))
        for each in STATEMENTS
        if rule.id in getattr(each, by)
    ]
    if rule.evidence:
        lines.append("- judged in every run: without it no verdict can be trusted")
    elif rule.always:
        lines += [f"- judged in {OF_THE_KIND}", *_judged_by(rule, experiments)]
    elif rule.contradicted:
        known = " and ".join(str(groups) for groups in rule.contradicted)
        known = "groups of every kind" if known == "groups" else known
        lines.append(
            f"- known exception, at least at times: {known}; judged there only if an experiment "
            "declares it"
        )
        lines += _judged_by(rule, experiments)
    elif rule.in_passing:
        lines.append("- judged in every run of our own members in which it can be examined")
        lines += _judged_by(rule, experiments)
    elif rule.limit and APP not in rule.clients:
        lines.append(f"- judged in every run with this limit: `--limit {rule.limit}=…`")
    else:
        nowhere = OF_A_PROGRAM if rule.clients == (APP,) else "no experiment yet"
        lines += _judged_by(rule, experiments) or [f"- judged in {nowhere}"]
    return "\n".join([*lines, ""])


def _measured(rule: Rule) -> str:
    if not rule.measures:
        return ""
    unit = "" if rule.measures.startswith(rule.unit) else f"{rule.unit} "
    return f"; measured: {unit}{rule.measures}"


def _judged_by(rule: Rule, experiments: dict[str, Experiment]) -> list[str]:
    found = [
        (f"`{name}`", expect)
        for name, experiment in experiments.items()
        if not needs_app(experiment)  # judged by whatever can be judged of a program
        for expect in experiment.rules
    ]
    found += [("all others that exercise it", expect) for expect in ANY_RUN]
    found = [(name, expect) for name, expect in found if expect.rule == rule.id]
    lines = []
    for verdict in (Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN):
        names = [f"{name}{_only(expect)}" for name, expect in found if expect.verdict is verdict]
        if names:
            lines.append(f"- {verdict} expected in {', '.join(names)}")
    return lines


def _only(expect: Expect) -> str:
    parts = [*expect.clients, *map(protocol_said, expect.protocols)]
    parts += [f"Kafka {each}*" for each in expect.kafka]
    parts += [f"commit={' or '.join(expect.commits)}"] if expect.commits else []
    parts += ["sometimes"] if expect.sometimes else []
    return f" ({', '.join(parts)})" if parts else ""


def _some(chosen: Sequence[str], all_of_them: Sequence[str]) -> str:
    return "all" if tuple(chosen) == tuple(all_of_them) else ", ".join(map(protocol_said, chosen))
