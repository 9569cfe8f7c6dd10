"""The image of the whole tool, built by its own recipe on a base that is made here.

What the recipe's set-up does is what every set-up does, so it is left out here, and this machine's
cache is used in its stead: fetching it all again takes minutes, which the nightly workflow has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import docker
import pytest
from docker.errors import ContainerError, ImageNotFound

from harness.base.paths import ROOT
from harness.provision.cache import cache_dir

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.docker]

LOCAL = "kafka-chaos-test/base:bookworm"  # which tests/machine makes where there is no registry
PYTHON = Path(sys.base_prefix).resolve()
USER = 1000


@pytest.fixture(scope="module")
def ours(docker_engine: docker.DockerClient) -> bool:
    """Whether the base is made here, with this machine's Python in it: then its cache fits."""
    try:
        docker_engine.images.get(LOCAL)
    except ImageNotFound:
        return False
    return True


@pytest.fixture(scope="module")
def image(
    docker_engine: docker.DockerClient, ours: bool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    name = f"kafka-chaos-test/tool:{uuid4().hex[:12]}"
    arguments = {"SET_UP": "later"}
    if ours:
        arguments["BASE"] = name.replace("tool", "python")
        _make_base(docker_engine, arguments["BASE"], tmp_path_factory.mktemp("base"))
    docker_engine.images.build(path=str(ROOT), tag=name, buildargs=arguments, rm=True)
    yield name
    for made in (name, arguments.get("BASE")):
        if made:
            docker_engine.images.remove(made, force=True)


def _make_base(engine: docker.DockerClient, name: str, folder: Path) -> None:
    """The base with this machine's Python at its place, and the libraries that it needs."""
    ignored = shutil.ignore_patterns("test", "site-packages", "__pycache__", "*.a", "share")
    tree = folder / "tree"
    shutil.copytree(PYTHON, tree / PYTHON.relative_to("/"), symlinks=True, ignore=ignored)
    programs = [PYTHON / "bin" / "python3", *PYTHON.glob("lib/python*/lib-dynload/*.so")]
    answer = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=True
    )
    (tree / "usr/local/lib").mkdir(parents=True, exist_ok=True)
    for library in set(re.findall(r"=> (/\S+)", answer.stdout)):
        # The base has a C library of its own, which fits its loader.
        if not re.match(r"lib(c|m|dl|rt|pthread|resolv)\.", Path(library).name):
            shutil.copy(library, tree / "usr/local/lib")
    (folder / "Dockerfile").write_text(
        f"FROM {LOCAL}\nCOPY tree /\nENV PATH={PYTHON}/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
        # Where this machine keeps them may be a folder that is root's alone.
        f"RUN ldconfig && mkdir -p {cache_dir()} && for place in {_above(PYTHON, cache_dir())}; "
        "do chmod a+x $place; done\n"
    )
    engine.images.build(path=str(folder), tag=name, rm=True)


def _above(*folders: Path) -> str:
    return " ".join(str(each) for folder in folders for each in folder.parents if each != Path("/"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A user's folder, which is mounted."""
    folder = tmp_path / "work"
    folder.mkdir()
    os.chown(folder, USER, USER)
    return folder


@pytest.fixture
def tool(docker_engine: docker.DockerClient, image: str, work: Path) -> Callable[..., str]:
    """Runs the image as a person would; what it printed. Raises ContainerError."""

    def run(*words: str, mounts: Sequence[str] = (), **more: Any) -> str:
        said = docker_engine.containers.run(
            image, list(words), remove=True, stderr=True, volumes=[f"{work}:/work", *mounts], **more
        )
        return str(said.decode())

    return run


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in folder.rglob("*")}


def test_it_has_the_command_and_is_not_root(
    docker_engine: docker.DockerClient, image: str, tool: Callable[..., str], work: Path
) -> None:
    settings = docker_engine.images.get(image).attrs["Config"]

    assert ("chaos", ["kafka-chaos"], "/work") == (
        settings["User"],
        settings["Entrypoint"],
        settings["WorkingDir"],
    )
    assert tool("--version").startswith("kafka-chaos ")
    assert "experiment NAME" in tool()
    tool("init")
    assert (work / "chaos" / "app.toml").is_file()
    assert {USER} == owners(work)


def test_a_slip_ends_with_the_exit_code_of_the_command(tool: Callable[..., str]) -> None:
    with pytest.raises(ContainerError) as refused:
        tool("experimant")
    assert 4 == refused.value.exit_status


@pytest.mark.long(40)
def test_it_plays_an_experiment_without_any_network(
    tool: Callable[..., str], work: Path, ours: bool
) -> None:
    if not ours:
        assert tool("init", "elsewhere")  # its set-up is another Python's, and not made here
        return
    cache = cache_dir()
    said = tool(
        *("experiment", "consumer-crash"),
        mounts=[f"{cache}:{cache}:ro"],
        environment={"KAFKA_CHAOS_CACHE": str(cache)},
        network_mode="none",
        init=True,
    )

    assert "Every verdict as expected" in said
    run = (work / "kafka-chaos-results" / "consumer-crash" / "latest").resolve()
    assert (run / "report.html").is_file()
    assert not (run / "scratch").exists()
    assert {USER} == owners(work)
