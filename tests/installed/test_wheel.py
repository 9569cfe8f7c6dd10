"""What a wheel brings, and the command in a project that knows nothing of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from harness import __version__
from harness.base.errors import Exit
from harness.base.paths import ROOT
from harness.catalogue import apps, project, registry
from harness.cli.main import COMMANDS
from harness.cli.options import parser
from harness.provision.environment import env_dir
from kafka_chaos import command, pytest_plugin
from tests.installed.conftest import CODE, Installed, tracked

pytestmark = pytest.mark.long(1)

TREE = "kafka_chaos/tree/"


def names_in(wheel: Path) -> list[str]:
    with ZipFile(wheel) as file:
        return file.namelist()


def about(wheel: Path, name: str) -> bytes:
    with ZipFile(wheel) as file:
        return file.read(f"kafka_chaos-{__version__}.dist-info/{name}")


def test_a_wheel_has_one_module_and_needs_no_package(wheel: Path) -> None:
    assert {"kafka_chaos", f"kafka_chaos-{__version__}.dist-info"} == {
        name.partition("/")[0] for name in names_in(wheel)
    }
    metadata = message_from_bytes(about(wheel, "METADATA"))
    assert [f'{command.EXTRA}; extra == "mcp"'] == metadata.get_all("Requires-Dist")
    assert ">=3.11" == metadata["Requires-Python"]
    assert "Apache-2.0" == metadata["License-Expression"]
    assert __version__ == metadata["Version"]
    assert b"Root-Is-Purelib: true" in about(wheel, "WHEEL")
    for name in ("LICENSE", "NOTICE"):
        assert (ROOT / name).read_bytes() == about(wheel, f"licenses/{name}")


def test_a_wheel_carries_what_is_run_and_nothing_that_was_built(wheel: Path) -> None:
    carried = {name.removeprefix(TREE) for name in names_in(wheel) if name.startswith(TREE)}

    wanted = {
        name for name in tracked() if name == "requirements.lock" or name.split("/")[0] in CODE
    }
    assert wanted == carried


def test_the_source_archive_has_what_the_wheel_is_made_of(wheel: Path) -> None:
    (archive,) = wheel.parent.glob("*.tar.gz")
    top = f"kafka_chaos-{__version__}"
    assert {f"{top}.tar.gz", wheel.name} == {path.name for path in wheel.parent.iterdir()}

    with tarfile.open(archive) as file:
        names = {name.removeprefix(f"{top}/") for name in file.getnames()}

    carried = {name.removeprefix(TREE) for name in names_in(wheel) if ".dist-info/" not in name}
    assert carried | {"LICENSE", "NOTICE", "README.md", "pyproject.toml"} <= names


def test_it_is_tried_before_it_is_published(installed: Installed, wheel: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # with pip

    said = subprocess.run(
        [ROOT / ".ci" / "try-wheel", wheel],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )

    assert Exit.AS_EXPECTED == said.returncode, said.stderr
    assert installed.copy.is_dir()  # which goes with the fixture
    assert "Losing a partition leader" in said.stdout
    assert "rules judged" in said.stdout


def test_a_wheel_has_the_whole_of_its_own_module(wheel: Path) -> None:
    ours = {name for name in names_in(wheel) if name.startswith("kafka_chaos/")}

    assert {name for name in tracked() if name.startswith("kafka_chaos/")} == {
        name for name in ours if not name.startswith(TREE)
    }


def test_the_command_knows_those_of_the_harness() -> None:
    listed = parser(COMMANDS).format_help()

    assert set(command.COMMANDS) == set(re.findall(r"^    ([a-z][a-z-]*)", listed, re.MULTILINE))


def test_version_and_help_need_no_set_up(installed: Installed, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "cache")

    said = installed("--version", KAFKA_CHAOS_CACHE=nowhere)
    assert (Exit.AS_EXPECTED, f"kafka-chaos {__version__}\n", "") == (
        *(said.returncode, said.stdout, said.stderr),
    )
    said = installed("--help", KAFKA_CHAOS_CACHE=nowhere)
    assert Exit.AS_EXPECTED == said.returncode
    assert all(name in said.stdout for name in (*command.COMMANDS, *command.OWN))
    assert not Path(nowhere).exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "which command? `kafka-chaos --help` names them"),
        (["lst"], "there is no command 'lst': did you mean 'list'?"),
        (["frobnicate"], "there is no command 'frobnicate': `kafka-chaos --help` names them"),
        (["init", "a", "b"], "init takes one folder, not a b"),
        (["init", "--force"], "init takes one folder, not --force"),
    ],
)
def test_a_slip_is_reported_before_anything_is_set_up(
    installed: Installed, tmp_path: Path, words: list[str], says: str
) -> None:
    said = installed(*words, KAFKA_CHAOS_CACHE=str(tmp_path / "cache"))

    assert Exit.BAD_ARGUMENTS == said.returncode
    assert said.stderr.startswith(f"kafka-chaos: {says}")
    assert 1 == said.stderr.count("\n")
    assert not (tmp_path / "cache").exists()


def test_it_works_beside_packages_of_the_same_names(installed: Installed) -> None:
    said = installed("list")

    assert Exit.AS_EXPECTED == said.returncode, said.stderr
    assert all(name in said.stdout for name in registry.names())


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            "experiment broker-kil",
            Exit.BAD_ARGUMENTS,
            "kafka-chaos: there is no experiment 'broker-kil': did you mean 'broker-kill'?\n",
        ),
        # Hints name the command that was installed.
        ("nightly --only ,", Exit.BAD_ARGUMENTS, "see `kafka-chaos nightly --list`"),
        # Results and paths are from the folder that one is in.
        (
            "trend",
            Exit.NO_DATA,
            "kafka-chaos: kafka-chaos-results has no judged run: play some first\n",
        ),
        (
            "experiment everyday --app app.toml",
            Exit.BAD_ARGUMENTS,
            "app.toml: there is no setting 'comand': did you mean 'command'?",
        ),
    ],
)
def test_what_the_harness_refuses_is_said_as_of_the_installed_command(
    installed: Installed, words: str, code: Exit, says: str
) -> None:
    (installed.project / "app.toml").write_text("comand = ['x']\n")

    said = installed(*words.split())

    assert code == said.returncode
    assert says in said.stderr


def test_it_runs_from_the_cache_and_writes_nothing_where_it_is_installed(
    installed: Installed,
) -> None:
    before = sorted(installed.packages.rglob("*"))
    installed("list")

    # Its environment is the one of this clone.
    assert str(env_dir()) in installed("doctor").stdout
    assert before == sorted(installed.packages.rglob("*"))
    assert (installed.copy / "requirements.lock").is_file()


def test_no_cache_is_one_sentence(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    said = installed("list", KAFKA_CHAOS_CACHE=str(tmp_path / "file" / "cache"))

    assert Exit.FAILED == said.returncode
    assert said.stderr.startswith(f"kafka-chaos: the cache folder {tmp_path}/file/cache cannot be")
    assert 1 == said.stderr.count("\n")


def test_no_network_at_first_use_is_reported_with_what_to_do(
    installed: Installed, tmp_path: Path
) -> None:
    said = installed(
        "list",
        KAFKA_CHAOS_CACHE=str(tmp_path / "cache"),
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_RETRIES="0",
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path),
    )

    assert Exit.FAILED == said.returncode
    last = said.stderr.splitlines()[-1]
    assert last.startswith("kafka-chaos: installing the Python packages failed: ")
    assert last.endswith("check the network and the proxy, then run `kafka-chaos setup` again")


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("platform", "darwin", "kafka-chaos runs on Linux, and this is darwin: "),
        ("platform", "win32", "kafka-chaos runs on Linux, and this is win32: "),
        ("version_info", (3, 10, 1), "kafka-chaos needs Python 3.11 or newer, but "),
    ],
)
def test_what_it_cannot_run_on_is_one_sentence(place: str, value: object, says: str) -> None:
    code = f"import sys; sys.{place} = {value!r}; from kafka_chaos.__main__ import main; "

    said = subprocess.run(
        [sys.executable, "-c", f"{code}sys.exit(main())"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert Exit.FAILED == said.returncode
    assert said.stderr.startswith(says)
    assert 1 == said.stderr.count("\n")


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        (["experiment", "x", "--kafka", "4.2.1"], ["4.2.1"]),
        (["nightly", "--kafka=4.2.1", "--client-version", "3.9.2"], ["4.2.1"]),
        (["try", "--", "./consumer", "--kafka", "broker:9092"], []),
        (["experiment", "x", "--kafka"], [""]),
    ],
)
def test_the_versions_that_are_named_are_set_up(words: list[str], versions: list[str]) -> None:
    assert versions == command._versions(words)


def test_init_writes_an_example_that_can_be_read(installed: Installed, tmp_path: Path) -> None:
    said = installed("init", str(tmp_path / "a" / "b"))

    assert Exit.AS_EXPECTED == said.returncode, said.stderr
    folder = tmp_path / "a" / "b"
    there = {path.name for path in command.TEMPLATE.iterdir() if path.name != "__pycache__"}
    assert set(command.FILES) == {path.name for path in folder.iterdir()} == there
    app = apps.read(folder)
    assert 10 == app.limits.standstill_s
    assert "stdout" == app.effects.way
    (played,) = re.findall(r'run\("([a-z-]+)"', (folder / "test_orders.py").read_text())
    apps.with_app(registry.load(played), app)
    for name in ("consumer.py", "test_orders.py"):
        compile((folder / name).read_text(), name, "exec")


def test_init_overwrites_nothing(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text("mine\n")

    said = installed("init", str(tmp_path))

    assert Exit.BAD_ARGUMENTS == said.returncode
    assert f"{tmp_path}/consumer.py is there already, and nothing is overwritten" in said.stderr
    assert ["consumer.py"] == [path.name for path in tmp_path.iterdir()]
    assert "mine\n" == (tmp_path / "consumer.py").read_text()


def test_init_says_where_it_cannot_write(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    said = installed("init", str(tmp_path / "file" / "below"))

    assert Exit.FAILED == said.returncode
    assert 1 == said.stderr.count("\n")
    assert "cannot be written" in said.stderr


def test_the_words_of_a_project_are_those_of_the_harness() -> None:
    assert (project.FILE, str(project._RESULTS)) == (pytest_plugin.PROJECT, pytest_plugin.RESULTS)
    assert os.fspath(command.source()) == os.fspath(ROOT)


def test_codes_are_those_of_the_contract() -> None:
    assert (Exit.INTERRUPTED, Exit.FAILED, Exit.BAD_ARGUMENTS) == (
        *(command._INTERRUPTED, command._FAILED, command._BAD_ARGUMENTS),
    )


def test_its_packages_are_its_own_whatever_is_on_the_path(
    installed: Installed, tmp_path: Path
) -> None:
    for name in ("rich", "pyarrow"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('this is theirs')\n")

    said = installed("list", PYTHONPATH=str(tmp_path))

    assert Exit.AS_EXPECTED == said.returncode, said.stderr
