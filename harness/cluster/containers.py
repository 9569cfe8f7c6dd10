"""The Docker engine: reached, asked for images, and cleared of what a run left.

Everything that a run makes carries its labels, and nothing without them is ever touched.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from requests.exceptions import RequestException

from harness import processes
from harness.errors import ClusterError, SetupError
from harness.provision import toxiproxy
from harness.wait import wait_until

RUN_LABEL: Final = "kafka-chaos.run"
OWNER_LABEL: Final = "kafka-chaos.owner"
_TIMEOUT_S: Final = 30
_GONE_S: Final = 20.0
_ID: Final = re.compile(r"\b[0-9a-f]{64}\b")


def kafka_image(version: str) -> str:
    """The image of the brokers: Kafka's own of this version, or what KAFKA_IMAGE names."""
    return os.environ.get("KAFKA_IMAGE") or f"apache/kafka:{version}"


def toxiproxy_image() -> str:
    """The image of Toxiproxy: its own, or what TOXIPROXY_IMAGE names."""
    default = f"ghcr.io/shopify/toxiproxy:{toxiproxy.VERSION}"
    return os.environ.get("TOXIPROXY_IMAGE") or default


def connect() -> docker.DockerClient:
    """The engine that DOCKER_HOST names, or this machine's; SetupError where none answers."""
    where = os.environ.get("DOCKER_HOST", "its usual socket")
    try:
        engine = docker.from_env(timeout=_TIMEOUT_S)
        engine.ping()
    except (DockerException, RequestException) as error:
        if "Permission" in str(error):
            raise SetupError(
                f"the Docker engine at {where} refuses this user: add the user to the group "
                "docker and log in again, or say BACKEND=embedded"
            ) from error
        raise SetupError(
            f"no Docker engine answers at {where}: start one, or say BACKEND=embedded, which runs "
            "the brokers as processes"
        ) from error
    return engine


def fetch(engine: docker.DockerClient, image: str, variable: str) -> None:
    """Pull an image that is not here; SetupError names it, and the `variable` for another."""
    try:
        try:
            engine.images.get(image)
        except ImageNotFound:
            engine.images.pull(image)
    except (DockerException, RequestException) as error:
        raise SetupError(
            f"the image {image} is not here and cannot be pulled ({said(error)}): pull or "
            f"load it, or name another one by {variable}"
        ) from error


def labels(run: str) -> dict[str, str]:
    """What everything of a run carries: whose it is, and which harness has to live for it."""
    owner = os.environ.get(processes.OWNER_MARK) or processes.owner_token()
    return {RUN_LABEL: run, OWNER_LABEL: owner}


@contextmanager
def told_apart(doing: str) -> Iterator[None]:
    """Turn what the engine refuses into a ClusterError that says what was being done."""
    try:
        yield
    except (DockerException, RequestException) as error:
        raise ClusterError(f"the Docker engine refused {doing}: {said(error)}") from error


def said(error: Exception) -> str:
    """The engine's own words, on one line, without the long names that nobody can read."""
    text = getattr(error, "explanation", None) or str(error)
    return " ".join(_ID.sub("…", str(text)).split())[:400]


def remove_run(engine: docker.DockerClient, run: str) -> int:
    """Remove every container, network and volume of a run; how many containers there were.

    Another process may be at it too, and the last containers be made just now: it goes on until
    nothing is left. Raises WaitTimeout if something is after all, ClusterError for what is refused.
    """
    wanted = {"label": f"{RUN_LABEL}={run}"}
    removed: set[str] = set()

    def remove(container: str) -> None:
        with _gone_already():
            engine.api.remove_container(container, v=True, force=True)

    def gone() -> bool:
        found = [each["Id"] for each in engine.api.containers(all=True, filters=wanted, quiet=True)]
        removed.update(found)
        with ThreadPoolExecutor() as removers:
            list(removers.map(remove, found))
        networks = engine.networks.list(filters=wanted)
        for network in networks if not found else ():
            with _gone_already():
                network.remove()
        return not found and not networks

    with told_apart(f"to remove what run {run} made"):
        wait_until(f"end of the containers and networks of {run}", gone, timeout_s=_GONE_S)
    return len(removed)


@contextmanager
def _gone_already() -> Iterator[None]:
    try:
        yield
    except NotFound:
        return
    except APIError as error:
        # Another one removes it, or what it is in use by: it is looked for again.
        if not any(words in said(error) for words in ("already in progress", "active endpoints")):
            raise


def sweep(engine: docker.DockerClient) -> dict[str, int]:
    """Remove what runs left whose harness is gone; how many containers of each run.

    Raises ClusterError.
    """
    wanted = {"label": RUN_LABEL}
    with told_apart("a look at what earlier runs left"):
        found = [
            *engine.api.containers(all=True, filters=wanted),
            *engine.api.networks(filters=wanted),
        ]
    owners = {
        (each["Labels"] or {}).get(RUN_LABEL, ""): (each["Labels"] or {}).get(OWNER_LABEL, "")
        for each in found
    }
    dead = [run for run, owner in owners.items() if not processes.owner_alive(owner)]
    return {run: remove_run(engine, run) for run in dead}
