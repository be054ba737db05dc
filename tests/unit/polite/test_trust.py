"""Settings of certificates: what they open, and what they refuse to start with."""

import ssl
from pathlib import Path

import pytest

from comity.polite.rules.certificates import certificates_in
from comity.polite.trust import BadTrustError, TlsTrust, system_trust, trust_of
from tests.fakes.chains import root


def test_without_settings_the_system_decides_and_gaps_are_filled() -> None:
    assert trust_of({}) is system_trust()
    assert system_trust().complete
    assert not trust_of({"COMITY_COMPLETE_CHAINS": "false"}).complete


def test_no_certificate_but_a_root_ends_a_chain() -> None:
    context = TlsTrust().context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN


def test_files_are_read(tmp_path: Path) -> None:
    top = root()
    (tmp_path / "roots").write_text(top.pem)
    (tmp_path / "middles").write_text("# a comment\n" + top.issuer("Middle").pem)
    trust = trust_of({"COMITY_WEB_ROOTS_FILE": f"{tmp_path}/roots", "COMITY_INTERMEDIATES_FILE": f"{tmp_path}/middles"})
    assert trust.has_issuer_of(top.issuer("Middle").certificate)
    assert not trust.has_issuer_of(root("Other").issuer("Middle").certificate)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("COMITY_WEB_ROOTS_FILE", "", "no certificate"),
        ("COMITY_INTERMEDIATES_FILE", "nothing", "no certificate"),
        ("COMITY_INTERMEDIATES_FILE", root().pem, "a root belongs with the roots"),
        ("COMITY_INTERMEDIATES_FILE", root().issuer("x", ended=True).pem, "take it out"),
        ("COMITY_INTERMEDIATES_FILE", root().issuer("x", ca=False).pem, "take it out"),
        ("COMITY_WEB_ROOTS_FILE", None, "cannot be read"),
    ],
)
def test_file_that_does_not_serve_is_refused_by_name(tmp_path: Path, name: str, content: str | None, says: str) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content or "\n")
    with pytest.raises(BadTrustError, match=name) as caught:
        trust_of({name: str(path)})
    assert says in str(caught.value)


def test_switch_is_true_or_false() -> None:
    with pytest.raises(BadTrustError, match="COMITY_COMPLETE_CHAINS"):
        trust_of({"COMITY_COMPLETE_CHAINS": "maybe"})


@pytest.mark.parametrize(
    "content", [b"", b"\x30", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\xff" * 500]
)
def test_what_is_no_certificate_gives_none(content: bytes) -> None:
    assert certificates_in(content) == ()
