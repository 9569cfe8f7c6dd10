from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from harness.provision import ivy
from harness.provision.java import find_java


def keytool(store: Path) -> subprocess.CompletedProcess[str]:
    tool = find_java().binary.parent / "keytool"
    options = ["-list", "-storetype", "jks", "-storepass", ivy.PASSWORD, "-keystore"]
    return subprocess.run(
        [tool, "-J-Xshare:auto", *options, store], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def certificates() -> list[bytes]:
    found = ivy.trusted_certificates()
    if not found:
        pytest.skip("this machine's Python names no authorities")
    return found


def test_java_reads_every_certificate(certificates: list[bytes], tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(ivy.jks(certificates))

    answer = keytool(store)

    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.count("trustedCertEntry") == len(certificates)


def test_java_notices_a_changed_store(certificates: list[bytes], tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    content = bytearray(ivy.jks(certificates[:1]))
    content[-25] ^= 1  # inside the certificate, before the 20 bytes of the digest
    store.write_bytes(content)

    assert keytool(store).returncode != 0


def test_same_certificates_make_the_same_store(certificates: list[bytes]) -> None:
    assert ivy.jks(certificates) == ivy.jks(list(certificates))
    assert certificates == sorted(set(certificates))


@pytest.mark.parametrize("named", ["PIP_CERT", "SSL_CERT_DIR"])
def test_an_own_bundle_or_folder_is_trusted_and_its_other_files_do_not_harm(
    certificates: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    for name in ivy.BUNDLE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "company"
    folder.mkdir()
    (folder / "README").write_text("not a certificate")
    bundle = folder / "one.pem"
    bundle.write_text(ssl.DER_cert_to_PEM_cert(certificates[0]))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv(named, str(bundle if named == "PIP_CERT" else folder))

    assert ivy.trusted_certificates() == [certificates[0]]


def test_nothing_trusted_leaves_java_its_own_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ivy, "trusted_certificates", list)

    assert not [each for each in ivy.network_options(tmp_path) if "trustStore" in each]


def test_proxies_of_python_are_those_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://user:word@proxy.example:3128")

    assert ivy.proxies() == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
    ]
