"""The options of every command, as a table, and the parser that is made from it.

A line names an option or an argument, says how it is read, and then what it means:

    --grace-s float @stop.grace_s: seconds from that signal until it is killed (default: 30)

It is read as text, or as a type of `_TYPES`. `flag` has no value, `*` may be given several times;
`?`, `+` and `...` stand for at most one word, one or more, and any number. `=` comes before a
default, `@` before the line of app.toml whose place it takes, and `>` before its name in the code,
where it has another. `{a,b}` is what can be chosen; anything else stands for the value in the help.
A line `+ RUNS` takes in the options of another part, and `## ` begins a group of the help.
"""

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta, timezone, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.ports import LAST_PORT

MOST_JOBS: Final = 64  # each has three brokers and a group

Command = Callable[[argparse.Namespace], int]

TABLE: Final = r"""
EVERY
--results path: folder of all runs (default: results, or the project's)
## your own project
--project path FILE: your kafka-chaos.toml (default: found from here)
--experiments path FOLDER: folder of your own experiments
--own-rules path FOLDER: folder of your own rules

RUNS
--seed int: draws when faults start, and in a soak which
--set * NAME=VALUE: a setting (see `describe`)
--client: client library of our own members: librdkafka or java
--client-version: version of the members' client: of confluent-kafka, or of Kafka's Java client
--protocol: rebalance protocol of our own members: eager, cooperative or consumer (KIP-848)
--backend: embedded (processes), docker, or for a single run compose
+ CLUSTER LIMIT

CLUSTER
--kafka release: version of Kafka
--security: plaintext, ssl or sasl_ssl (default: plaintext)

LIMIT
--limit * NAME=VALUE: a promise: standstill_s=10, repeats=500, lost=0, drained_s=30, out_of_order=0

PORTS
--port-base port: use the ports from this one on (default: free ones)

JOBS
--jobs jobs N: how many runs are measured at one time, while the next one starts (default: one for
    each 4 cores and 4 GB)

JSON
--json flag: print the result as JSON: numbers, verdicts, and the path of the page

REPEAT
--repeat int =1: how many runs, each with its own seed

SPARK
--spark URL: the Spark that does the work: spark://HOST:PORT or sc://HOST:PORT (default: this
    machine)

PROGRAM
## your program
--app path APP.TOML: its app.toml, or the folder that has it
--name @name: its name on pages and in results
--image @image: its image: each process is a container of it
--entrypoint words @entrypoint COMMAND: entry point instead of the image's
--build words @build COMMAND: build step, before anything is timed
--instances int @instances: how many processes (default: 3)
--env * pair @env NAME=VALUE: environment variable; {bootstrap}, {topic}, {group}, {member} are
    replaced
--dependency * pair @dependency NAME=HOST:PORT: a server that it uses besides Kafka; the variable
    NAME gets the address of a proxy in front of it
--static flag @static: give each process an instance id
--value @records.value TEMPLATE: value of a record; {n} is its number
--records path @records.file FILE: file with the values, one per line
--stdout @effects.stdout PATTERN: it prints a line for each processed record; PATTERN finds the
    record's number: 'done (?P<n>\d+)'
--http ? @effects.http PATTERN: it posts each processed record to {sink}; PATTERN finds the number
    in the post
--output-topic @effects.output_topic TOPIC: it writes each processed record to this topic
--output-pattern @effects.output_pattern PATTERN: finds the number in a record of that topic
--verifiable flag @effects.verifiable: it prints the lines of Kafka's VerifiableConsumer
--start-s float @start_s: seconds that a process may take until it asks to join (default: 90)
--steady-s float @steady_s: seconds that the group may take until it is steady (default: 90, and
    longer if its members announce that they may take longer)
--signal @stop.signal: signal that ends it (default: SIGTERM)
--grace-s float @stop.grace_s: seconds from that signal until it is killed (default: 30)
--standstill-s float @limits.standstill_s: your promise: most seconds that a partition stands still
    at one time
--drained-s float @limits.drained_s: your promise: most seconds until everything is committed at the
    end (default: 60)
--repeats int @limits.repeats: your promise: most records of the run that come again
--lost int @limits.lost: your promise: most lost records of a partition (default: 0)
--out-of-order int @limits.out_of_order: your promise: most records processed after later ones
    (default: 0)

experiment
name ? NAME: see `list`
+ PORTS RUNS PROGRAM REPEAT JSON

run
name ? NAME: see `list`
+ PORTS RUNS PROGRAM

soak
--for time =1h >for_s TIME: 30m, 2h, … (default: 1h); Ctrl-C ends it earlier, with a verdict
+ PORTS JSON RUNS PROGRAM

try
--experiment =everyday >name NAME: see `list` (default: everyday)
+ PORTS REPEAT JSON RUNS PROGRAM
program ... COMMAND: after --: what to run

nightly
--list flag: print the set, and play nothing
--long flag: play only the long experiments
--only NAME,NAME:CLIENT/PROTOCOL: these runs instead of the whole set
--share =1/1 K/N: the K-th of N equally long parts of the set
+ JOBS RUNS

matrix
--app * APP.TOML: a program, its folder, or an example by its name (default: all of consumers/apps)
--experiment * NAME: see `list` (default: everyday, rough-day and rolling-deploy)
--repeat int =3: runs of each (default: 3)
+ JOBS
--seed int: seed of the first run; each later run has one more
--backend: embedded (processes) or docker
+ CLUSTER LIMIT

sweep
name ? = NAME,NAME: one or more experiments; `list` has them
--over * NAME=VALUE,VALUE: a setting (see `describe`), or a broker's setting by Kafka's name, and
    its values; several make a grid
--repeat int =3: runs of each (default: 3)
--list flag: print the runs, and play nothing
+ JOBS RUNS

check
runs + place RUN: a run's folder, or a folder of runs; several print what changed; a run in another
    store, such as s3a://BUCKET/results/NAME/RUN, is copied here first
--rule * ID: judge by this rule, declared or not, print its rows, and write nothing
--engine =spark {spark,duckdb}: duckdb prints verdicts within seconds, and writes nothing (default:
    spark)
--limit * NAME=VALUE: judge by this promise instead of the run's own, and write nothing
+ SPARK

report
run path RUN: folder of a run, of repeats, a matrix, a sweep or a night
+ JSON
--into path FOLDER: for a matrix: add its programs to the page in this folder

sql
run ? path RUN: a run's folder, or a folder of runs
query ? QUERY: without it: list the tables
--format =table {table,csv,json}: format of the answer (default: table, with 200 rows at most)

keep
run path RUN: a run's folder
--as >name NAME: name of the copy (default: its experiment's)

pinned
--renew flag: pin the results of today, and exit with 0

explain
logs + path LOG: brokers' log files, or folders of them
--group: explain only this group
--timezone zone ZONE: zone of times without one: Europe/Berlin, or +02:00 (default: shown as
    written)
--into path FOLDER: folder for explain.html and the tables

compare
a path A: folder of a run, of repeats, of a sweep or of a night
b path B: folder of a run, of repeats, of a sweep or of a night
--json flag: print it as JSON
--each-run flag: of two nights, show the rules and figures of each run, too

trend
+ SPARK
--dataset PLACE: dataset to read: s3a://BUCKET/dataset, hdfs://… or a folder (default: the one in
    --results)

collect
run path RUN: a run's folder

up
+ CLUSTER
--brokers int =3: how many brokers (default: 3)
--topic * NAME:PARTITIONS: create this topic (default: t:6); others are created when they are first
    used
--set * NAME=VALUE: a setting of brokers, by Kafka's name
--detach flag: return once it is up; `down` ends it
--port-base port =29091: use the ports from this one on (default: 29091)

fault
kind ? KIND: without it: list what can be broken
target ... TARGET: coordinator, leader of t-3, members, …
--for time >lasts_s TIME: how long it lasts: 500ms, 10s, 2m, 1h (default: 10s)
--group: the group whose coordinator is meant (default: the only one)
--how WAY: the variant, if the kind has several (isolate-broker)
--latency-ms int MS: added to each round trip
--bandwidth-kb-per-s int KB: bandwidth of a link in each direction

down

list
--rules flag: print every rule, and which experiments judge it
--json flag: print experiments and rules as JSON

describe
name NAME: an experiment or a rule: see `list` and `list --rules`
--sql flag: print a rule as the .sql file that makes it

clean
--all flag: remove all else as well that this project made in the folder of all runs; the dataset,
    which has the verdicts of all runs, stays
--cache flag: offer to remove environments, jars and AOT caches that nothing uses any more
--dry-run flag: only list what would be ended and removed
--yes flag: with --cache: remove without asking

doctor

compare-protocols
name ? =consumer-crash NAME
--protocol =eager,cooperative,consumer
--set *
--client
--client-version
--members
--backend
+ CLUSTER
--seed
"""


