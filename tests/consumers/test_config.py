from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consumers.__main__ import main
from consumers.config import ConsumerConfig
from harness.base.errors import BadInput

Write = Callable[[object], Path]


def test_a_good_configuration_is_read(consumer_settings: dict[str, Any], written: Write) -> None:
    config = ConsumerConfig.load(written(consumer_settings))
    assert config.group == "orders"
    assert config.sabotage is None


def test_settings_that_are_not_those_of_the_program_are_one_sentence(
    consumer_settings: dict[str, Any], written: Write
) -> None:
    path = written({**consumer_settings, "colour": "red"})
    with pytest.raises(BadInput, match=rf"^{path}: .*unexpected keyword argument 'colour'$"):
        ConsumerConfig.load(path)
    del consumer_settings["group"]
    with pytest.raises(BadInput, match=r"missing .*'group'$"):
        ConsumerConfig.load(written(consumer_settings))


@pytest.mark.parametrize("role", ["consumer", "producer"])
@pytest.mark.parametrize("content", [None, "", "[]", "{", "{}"])
def test_a_program_with_a_bad_file_or_none_ends_with_4_and_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: str, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "c.json").write_text(content, encoding="utf-8")
    assert main([role, "--config", str(tmp_path / "c.json")]) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert content is not None or "cannot read the configuration" in said


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
