"""What a rule is: a documented statement, and the query that holds a run against it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from typing import Final

from harness.experiment import APP, CLIENTS, PROTOCOLS, Need
from harness.experiment.value_checks import numbers_of
from harness.tables.vocabulary import Query

__all__ = ["COLUMNS", "OF_A_PROGRAM", "OF_THE_KIND", "Groups", "Need", "Party", "Query", "Rule"]

# Where a rule that is `always` is judged, in the words of the page of rules and of `list`.
OF_THE_KIND: Final = "every run in which it can be examined"
# And one that is about users' programs alone.
OF_A_PROGRAM: Final = "every run of a program of yours in which it can be examined"

# Every column that a row of a rule's query may have; those left out are null.
COLUMNS: Final = (
    "subject",
    "at",
    "measured",
    "bound_low",
    "bound_high",
    "wrong",
    "unknown",
    "excused",
    "note",
    "too_low",
    "too_high",
    "evidence",
    "guard_from",
    "guard_to",
    "timings",
    "on_the_way",
)


class Party(StrEnum):
    """Processes that can be on the way of a timing: who waits for a processor may delay it."""

    MEMBER = "member"  # the one that the row names, or any if it names none
    MEMBERS = "members"  # any, whomever the row names
    BROKER = "broker"  # the one that the row names, mostly by its evidence, or any
    BROKERS = "brokers"  # any: others replicate what is written, or may be asked instead
    CONTROLLER = "controller"
    PROXY = "toxiproxy"
    PROBE = "probe"

    @property
    def kind(self) -> str:
        """What the names of its processes begin with."""
        return self.value.removesuffix("s")


@dataclass(frozen=True)
class Groups:
    """All groups of a client and a protocol, "" for any; or those of static members alone."""

    client: str = ""
    protocol: str = ""
    static: bool = False

    def include(self, client: str, protocol: str, *, static: bool) -> bool:
        """Whether a group is one of them."""
        return (
            self.client in ("", client)
            and self.protocol in ("", protocol)
            and (static or not self.static)
        )

    def __str__(self) -> str:
        """In words."""
        protocol = f"of protocol {self.protocol}" if self.protocol else ""
        return " ".join(filter(None, ("static" * self.static, self.client, "groups", protocol)))


def _without_query() -> str:
    raise TypeError("a rule without a query: decorate the function that examines a run with it")


@dataclass(frozen=True)
class Rule:
    """A documented statement, and the query that holds a run against it.

    Ours are files (rule_file.py), whose headers have these fields. One of a project's own may
    decorate the function that returns its query instead:

        @Rule("orders-in-time", title="…", statement="…", …)
        def in_time() -> str:
            return "SELECT …"

    A query is in Spark SQL and the words of tables/vocabulary.py. It gives one row per thing
    examined, with any of COLUMNS:

    - `subject` names the thing, `at` is the moment it is about, `evidence` names log lines
    - `measured` is a number in `unit`, `bound_low` and `bound_high` are the least and the most that
      the statement allows; both bounds are allowed values themselves
    - `wrong` is a clause that says what violates the statement, whatever was measured
    - `unknown` is a clause that says why the row cannot be judged
    - `excused` is a clause that says why a row outside its bounds, or without a measurement, does
      not violate the statement; readers of the report see it
    - `note` is a clause with a fact that helps a reader; it never changes the verdict
    - `too_low` and `too_high` replace the rule's own words in this row
    - `guard_from` and `guard_to`: if this machine ran late between them, the row is not judged
    - `timings`: of how many timings `measured` is the mean; null means that it is one
    - `on_the_way` names the member or broker that the row is about, where neither `subject` nor
      `evidence` does: the wait of another one does not excuse it (`delayed_by`)

    A clause of several parts is made by `clause(a, b, …)`: `concat` would be null if a part is.

    The judge decides (check/rows.py), from these columns alone: `unknown` comes first, then
    `wrong`, then `measured` within its bounds. No row at all means UNKNOWN: nothing was examined.

    Of the other fields:

    - `things` is what the rows are, in the plural ("evictions"); `measures` follows the measured
      numbers in a verdict's reason ("after the last sign of life")
    - `too_low` and `too_high` are clauses about a row outside its bounds ("was evicted too early")
    - `matters` says why it concerns people who run consumers
    - `clients` and `protocols` are those that the statement is about; one about any client is about
      users' programs too. In a run of others the rule is left out
    - `evidence`: judged in every run without being declared; `always`: as well, unless the run has
      nothing to examine
    - `in_passing`: runs exercise it, whatever they are played for, and no night plays one for it
    - `without_journals`: reads journals where there are any, and can do without
    - `of_applications`: about what only an application sees
    - `broker`: about brokers alone, so runs of one client show it for all
    - `clock`: about this machine; its verdict depends on whether any other judgement was withheld
    - `of_record`: about the record itself, so that files which are not whole can be judged
    - `headline` is the name by which comparisons of runs find the rule
    - `limit` is the name of a promise (harness/experiment/limits.py): of our own members the rule
      is judged where the group's owner gives it, and nowhere else
    - `compares_clocks`: compares moments that different processes noted. A violation without a
      guard is not judged if this machine stalled near it
    - `delayed_by` are the processes that can delay what the rule times, by waiting for a processor.
      A rule with a guard and a unit of time has to name them; one with another unit may, if a
      violation can be a matter of time
    - `since` is the first release whose brokers keep a statement about them, "4.3", where older
      ones are known not to. With older brokers, even for a while, it is judged only if declared
    - `contradicted` are groups for which runs contradict the statement: an experiment that shows it
      expects VIOLATED, and no run of such a group is judged by the rule unless it is declared
    """

    id: str
    _: KW_ONLY
    title: str
    statement: str
    source: str
    unit: str
    things: str
    measures: str = ""
    examine: Query = _without_query
    too_low: str = "is below its bound"
    too_high: str = "is above its bound"
    matters: str = ""
    needs: tuple[Need, ...] = ()
    evidence: bool = False
    always: bool = False
    without_journals: bool = False
    of_applications: bool = False
    broker: bool = False
    clock: bool = False
    of_record: bool = False
    headline: str = ""
    limit: str = ""
    in_passing: bool = False
    compares_clocks: bool = False
    delayed_by: tuple[Party, ...] = ()
    since: str = ""
    contradicted: tuple[Groups, ...] = ()
    clients: tuple[str, ...] = CLIENTS
    protocols: tuple[str, ...] = PROTOCOLS

    def __call__(self, query: Query) -> Rule:
        """The rule with its query."""
        return replace(self, examine=query)

    def speaks_of(self, client: str, protocol: str) -> bool:
        """Whether the statement is about this client and protocol, without any promise."""
        if self.limit and APP not in self.clients:
            return False
        any_client = client == APP and self.clients == CLIENTS
        return (client in self.clients or any_client) and protocol in self.protocols

    def holds_to(self, client: str, promised: Collection[str]) -> bool:
        """Whether members of this client are held by it to one of what is promised."""
        return self.limit in promised and (client == APP) == (APP in self.clients)

    def is_kept_by(self, releases: Iterable[str]) -> bool:
        """Whether brokers of all these releases of Kafka are known to keep it."""
        first = numbers_of(self.since) if self.since else ()
        return all(numbers_of(release) >= first for release in releases)

    def is_contradicted(self, client: str, protocol: str, *, static: bool = False) -> bool:
        """Whether it is known that the statement does not hold for such a group."""
        return any(groups.include(client, protocol, static=static) for groups in self.contradicted)
