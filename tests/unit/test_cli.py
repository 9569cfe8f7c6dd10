"""What a user types wrong is answered with one sentence and the contracted exit code."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final
from unittest.mock import Mock

import pytest

from harness.base import processes
from harness.base.errors import NO_MEMORY, Exit
from harness.catalogue import registry
from harness.cli.main import OF_MAKE, main
from harness.experiment import APP, CLIENTS, PROTOCOLS
from harness.rules import RULES
from harness.run.faults import KINDS
from harness.run.folder import reserve
from tests.commands import python
from tests.report.sample_run import write_manifest, write_run
from tests.unit.conftest import Said
from tests.unit.worded import pairs

WRONG: Final = """
experiment => which experiment? Name one, such as broker-kill: `./kafka-chaos list` has all
run brokerkill => did you mean 'broker-kill'?
run baseline --set member=3 => did you mean 'members'?
run baseline --set members => form NAME=VALUE
run baseline --kafka 1.0 => Kafka 1.0 is not a release
run baseline --backend vm => backend 'vm' is not offered
run broker-isolated --backend embedded => choose docker
run baseline --security tls => security 'tls' is not offer
matrix --security tls => security 'tls' is not offered
up --security tls => security 'tls' is not offered
nightly --backend compose => needs clusters of its own
run baseline --seed x => chaos: --seed takes a whole number, such as 3, not 'x'
run baseline --set members=x => members takes a whole number, such as 3, not 'x'
try --grace-s x => --grace-s takes a number, such as 2.5, not 'x'
run baseline --client jave => client 'jave' is not offered: did you mean 'java'?
run baseline --client go => client 'go' is not offered: choose librdkafka or java
run baseline --protocol x => choose eager, cooperative or consumer (kip-848)
soak --for 10 => --for '10' has no unit: write 10s, 10m or 10h
soak --for => chaos: --for needs a value: see `./kafka-chaos soak --help`
run baseline --protcol x => has no option '--protcol': did you mean '--protocol'?
run baseline extra => `./kafka-chaos run` does not take 'extra': see `./kafka-chaos run
run baseline --pro x => --pro may stand for --project, --protocol: see
check => chaos: which RUN? see `./kafka-chaos check --help`
check x --engine spork => --engine 'spork' is not offered: did you mean 'spark'?
list --json=yes => --json takes no value, and 'yes' was given
sweep baseline --over foo=1,2 => there is no setting 'foo': `./kafka-chaos describe NAME`
run BROKER-KILL => did you mean 'broker-kill'?
experiment baseline --repeat 1000000000 => would take weeks: use 10000 or fewer
nightly --only baseline:jav => client 'jav' is not offered: did you mean 'java'?
list rules => `./kafka-chaos list` does not take 'rules': did you mean '--rules'?
completion tcsh => shell 'tcsh' is not offered: choose bash, zsh or fish
run baseline --port-base 70000 => '70000' is not a port
run baseline --port-base -1 => '-1' is not a port
run baseline --port-base 0 => choose one from 1 to 65535
run baseline --port-base x => 'x' is not a port
nightly --jobs 0 => '0' runs cannot be measured at one time
sweep --jobs x => choose from 1 to 64
experiment baseline --repeat 0 => use 1 or more
nightly --only baselin => did you mean 'baseline'?
nightly --only , => --only names no run
nightly --set client=java => ; use --client
nightly --set group.protocol=eager => ; use --protocol
nightly --share 2 => not of the form K/N
nightly --share 3/2 => there is no share 3 of 2
nightly --client librdkafka --client-version 2.8 => confluent-kafka 2.8 is not a release
nightly --client-version 2.4.1 => the Java client of Kafka 2.4.1 is too old
nightly --client go => client 'go' is not offered
compare-protocols => sweep consumer-crash --over protocol=eager,cooperative,consumer --repeat 1`
compare-protocols --client=librdkafka,java --members=10 --protocol=consumer =>
    --over client=librdkafka,java --set members=10 --protocol consumer --repeat 1`
sweep baseline --over protocol=eager,lazy => protocol 'lazy' is not offered
matrix --app kafkaj => did you mean 'kafkajs'?
matrix --app no/where => 'no/where': there are aiokafka,
matrix --app kafkajs --app kafkajs => called kafkajs
matrix --experiment everyda => did you mean 'everyday'?
matrix --experiment processing-stall => our own consumers
matrix --repeat 0 => use 1 or more
matrix --backend compose => needs a cluster of its own
matrix --kafka 1.0 => Kafka 1.0 is not a release
sweep --over members=3,5 => which experiment? Name one
sweep baseline => what is to be swept? Name a setting
sweep baselin --over members=3,5 => mean 'baseline'?
sweep baseline --over member=3,5 => mean 'members'?
sweep baseline --over members=3,5 --repeat 0 => use 1 or more
sweep baseline --over members=3,5 --repeat 2000 =>
    4,000 runs would take about 22.4 h, and a sweep takes 12 h at most
sweep baseline --over members=3,5 --backend compose => a sweep needs clusters of its own
up --kafka 1.0 => Kafka 1.0 is not a release
up --brokers 0 => needs at least one broker
up --topic a:b => NAME:PARTITIONS, such as orders:6
up --topic 'a b' => NAME:PARTITIONS, such as orders:6
up --set x => not of the form NAME=VALUE
up --set num.partition=3 => did you mean 'num.partitions'?
up --set num.partitions=x => takes a whole number, not 'x'
up --set group.share.session.timeout.ms=-5 =>
    group.share.session.timeout.ms is -5, which no broker takes: use a number from -1 to
up --set log.retention.ms=9223372036854775808 =>
    which no broker takes: use a number from -1 to 9223372036854775807
up --set log.cleaner.min.cleanable.ratio=nan =>
    log.cleaner.min.cleanable.ratio is nan, which no broker takes
up --port-base 0 => '0' is not a port
fault kil-broker coordinator => did you mean 'kill-broker'?
fault kill-broker => kill-broker of what? Say coordinator
fault kill-broker broker x => no target 'broker x'
fault kill-consumer member 1 => your own processes
fault latency members --for 3x => '3x' is no time
describe silent-member-is-evictd => did you mean 'session/silent-member-is-evicted'?
frobnicate => chaos: there is no command 'frobnicate': see `./kafka-chaos --help`
nigthly => there is no command 'nigthly': did you mean 'nightly'?
# Of programs.
try => which program? write its command after --
try --client java -- x => decides its own client, protocol and timers
try --set members=5 -- x => --instances sets the number
try --env PORT -- x => --env 'PORT' is not of the form NAME=VALUE
try --dependency DB -- x => --dependency 'DB' is not of the form NAME=
run baseline --dependency DB=h:1 => --dependency is about a program of yours
run slow-dependency => slow-dependency needs a program of yours
try --experiment slow-dependency -- x => names none: write [dependency] DATABASE_URL
try --build \\' -- x => --build "'" is not a command (No closing quotation)
try --signal TERM -- x => [stop] signal 'TERM' is not offered
try --value a --records b -- x => leave out one
try --stdout '(?P<n>.)' --http -- x => [effects] has stdout and http, and
try --image 'a b' => image 'a b' cannot name an image: write it as in
try --image=--rm => image '--rm' cannot name an image
try --image x --build make => there is a build step and an image, and x
try --entrypoint sh -- x => there is an entrypoint and no image
try --image x --entrypoint \\' => --entrypoint "'" is not a command
run baseline --entrypoint x => --entrypoint is about a program of yours
try --app nowhere -- x => has a command already: leave out what is after
try --app nowhere => nowhere cannot be read (No such file or directory)
try --experiment group-apis -- x => the probe group-apis asks only brokers
run baseline --instances 0 => --instances is about a program of yours
run baseline --name x => --name is about a program of yours
run baseline --grace-s 3 => --grace-s is about a program of yours
# Of limits.
experiment baseline --limit lots=0 => there is no limit 'lots': did you mean 'lost'?
run baseline --limit lots=0 => there is no limit 'lots': did you mean 'lost'?
try --limit lots=0 -- true => there is no limit 'lots': did you mean 'lost'?
nightly --list --limit lots=0 => there is no limit 'lots': did you mean 'lost'?
matrix --app java --limit lots=0 => there is no limit 'lots': did you mean 'lost'?
run baseline --limit out_of_order=0 => is about a program of yours that shows what it processes
run baseline --out-of-order 0 => is about a program of yours that shows what it processes
run baseline --limit lost=0 --lost 1 => the limit lost is given twice
"""


@pytest.mark.parametrize(("line", "says"), pairs(WRONG))
def test_a_wrong_command_gets_one_sentence_and_its_exit_code(
    line: str, says: str, said: Said
) -> None:
    assert says in said(line, Exit.BAD_ARGUMENTS)


NO_RUNS: Final = """
compare nowhere nowhere => there is no folder nowhere; name the folder of a run
check nowhere => there is no folder nowhere
trend --dataset nowhere => there is no folder nowhere; name the folder of a dataset
report nowhere => there is no folder nowhere
sql nowhere => there is no folder nowhere
collect nowhere => there is no folder nowhere
check docs => docs has no runs; name the folder of a run, such as results/<experiment>/latest
collect README.md => README.md is not the folder of a run: it has no manifest.json
"""


@pytest.mark.parametrize(("line", "says"), pairs(NO_RUNS))
def test_what_has_no_runs_is_no_data(line: str, says: str, said: Said) -> None:
    assert says in said(line, Exit.NO_DATA)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run baseline --kafka 3.9.2 --protocol kip-848", "choose KAFKA=4.0.0 or newer, or"),
        ("run baseline --backend vm --port-base 0", "--port-base '0' is not a port"),
        ("run baseline --kafka 3.9.2 --backend docker", "or newer, or BACKEND=embedded\n"),
    ],
)
def test_where_make_was_typed_options_are_its_variables(
    line: str, says: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OF_MAKE, "NAME KAFKA BACKEND")

    assert says in said(line, Exit.BAD_ARGUMENTS)
    assert OF_MAKE not in os.environ


@pytest.mark.parametrize("text", ["kip-848", "KIP-848", "kip848", "consumer"])
def test_a_protocol_has_the_name_that_people_say(text: str, said: Said) -> None:
    for line in (f"baseline --protocol {text}", f"baseline:librdkafka/{text}"):
        assert "baseline:librdkafka/kip-848" in said(f"nightly --list --only {line}")
    assert "protocol=kip-848" in said(f"sweep baseline --list --over protocol=eager,{text}")
    said(f"sweep baseline --list --over members=1,2 --set protocol={text}")


def test_what_is_refused_or_former_is_not_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["--help"], ["try", "--help"], ["fault", "--help"]):
        with pytest.raises(SystemExit):
            main(line)
    said = capsys.readouterr().out

    for absent in ("compare-protocols", "--client", "--protocol", "--how", "==SUPPRESS=="):
        assert absent not in said


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("nigh", "nightly"),
        ("experiment broker-kill-", "broker-kill-short-session"),
        ("experiment baseline --client j", "java"),
        ("sweep baseline --protocol k", "kip-848"),
        ("check run --eng", "--engine"),
        ("check run --engine d", "duckdb"),
        ("describe baselin", "baseline"),
        ("set", "setup"),
        ("run --how", ""),
    ],
)
def test_bash_completes(typed: str, found: str, said: Said) -> None:
    words = ["./kafka-chaos", *typed.split()]
    script = f"""{said("completion bash")}
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        _kafka_chaos; echo "${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=False)

    assert (f"{found}\n", "") == (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("zsh", "    *\\ --client\\ *) next='librdkafka java' ;;"),
        ("fish", "    case '* --client *'\n      string split ' ' 'librdkafka java'"),
    ],
)
def test_other_shells_have_the_same_words(shell: str, line: str, said: Said) -> None:
    assert line in said(f"completion {shell}")


@pytest.mark.parametrize("line", ["fault kill-broker coordinator", "fault isolate members", "down"])
def test_where_no_cluster_is_up_a_sentence_says_so(
    line: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.by_hand.up.standing", list)

    assert "no cluster is up: `./kafka-chaos up` brings one up" in said(line, Exit.NO_DATA)


def test_fault_alone_lists_what_can_be_broken(said: Said) -> None:
    listed = said("fault")

    for part in ("kill-broker", "leader of <topic>-<n>", "members, producers", "--latency-ms"):
        assert part in listed
    for part in ("kill-consumer", "isolate-broker", "add-partitions", "slow-sink", "member <n>"):
        assert part not in listed


def test_list_json_has_every_experiment_and_rule_with_what_it_is_about(said: Said) -> None:
    found = json.loads(said("list --json"))
    assert registry.names() == [item["name"] for item in found["experiments"]]
    for item in found["experiments"]:
        assert item["rules"]
        for rule in item["rules"]:
            fields = {"id", "source", "statement", "unit", "expected", "because", "within"}
            assert fields == set(rule)
            assert rule["source"]

    listed = {item["id"]: item for item in found["rules"]}
    assert list(RULES) == list(listed)
    for item in listed.values():
        assert item["source"]
        assert set() < set(item["clients"]) <= {*CLIENTS, APP}
        assert set() < set(item["protocols"]) <= set(PROTOCOLS)
    assert ("callback-stall", "VIOLATED") in [
        (item["name"], item["expected"]) for item in listed["R15-all"]["experiments"]
    ]
    assert set(registry.names()) == {item["name"] for item in listed["E01"]["experiments"]}
    always = {name for name, rule in RULES.items() if rule.always}
    assert always == {name for name, item in listed.items() if item["always"]}


def test_list_rules_has_a_paragraph_per_rule(said: Said) -> None:
    listed = said("list --rules")

    assert len(RULES) == listed.count("judged by: ")
    assert "every run\n" in listed
    always = [rule for rule in RULES.values() if rule.always]
    assert len(always) == listed.count("judged by: every run in which it can be examined")
    assert "it can be examined; bad-day, " in listed  # and the experiments that declare it


def test_nightly_list_plays_nothing(tmp_path: Path, said: Said) -> None:
    listed = said(f"nightly --list --only baseline --results {tmp_path}")

    assert "baseline:librdkafka/eager" in listed
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["list", "list --rules", "nightly --list --only bad-day"])
def test_lists_have_names_and_each_of_them_once(line: str, said: Said) -> None:
    shown = said(line)

    assert not [word for word in re.findall(r"[\w-]+", shown) if word in RULES]
    for row in re.findall(r"(?:rules|judged by): (.*)", shown):
        names = re.sub(r" \(.*?\)", "", row).split(", ")
        assert len(names) == len(set(names)), row


def test_what_needs_a_program_is_listed_as_such(said: Said) -> None:
    assert "played with a program of yours only (--app)" in said("list")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "consumer-crash",
            (
                "evicted one session timeout after",
                "group.session_timeout_ms = 6000",
                "for    librdkafka, java; eager, cooperative, kip-848",
            ),
        ),
        (
            "bad-day",  # how far an expected violation may go
            (
                '       expected by "* {stall-consumer} still held it", at most 17,000 ms outside',
                " the bounds; any other violation is not as expected\n",
                "any violation is as expected; limit it with by=, at_most= or up_to=\n",
            ),
        ),
        (
            "baseline",
            (
                "  load.idempotence = true\n",
                "  not set: cluster.upgraded_from, group.assignor, group.sabotage, group.cl",
            ),
        ),
        ("slow-dependency", ("needs  a program of yours (--app)",)),
        ("isolate-broker", ("\ntakes      lasts_s\n", "\nhow        peers or lanes\n")),
        ("scale", ("\ntargets    group\n", "\ntakes      by\n")),
        ("cut-dependency", ("\nneeds      a program of yours with a dependency\n",)),
        ("stall-callback", ("\nneeds      our own members, by whom it is done\n",)),
    ],
)
def test_describe_says_what_an_experiment_or_a_fault_is(
    name: str, parts: tuple[str, ...], said: Said
) -> None:
    shown = said(f"describe {name}")

    assert not [part for part in parts if part not in shown]
    assert not re.search(r"= (None|)$", shown, re.MULTILINE)  # no empty settings
    if name == "slow-dependency":
        assert "  group." not in shown  # which its program decides
    if name in KINDS and name not in registry.names():
        assert shown.startswith(f"{name}: a kind of fault\n")
        assert re.search(r"\nplayed by  [a-z].*\n$", shown)


def test_the_reader_of_a_short_output_may_go_away() -> None:
    """What fits a buffer is only written when the command ends, unless PYTHONUNBUFFERED is set."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        said = subprocess.run(
            [sys.executable, "-E", "-m", "harness", "describe", "baseline"],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (Exit.FAILED, "") == (said.returncode, said.stderr)


def test_the_reader_of_our_output_may_go_away() -> None:
    """`./kafka-chaos list --json | head -1` must not end in a traceback."""
    listing = subprocess.Popen(
        [sys.executable, "-m", "harness", "list", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert listing.stdout is not None
    assert listing.stderr is not None
    listing.stdout.close()
    said = listing.stderr.read()
    listing.stderr.close()
    listing.wait(timeout=60)

    assert b"Traceback" not in said


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, said: Said) -> None:
    run_dir = write_run(tmp_path / "run")
    (run_dir / "report.html").mkdir()

    answer = said(f"report {run_dir}", Exit.FAILED)
    *_, sentence = answer.splitlines()  # after a line of progress, where it takes long
    assert sentence.startswith(f"kafka-chaos: the machine refused ({run_dir}/")
    assert "Is a directory" in sentence
    assert sentence.endswith("run the command again")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (  # as Arrow says it: the file is in the text alone
            OSError(28, "Error writing bytes to 'x.parquet'.\nNo space left on device"),
            r"[^\n]* \(Error writing bytes to 'x.parquet'. No space left on device\): check.*\n",
        ),
        (MemoryError(), re.escape(f"kafka-chaos: {NO_MEMORY}\n")),
        (
            RuntimeError("a case without a thought"),
            r"Traceback (?s:.*)a case without a thought\n"
            + re.escape("kafka-chaos: the harness itself failed (RuntimeError): report the trace")
            + ".*\n",
        ),
    ],
    ids=["refusal", "memory", "harness"],
)
def test_a_failure_is_no_verdict_and_only_our_own_has_a_traceback(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    monkeypatch.setattr("harness.catalogue.listing.render_experiments", Mock(side_effect=error))

    assert re.fullmatch(says, said("list", Exit.FAILED))


def test_clean_all_removes_nothing_while_a_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    monkeypatch.setattr("harness.run.folder.sweep", lambda _say: 0)
    run_dir = write_run(tmp_path / "results" / "consumer-freeze" / "run-that-goes-on")
    (run_dir / "scratch").mkdir()
    (run_dir.parent / "latest").symlink_to(run_dir.name)
    line = f"clean --results {tmp_path / 'results'}"
    member = processes.spawn(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        run=run_dir.name,
        log=tmp_path / "log",
        stdin=subprocess.PIPE,
    )
    try:
        said(line)
        assert (run_dir / "scratch").exists()
        assert "run-that-goes-on still goes on" in said(f"{line} --all", Exit.FAILED)
        assert run_dir.exists()
    finally:
        processes.end_run(run_dir.name)
    member.communicate()
    said(f"{line} --all")
    assert not run_dir.exists()


def test_clean_leaves_a_run_that_starts_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One comes between the looks at folders and at processes, one has no process yet."""
    monkeypatch.setattr("harness.run.folder.sweep", lambda _say: 0)
    left = tmp_path / "baseline" / "left"
    between = tmp_path / "baseline" / "between"
    write_manifest(left)
    (left / "scratch").mkdir()
    early = reserve(tmp_path, "baseline")

    def marked() -> list[object]:
        (between / "scratch").mkdir(parents=True)
        return []

    monkeypatch.setattr(processes, "marked", marked)

    assert Exit.AS_EXPECTED == main(["clean", "--results", str(tmp_path)])
    assert not (left / "scratch").exists()
    assert (between / "scratch").exists()
    assert (early / "scratch").exists()


def test_ctrl_c_before_a_command_has_begun_is_one_sentence() -> None:
    """As it comes while modules are imported, which takes as long as some commands."""
    interrupted = (
        "import importlib.util as util, os, runpy, signal;"
        "found = util.find_spec;"
        "ours = lambda name: os.kill(os.getpid(), signal.SIGINT) or found(name);"
        "util.find_spec = lambda name: (ours if name == 'pyspark' else found)(name);"
        "runpy.run_module('harness', run_name='__main__')"
    )
    done = python("-c", interrupted)

    assert (2, "kafka-chaos: interrupted\n") == (done.returncode, done.stderr)


def test_a_run_that_goes_on_is_not_collected(tmp_path: Path, said: Said) -> None:
    """Its harness is about to write the very files."""
    run_dir = write_run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in run_dir.rglob("*") if path.is_file()}
    with processes.holding(run_dir):
        answer = said(f"collect {run_dir}", Exit.NO_DATA)

    assert "still goes on: collect it after its end" in answer
    after = {path: path.stat().st_mtime_ns for path in run_dir.rglob("*") if path.is_file()}
    assert before == after