def port(text: str) -> int:
    """A number of a port; raises argparse's error for another."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: choose one from 1 to {LAST_PORT}, with free ports after it"
        )
    return number


def release(version: str) -> str:
    """A version of Kafka. Raises BadInput for one that cannot be had."""
    from harness.provision.kafka import check_offered

    check_offered(version)
    return version


def duration(text: str) -> float:
    """Seconds of a time like 90s, 30m or 1h; raises argparse's error for another."""
    from harness.run.by_hand.breakable import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def jobs(text: str) -> int:
    """A number of runs at one time; raises argparse's error for another."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text!r} runs cannot be measured at one time: choose from 1 to {MOST_JOBS}"
        )
    return int(text)


def zone(text: str) -> tzinfo:
    """A time zone by its name or its offset; raises argparse's error for another."""
    if match := re.fullmatch(r"([+-])(\d\d):?(\d\d)", text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < timedelta(hours=24):
            return timezone(offset if match[1] == "+" else -offset)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a known time zone: write Europe/Berlin or +02:00"
        ) from None


def place(named: str) -> Path | str:
    """A folder of this machine, or the address of one in another store."""
    return named if "://" in named else Path(named)


def _words(option: str, command: str) -> tuple[str, ...] | None:
    try:
        return tuple(shlex.split(command)) or None
    except ValueError as error:
        raise BadInput(
            f"{option} {command!r} is not a command ({error}): correct its quotes"
        ) from None


