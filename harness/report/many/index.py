"""What a suite showed: a page, a Markdown summary, JUnit, and one file of verdicts."""

from collections.abc import Iterable

from harness.base.words import plural
from harness.history import store
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import State, Suite
from harness.report.load import Row
from harness.report.many import documented
from harness.report.many.since import Since, since
from harness.report.many.suite_junit import junit_of
from harness.report.many.suite_rows import (
    MOST_ROWS,
    Verdicts,
    columns_of,
    detail_of,
    differing_rows,
    documents_sentence,
    kind_of,
    left_out,
    matrix_of,
    read_verdicts,
    run_row,
)
from harness.report.many.suite_text import summary
from harness.report.many.verdicts import SUITE_VERDICTS, differing, headline, table_of
from harness.report.run.files import write_whole
from harness.report.run.page import Fact, environment
from harness.report.words import duration
from harness.rules import RULES


def write(suite: Suite) -> None:
    """Write `index.html`, `summary.md`, `junit.xml` and `verdicts.parquet` of a suite, and what the
    documents say beside what its runs showed of it (`documented.html`, `.md` and `.parquet`).

    Raises NoData where the verdicts of a run that was judged cannot be read.
    """
    verdicts = read_verdicts(suite)
    rows = table_of([row for entry in suite.entries for row in verdicts[entry.label]])
    store.write(suite.path / VERDICTS_FILE, [rows], SUITE_VERDICTS)
    documented.write(suite.path, rows.to_pylist())
    documents = documents_sentence(verdicts)
    news = since(suite, rows.to_pylist())
    write_whole(suite.path / "index.html", page(suite, verdicts, documents, news))
    write_whole(suite.path / "summary.md", summary(suite, verdicts, documents, news))
    write_whole(suite.path / "junit.xml", junit_of(suite))


def page(suite: Suite, verdicts: Verdicts, documents: str, news: Since) -> str:
    """The text of `index.html`; `documents` is how the statements of the documents stand, `news`
    what is different since the night before.
    """
    bad = differing_rows(suite, verdicts)
    columns = columns_of(suite)
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            kind=suite.kind,
            title=f"{suite.kind} {suite.name}",
            claim="",
            headline=headline(suite),
            outcome=kind_of(suite),
            detail=detail_of(verdicts),
            figures=_figures(suite, verdicts),
            sections=(
                ("differs", "What differs"),
                ("since", "Since the night before"),
                ("runs", "Runs"),
                ("documents", "Documents"),
                ("rules", "Rules"),
                ("gaps", "What is not covered"),
            ),
            made_from="suite.json and the folders of the runs",
            differing=bad[:MOST_ROWS],
            differing_left_out=left_out(len(bad)),
            runs=[run_row(suite, entry, verdicts[entry.label]) for entry in suite.entries],
            notes=suite.notes,
            news=news,
            changes=news.changes[:MOST_ROWS],
            changes_left_out=left_out(len(news.changes)),
            documented=documents,
            columns=columns,
            matrix=matrix_of(suite, verdicts, columns),
            gaps=(
                ("By no experiment", suite.uncovered),
                ("Only by runs that this one leaves out", suite.elsewhere),
            ),
        )
    )


def _figures(suite: Suite, verdicts: Verdicts) -> list[Fact]:
    rows = [row for rows in verdicts.values() for row in rows]
    clocks = {id_ for id_, rule in RULES.items() if rule.clock}
    late = [
        row["measured_max"] for row in rows if row["rule"] in clocks and row.get("measured_max")
    ]
    bad = len(differing(rows))
    unplayed = suite.count(State.VOID, State.FAILED)
    return [
        Fact("runs", str(len(suite.played)), f"of {len(suite.entries)}"),
        Fact("verdicts", f"{len(rows):,}", f"of {plural(_rules(rows), 'rule')}"),
        Fact("differ", f"{bad:,}", "verdicts", "bad" if bad else ""),
        Fact("void or failed", str(unplayed), "runs", "bad" if unplayed else ""),
        Fact(
            "took",
            duration(suite.took_s * 1_000),
            f"of about {duration(sum(e.estimate_s for e in suite.played) * 1_000)}",
        ),
        Fact("this machine", duration(max(late, default=None)), "late at most, in any run"),
    ]


def _rules(rows: Iterable[Row]) -> int:
    return len({row["rule"] for row in rows})
