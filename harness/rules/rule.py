"""What a rule is: a frozen value that says how to examine a run, one row per thing examined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from harness.experiment import CLIENTS, PROTOCOLS, Group

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from harness.tables.base import Tables

# Where a rule that is `always` is judged, in the words of the page of rules and of `list`.
OF_THE_KIND: Final = "every run that has something of the kind"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A documented statement, and the query that holds a run against it.

    `examine` gives one row per thing examined, with any of these columns (others are null):
    `subject` names the thing, `at` says when; `ok` is true, false, or null for "cannot tell";
    `measured` with `bound_low` and `bound_high`, in `unit`; `why` is one clause; `evidence` names
    log lines. A row may add `guard_from` and `guard_to`: if this machine ran late between them,
    its `ok` becomes null. No row at all means UNKNOWN: nothing was examined, so nothing holds.

    `things` is what the rows are, in the plural ("evictions"); `measures` follows the measured
    numbers in a verdict's reason ("after the last sign of life"). A rule that is `evidence` is
    judged in every run, without being declared; one that is `always` as well, where the run has
    something of the kind: with nothing to examine it is left out of the verdicts. `clients` and
    `protocols` are those that the statement is about: in a run of others the rule is left out.
    A rule of the `broker` says what brokers do, whoever asks: one client's runs show it for all.
    """

    id: str
    title: str
    statement: str
    source: str
    unit: str
    things: str
    measures: str
    examine: Callable[[Tables], DataFrame]
    evidence: bool = False
    always: bool = False
    broker: bool = False
    clients: tuple[str, ...] = CLIENTS
    protocols: tuple[str, ...] = PROTOCOLS

    def applies(self, group: Group) -> bool:
        """Whether the statement is about this client and protocol."""
        return self.speaks_of(group.client, group.protocol)

    def speaks_of(self, client: str, protocol: str) -> bool:
        """Whether the statement is about this client and protocol, by their names."""
        return client in self.clients and protocol in self.protocols
