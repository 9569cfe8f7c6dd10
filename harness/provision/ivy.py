"""Kafka's jars from a registry, by the Ivy that PySpark ships, so that no Maven has to be there.

Only a set-up that really fetches imports this: what it needs takes longer to load than a warm start
takes in all. A version that this repository does not pin is looked up once: every jar is held
against the strongest checksum that the registry has, and locked by its SHA-256, in the cache.

Java has to reach what Python reaches. The bundled runtime knows the public authorities only; where
a company's proxy re-signs traffic, a trust store passes to Java the authority that Python knows.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import ssl
import struct
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from harness.base.errors import BadInput, SetupError
from harness.base.paths import set_up
from harness.provision.cache import LOCKS, cache_dir, mark, scratch, write_atomically
from harness.provision.environment import env_dir, site_packages
from harness.provision.java import Java
from harness.provision.kafka import (
    DEFAULT_VERSION,
    Jar,
    digest,
    home,
    kept_lock,
    read_lock,
    wrong_jars,
)
from harness.provision.shell import FETCH_REMEDY, Shell

LOG: Final = "ivy.log"  # what Ivy says, in the folder of logs

# No host is named: Ivy knows the public repository, and users of a mirror name a settings
# file in KAFKA_CHAOS_IVY_SETTINGS. Ivy's own checksums are off: it knows SHA-1 only, and is content
# where there is none.
SETTINGS = """<ivysettings><settings defaultResolver="jars"/>
<property name="ivy.checksums" value=""/>
<resolvers><ibiblio name="jars" m2compatible="true" usepoms="{poms}" checksums=""/></resolvers>
</ivysettings>
"""

# Kafka writes its logs through SLF4J 1.7 and does not depend on what carries them to Log4j:
# without this one brokers log nothing.
LOGGING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")

# What Ivy says where the registry does not answer, or refuses: a module that is not there is
# "not found" without one of these.
_NO_ANSWER: Final = re.compile(
    r"^.*(?:Server access error|Host \S+ not found|(?:SERVER|CLIENT) ERROR|problem while down).*$",
    re.MULTILINE | re.IGNORECASE,
)
PASSWORD: Final = "changeit"  # Java's customary one; it guards nothing but integrity
# Java waits without end for an address that answers nothing.
_TIMEOUTS: Final = (
    "-Dsun.net.client.defaultConnectTimeout=30000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)
# Where people name authorities of their own for Python's clients.
BUNDLE_VARIABLES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
KINDS: Final = {"sha512": 128, "sha256": 64, "sha1": 40}  # digits of each, the strongest first

_HEADER: Final = """# The jars of a Kafka {version} broker: organisation:artifact:version sha256.
# Resolved from org.apache.kafka:kafka_2.13 and org.apache.logging.log4j:log4j-slf4j-impl
# (without the latter brokers log nothing). The order here is the order of the class path.
"""


def fetch_jars(kafka_version: str, java: Java, shell: Shell) -> None:
    """Download, verify, and only then put in place all jars of this Kafka version."""
    jars = read_lock(kafka_version)
    with scratch(cache_dir()) as folder:
        command = ivy_command(ivy_module(jars), java, folder)
        shell.run("fetching Kafka's jars", command, log=LOG, remedy=FETCH_REMEDY)
        wrong = wrong_jars(folder / "jars", jars)
        if wrong:
            raise SetupError(
                f"after the download {wrong[0]}; see {shell.logs / LOG}, and check which "
                "mirror answered"
            )
        place = home(kafka_version) / "jars"
        mark(place.parent)
        shutil.rmtree(place, ignore_errors=True)
        (folder / "jars").rename(place)


def ivy_command(
    module: str,
    java: Java,
    folder: Path,
    poms: str = "false",
    types: Sequence[str] = ("jar", "bundle"),
) -> list[object]:
    """The command that makes Ivy put what `module` wants into `folder`/jars.

    Whatever Ivy writes stays in `folder`. With `poms` "true" it looks up dependencies too.
    """
    ivy = folder / "ivy.xml"
    ivy.write_text(module, encoding="utf-8")
    settings = folder / "settings.xml"
    settings.write_text(SETTINGS.format(poms=poms), encoding="utf-8")
    named = os.environ.get("KAFKA_CHAOS_IVY_SETTINGS")
    return [
        java.binary,
        "-Xmx256m",
        f"-Divy.default.ivy.user.dir={folder / 'ivy'}",
        *network_options(folder),
        *("-jar", ivy_jar()),
        *("-settings", Path(named).expanduser() if named else settings),
        *("-cache", folder / "ivy-cache", "-ivy", ivy, "-types", *types, "-retrieve"),
        f"{folder / 'jars'}/[organisation]__[artifact]__[revision].[ext]",
    ]


def ivy_jar() -> Path:
    found = sorted((site_packages(env_dir()) / "pyspark" / "jars").glob("ivy-*.jar"))
    if not found:
        raise SetupError(
            f"no ivy-*.jar among PySpark's jars in {env_dir()}; remove that folder and run "
            f"`{set_up()}` again"
        )
    return found[-1]


def ivy_module(jars: Sequence[Jar]) -> str:
    """An Ivy module that wants exactly `jars` and nothing they depend on."""
    return _module(f"{_only(jar)}/>" for jar in jars)


def _only(jar: Jar) -> str:
    """The dependency on a jar and nothing that it depends on, as its tag begins."""
    return (
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.artifact)} "
        f'rev={quoteattr(jar.version)} transitive="false"'
    )


def _module(dependencies: Iterable[str]) -> str:
    wanted = "\n".join(dependencies)
    info = '<info organisation="kafka-chaos" module="kafka"/>'
    return f'<ivy-module version="2.0">{info}<dependencies>\n{wanted}\n</dependencies></ivy-module>'


def resolve(kafka_version: str, java: Java, shell: Shell, folder: Path) -> None:
    """Look up what a Kafka version consists of, and fetch its jars into `folder`/jars.

    Raises BadInput if the registry has no such version, SetupError if it does not answer.
    """
    wanted = (("org.apache.kafka", "kafka_2.13", kafka_version), LOGGING)
    module = _module(
        f'<dependency org="{organisation}" name="{artifact}" rev="{version}" '
        'conf="*->runtime,master(default)"/>'
        for organisation, artifact, version in wanted
    )
    what = f"looking up Kafka {kafka_version}"
    command = ivy_command(module, java, folder, poms="true")
    said = shell.run(what, command, log=LOG, may_fail=True)
    _check_answered(what, said, shell)
    if f"module not found: org.apache.kafka#kafka_2.13;{kafka_version}" in said:
        raise BadInput(
            f"the registry has no Kafka {kafka_version}: choose a release that it has, such as "
            f"{DEFAULT_VERSION}"
        )
    if not (folder / "jars").is_dir():
        raise SetupError(f"{what} failed: its output is in {shell.logs / LOG}; {FETCH_REMEDY}")


def checksums(
    jars: Sequence[Jar], kinds: Sequence[str], java: Java, shell: Shell, folder: Path
) -> dict[Jar, dict[str, str]]:
    """The checksums next to each jar in the registry, by kind ("sha512"): those that there are.

    They come through Ivy as the jars do: by its settings, and whatever they say of mirrors and
    passwords. Raises SetupError if the registry does not answer.
    """
    module = _module(
        f"{_only(jar)}>"
        + "".join(
            f'<artifact name={quoteattr(jar.artifact)} type="{kind}" ext="jar.{kind}"/>'
            for kind in kinds
        )
        + "</dependency>"
        for jar in jars
    )
    own = folder / "checksums"
    own.mkdir()
    what = "fetching the registry's checksums"
    command = ivy_command(module, java, own, types=kinds)
    # It fails where one of them is missing, and leaves the others in its cache.
    _check_answered(what, shell.run(what, command, log=LOG, may_fail=True), shell)
    cached = own / "ivy-cache"
    found: dict[Jar, dict[str, str]] = {}
    for jar in jars:
        place, name = cached / jar.organisation / jar.artifact, f"{jar.artifact}-{jar.version}.jar"
        paths = {kind: place / f"{kind}s" / f"{name}.{kind}" for kind in kinds}
        found[jar] = {
            kind: path.read_text(encoding="utf-8", errors="replace")
            for kind, path in paths.items()
            if path.is_file()
        }
    return found


def _check_answered(what: str, said: str, shell: Shell) -> None:
    if refused := _NO_ANSWER.search(said):
        raise SetupError(
            f"{what} failed, since the registry did not answer ({refused[0].strip()[:200]}; whole "
            f"output in {shell.logs / LOG}); {FETCH_REMEDY}"
        )


def network_options(folder: Path) -> list[str]:
    """All of them; the trust store is written into `folder`."""
    options = [*proxies(), *_TIMEOUTS]
    if certificates := trusted_certificates():  # Java's own list is better than an empty one
        store = folder / "trust.jks"
        store.write_bytes(jks(certificates))
        found = {"": store, "Type": "jks", "Password": PASSWORD}
        options += [f"-Djavax.net.ssl.trustStore{name}={value}" for name, value in found.items()]
    return options


def trusted_certificates() -> list[bytes]:
    """The certificates (DER) that Python and pip trust here; empty if Python names none."""
    context = ssl.create_default_context()
    files = [Path(os.environ[name]) for name in BUNDLE_VARIABLES if os.environ.get(name)]
    folder = Path(ssl.get_default_verify_paths().capath or os.devnull)
    # OpenSSL reads a folder of certificates only as it needs them, so get_ca_certs() does not list
    # them: load each file of it.
    if folder.is_dir() and not context.get_ca_certs():
        files += sorted(folder.iterdir())
    for file in files:
        with suppress(OSError):  # not a certificate, as ssl.SSLError, or not there
            context.load_verify_locations(cafile=file)
    return sorted(context.get_ca_certs(binary_form=True))


def jks(certificates: Iterable[bytes]) -> bytes:
    """A Java key store (JKS, protected by PASSWORD) that trusts `certificates` (DER)."""
    trusted, made_at = struct.pack(">I", 2), struct.pack(">Q", 0)
    entries = [
        trusted + _utf(f"ca{number}") + made_at + _utf("X.509") + struct.pack(">I", len(der)) + der
        for number, der in enumerate(certificates)
    ]
    body = struct.pack(">III", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    # The format's own fixed recipe, SHA-1 and the salt included.
    salted = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(salted, usedforsecurity=False).digest()


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


def proxies() -> list[str]:
    found = []
    for scheme, address in urllib.request.getproxies().items():
        proxy = urllib.parse.urlsplit(address if "//" in address else f"//{address}")
        if scheme in ("http", "https") and proxy.hostname:
            port = proxy.port or (443 if proxy.scheme == "https" else 80)
            found += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={port}"]
    return found


def adopt(kafka_version: str, java: Java, shell: Shell) -> str:
    """Fetch a version, and keep its jars and their lock in the cache; what was fetched, in words.

    Raises BadInput if the registry has no such version, and SetupError if it cannot be reached or
    a jar is not what it says: then nothing is kept.
    """
    with scratch(cache_dir()) as folder:
        jars, checked = _fetched(kafka_version, java, shell, folder)
        size = sum(path.stat().st_size for path in (folder / "jars").iterdir())
        place = home(kafka_version)
        mark(place)
        shutil.rmtree(place / "jars", ignore_errors=True)
        (folder / "jars").rename(place / "jars")
        write_atomically(kept_lock(kafka_version), _text(kafka_version, jars))
    by = ", ".join(f"{checked[kind]} by {_named(kind)}" for kind in KINDS if checked[kind])
    return (
        f"Kafka {kafka_version}: {len(jars)} files, {size / 1e6:.0f} MB, checked against the "
        f"registry's checksums ({by})"
    )


def pin(kafka_version: str, java: Java, shell: Shell) -> Path:
    """For maintainers: the same lock in this repository, without the jars; where it is."""
    with scratch(cache_dir()) as folder:
        jars, _ = _fetched(kafka_version, java, shell, folder)
    path = LOCKS / f"kafka-{kafka_version}.txt"
    write_atomically(path, _text(kafka_version, jars))
    return path


def _text(kafka_version: str, jars: Sequence[Jar]) -> str:
    lines = (f"{jar.organisation}:{jar.artifact}:{jar.version} {jar.sha256}\n" for jar in jars)
    return _HEADER.format(version=kafka_version) + "".join(lines)


def _fetched(
    kafka_version: str, java: Java, shell: Shell, folder: Path
) -> tuple[list[Jar], Counter[str]]:
    """The jars, now in `folder`/jars, and how many were checked by each kind of checksum."""
    resolve(kafka_version, java, shell, folder)
    paths = sorted((folder / "jars").iterdir())
    jars = [_jar(path) for path in paths]
    given = checksums(jars, tuple(KINDS), java, shell, folder)
    checked = Counter(
        agreed(path, given[jar], shell.logs / LOG) for path, jar in zip(paths, jars, strict=True)
    )
    return jars, checked


def _jar(path: Path) -> Jar:
    organisation, artifact, version = path.stem.split("__")
    return Jar(organisation, artifact, version, digest(path) or "")


def agreed(path: Path, given: Mapping[str, str], log: Path) -> str:
    """The kind of checksum that a jar was found to agree with, the strongest that is given.

    Raises SetupError where it does not agree, or none is given.
    """
    kind = next((each for each in KINDS if each in given), None)
    name = path.name.replace("__", ":").removesuffix(".jar")
    see = f"nothing was kept; see {log}, and check which mirror answered"
    if kind is None:
        raise SetupError(f"the registry has no checksum of {name}, so it cannot be trusted: {see}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    # Some registries write the file's name beside it, or capital letters.
    if found not in re.findall(rf"\b[0-9a-f]{{{KINDS[kind]}}}\b", given[kind].lower()):
        raise SetupError(
            f"{name} is not what the registry says it is (its {_named(kind)} differs): {see}"
        )
    return kind


def _named(kind: str) -> str:
    return kind.replace("sha", "SHA-")
