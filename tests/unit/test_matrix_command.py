"""What `matrix` plays, in what order, and what it says of itself. No run is played here."""

import json
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.base.paths import ROOT
from harness.catalogue import apps
from harness.cli.main import main
from tests.unit.conftest import Begun, Said


def matrix(results: Path, *arguments: str) -> int:
    return main(["matrix", *arguments, "--results", str(results)])


def write_app(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "app.toml").write_text(f'name = "{name}"\ncommand = ["./{name}"]\n')
    (folder / name).touch(mode=0o755)
    return folder


def test_rounds_have_every_program_and_experiment(tmp_path: Path, begun: Begun) -> None:
    options = ("--app", "consumers/apps/kafkajs", "--app", "sarama", "--repeat", "2")
    matrix(tmp_path, *options)

    ((suite, runs),) = begun
    assert [
        f"{client}, {experiment}, run {number}"
        for number in (1, 2)
        for client in ("kafkajs", "sarama")
        for experiment in ("everyday", "rough-day", "rolling-deploy")
    ] == [entry.label for entry in suite.entries]
    assert (["kafkajs"] * 3 + ["sarama"] * 3) * 2 == [
        each.experiment.app.name for each in runs if each.experiment.app
    ]
    assert suite.path == (tmp_path / "matrix" / "latest").resolve()


def test_without_options_it_is_every_example_three_times(tmp_path: Path, begun: Begun) -> None:
    matrix(tmp_path)

    ((suite, runs),) = begun
    names = [folder.name for folder in apps.examples()]
    assert names == sorted(names)
    assert len(names) * 3 * 3 == len(suite.entries)
    assert {"repeat": 3, "examples": True, "command": "./kafka-chaos matrix --repeat 3"} == (
        suite.asked
    )
    for run in runs:
        assert {"P1", "P6", "P7", "P8", "P10"} <= {each.rule for each in run.experiment.rules}


def test_the_command_names_no_place_of_this_machine(tmp_path: Path, begun: Begun) -> None:
    mine = write_app(tmp_path / "work" / "orders", "orders")
    example = str(ROOT / "consumers" / "apps" / "kafkajs")
    one_of_two = str(ROOT / "consumers" / "apps" / "java" / "recommended.toml")
    apps_named = ("--app", example, "--app", one_of_two, "--app", str(mine / "app.toml"))
    options = (*apps_named, "--experiment", "consumer-crash")
    matrix(tmp_path, *options, "--repeat", "1", "--seed", "7")

    ((suite, _),) = begun
    assert "orders" == suite.entries[-1].client
    assert not suite.asked["examples"]
    assert (
        "./kafka-chaos matrix --app consumers/apps/kafkajs "
        "--app consumers/apps/java/recommended.toml --app orders "
        "--experiment consumer-crash --repeat 1 --seed 7" == suite.asked["command"]
    )


def test_two_programs_of_one_name_are_refused(tmp_path: Path, begun: Begun, said: Said) -> None:
    one, other = (write_app(tmp_path / name, "orders") for name in ("a", "b"))

    assert "2 apps are called orders" in said(
        f"matrix --app {one} --app {other} --results {tmp_path}", Exit.BAD_ARGUMENTS
    )
    assert not begun


def test_one_that_is_interrupted_keeps_what_there_is(
    tmp_path: Path, begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    code = matrix(tmp_path, "--app", "kafkajs", "--repeat", "1")

    ((suite, _),) = begun
    assert Exit.INTERRUPTED == code
    record = json.loads((suite.path / "matrix.json").read_text())
    assert ["interrupted", "not played", "not played"] == [each["state"] for each in record["runs"]]
    assert "kafkajs, everyday, run 1: interrupted (it was" in capsys.readouterr().out


def test_a_file_of_its_own_name_is_an_app(tmp_path: Path, begun: Begun) -> None:
    mine = write_app(tmp_path / "a", "orders") / "app.toml"
    matrix(tmp_path, "--app", str(mine))

    assert "orders" == begun[0][0].entries[0].client


def test_every_experiment_of_a_matrix_takes_every_example(tmp_path: Path, begun: Begun) -> None:
    matrix(tmp_path, "--repeat", "1")

    for candidate in begun[0][1]:
        assert {"P1", "P6", "P7", "P8", "P10"} <= {
            expect.rule for expect in candidate.experiment.rules
        }