def _pair(option: str, form: str, item: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals:
        raise BadInput(f"{option} {item!r} is not of the form {form}")
    return name, value


_TYPES: Final[dict[str, Callable[[str], Any]]] = {
    each.__name__: each for each in (int, float, place, release, port, jobs, zone)
} | {"path": Path, "time": duration}


class _OptionParser(argparse.ArgumentParser):
    """Says one sentence, and ends with the contracted exit code."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog}: {message}; see --help")


def parser(functions: Iterable[Command]) -> argparse.ArgumentParser:
    """The parser of these commands, each with a part of the table: `try` is that of try_command."""
    whole = _OptionParser(prog=COMMAND, description="Chaos testing of Kafka consumer groups.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND", parser_class=_OptionParser)
    parts = [part.splitlines() for part in re.sub(r"\n {4}", " ", TABLE).strip().split("\n\n")]
    lines = {name: rest for name, *rest in parts}
    for function in functions:
        name = function.__name__.removesuffix("_command").replace("_", "-")
        summary = (function.__doc__ or "").splitlines()[0]
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(command=function)
        _add(added, ["+ EVERY", *lines[name]], lines)
    return whole


def _add(
    whole: argparse.ArgumentParser, part: Sequence[str], lines: Mapping[str, Sequence[str]]
) -> None:
    to: argparse._ActionsContainer = whole
    for line in part:
        if line.startswith("+ "):
            for other in line.split()[1:]:
                _add(whole, lines[other], lines)
        elif line.startswith("## "):
            to = whole.add_argument_group(line[3:])
        else:
            how, _, meaning = line.partition(": ")
            name, *words = how.split()
            to.add_argument(name, help=meaning or None, **_read(name, words))


def _read(name: str, words: Sequence[str]) -> dict[str, Any]:
    how: dict[str, Any] = {}
    for word in words:
        match word[0], word:
            case _, "flag":
                how["action"] = "store_true"
            case _, "*":
                how |= {"action": "append", "default": []}
            case _, "?" | "+" | "...":
                how["nargs"] = "*" if word == "..." else word
            case "=", _:
                how["default"] = word[1:]
            case "@", _:
                how |= {"dest": f"{name} {word[1:]}", "default": None}
            case ">", _:
                how["dest"] = word[1:]
            case "{", _:
                how["choices"] = word[1:-1].split(",")
            case _ if word in _TYPES or word in ("words", "pair"):
                how["type"] = _TYPES.get(word, word)
            case _:
                how["metavar"] = word
    if how.get("type") == "words":
        how["type"] = partial(_words, name)
    if how.get("type") == "pair":
        how["type"] = partial(_pair, name, how["metavar"])
    if name.startswith("--") and how.get("nargs") == "?":
        how["const"] = True
    if "dest" in how and how.get("action") != "store_true":
        how.setdefault("metavar", name[2:].replace("-", "_").upper())
    return how
