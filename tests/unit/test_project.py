"""Experiments, rules, apps and limits of a user's own project, and every slip in one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import BadInput, Exit
from harness.catalogue import own_modules, project, registry
from harness.catalogue.choice import Choice
from harness.cli.main import main
from harness.experiment import Limits
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.rules import own as own_rules
from harness.rules.lineage import judged_of_an_app

EVERYTHING = """
experiments = "chaos/experiments"
rules = "chaos/rules"
apps = "chaos/apps"
results = "chaos-results"
recorded = "chaos/recorded"
[limits]
standstill_s = 10
lost = 0
"""
EXPERIMENT = '''"""Our consumers crash.

Why: they do.
"""

from harness.experiment import Experiment, Fault, Limits, holds

from ._common import GROUP

experiment = Experiment(
    claim="A crash of ours is missed for a session.",
    group=GROUP,
    faults=(Fault(kind="kill-consumer", target="any member"),),
    limits=Limits(standstill_s=20),
    rules=holds("R02", "orders-few-rebalances"),
)
'''
COMMON = "from harness.experiment import Group\n\nGROUP = Group(members=2)\n"
RULE = '''from harness.rules import Rule

MOST = 3


@Rule(
    "orders-few-rebalances",
    title="Few rebalances",
    statement="A group of ours rebalances at most three times.",
    source="our runbook",
    unit="rebalances",
    things="groups",
)
def few_rebalances() -> str:
    """All of the run."""
    return """
        SELECT :group AS subject, count(*) AS measured, :MOST AS bound_high
        FROM {rebalances} HAVING count(*) > 0
    """
'''
SQL = """-- Few rebalances
-- A group of ours rebalances at most three times.
-- source: our runbook | rows: groups | unit: rebalances
SELECT :group AS subject, count(*) AS measured, 3 AS bound_high
FROM {rebalances} HAVING count(*) > 0
"""
APP = 'command = ["true"]\n'


Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Has a command refused with these words on standard error; all that is there."""

    def refused(command: str, says: str, *, lines: int | None = 1, begins: str = "") -> str:
        assert Exit.BAD_ARGUMENTS == main(command.split())
        said = capsys.readouterr()
        assert says in said.err
        assert "" == said.out
        assert lines is None or lines == said.err.count("\n")
        assert said.err.startswith(f"kafka-chaos: {begins}") or lines is None
        return said.err

    return refused


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project with one of everything, in which one is."""
    for name, text in (
        ("kafka-chaos.toml", EVERYTHING),
        ("chaos/experiments/our_crash.py", EXPERIMENT),
        ("chaos/experiments/_common.py", COMMON),
        ("chaos/rules/rebalances.py", RULE),
        ("chaos/apps/orders/app.toml", APP),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_project_is_found_from_every_folder_in_it(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "src" / "main").mkdir(parents=True)
    monkeypatch.chdir(theirs / "src" / "main")

    opened = project.opened(None)

    assert theirs / "kafka-chaos.toml" == opened.file
    assert theirs / "chaos" / "experiments" == opened.experiments
    assert theirs / "chaos" / "rules" == opened.rules
    assert (theirs / "chaos" / "apps" / "orders",) == opened.apps
    assert theirs / "chaos-results" == opened.results
    assert theirs / "chaos" / "recorded" == opened.recorded
    assert theirs == opened.folder
    assert Limits(standstill_s=10, lost=0) == opened.limits


def test_without_a_project_there_is_nothing_of_anybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert project.Project() == project.opened(None)


def test_results_that_are_not_named_lie_beside_the_project_file(theirs: Path) -> None:
    (theirs / "kafka-chaos.toml").write_text("")
    assert theirs / "kafka-chaos-results" == project.opened(None).results


def test_a_folder_that_is_named_takes_the_place_of_the_files(theirs: Path) -> None:
    (theirs / "others").mkdir()
    assert theirs / "others" == project.opened(None, experiments=Path("others")).experiments


def test_their_experiment_is_one_like_ours(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.AS_EXPECTED == main(["describe", "our-crash"])

    said = capsys.readouterr().out
    assert "our-crash: A crash of ours is missed for a session." in said
    assert "rule   orders-few-rebalances HOLDS" in said
    assert "limit  standstill_s = 20" in said
    assert "group.members = 2" in said


def test_their_experiments_and_rules_are_listed(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.AS_EXPECTED == main(["list", "--json"])

    listed = json.loads(capsys.readouterr().out)
    assert {"our-crash", "broker-kill"} < {each["name"] for each in listed["experiments"]}
    (rule,) = (each for each in listed["rules"] if each["id"] == "orders-few-rebalances")
    assert ["our-crash"] == [each["name"] for each in rule["experiments"]]


def test_what_was_theirs_is_gone_afterwards(theirs: Path) -> None:
    before = (set(RULES), registry.names(), judged_of_an_app())

    assert Exit.AS_EXPECTED == main(["describe", "our-crash"])

    assert before == (set(RULES), registry.names(), judged_of_an_app())


def test_a_rule_of_theirs_is_about_their_program_as_well(theirs: Path) -> None:
    file = theirs / "chaos" / "rules" / "rebalances.py"
    file.write_text(RULE.replace("things=", "without_journals=True, things="))
    with own_modules.used(None, file.parent):
        assert "orders-few-rebalances" in judged_of_an_app()


def test_a_run_keeps_what_it_was_made_from(theirs: Path) -> None:
    with own_modules.used(theirs / "chaos" / "experiments", theirs / "chaos" / "rules"):
        sources = {each.path: each for each in registry.load("our-crash").sources}
        ours = {each.path for each in registry.load("baseline").sources}

    assert EXPERIMENT == sources["own/experiments/our_crash.py"].text
    assert COMMON == sources["own/experiments/_common.py"].text
    assert RULE == sources["own/rules/rebalances.py"].text
    assert {"own/rules/rebalances.py"} == ours  # by which it is judged too


def test_a_module_of_theirs_can_become_a_file(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = theirs / "chaos" / "rules"
    assert Exit.AS_EXPECTED == main(["list", "--json"])
    before = json.loads(capsys.readouterr().out)

    assert Exit.AS_EXPECTED == main(["describe", "orders-few-rebalances", "--sql"])
    text = capsys.readouterr().out
    assert text.startswith(
        "-- Few rebalances\n-- A group of ours rebalances at most three times.\n"
    )
    assert "3 AS bound_high" in text

    (rules / "rebalances.py").unlink()
    (rules / "orders-few-rebalances.sql").write_text(text)
    assert Exit.AS_EXPECTED == main(["list", "--json"])
    assert before == json.loads(capsys.readouterr().out)
    with own_modules.used(theirs / "chaos" / "experiments", rules):
        sources = {each.path: each.text for each in registry.load("our-crash").sources}
    assert text == sources["own/rules/orders-few-rebalances.sql"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("session", SQL, "the id 'session' is the name of a group of our rules"),
        ("Orders", SQL, "call it something like orders-in-time"),
        ("few", SQL.replace("SELECT", "SELCT {rebalance}"), "did you mean {rebalances}?"),
        ("few", SQL.replace("rows: ", "row: "), "'row: groups', which begins with no key"),
        ("few", SQL.partition("SELECT")[0], "there is no query: write one below the header"),
        ("orders-few-rebalances", SQL, "there are two rules orders-few-rebalances"),
    ],
)
def test_a_file_of_theirs_that_is_no_rule_is_refused(
    theirs: Path, name: str, text: str, says: str, refused: Refused
) -> None:
    (theirs / "chaos" / "rules" / f"{name}.sql").write_text(text)
    refused("list", says, begins="chaos/rules/")


def test_a_query_may_ask_every_table() -> None:
    assert set(HISTORY) <= own_rules.tables()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('experimnts = "x"', "there is no setting 'experimnts': did you mean 'experiments'?"),
        ("experiments = 3", "experiments takes a text, not 3"),
        ('experiments = "nowhere"', "experiments names nowhere, which is no folder: make it"),
        ('rules = "kafka-chaos.toml"', "rules names kafka-chaos.toml, which is no folder"),
        ('apps = "chaos"', "apps names chaos, and no folder in it has an app.toml"),
        ('recorded = ["chaos"]', "recorded takes a text, not ['chaos']"),
        (
            'results = "chaos"\nrecorded = "chaos/recorded"',
            "recorded names chaos/recorded, which is in the folder of results, where `clean --all`",
        ),
        ("limits = 3", "limits is 3, not a table: write [limits] above its settings"),
        ("[limits]\nstandstil_s = 3", "there is no setting [limits] 'standstil_s': did you mean"),
        ("[limits]\nlost = 0.5", "[limits] lost takes a whole number, not 0.5"),
        ("[limits]\nlost = -1", "[limits] lost is -1: use a number from 0 to"),
        ("results", "kafka-chaos.toml is not valid TOML (Expected"),
    ],
)
def test_a_slip_in_the_project_file_is_one_sentence(
    theirs: Path, text: str, says: str, refused: Refused
) -> None:
    (theirs / "kafka-chaos.toml").write_text(text)
    refused("list", says, begins="kafka-chaos.toml")


def test_of_two_project_files_one_has_to_be_named(
    theirs: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(theirs / "chaos")
    (theirs / "chaos" / "kafka-chaos.toml").write_text("")

    refused("describe baseline", "there are two project files, kafka-chaos.toml and ")
    assert Exit.AS_EXPECTED == main(["describe", "baseline", "--project", "kafka-chaos.toml"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("describe our-crash --sql", "--sql prints the file of a rule, and our-crash is none"),
        ("experiment everyday --app orders --client java", "orders decides its own client"),
        ("matrix --app order", "there is no app 'order': did you mean 'orders'?"),
        ("list --experiments nowhere", "--experiments names nowhere, which is no folder"),
        ("list --own-rules nowhere", "--own-rules names nowhere, which is no folder"),
        ("list --project nowhere.toml", "nowhere.toml cannot be read (No such file"),
    ],
)
def test_what_their_project_does_not_have_is_named(
    theirs: Path, line: str, says: str, refused: Refused
) -> None:
    refused(line, says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broker_kill.py", "broker_kill.py: there is an experiment broker-kill already, which is"),
        ("our-crash.py", "our-crash.py cannot be an experiment by this name: use letters"),
        ("class.py", "class.py cannot be an experiment by this name"),
    ],
)
def test_a_name_that_an_experiment_of_theirs_cannot_have(
    theirs: Path, name: str, says: str
) -> None:
    (theirs / "chaos" / "experiments" / name).write_text(EXPERIMENT)
    with (
        pytest.raises(BadInput) as refused,
        own_modules.used(theirs / "chaos" / "experiments", None),
    ):
        pass
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (RULE.replace('"orders-few-rebalances"', '"R02"'), "the id 'R02' is not one of a rule of"),
        (RULE.replace('"orders-few', '"Orders-few'), "call it something like orders-in-time"),
        (RULE.replace("{rebalances}", "{rebalance}"), "did you mean {rebalances}?"),
        (RULE.replace("{rebalances}", "{MISSING}"), "gives no query (ValueError: a query names"),
        (RULE.replace("return ", "return 1 / 0 or "), "gives no query (ZeroDivisionError"),
        (RULE + RULE[RULE.index("@Rule") :].replace("def few", "def more"), "there are two rules"),
        ("", "has no rule: decorate a function with Rule("),
        (RULE.replace("title", "titel"), ":6: Rule has no field 'titel': did you mean 'title'?"),
        (RULE.replace('    unit="rebalances",\n', ""), ":6: Rule lacks unit: every Rule needs it"),
    ],
)
def test_a_rule_of_theirs_that_cannot_be_judged_is_refused(
    theirs: Path, text: str, says: str, refused: Refused
) -> None:
    (theirs / "chaos" / "rules" / "rebalances.py").write_text(text)
    refused("experiment our-crash", says, begins="chaos/rules/rebalances.py")
    assert not (theirs / "chaos-results").exists()


@pytest.mark.parametrize(
    ("where", "text", "last"),
    [
        ("rules/rebalances.py", "import nowhere\n", "ModuleNotFoundError: No module named"),
        ("experiments/our_crash.py", "import nowhere\n", "ModuleNotFoundError: No module named"),
        ("experiments/our_crash.py", "from ._common import X\n", "ImportError: cannot import name"),
        ("experiments/our_crash.py", "experiment = (\n", "SyntaxError: '(' was never closed"),
        ("experiments/our_crash.py", "raise SystemExit(0)\n", "SystemExit: 0"),
    ],
)
def test_what_cannot_be_imported_shows_their_traceback_and_one_sentence(
    theirs: Path, where: str, text: str, last: str, refused: Refused
) -> None:
    (theirs / "chaos" / where).write_text(text)

    *trace, sentence = refused("experiment our-crash", last, lines=None).splitlines()
    assert sentence.startswith(f"kafka-chaos: chaos/{where}:1: ")
    assert last in trace[-1]
    assert str(theirs / "chaos" / where) in "\n".join(trace)
    assert "harness" not in "\n".join(trace)
    assert not (theirs / "chaos-results").exists()


def test_what_is_left_can_be_removed_though_a_rule_cannot_be_imported(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (theirs / "chaos" / "rules" / "rebalances.py").write_text("import nowhere\n")

    assert Exit.AS_EXPECTED == main(["clean", "--dry-run"])
    assert "nothing was changed" in capsys.readouterr().out


def test_an_experiment_that_names_a_rule_that_there_is_not(theirs: Path, refused: Refused) -> None:
    path = theirs / "chaos" / "experiments" / "our_crash.py"
    path.write_text(EXPERIMENT.replace("few-rebalances", "few-rebalance"))

    says = "there is no rule 'orders-few-rebalance': did you mean orders-few-rebalances?"
    refused("experiment our-crash", says)


def test_limits_of_the_project_come_last(theirs: Path) -> None:
    opened = project.opened(None)

    choice = Choice({}, Limits(lost=4), opened.limits, "baseline")
    assert Limits(standstill_s=10, lost=4) == choice.experiment().limits
