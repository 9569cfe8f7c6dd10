"""Which runs a suite is made of: every experiment at least once, and all that the rules need.

Every experiment is taken as it is declared, and then for other clients and protocols, chosen by a
greedy cover (least time per goal that is new), until every goal that some experiment can show is
shown. What then shows nothing that others do not is left out, where its experiment is played for
another client or protocol. The choice depends on nothing but what is declared, so two nights play
the same set.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.words import plural
from harness.catalogue import registry
from harness.experiment import CLASSIC, CLIENTS, PROTOCOLS, Experiment, Verdict, label, one_of
from harness.experiment.enums import protocol_named, protocol_said
from harness.rules.rule_names import name_of
from harness.run.estimate import WARMED_UP_S, estimate_s

if TYPE_CHECKING:
    from harness.rules.rule import Rule

_WIDEST: Final = 100  # characters of a line that is easy to read
# What a night may take by estimate, which is more than it takes: one of 43 took 39 to 41.
NIGHT_MIN: Final = 46


class Goal(NamedTuple):
    """A rule to be judged for one client and one protocol.

    A rule of the broker: for any client, and "classic" or "consumer".
    """

    rule: str
    client: str
    protocol: str


@dataclass(frozen=True)
class Candidate:
    """An experiment for one client and protocol, and what a run of it shows."""

    name: str
    experiment: Experiment  # with the rules that such a run is judged by
    shows: frozenset[Goal]
    estimate_s: float

    @classmethod
    def of(cls, name: str, experiment: Experiment) -> "Candidate":
        """A run of this experiment, whose rules are resolved, as it is."""
        return cls(name, experiment, frozenset(_shows(experiment)), estimate_s(experiment))

    @property
    def label(self) -> str:
        return label(self.name, self.experiment.group.client, self.experiment.group.protocol)


@dataclass(frozen=True)
class Cover:
    """A suite: its runs in order, and the goals that are left out.

    `elsewhere` are shown only by the other set (the long experiments, or those that are not), by
    another share, or by what is left out because of what was set; `uncovered` by none. `refused`
    says of each experiment that is left out so, why.
    """

    runs: tuple[Candidate, ...]
    elsewhere: tuple[Goal, ...] = ()
    uncovered: tuple[Goal, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def adds(self) -> list[list[Goal]]:
        """What each run shows that no run before it does."""
        before = [goals(self.runs[:number]) for number in range(len(self.runs))]
        return [sorted(run.shows - shown) for run, shown in zip(self.runs, before, strict=True)]

    @property
    def estimate_s(self) -> float:
        alone_s = sum(run.estimate_s for run in self.runs)
        return alone_s - WARMED_UP_S * max(0, len(self.runs) - 1)


# The experiment for a client and a protocol, with what else is to be turned; may refuse.
Turn = Callable[[Experiment, str, str], Experiment]


def plan(
    *,
    long: bool = False,
    only: Sequence[str] = (),
    client: str | None = None,
    protocol: str | None = None,
    backend: str = "embedded",
    turn: Turn = registry.variant,
    share: tuple[int, int] = (1, 1),
) -> Cover:
    """The suite of all experiments, or of those that take long.

    `share` (2, 3) is the second of three parts that take about as long as each other and are the
    whole together, for as many machines or nights. `only` names the runs instead: an experiment as
    it is declared, or a `label`. `client` and `protocol` leave out all others, and so does
    the `backend` that `turn` puts them on. What `turn` makes nonsense of is left out as well.
    Raises BadInput for a name that does not exist, where what `only` names cannot be turned so, and
    where nothing can.
    """
    if only:
        named = [_named(text, turn, client, protocol) for text in only]
        return Cover(_share(list({each.label: each for each in named}.values()), *share))
    clients = (client,) if client else CLIENTS
    protocols = (protocol,) if protocol else PROTOCOLS
    experiments, _ = registry.every()
    experiments = {name: each for name, each in experiments.items() if backend in each.backends}
    declared = {
        label(name, client or each.group.client, protocol or each.group.protocol)
        for name, each in experiments.items()
    }
    unturned = candidates(experiments, clients, protocols)
    reasons: dict[str, str] = {}
    every = candidates(experiments, clients, protocols, turn, reasons)
    mine = [each for each in every if each.experiment.long == long]
    wanted = goals(mine)
    if long:  # the long set shows what only it can
        wanted -= goals(each for each in every if not each.experiment.long)
    whole = _cover(wanted, [each for each in mine if each.label in declared], mine)
    played = {each.name for each in whole}
    refused: dict[str, str] = {}  # why each experiment that is not played cannot be turned so
    for each in unturned:
        if each.experiment.long == long and each.name not in played and each.label in reasons:
            refused.setdefault(each.name, f"{each.name}: {reasons[each.label]}")
    if refused and not whole:
        raise BadInput(next(iter(refused.values())))
    chosen = _share(whole, *share)
    missing = goals_of_rules(clients, protocols) - goals(chosen)
    somewhere = goals(unturned) | goals(every)
    return Cover(
        chosen,
        tuple(sorted(missing & somewhere)),
        tuple(sorted(missing - somewhere)),
        tuple(refused.values()),
    )


def candidates(
    experiments: dict[str, Experiment],
    clients: Sequence[str] = CLIENTS,
    protocols: Sequence[str] = PROTOCOLS,
    turn: Turn = registry.variant,
    reasons: dict[str, str] | None = None,
) -> list[Candidate]:
    """Every experiment for every client and protocol that it can be played for.

    `reasons` gets by label why `turn` refused the others.

    A consumer that is sabotaged shows how the judge sees it, not what the client does: such a run
    shows only what no honest one can.
    """
    found = []
    for (name, experiment), client, protocol in product(experiments.items(), clients, protocols):
        if client in experiment.clients and protocol in experiment.protocols:
            try:
                variant = _variant(experiment, client, protocol, turn)
            except BadInput as error:
                if reasons is not None:
                    reasons[label(name, client, protocol)] = str(error)
            else:
                found += [Candidate.of(name, variant)] if variant.rules else []
    honest = goals(each for each in found if not _sabotaged(each.experiment))
    return [
        replace(each, shows=each.shows - honest) if _sabotaged(each.experiment) else each
        for each in found
    ]


def _variant(experiment: Experiment, client: str, protocol: str, turn: Turn) -> Experiment:
    return registry.resolved(registry.checked(turn(experiment, client, protocol)))


def _shows(experiment: Experiment) -> set[Goal]:
    """The rules that a run is sure to show; one that is expected to be UNKNOWN shows nothing."""
    from harness.rules.catalogue import RULES  # reads the file of every rule

    both = (experiment.group.client, experiment.group.protocol)
    judged = {
        each.rule
        for each in experiment.rules
        if each.verdict is not Verdict.UNKNOWN and not each.sometimes
    }
    judged |= {rule.id for rule in RULES.values() if rule.evidence and rule.speaks_of(*both)}
    return _goals_of([RULES[rule] for rule in judged], *both)


def _goals_of(rules: Iterable["Rule"], client: str, protocol: str) -> set[Goal]:
    """What a run shows of rules, but for those to which each run that exercises them is held."""
    kind = "classic" if protocol in CLASSIC else protocol
    return {
        Goal(rule.id, "any", kind) if rule.broker else Goal(rule.id, client, protocol)
        for rule in rules
        if not (rule.always or rule.in_passing)
    }


def _sabotaged(experiment: Experiment) -> bool:
    group = experiment.group
    return bool(group.sabotage) or any(each.get("sabotage") for each in group.differing.values())


def goals(of: Iterable[Candidate]) -> set[Goal]:
    return {goal for candidate in of for goal in candidate.shows}


def goals_of_rules(
    clients: Sequence[str] = CLIENTS, protocols: Sequence[str] = PROTOCOLS
) -> set[Goal]:
    """Every rule for every client and protocol that its statement is about."""
    from harness.rules.catalogue import RULES

    return set[Goal]().union(
        *(
            _goals_of((rule for rule in RULES.values() if rule.speaks_of(*both)), *both)
            for both in product(clients, protocols)
        )
    )


def _cover(
    wanted: set[Goal], first: Sequence[Candidate], among: Sequence[Candidate]
) -> list[Candidate]:
    """`first` and what shows the rest of what is wanted, least time per new goal first.

    Without those that show nothing of their own, the longest first; every experiment stays.
    """
    chosen = list(first)
    while missing := wanted - goals(chosen):
        useful = [each for each in among if each.shows & missing]
        cost_s = {each.label: each.estimate_s / len(each.shows & missing) for each in useful}
        chosen.append(min(useful, key=lambda each: (cost_s[each.label], each.label)))
    names = Counter(candidate.name for candidate in chosen)
    shown = Counter(goal for candidate in chosen for goal in candidate.shows)
    for candidate in sorted(chosen, key=_longest_first):
        if names[candidate.name] > 1 and all(shown[goal] > 1 for goal in candidate.shows):
            names[candidate.name] -= 1
            shown.subtract(candidate.shows)
            chosen.remove(candidate)
    return chosen


def _longest_first(candidate: Candidate) -> tuple[float, str]:
    return -candidate.estimate_s, candidate.label


def _share(chosen: Sequence[Candidate], number: int, of: int) -> tuple[Candidate, ...]:
    """One part of these, in their order: each goes to the part that is the shortest so far."""
    if not 1 <= number <= of:
        raise BadInput(f"there is no share {number} of {of}: the first of two is 1/2")
    parts: list[list[Candidate]] = [[] for _ in range(of)]
    for candidate in sorted(chosen, key=_longest_first):
        shortest = min(parts, key=lambda part: sum(each.estimate_s for each in part))
        shortest.append(candidate)
    return tuple(candidate for candidate in chosen if candidate in parts[number - 1])


def _named(text: str, turn: Turn, client: str | None, protocol: str | None) -> Candidate:
    """The run that `text` names, for the client and protocol asked for where it leaves them open.

    Raises BadInput where there is none, or where it names another client or protocol.
    """
    name, _, named = text.partition(":")
    experiment = registry.load(name)
    of_client, _, of_protocol = named.partition("/")
    of_protocol = protocol_named(of_protocol)
    for given, asked in ((of_client, client), (of_protocol, protocol)):
        if given and asked and given != asked:
            raise BadInput(f"--only {text} is not for {asked}: leave one of the two out")
    one_of("client", of_client or experiment.group.client, CLIENTS)
    one_of("protocol", of_protocol or experiment.group.protocol, PROTOCOLS)
    client = of_client or client or experiment.group.client
    protocol = of_protocol or protocol or experiment.group.protocol
    try:
        registry.check_app(experiment)
        if candidates({name: experiment}, [client], [protocol]):
            return Candidate.of(name, _variant(experiment, client, protocol, turn))
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from error
    raise BadInput(
        f"{text} cannot be played for {client} and {protocol}: {name} is for "
        f"{' or '.join(experiment.clients)} and {' or '.join(experiment.protocols)}; "
        f"see `{COMMAND} nightly --list`"
    )


def render(cover: Cover) -> str:
    """The runs of a suite, what each adds, and what is left out, as text."""
    lines = []
    for number, (run, adds) in enumerate(zip(cover.runs, cover.adds, strict=True), start=1):
        added = ", ".join(dict.fromkeys(name_of(goal.rule) for goal in adds)) or "nothing new"
        line = f"{number:>3}  {protocol_said(run.label):<46} ≈ {run.estimate_s:>3.0f} s  {added}"
        lines += wrap(line, _WIDEST, subsequent_indent=" " * 5, break_on_hyphens=False)
    total = f"{plural(len(cover.runs), 'run')}, about {cover.estimate_s / 60:.0f} min"
    shown = plural(len(goals(cover.runs)), "rule")
    lines += ["", f"{total}; {shown}, each counted for each client and protocol"]
    if cover.estimate_s > NIGHT_MIN * 60:
        parts = ceil(cover.estimate_s / (NIGHT_MIN * 60))
        lines.append(
            f"more than the {NIGHT_MIN} min of a night: --share 1/{parts} to {parts}/{parts} are "
            f"{parts} nights, or {parts} machines"
        )
    if cover.refused:
        lines.append(f"skipped, since they make no sense with these settings: {len(cover.refused)}")
        lines += [f"     {sentence}" for sentence in cover.refused]
    lines += _left_out("no experiment", cover.uncovered)
    left_out = "runs that are not in this list only (--long, --share, --set)"
    lines += _left_out(left_out, cover.elsewhere)
    return "\n".join(lines)


def _left_out(by: str, left: Sequence[Goal]) -> list[str]:
    lines = [f"covered by {by}: {len(left) or 'none'}"]
    variants: dict[str, list[str]] = {}
    for goal in left:
        variants.setdefault(goal.rule, []).append(protocol_said(f"{goal.client}/{goal.protocol}"))
    for rule, found in variants.items():
        lines.append(f"     {name_of(rule):<46} {', '.join(found)}")
    return lines
