import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consumers.__main__ import main
from consumers.config import ConsumerConfig, ProducerConfig
from harness.base.errors import BadInput

Write = Callable[[object], Path]


def test_a_good_configuration_is_read(consumer_settings: dict[str, Any], written: Write) -> None:
    config = ConsumerConfig.load(written(consumer_settings))
    assert config.group == "orders"
    assert config.sabotage is None


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        ({"commit": "sometimes"}, "commit 'sometimes' is not offered"),
        ({"protocol": "lazy"}, "protocol 'lazy' is not offered"),
        ({"commit": "external"}, "commit external needs the setting store: give it"),
        ({"commit": "transaction"}, "commit transaction needs the setting output: give it"),
        ({"client": "java"}, "client java needs java_home and class_path"),
        ({"sabotage": "sulk"}, "sabotage 'sulk' is unknown: choose commit-backwards or"),
        ({"batch_records": 0}, "batch_records of 0 is below 1"),
        ({"batch_records": "many"}, "batch_records must be int, not 'many'"),
        ({"batch_records": True}, "batch_records must be int, not True"),
        ({"sabotage": 7}, "sabotage must be str or null, not 7"),
        ({"colour": "red"}, "unknown setting 'colour'"),
        ({"max_poll_interval_ms": 5_000}, "max_poll_interval_ms of 5000 is below session"),
    ],
)
def test_a_bad_setting_is_one_sentence(
    consumer_settings: dict[str, Any], written: Write, change: dict[str, Any], heard: str
) -> None:
    path = written({**consumer_settings, **change})
    with pytest.raises(BadInput) as error:
        ConsumerConfig.load(path)
    assert f"{path}: {heard}" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_setting_is_named(consumer_settings: dict[str, Any], written: Write) -> None:
    del consumer_settings["group"]
    with pytest.raises(BadInput, match=r"a setting is missing: .*'group'"):
        ConsumerConfig.load(written(consumer_settings))


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        ({"acks": "2"}, "acks '2' is not offered"),
        ({"acks": "1"}, "acks of 1 with idempotence"),
        ({"record_bytes": 7}, "record_bytes of 7 is below 8"),
        ({"partitions": 0}, "partitions of 0 is below 1"),
    ],
)
def test_a_bad_producer_setting_is_one_sentence(
    producer_settings: dict[str, Any], written: Write, change: dict[str, Any], heard: str
) -> None:
    with pytest.raises(BadInput, match=heard):
        ProducerConfig.load(written({**producer_settings, **change}))


@pytest.mark.parametrize("role", ["consumer", "producer"])
@pytest.mark.parametrize("content", ["", "[]", "{", "{}"])
def test_a_program_with_a_bad_file_ends_with_4_and_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: str, content: str
) -> None:
    (tmp_path / "c.json").write_text(content, encoding="utf-8")
    assert main([role, "--config", str(tmp_path / "c.json")]) == 4
    assert capsys.readouterr().err.count("\n") == 1


def test_a_program_without_its_file_ends_with_4(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "consumers", "consumer", "--config", str(tmp_path / "none.json")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 4
    assert "cannot read the configuration" in ended.stderr


def test_unknown_arguments_end_with_4() -> None:
    assert main(["astronaut", "--config", "x"]) == 4
    assert main(["consumer"]) == 4


def test_what_librdkafka_itself_refuses_is_bad_input_too(
    consumer_settings: dict[str, Any],
    written: Write,
    capsys: pytest.CaptureFixture[str],
) -> None:
    consumer_settings["heartbeat_interval_ms"] = -5
    assert main(["consumer", "--config", str(written(consumer_settings))]) == 4
    assert "librdkafka refuses the configuration" in capsys.readouterr().err
