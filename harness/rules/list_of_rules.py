"""docs/rules.md, which lists every rule by what it is about. `make docs` writes it."""

import sys
from typing import Final

from harness.rules.documents import DOCUMENTS
from harness.rules.lineage import judged_of_an_app
from harness.rules.rule_names import FORMER, GROUPS, NAMES

_HEAD: Final = """# Rules

These rules judge runs. A rule is called by its group and what it says, such as
`session/silent-member-is-evicted`. `./kafka-chaos describe session/silent-member-is-evicted`
prints its page: statement, why it matters to people who run consumers, source, the clients and
protocols that it is about, and the experiments that judge it. Its file in
[harness/rules](../harness/rules) is a query below a header (`describe --sql`). `make docs` writes
this list.

- † marks the rules that judge programs of yours.
- In brackets is the rule's id, which stored results have, then ids of former rules that it
  replaced; one with `not` said the opposite. Commands and experiments take names and ids.
- An experiment declares the verdicts that it expects. Every other rule about the run's client and
  protocol is judged as well, and an unexpected violation fails the run.
- Some experiments expect VIOLATED: the statement does not hold any more or for this client, or a
  saboteur (`saboteur-…`) breaks it on purpose, which proves that the rule notices.

Sources name five documents about consumer groups, written for Kafka 0.11 to 2.x. They are not
published here; *tests* and *replaces* on a rule's page say in our words what they say.

"""


def index() -> str:
    """docs/rules.md: the name and the id of every rule, by what it is about."""
    of_programs = set(judged_of_an_app())
    parts = [
        f"## [{group.capitalize()}](../harness/rules/{group}): {about}\n\n"
        + ", ".join(
            f"`{name.removeprefix(group)[1:]}`{'†' if rule in of_programs else ''} "
            f"({', '.join([rule, *_former(rule)])})"
            for rule, name in NAMES.items()
            if name.startswith(f"{group}/")
        )
        for group, about in GROUPS.items()
    ]
    documents = "\n".join(f"- document {number}: {title}" for number, title in DOCUMENTS.items())
    return "\n\n".join([_HEAD + documents, *parts]) + "\n"


def _former(rule: str) -> list[str]:
    return [
        f"not {former}" if opposite else former
        for former, (now, opposite) in FORMER.items()
        if now == rule
    ]


if __name__ == "__main__":
    sys.stdout.write(index())
