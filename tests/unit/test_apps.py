"""Users' programs: what app.toml and the command line say, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import BadInput
from harness.catalogue import cover, registry
from harness.catalogue.apps import read, with_app
from harness.catalogue.project import Project
from harness.cli.asked import app_of
from harness.cli.options import parser
from harness.cli.plays import try_command
from harness.experiment import APP, Cluster, Expect, Fault, Limits, Verdict
from harness.experiment.app import App, Records, Shows, Stop, filled, numbered
from harness.history.whose import SHARED
from harness.run.faults import KINDS, needs_app
from harness.run.roles import MOST_LANES, SPARE_LANES, authorized, lanes

EVERYTHING = r"""
name = "orders"
command = ["node", "consumer.js", "--client={member}"]
build = ["npm", "ci"]
instances = 2
static = true
start_s = 150
steady_s = 400
[env]
KAFKA_BROKERS = "{bootstrap}"
TOKEN = "secret"
[dependency]
DATABASE_URL = "127.0.0.1:5432"
[records]
value = '{"n": {n}}'
[effects]
stdout = 'done id=(?P<n>\d+)'
[stop]
signal = "SIGINT"
grace_s = 12
[limits]
standstill_s = 10
repeats = 500
lost = 0
drained_s = 30.5
"""

WHOLE = App(
    name="orders",
    command=("node", "consumer.js", "--client={member}"),
    folder="",
    build=("npm", "ci"),
    instances=2,
    static=True,
    start_s=150.0,
    steady_s=400.0,
    environment={"KAFKA_BROKERS": "{bootstrap}", "TOKEN": "secret"},
    dependencies={"DATABASE_URL": "127.0.0.1:5432"},
    records=Records(value='{"n": {n}}'),
    effects=Shows(stdout=r"done id=(?P<n>\d+)"),
    stop=Stop(signal="SIGINT", grace_s=12),
    limits=Limits(standstill_s=10, repeats=500, lost=0, drained_s=30.5),
)


def of_file(tmp_path: Path, text: str) -> App:
    (tmp_path / "app.toml").write_text(text)
    return read(tmp_path)


def of_line(*arguments: str, command: tuple[str, ...] = ()) -> App:
    parsed = parser([try_command]).parse_args(["try", *arguments, "--", *command])
    parsed.project = Project()
    found = app_of(parsed)
    assert found is not None
    return found


def test_every_field_of_a_file_is_read(tmp_path: Path) -> None:
    found = of_file(tmp_path, EVERYTHING)

    assert replace(WHOLE, folder=str(tmp_path)) == found
    assert found == read(tmp_path / "app.toml")


def test_a_command_is_enough_and_its_folder_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "my consumer"
    folder.mkdir()

    found = of_file(folder, 'command = ["./run"]')

    assert App(name="my-consumer", command=("./run",), folder=str(folder)) == found


IMAGE = """
image = "registry.example:5000/team/orders:1.4"
entrypoint = ["/orders"]
command = ["--as={member}"]
"""


def test_an_image_stands_for_a_command_or_with_one_of_its_own(tmp_path: Path) -> None:
    found = of_file(tmp_path, IMAGE)

    image = "registry.example:5000/team/orders:1.4"
    assert (image, ("/orders",), ("--as={member}",)) == (
        found.image,
        found.entrypoint,
        found.command,
    )
    assert () == of_file(tmp_path, 'image = "x"').command


def test_the_command_line_says_of_an_image_what_a_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    image = "registry.example:5000/team/orders:1.4"

    found = of_line("--image", image, "--entrypoint", "/orders", command=("--as={member}",))

    assert replace(of_file(tmp_path, IMAGE), name="orders") == found


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("orders", "orders"),
        ("localhost:5000/orders", "orders"),
        ("registry.example/team/orders@sha256:00ff", "orders"),
        ("registry.example/or__ders:1.4", "or__ders"),
    ],
)
def test_an_image_without_a_name_is_called_after_its_last_part(image: str, name: str) -> None:
    found = of_line("--image", image)

    assert (name, image) == (found.name, found.image)


@pytest.mark.parametrize(
    ("command", "name"),
    [("./orders-consumer", "orders-consumer"), ("/opt/a b/_x.py", "x"), ("…", "app")],
)
def test_a_program_without_a_name_is_called_after_its_file(command: str, name: str) -> None:
    assert name == of_line(command=(command,)).name


def test_an_image_on_the_command_line_takes_the_place_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(IMAGE)

    found = of_line("--app", str(tmp_path), "--image", "orders:1.5")

    assert ("orders:1.5", ("--as={member}",)) == (found.image, found.command)


def test_samples_are_lines_of_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "sample.jsonl").write_text('{"a": 1}\n\n{"a": {n}}\n')

    found = of_file(tmp_path, 'command = ["x"]\n[records]\nfile = "sample.jsonl"')

    assert ('{"a": 1}', '{"a": {n}}') == found.records.templates


COMMAND = 'command = ["x"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no command: say what to run"),
        ("command = []", "there is no command: say what to run"),
        ('command = [""]', "there is no command: say what to run"),
        ('command = [" ", "x"]', "there is no command: say what to run"),
        ('imag = "x"', "there is no setting 'imag': did you mean 'image'?"),
        ("image = 3", "image takes a text, not 3"),
        ('image = ""', "there is no command: say what to run, as a list of words, or name an"),
        ('image = "a b"', "image 'a b' cannot name an image: write it as in registry/orders:1.4"),
        ('image = "x"\nbuild = ["make"]', "there is a build step and an image, and x is built"),
        ('image = "x"\ncommand = "node x"', "command takes a list such as"),
        (COMMAND + 'entrypoint = ["sh"]', "there is an entrypoint and no image: name the image"),
        ('image = "x"\nentrypoint = ["{bootstap}"]', "{bootstap} in '{bootstap}' has no value"),
        ('comand = ["x"]', "there is no setting 'comand': did you mean 'command'?"),
        ('command = "node x"', "command takes a list such as"),
        ('command = ["x", 1]', "command takes a list such as"),
        (COMMAND + "start_s = 0", "start_s is 0: use a number of seconds above 0, such as 90"),
        (COMMAND + "steady_s = inf", "steady_s is inf: use a number of seconds above 0"),
        (COMMAND + "steady_s = 1" + "0" * 400, "steady_s is inf: use a number of seconds above 0"),
        (COMMAND + 'start_s = "60"', "start_s takes a number, not '60'"),
        (COMMAND + "name = 3", "name takes a text, not 3"),
        (COMMAND + 'name = "a/b"', "name 'a/b' cannot name files"),
        (COMMAND + "instances = 2.5", "instances takes a whole number, not 2.5"),
        (COMMAND + "instances = true", "instances takes a whole number, not True"),
        (COMMAND + "instances = 0", "instances is 0, and a group needs at least one"),
        (COMMAND + "static = 1", "static takes true or false, not 1"),
        (COMMAND + 'stop = "SIGTERM"', "stop is 'SIGTERM', not a table: write [stop]"),
        (COMMAND + "[env]\nPORT = 8080", "[env] holds names and texts"),
        (COMMAND + '[env]\n"A=B" = "c"', "[env] 'A=B' cannot name a variable"),
        (COMMAND + '[env]\n"" = "c"', "[env] '' cannot name a variable"),
        (COMMAND + '[env]\nA = "\\u0000"', "has a zero byte in it"),
        (COMMAND + '[env]\nA = "{bootstap}"', "{bootstap} in '{bootstap}' has no value to be"),
        (COMMAND + "[dependency]\nDB = 5432", "[dependency] holds names and texts: write them as"),
        (COMMAND + '[dependency]\n"a b" = "h:1"', "'a b' cannot name a variable: use letters"),
        (COMMAND + '[dependency]\nKAFKA_TOPIC = "h:1"', "KAFKA_TOPIC has the name of a variable"),
        (COMMAND + '[dependency]\ntopic = "h:1"', "topic has the name of a variable that every"),
        (
            COMMAND + '[dependency]\nDB = "db"',
            "DB is 'db', which is not an address: write host:port",
        ),
        (COMMAND + '[dependency]\nDB = "db:0"', "'db:0', which is not an address"),
        (COMMAND + '[dependency]\nDB = "db:65536"', "'db:65536', which is not an address"),
        (COMMAND + '[dependency]\nDB = "postgres://db:1/x"', "goes into [env], with {DB} for"),
        (COMMAND + '[dependency]\nDB = "h:1"\n[env]\nDB = "h:1"', "[env] DB bypasses the proxy"),
        (COMMAND + '[dependency]\nDB_URL = "h:1"\n[env]\nA = "{BD_URL}"', "{BD_URL} in"),
        (COMMAND + '[env]\nA = "{topic.port}"', "{topic.port} in '{topic.port}' has no value"),
        ('command = ["x", "{sunk}"]', "there are {bootstrap}, {topic}, {group}"),
        ('command = ["x", "{sink}"]', "{sink} in '{sink}' has a value only with [effects] http"),
        (COMMAND + '[env]\nOUT = "{output_topic}"', "only with [effects] output_topic"),
        (COMMAND + "[effects]\nhttp = 'done'", "[effects] http 'done' does not say which record"),
        (COMMAND + "[effects]\nhttp = ''", "[effects] http is empty: write http = true"),
        (COMMAND + "[effects]\nhttp = 1", "[effects] http takes true or false or a text, not 1"),
        (COMMAND + "[effects]\noutput_topic = 'a b'", "output_topic 'a b' cannot name a topic"),
        (
            COMMAND + "[effects]\noutput_topic = 't'",
            "output_topic 't' is a topic that the run uses",
        ),
        (COMMAND + "[effects]\noutput_pattern = '(?P<n>.)'", "and there is none: name it"),
        (COMMAND + "[effects]\nhttp = true\nverifiable = true", "has http and verifiable, and"),
        (COMMAND + '[records]\nfile = "a\\u0000b"', "cannot be read (embedded null byte): name a"),
        (COMMAND + "[limits]\nrepeats = -1" + "0" * 400, "[limits] repeats is -1000"),
        (COMMAND + "[records]\nfil = 'x'", "there is no setting [records] 'fil': did you mean"),
        (COMMAND + "[records]\nvalu = 'x'", "did you mean 'value'?"),
        (COMMAND + "[records]\nsamples = ['x']", "'samples': there are value, file"),
        (COMMAND + "[records]\nvalue = ''", "[records] has an empty value"),
        (COMMAND + "[records]\nfile = 3", "[records] file takes a text, not 3"),
        (COMMAND + "[records]\nfile = 'no'", "cannot be read (No such file or directory): name"),
        (COMMAND + "[records]\nfile = 'empty'", "is empty: put one record in each line"),
        (COMMAND + "[records]\nfile = 'x'\nvalue = 'y'", "has a value and a file: leave one"),
        (COMMAND + "[effects]\nstdou = 'x'", "there is no setting [effects] 'stdou': did you mean"),
        (COMMAND + "[effects]\nstdout = 'done'", "does not say which record it is about"),
        (COMMAND + "[effects]\nstdout = '(?P<partition>.)'", "does not say which record"),
        (COMMAND + "[effects]\nstdout = '('", "[effects] stdout is not a valid pattern ("),
        (COMMAND + '[stop]\nsignal = "SIGTREM"', "[stop] signal 'SIGTREM' is not offered"),
        (COMMAND + '[stop]\nsignal = "SIGKILL"', "[stop] signal 'SIGKILL' is not offered"),
        (COMMAND + "[stop]\ngrace_s = 0", "[stop] grace_s is 0: use a number of seconds"),
        (COMMAND + "[stop]\ngrace_s = inf", "[stop] grace_s is inf: use a number of seconds"),
        (COMMAND + "[stop]\ngrace_s = nan", "[stop] grace_s is nan: use a number of seconds"),
        (COMMAND + '[stop]\ngrace_s = "3"', "[stop] grace_s takes a number, not '3'"),
        (COMMAND + "[limits]\nlost = -1", "[limits] lost is -1: use a number from 0"),
        (COMMAND + "[limits]\nlost = 0.5", "[limits] lost takes a whole number, not 0.5"),
        (COMMAND + "[limits]\ndrained_s = nan", "[limits] drained_s is nan: use a number from 0"),
        ("command = [", "is not valid TOML ("),
    ],
)
def test_a_wrong_file_gets_one_sentence_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "empty").write_text("\n \n")

    with pytest.raises(BadInput) as refused:
        of_file(tmp_path, text)

    assert says in str(refused.value)
    assert "app.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "nowhere", "nowhere.toml"])
def test_a_file_that_is_not_there_or_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"cannot be read .* name an app\.toml, or its folder"):
        read(tmp_path / name)

    (tmp_path / "app.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"app\.toml is not valid TOML"):
        read(tmp_path)


def test_every_line_of_a_file_has_an_equal_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = (
        *("--name", "orders", "--build", "npm ci", "--instances", "2", "--static"),
        *("--env", "KAFKA_BROKERS={bootstrap}", "--env", "TOKEN=secret"),
        *("--dependency", "DATABASE_URL=127.0.0.1:5432"),
        *("--value", '{"n": {n}}', "--stdout", r"done id=(?P<n>\d+)", "--signal", "SIGINT"),
        *("--grace-s", "12", "--standstill-s", "10", "--repeats", "500", "--lost", "0"),
        *("--drained-s", "30.5", "--start-s", "150", "--steady-s", "400"),
    )

    found = of_line(*options, command=WHOLE.command)

    assert replace(WHOLE, folder=str(tmp_path)) == found


def test_the_command_line_turns_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(EVERYTHING)
    (tmp_path / "lines").write_text("a{n}\nb{n}\n")
    options = ("--env", "TOKEN=other", "--env", "MORE=a=b", "--instances", "4", "--lost", "7")

    found = of_line("--app", str(tmp_path), *options, "--records", str(tmp_path / "lines"))

    assert (4, ("npm", "ci"), "SIGINT") == (found.instances, found.build, found.stop.signal)
    assert {"KAFKA_BROKERS": "{bootstrap}", "TOKEN": "other", "MORE": "a=b"} == found.environment
    assert Limits(standstill_s=10, repeats=500, lost=7, drained_s=30.5) == found.limits
    assert ("a{n}", "b{n}") == found.records.templates


PATTERN = r"o(?P<n>\d+)"


@pytest.mark.parametrize(
    ("text", "options", "shows"),
    [
        (EVERYTHING, ["--http"], Shows(http=True)),
        (EVERYTHING, ["--http", PATTERN], Shows(http=PATTERN)),
        (EVERYTHING, ["--output-topic", "done"], Shows(output_topic="done")),
        (
            EVERYTHING,
            ["--output-topic", "done", "--output-pattern", PATTERN],
            Shows(output_topic="done", output_pattern=PATTERN),
        ),
        (  # a pattern alone is for the file's topic
            COMMAND + "[effects]\noutput_topic = 'done'",
            ["--output-pattern", PATTERN],
            Shows(output_topic="done", output_pattern=PATTERN),
        ),
        (EVERYTHING, ["--verifiable"], Shows(verifiable=True)),
        (EVERYTHING, [], Shows(stdout=r"done id=(?P<n>\d+)")),
    ],
)
def test_how_it_shows_its_work_on_the_command_line_takes_the_place_of_the_files(
    tmp_path: Path, text: str, options: list[str], shows: Shows
) -> None:
    (tmp_path / "app.toml").write_text(text)
    assert shows == of_line("--app", str(tmp_path), *options).effects


def test_a_value_on_the_command_line_takes_the_place_of_samples(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\n")
    (tmp_path / "app.toml").write_text(COMMAND + '[records]\nfile = "lines"')

    assert ("v{n}",) == of_line("--app", str(tmp_path), "--value", "v{n}").records.templates


ORDERS = App(name="orders", command=("x",), folder="/")
USING = replace(ORDERS, dependencies={"DB": "db:1"})
BASELINE = registry.load("baseline")


def test_probes_and_other_peoples_clusters_are_refused() -> None:
    with pytest.raises(BadInput, match="the probe offset-apis asks only brokers"):
        with_app(registry.load("offset-apis"), ORDERS)
    unwritable = registry.load("offsets-unwritable")
    assert () == with_app(unwritable, ORDERS).probes  # beside its faults
    with pytest.raises(BadInput, match="an app needs a cluster of its own"):
        with_app(replace(BASELINE, cluster=Cluster(backend="compose")), ORDERS)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            Fault(kind="stall-consumer", target="any member", lasts_s=3),
            "stall-consumer is an order",
        ),
        (Fault(kind="close-consumer", target="any member"), "close-consumer is an order that only"),
        (
            Fault(kind="kill-consumer", target="any member", how="in a transaction"),
            "kill-consumer in a transaction is an order that only",
        ),
    ],
)
def test_a_fault_by_order_is_refused(fault: Fault, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        with_app(replace(BASELINE, faults=(fault,)), ORDERS)


def test_of_faults_that_are_drawn_those_by_order_are_left_out() -> None:
    soak = registry.load("soak")
    ours = {"close-consumer", "stall-consumer"}

    left = with_app(soak, ORDERS).faults

    assert [fault for fault in soak.faults if fault.kind not in ours] == list(left)
    with pytest.raises(BadInput, match="close-consumer is an order that only"):
        with_app(replace(soak, faults=soak.faults[1:2]), ORDERS)


def test_with_an_app_the_group_is_its_processes_and_every_rule_may_be_unseen() -> None:
    app = replace(ORDERS, instances=5, static=True)

    experiment = with_app(registry.load("consumer-crash"), app)

    group = experiment.group
    assert (5, APP, True, app) == (group.members, group.client, group.static, experiment.app)
    assert all(expect.if_seen for expect in experiment.rules)
    assert len(experiment.rules) == len({expect.rule for expect in experiment.rules})
    # A rule that our own consumers break on purpose, or for a reason of theirs, is expected to
    # hold of others; what no document has right any more is expected of everybody.
    assert all(expect.verdict is Verdict.HOLDS or expect.because for expect in experiment.rules)


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_takes_an_app_or_says_why_not(name: str) -> None:
    experiment = registry.load(name)
    app = replace(USING, effects=Shows(http=True))

    if needs_app(experiment):
        with pytest.raises(BadInput, match=r"names none: write|posts to none: write"):
            with_app(experiment, ORDERS)
    alone = any(not probe.beside for probe in experiment.probes)
    ours = any(KINDS[fault.kind].by_order for fault in experiment.faults)
    ours = ours and not experiment.at_random  # these are left out of what is drawn
    if alone or ours or authorized(experiment):
        with pytest.raises(BadInput, match=": "):
            with_app(experiment, app)
    else:
        assert app == registry.resolved(registry.checked(with_app(experiment, app))).app


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("dependency", ""),
        ("dependency DB", ""),
        ("member 2", ""),
        ("any member", ""),
        ("dependency BD", "target 'dependency BD' of cut-dependency does not exist: orders has"),
        ("member 4", "the experiment has member 1 to 3"),
        ("group", "cut-dependency cannot hit 'group': use dependency, dependency <name>"),
    ],
)
def test_a_dependency_is_a_target_for_all_or_for_one_process(target: str, says: str) -> None:
    fault = Fault(kind="cut-dependency", target=target, lasts_s=3)
    experiment = with_app(replace(BASELINE, faults=(fault,)), USING)

    if says:
        with pytest.raises(BadInput, match=re.escape(says)):
            registry.checked(experiment)
    else:
        assert (fault,) == registry.checked(experiment).faults


def test_a_slow_dependency_has_to_be_slower_than_chance() -> None:
    fault = Fault(kind="slow-dependency", target="dependency", lasts_s=3, latency_ms=19)

    with pytest.raises(BadInput, match="because 19 ms could not be measured"):
        registry.checked(with_app(replace(BASELINE, faults=(fault,)), USING))


def test_no_night_has_an_experiment_that_needs_a_program() -> None:
    played = {run.name for run in cover.plan().runs + cover.plan(long=True).runs}
    needing = {name for name in registry.names() if needs_app(registry.load(name))}

    assert needing
    assert not played & needing
    with pytest.raises(BadInput, match=r"^slow-dependency: .* name a program by --app"):
        cover.plan(only=["slow-dependency"])


def test_what_is_in_braces_is_filled_in_where_it_is_known() -> None:
    values = {"DB": "127.0.0.1:7", "DB.host": "127.0.0.1", "DB.port": "7", "instance_id": ""}

    assert "postgres://u:p@127.0.0.1:7/x" == filled("postgres://u:p@{DB}/x", values)
    assert "127.0.0.1 7 b=" == filled("{DB.host} {DB.port} b={instance_id}", values)
    # A shell's, and what is the program's own.
    assert "${DB} {ISO8601}" == filled("${DB} {ISO8601}", values)
    assert '{"id": 7, "c": "c7"}' == numbered('{"id": {n}, "c": "c{n}"}', 7)


@pytest.mark.parametrize(
    ("kafka", "expected"), [("4.4.0", Verdict.VIOLATED), ("3.9.2", Verdict.HOLDS)]
)
def test_what_some_releases_do_wrong_is_expected_of_these(kafka: str, expected: Verdict) -> None:
    wrong = Expect(rule="R21", verdict=Verdict.VIOLATED, because="it is known", kafka=("4.",))
    declared = replace(BASELINE, rules=(wrong,), cluster=Cluster(kafka_version=kafka))

    rules = with_app(declared, ORDERS).rules

    assert [expected] == [each.verdict for each in rules if each.rule == "R21"]


def test_more_processes_than_lanes_were_measured_for_share_one() -> None:
    """A deploy starts each process before its predecessor ends: there are spare lanes for that."""
    most = replace(ORDERS, instances=MOST_LANES)
    more = replace(ORDERS, instances=MOST_LANES + 1)
    deploy = registry.load("rolling-deploy")

    own = lanes(registry.checked(with_app(deploy, most)))
    assert MOST_LANES + SPARE_LANES == len([each for each in own if each.startswith("member-")])
    assert ("members", "producers", SHARED) == lanes(registry.checked(with_app(deploy, more)))
    # Links of one process cannot be broken then; this experiment begins by starting one more.
    with pytest.raises(
        BadInput,
        match=r"isolate of any member needs links of one process alone, and the 61 processes of "
        r"orders share theirs, as more than 60 do: lower instances",
    ):
        registry.checked(with_app(registry.load("everyday"), most))
