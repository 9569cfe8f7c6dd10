from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.provision import doctor, kafka, setup_steps
from harness.provision.cache import REPOSITORY
from harness.provision.environment import developers_env, env_dir, env_python
from harness.provision.provision_command import main
from tests.commands import dry_make, python

Capture = pytest.CaptureFixture[str]
PACKAGE = REPOSITORY / "harness" / "provision"
_WHERE = "import os, sys; print(sys.executable, os.getcwd())"


def provision(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return python("-m", "harness.provision", *args, **more)


def test_exec_runs_the_environments_python_in_the_repository_and_hands_on_its_exit_code() -> None:
    answer = provision("exec", "--", "-c", f"{_WHERE}; raise SystemExit(5)")

    assert answer.stdout.split() == [str(env_python(env_dir())), str(REPOSITORY)]
    assert (answer.stderr, answer.returncode) == ("", 5)


def test_exec_can_stay_in_the_folder_one_is_in(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    answer = provision("exec", "--stay", "--", "-c", _WHERE, cwd=tmp_path, env=env)

    assert answer.stdout.split() == [str(env_python(env_dir())), str(tmp_path)]


def test_exec_sets_up_each_version_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def is_complete(version: str, *, late: bool, developers: bool) -> bool:
        asked.append(version)
        return developers and not late

    monkeypatch.setattr(setup_steps, "is_complete", is_complete)
    monkeypatch.setattr(os, "execv", lambda *_: None)
    for versions in (["4.2.1", "3.9.2", "4.2.1"], [""], ["1.0"], []):
        main(["exec", "--stay", *(f"--kafka={each}" for each in versions), "--", "-c", ""])

    assert ["4.2.1", "3.9.2", kafka.DEFAULT_VERSION, kafka.DEFAULT_VERSION] == asked


@pytest.mark.parametrize(
    ("options", "wanted", "runs"),
    [
        ([], {"late": False, "developers": True}, "developers"),
        (["--whole"], {"late": True, "developers": True}, "developers"),
        (["--lean"], {"late": False, "developers": False}, "users"),
    ],
)
def test_users_get_no_tools_of_developers(
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    wanted: dict[str, bool],
    runs: str,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(setup_steps, "is_complete", lambda _version, **which: False)
    monkeypatch.setattr(setup_steps, "ensure", lambda _version, **which: asked.append(which))
    monkeypatch.setattr(os, "execv", lambda python, _: asked.append(python))

    main(["exec", "--stay", *options, "--", "-c", ""])

    env = {"users": env_dir(), "developers": developers_env()}[runs]
    assert [wanted, env_python(env)] == asked


@pytest.mark.parametrize("args", [[], ["bake"], ["exec"]])
def test_bad_arguments_are_exit_4_and_one_line(args: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(args)

    assert ended.value.code == 4
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("below", "says"),
    [
        ("file/below", "the cache folder {}/file/below"),
        ("", "the machine refused ({}/setup.lock: "),
    ],
)
def test_failure_is_exit_3_and_one_sentence(
    below: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "setup.lock").mkdir()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / below))

    assert main(["setup"]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"kafka-chaos: {says.format(tmp_path)}")
    assert said.count("\n") == 1


def test_interrupt_is_exit_2(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_version: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(setup_steps, "ensure", interrupted)

    assert main(["setup"]) == 2


def test_set_up_runs_on_the_standard_library_alone() -> None:
    names = sorted(path.stem for path in PACKAGE.glob("[!_]*.py"))
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
    code += "".join(f"import harness.provision.{name}\n" for name in names)

    # -S: without site-packages there is nothing but the standard library to import from.
    subprocess.run([sys.executable, "-I", "-S", "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize(
    "file",
    [
        *(REPOSITORY / "harness" / name for name in ("__init__.py", "__main__.py")),
        *(PACKAGE / name for name in ("__init__.py", "__main__.py")),
    ],
)
def test_a_python_too_old_can_still_read_why(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 7))

    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]


def test_doctor_finds_this_machine_in_order(capsys: Capture) -> None:
    assert doctor.show(doctor.diagnose()) == 0
    assert "broken" not in capsys.readouterr().out


def test_doctor_names_this_system_and_those_that_were_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, *_ = doctor.diagnose()

    assert (doctor.RUNS_ON in system.detail, doctor.TRIED_ON in system.detail) == (True, True)
    assert platform.machine() in system.detail
    readme = " ".join((REPOSITORY / "README.md").read_text().split())
    assert doctor.TRIED_ON.replace(",", " on") in readme

    monkeypatch.setattr(platform, "freedesktop_os_release", dict)
    assert f"Linux {platform.release()}, " in doctor.diagnose()[0].detail


def test_doctor_calls_a_fresh_machine_fit(empty_cache: Path) -> None:
    findings = {finding.name: finding for finding in doctor.diagnose()}

    assert findings["environment"].status == "missing"
    assert findings["toxiproxy 2.12.0"].status == "missing"
    assert doctor.show(list(findings.values())) == 0


def test_doctor_calls_a_wrong_java_broken(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_JAVA", "/no/such/java")

    assert doctor.show(doctor.diagnose()) == 3
    assert "KAFKA_CHAOS_JAVA names /no/such/java" in capsys.readouterr().out


def test_doctor_calls_a_full_disk_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ROOM_FOR_RUN_BYTES", 10**18)
    monkeypatch.setattr(doctor, "NEEDED_BYTES", 10**18)

    broken = [finding for finding in doctor.diagnose() if finding.status == "broken"]

    assert [finding.name for finding in broken] == ["cache"]
    assert "make room" in broken[0].remedy


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ("experiment", "kafka-chaos experiment"),
        (
            "experiment NAME=baseline SEED=7 KAFKA=4.3.1",
            "kafka-chaos experiment 'baseline' --seed '7' --kafka '4.3.1'",
        ),
        ("nightly CLIENT_VERSION=4.2.1", "kafka-chaos nightly --client-version '4.2.1'"),
        ("setup", "-m harness.provision setup"),
        ("setup KAFKA=4.2.1", "-m harness.provision setup --kafka '4.2.1'"),
    ],
)
def test_make_passes_on_only_what_was_given(typed: str, runs: str) -> None:
    line = " ".join(dry_make(*typed.split()))

    assert f"py {runs}" == re.sub(r"^KAFKA_CHAOS_MAKE='[A-Z_ ]*' ", "", line)


def test_make_takes_nothing_from_the_environment() -> None:
    exported = {"NAME": "this-host", "KAFKA": "/opt/kafka", "ALL": "1"}

    [line] = dry_make("experiment", "SEED=7", **exported)

    assert line.endswith("py kafka-chaos experiment --seed '7'")
    assert "make test-fast-only" in dry_make("test", **exported)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("experiment NAME=x SET=members=5", "SET"),
        ("matrix CLIENTS=java", "CLIENTS"),
        ("experiment LIMITS=lost=0", "LIMITS"),
        ("list KAFKA=4.2.1", "KAFKA"),
        ("NAME=x", "NAME"),
    ],
)
def test_make_refuses_what_its_target_does_not_take(typed: str, name: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        dry_make(*typed.split())

    assert f" takes no {name}: " in refused.value.stderr
    assert 1 == refused.value.stderr.count("\n")


def test_help_names_every_target() -> None:
    lines = (REPOSITORY / "Makefile").read_text().splitlines()
    phony = next(line for line in lines if line.startswith(".PHONY:")).split()[1:]
    explained = {line.split(":")[0] for line in lines if "## " in line and ":" in line}

    assert set(phony) <= explained
