"""The Docker engine: reached, asked for images, and cleared of what a run left.

Everything that a run makes carries its labels, and nothing without them is ever touched.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound, StreamParseError
from docker.utils import parse_repository_tag
from requests import Response
from requests.exceptions import RequestException, Timeout
from urllib3.exceptions import HTTPError, ReadTimeoutError

from harness.base import processes
from harness.base.errors import ClusterError, SetupError
from harness.base.wait import wait_until
from harness.provision import toxiproxy
from harness.provision.image_names import with_digest

RUN_LABEL: Final = "kafka-chaos.run"
OWNER_LABEL: Final = "kafka-chaos.owner"
_TIMEOUT_S: Final = 30
_SILENCE_S: Final = 120  # while an image comes, the engine reports it several times a second
_GONE_S: Final = 20.0
IN_FLIGHT_S: Final = 1.0  # the engine may make a moment later what was asked for by the dead
EMBEDDED: Final = "say --backend embedded, which runs the brokers as processes"
NOT_HERE: Final = "choose another experiment, since this one needs brokers in containers"
_ID: Final = re.compile(r"\b[0-9a-f]{64}\b")


def kafka_image(version: str) -> str:
    return os.environ.get("KAFKA_IMAGE") or with_digest(f"apache/kafka:{version}")


def toxiproxy_image() -> str:
    default = f"ghcr.io/shopify/toxiproxy:{toxiproxy.VERSION}"
    return os.environ.get("TOXIPROXY_IMAGE") or with_digest(default)


def connect(otherwise: str = EMBEDDED) -> docker.DockerClient:
    """The engine that DOCKER_HOST names, or this machine's.

    Raises SetupError where none answers, with what to do `otherwise` than to have one.
    """
    where = os.environ.get("DOCKER_HOST", "its usual socket")
    try:
        engine = docker.from_env(timeout=_TIMEOUT_S)
        engine.ping()
        engine.api.send = partial(_sent, engine.api.send)
    except (DockerException, RequestException) as error:
        if "Permission" in str(error):
            raise SetupError(
                f"the Docker engine at {where} refuses this user: add the user to the group "
                f"docker and log in again, or {otherwise}"
            ) from error
        raise SetupError(
            f"no Docker engine answers at {where}: start one, or {otherwise}"
        ) from error
    return engine


def _sent(send: Callable[..., Response], request: Any, **options: Any) -> Response:
    """Send a request, with a limit on silence where the SDK sets none: it pulls without one."""
    if options.get("timeout") is None:
        options["timeout"] = _SILENCE_S
    return send(request, **options)


def fetch(engine: docker.DockerClient, image: str, variable: str) -> None:
    """Pull an image that is not here; SetupError names it, and the `variable` for another."""
    try:
        try:
            engine.images.get(image)
        except ImageNotFound:
            _pull(engine.api, image)
            engine.images.get(image)
    except (DockerException, RequestException, HTTPError, StreamParseError) as error:
        raise SetupError(
            f"the image {image} is not here and cannot be pulled ({said(error)}): pull or "
            f"load it, or name another one by {variable}"
        ) from error


def _pull(api: docker.APIClient, image: str) -> None:
    """Pull one image. Raises DockerException with the engine's own word for what stopped it."""
    repository, tag = parse_repository_tag(image)  # a registry's port is no tag
    try:
        for report in api.pull(repository, tag=tag, stream=True, decode=True):
            if problem := report.get("errorDetail", {}).get("message") or report.get("error"):
                raise DockerException(problem)
    except (Timeout, ReadTimeoutError) as error:
        raise DockerException(f"its registry did not answer for {_SILENCE_S} s") from error


def user_of(engine: docker.DockerClient) -> dict[str, str]:
    """How a container runs as this user, who has what is mounted into it, on this engine.

    A rootless engine is this user's, who is root within its containers: without a capability root
    may still write what is its own. Where users are remapped, a container leaves that.
    """
    names = security_of(engine)
    if "name=rootless" in names:
        return {"user": "0:0"}
    user = {"user": f"{os.getuid()}:{os.getgid()}"}
    return {**user, "userns_mode": "host"} if "name=userns" in names else user


def security_of(engine: docker.DockerClient) -> set[str]:
    """How the engine keeps its containers apart, in its words, such as "name=rootless"."""
    options = engine.info().get("SecurityOptions") or []
    return {option.partition(",")[0] for option in options}


def labels(run: str) -> dict[str, str]:
    """What everything of a run carries: whose it is, and which harness has to live for it."""
    owner = os.environ.get(processes.OWNER_MARK) or processes.owner_token()
    return {RUN_LABEL: run, OWNER_LABEL: owner}


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn what the engine refuses into a ClusterError that says what was being done."""
    try:
        yield
    except (DockerException, RequestException) as error:
        raise ClusterError(f"the Docker engine refused {doing}: {said(error)}") from error


def said(error: Exception) -> str:
    """The engine's own words, on one line, without long names."""
    text = getattr(error, "explanation", None) or str(error)
    return " ".join(_ID.sub("…", str(text)).split())[:400]


def remove_run(engine: docker.DockerClient, run: str, *labelled: str) -> int:
    """Remove every container of a run with its volumes, and its networks; how many containers.

    Those alone that have all the labels as well, where some are given.
    Another process may be at it too, and the last containers be made just now: it goes on until
    nothing is left. Raises WaitTimeout if something is after all, ClusterError for what is refused.
    """
    wanted = {"label": [f"{RUN_LABEL}={run}", *labelled]}
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

    with engine_errors(f"to remove what run {run} made"):
        wait_until(f"end of the containers and networks of {run}", gone, timeout_s=_GONE_S)
    return len(removed)


def remove_left(engine: docker.DockerClient, runs: Collection[str]) -> dict[str, int]:
    """Remove what runs left whose harness cannot any more; how many containers of each.

    Twice: what a harness was asking for when it died is made after it. Raises as `remove_run` does.
    """
    removed = {run: remove_run(engine, run) for run in runs}
    if removed:
        time.sleep(IN_FLIGHT_S)
    return {run: count + remove_run(engine, run) for run, count in removed.items()}


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


def left(engine: docker.DockerClient) -> dict[str, int]:
    """How many containers and networks are there of each run whose harness is gone.

    What carries a run and names no owner is not ours to remove. Raises ClusterError.
    """
    wanted = {"label": RUN_LABEL}
    with engine_errors("a look at what earlier runs left"):
        found = [
            *engine.api.containers(all=True, filters=wanted),
            *engine.api.networks(filters=wanted),
        ]
    labelled = [each["Labels"] or {} for each in found]
    return dict(
        Counter(
            each.get(RUN_LABEL, "")
            for each in labelled
            if processes.owner_dead(each.get(OWNER_LABEL, ""))
        )
    )
