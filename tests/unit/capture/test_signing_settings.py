"""Half-configured signing stops the start, naming the setting."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.archive.signing.development import DOMAIN, make_development_files
from comity.capture.signing import LocalSigner, RemoteSigner
from comity.capture.signing_settings import SigningSettingsError, read_signing
from tests.fakes.time_stamping import make_authority


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    made = make_development_files(datetime.now(UTC))
    old = make_development_files(datetime.now(UTC) - timedelta(days=800))
    for name, data in (("key", made.key), ("old-key", old.key)):
        (folder / name).write_bytes(data)
    chain = {"chain": made.chain, "old-chain": old.chain, "ca": made.authority, "old-ca": old.authority}
    for name, text in chain.items():
        (folder / name).write_text(text)
    (folder / "leaf").write_text(made.chain.split("\n\n")[0])
    (folder / "junk").write_text("junk")
    stamps = make_authority(folder / "tsa")
    names = ("key", "old-key", "chain", "old-chain", "ca", "old-ca", "leaf", "junk")
    return {name: str(folder / name) for name in names} | {"tsa": str(stamps.root_file)}


def read(monkeypatch: pytest.MonkeyPatch, **given: str) -> object:
    for name in ("", "_KEY", "_CHAIN", "_TSA_URL", "_TSA_CA", "_URL", "_TOKEN", "_CA", "_DOMAIN", "_BUDGET_MS"):
        monkeypatch.delenv(f"CAPTURE_SIGNING{name}", raising=False)
    for name, value in given.items():
        monkeypatch.setenv("CAPTURE_SIGNING" if name == "policy" else f"CAPTURE_SIGNING_{name.upper()}", value)
    signing = read_signing("comity 1")
    return signing.signer if signing.policy != "off" else None


def local(files: dict[str, str], **more: str) -> dict[str, str]:
    return {
        "policy": "required",
        "key": files["key"],
        "chain": files["chain"],
        "tsa_url": "http://127.0.0.1:9/tsr",
        "tsa_ca": files["tsa"],
    } | more


def test_nothing_set_signs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch) is None
    assert read(monkeypatch, policy="off") is None
    assert read(monkeypatch, policy="") is None


def test_key_and_service_are_the_two_ways(monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    assert isinstance(read(monkeypatch, **local(files)), LocalSigner)
    assert isinstance(read(monkeypatch, **local(files, ca=files["ca"], domain=DOMAIN)), LocalSigner)
    remote = {"policy": "on-request", "url": "http://127.0.0.1:9/sign", "ca": files["ca"], "tsa_ca": files["tsa"]}
    signer = read(monkeypatch, **remote, token="sesame")
    assert isinstance(signer, RemoteSigner)
    assert "sesame" not in repr(signer)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "sometimes"}, "CAPTURE_SIGNING: "),
        ({"policy": "off"}, "CAPTURE_SIGNING_KEY is set but CAPTURE_SIGNING is off"),
        ({"key": ""}, "needs CAPTURE_SIGNING_KEY"),
        ({"tsa_ca": ""}, "needs CAPTURE_SIGNING_TSA_CA"),
        ({"tsa_url": ""}, "needs CAPTURE_SIGNING_TSA_URL"),
        ({"tsa_url": "authority.example"}, "CAPTURE_SIGNING_TSA_URL=authority.example: must be a URL"),
        ({"url": "https://signer.example/"}, "exclude each other"),
        ({"key": "/nowhere"}, "CAPTURE_SIGNING_KEY=/nowhere: cannot be read"),
        ({"key": "junk"}, "no PEM private key"),
        ({"key": "old-key"}, "not of this key"),
        ({"chain": "junk"}, "CAPTURE_SIGNING_CHAIN: the chain is no PEM"),
        ({"chain": "leaf"}, "does not end in a root"),
        ({"key": "old-key", "chain": "old-chain"}, "does not stand up for .* today"),
        ({"ca": "old-ca"}, "does not stand up"),
        ({"tsa_ca": "junk"}, "CAPTURE_SIGNING_TSA_CA=.*: is no PEM"),
        ({"domain": "comity.example"}, "CAPTURE_SIGNING_DOMAIN=comity.example: the certificate is of"),
        ({"budget_ms": "0"}, "CAPTURE_SIGNING_BUDGET_MS"),
    ],
)
def test_half_configured_is_refused(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str], change: dict[str, str], said: str
) -> None:
    given = local(files) | {name: files.get(value, value) for name, value in change.items()}
    with pytest.raises(SigningSettingsError, match=said):
        read(monkeypatch, **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "required"}, "or CAPTURE_SIGNING_URL for a signing service"),
        ({"policy": "required", "url": "https://signer.example/"}, "CAPTURE_SIGNING_CA, CAPTURE_SIGNING_TSA_CA"),
    ],
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], said: str) -> None:
    with pytest.raises(SigningSettingsError, match=said):
        read(monkeypatch, **given)


def test_token_does_not_travel_in_plain_text(monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    given = {"policy": "required", "url": "http://signer.example/", "ca": files["ca"], "tsa_ca": files["tsa"]}
    with pytest.raises(SigningSettingsError, match="plain text"):
        read(monkeypatch, **given, token="sesame")
    assert isinstance(read(monkeypatch, **given), RemoteSigner)
