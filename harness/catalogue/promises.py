"""Limits as they are written, and the experiment that is held to them."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_type_hints

from harness.base.errors import BadInput
from harness.base.words import hint
from harness.experiment import APP, PROTOCOLS, Experiment
from harness.experiment.limits import LIMITS, Limits
from harness.rules.rule_names import name_of

if TYPE_CHECKING:
    from harness.rules.rule import Rule

_WHOLE: Final = frozenset(
    name for name, kind in get_type_hints(Limits).items() if kind == int | None
)


def of_texts(items: Iterable[str]) -> Limits:
    """The limits of texts such as "standstill_s=10". Raises BadInput with the nearest name."""
    found: dict[str, Any] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if name not in LIMITS:
            raise BadInput(f"there is no limit {name!r}: {hint(name, LIMITS)}")
        if not equals:
            raise BadInput(f"--limit {item!r} is not of the form NAME=VALUE, such as {name}=10")
        if name in found:
            raise BadInput(f"the limit {name} is given twice: leave one of them out")
        try:
            found[name] = int(value) if name in _WHOLE else float(value)
        except ValueError:
            kind = "a whole number" if name in _WHOLE else "a number"
            raise BadInput(f"the limit {name} takes {kind}, such as 10, not {value!r}") from None
    return Limits(**found)


def refuse_order(otherwise: str = "") -> NoReturn:
    raise BadInput(
        "the limit out_of_order is about a program of yours that shows what it processes, and the "
        f"members here are our own: leave it out{otherwise}"
    )


def promised_in(experiment: Experiment) -> tuple[str, ...]:
    """Ids of the rules that judge what is promised of an experiment's members."""
    from harness.rules.catalogue import RULES  # every module of rules

    app = experiment.app
    promised = (experiment.limits if app is None else app.limits).promised
    client = experiment.group.client if app is None else APP
    return tuple(rule.id for rule in RULES.values() if rule.holds_to(client, promised))


def check_asked(
    rules: Iterable[str], declared: Mapping[str, Any], limits: Collection[str] | None
) -> None:
    """Refuse to judge a stored run by what does not speak of it, or nothing was promised of.

    `declared` is what its manifest says, `limits` are those that are given instead. Raises
    BadInput.
    """
    from harness.rules.catalogue import RULES

    app = declared.get("app")
    kept = ((app or declared).get("limits") or {}).items()
    given = [name for name, value in kept if value is not None] if limits is None else limits
    if app is None and "out_of_order" in given:
        refuse_order()
    for name, rule in ((name_of(each), RULES[each]) for each in rules):
        if app is not None:
            _check_asked_of_program(rule)
        elif rule.clients == (APP,):
            raise BadInput(
                f"{name} is about programs of users, and this run is of our own members: "
                "judge a run of `try` by it"
            )
        elif rule.limit and rule.limit not in given:
            raise BadInput(
                f"{name} judges what is promised of our own members, and this run has no such "
                f"promise: add --limit {rule.limit}=10"
            )


def _check_asked_of_program(rule: "Rule") -> None:
    from harness.rules.lineage import undeclared_of_an_app

    if lacking := undeclared_of_an_app(rule):
        why = f"is made from what is declared of our own members ({', '.join(lacking)})"
    elif not any(rule.speaks_of(APP, protocol) for protocol in PROTOCOLS):
        about = "our own members" if rule.limit else f"members of {' and '.join(rule.clients)}"
        why = f"is about {about} alone"
    else:
        return
    raise BadInput(
        f"{name_of(rule.id)} {why}, and this run is of a program: leave it out; without --rule a "
        "run is judged by all that speaks of it"
    )
