"""docs/rules.md, which lists every rule by what it is about. `make docs` writes it."""

import sys
from typing import Final

from harness.rules.documents import DOCUMENTS
from harness.rules.lineage import judged_of_an_app
from harness.rules.rule_names import FORMER, GROUPS, NAMES

_HEAD: Final = """# Rules

Runs are judged by these rules. A rule has a name, of its group and of what it says:
`session/silent-member-is-evicted`. Its id, R01, stands in stored results, and every command and
experiment takes either. Beside it are the ids of former rules whose place it took, which are
understood as well; one with `not` said the opposite. Programs of yours are judged by those with †.
`./kafka-chaos describe session/silent-member-is-evicted` prints its page: its statement, why
it matters to people who run consumers, its source, the clients and protocols that it is about, and
the experiments that judge it. A rule is the file of its name in [harness/rules](../harness/rules),
its query below a header; `describe --sql` prints it. `make docs` writes this list.

An experiment declares the verdicts that it expects. Every other rule about the run's client and
protocol is judged as well, and an unexpected violation fails the run.

Some experiments expect VIOLATED: the statement does not hold, or does not hold any more, or a
saboteur (`saboteur-…`) breaks it on purpose. This proves that the rule notices a violation.

Sources and statements name five documents about consumer groups, written for Kafka 0.11 to 2.x.
They are not published here: *tests* and *replaces* say in our words what they say.

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
