"""The verdicts that an experiment expects, and those that known defects of a client give.

And how far an expected violation may go: by whom, how often, and how far outside the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from harness.base.errors import BadInput
from harness.experiment.enums import APP, CLASSIC, CLIENTS, COMMITS, PROTOCOLS, Verdict
from harness.experiment.value_checks import all_are, one_of

if TYPE_CHECKING:
    from harness.experiment import Group

# What stands for whom the faults of a kind hit: {freeze-consumer}.
_HIT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Within:
    """What a violation has to be like to be the expected one; what is not said is not limited.

    `by` is how its sentence begins, which is its subject and its clause: `member-2` fits
    "member-2 (stall), was evicted", and not member-20. `*` stands for anything, and
    `{freeze-consumer}` for each member or broker that a fault of this kind hit. `at_most` is how
    often, `up_to` how far outside its bounds, in the rule's unit: a violation of which that was
    not measured is beyond it.
    """

    by: str = ""
    at_most: int | None = None
    up_to: float | None = None

    def __bool__(self) -> bool:
        return self != Within()

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(_HIT.findall(self.by))

    def check(self, rule: str) -> None:
        """Refuse limits that allow nothing. Raises BadInput naming the rule they are of."""
        for name, value, kinds, like in (
            ("by", self.by, str, '"member-1"'),
            ("at_most", self.at_most, int | None, "2"),
            ("up_to", self.up_to, int | float | None, "1_500"),
        ):
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise BadInput(
                    f"rule {rule} has {name}={value!r}, which is no such limit: write {name}={like}"
                )
        if self.by != self.by.strip() or set("{}") & set(_HIT.sub("", self.by)):
            raise BadInput(
                f"rule {rule} has by={self.by!r}, which begins no sentence: leave out blanks at "
                "its ends, and write kinds of faults as in {freeze-consumer}"
            )
        if self.at_most is not None and self.at_most < 1:
            raise BadInput(
                f"rule {rule} is expected to be violated at_most={self.at_most} times: use 1 or "
                "more, or expect it to hold"
            )
        if self.up_to is not None and not 0 < self.up_to < inf:
            raise BadInput(
                f"rule {rule} is expected to be violated up_to={self.up_to:g}: use more than 0, "
                "in the unit of the rule, or leave it out"
            )

    def is_by(self, sentence: str, hit: Mapping[str, Iterable[str]]) -> bool:
        """Whether such a violation begins like this; `hit` is whom faults hit, by their kinds."""
        if not self.by:
            return True
        parts = [_pattern(part, hit) for part in re.split(r"(\*|\{[^{}]*\})", self.by)]
        return re.match(rf"{''.join(parts)}(?!\w)", sentence, re.DOTALL) is not None

    def in_words(self, unit: str, hit: Mapping[str, Iterable[str]] | None = None) -> str:
        """The limits, with whom faults hit in place of their kinds where that is known."""
        by = self.by
        if hit is not None:
            by = _HIT.sub(lambda kind: " or ".join(hit.get(kind[1], ())) or "no member", by)
        parts = [f'by "{by}"'] if by else []
        if self.at_most is not None:
            parts.append("once" if self.at_most == 1 else f"at most {self.at_most:,} times")
        if self.up_to is not None:
            far = f"{self.up_to:,g} {unit}".strip()
            parts.append(f"at most {far} outside the bounds")
        return ", ".join(parts)


def _pattern(part: str, hit: Mapping[str, Iterable[str]]) -> str:
    if part == "*":
        return ".*"
    if not part.startswith("{"):
        return re.escape(part)
    names = "|".join(re.escape(name) for name in hit.get(part[1:-1], ()))
    return rf"(?<!\w)(?:{names or '(?!)'})(?!\w)"  # no member was hit: match nothing


@dataclass(frozen=True, kw_only=True)
class Expect:
    """A rule to judge, and the verdict expected of it.

    `because` says why where the expected verdict is not HOLDS. `clients`, `protocols`,
    `commits` (how members commit) and `kafka` (first characters of the version, such as "3.") say
    for whom it is expected; empty means all.
    One for some versions fits a cluster that is upgraded if it fits both of its releases.
    `if_seen`: a run that does not exercise the rule says nothing of it. `sometimes`: it is violated
    in some runs and holds in others, and both are as expected, as with a defect that needs luck to
    show. Where several of one rule fit a run, the last one counts.

    `by`, `at_most` and `up_to` say how far an expected violation may go, as `Within` describes;
    any other violation is not as expected. Without them all are.
    """

    rule: str
    verdict: Verdict = Verdict.HOLDS
    because: str = ""
    clients: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    kafka: tuple[str, ...] = ()
    if_seen: bool = False
    sometimes: bool = False
    by: str = ""
    at_most: int | None = None
    up_to: float | None = None

    def __post_init__(self) -> None:
        all_are(str, "kafka", self.kafka)
        offered = {"clients": CLIENTS, "protocols": PROTOCOLS, "commits": COMMITS}
        for name, allowed in offered.items():
            all_are(str, name, getattr(self, name))
            for value in getattr(self, name):
                one_of(name.removesuffix("s"), value, allowed)
        if self.verdict is not Verdict.HOLDS and not self.because:
            raise BadInput(
                f"rule {self.rule} is expected {self.verdict} without a reason: say it in because="
            )
        if self.sometimes and self.verdict is not Verdict.VIOLATED:
            raise BadInput(
                f"rule {self.rule} is expected {self.verdict} sometimes: only a violation can be, "
                "so say verdict=Verdict.VIOLATED too, or leave sometimes= out"
            )
        if self.within and self.verdict is not Verdict.VIOLATED:
            raise BadInput(
                f"rule {self.rule} is expected {self.verdict}, and by=, at_most= and up_to= limit "
                "a violation: say verdict=Verdict.VIOLATED too, or leave them out"
            )
        self.within.check(self.rule)

    @property
    def within(self) -> Within:
        return Within(by=self.by, at_most=self.at_most, up_to=self.up_to)

    def fits(self, group: Group, *releases: str) -> bool:
        """Whether it is meant for such a group, and for each of these Kafkas."""
        return (
            group.client in (self.clients or (*CLIENTS, APP))
            and group.protocol in (self.protocols or PROTOCOLS)
            and group.commit in (self.commits or COMMITS)
            and self.is_of(*releases)
        )

    def is_of(self, *releases: str) -> bool:
        """Whether it is meant for each of these Kafkas."""
        return not self.kafka or all(each.startswith(self.kafka) for each in releases)


def holds(
    *rules: str, clients: tuple[str, ...] = (), protocols: tuple[str, ...] = ()
) -> tuple[Expect, ...]:
    return tuple(Expect(rule=rule, clients=clients, protocols=protocols) for rule in rules)


def violated(rule: str, because: str, **more: Any) -> Expect:
    """This rule, expected to be violated; `more` are further fields of `Expect`."""
    return Expect(rule=rule, verdict=Verdict.VIOLATED, because=because, **more)


def late_commit_is_unnamed(rule: str) -> Expect:
    """This rule, violated by what is known of stalled members whose limit, or session, is over."""
    return violated(
        rule,
        "librdkafka has dropped its member id by the time its application commits",
        clients=("librdkafka",),
        protocols=CLASSIC,
        by="{stall-consumer}",
    )


def handed_what_it_has_lost(
    rule: str, *, by: str = "{stall-consumer}", sometimes: bool = False
) -> Expect:
    """This rule, violated where a rebalance gave a stalled member partitions before its limit."""
    return violated(
        rule,
        "librdkafka's callback for assigned partitions waits for the application, and is "
        "called even after the member has left (open in 2.16.0)",
        clients=("librdkafka",),
        protocols=("cooperative",),
        if_seen=True,
        sometimes=sometimes,
        by=by,
    )


def commit_waits_for_the_rebalance(
    rule: str, *, up_to: float | None = None, sometimes: bool = False
) -> Expect:
    """This rule, violated where a cooperative rebalance waits: Java's commit is refused at once."""
    return violated(
        rule,
        "a synchronous commit of librdkafka waits on the connection behind its own "
        "JoinGroup, and its application with it (open in 2.16.0)",
        clients=("librdkafka",),
        protocols=("cooperative",),
        commits=("sync", "interval"),
        if_seen=sometimes,
        sometimes=sometimes,
        up_to=up_to,
    )


def at_times(because: str, *rules: str, clients: tuple[str, ...] = ()) -> tuple[Expect, ...]:
    """These rules, violated in some runs and holding in others, for one reason."""
    about = {"clients": clients, "if_seen": True, "sometimes": True}
    return tuple(violated(rule, because, **about) for rule in rules)
