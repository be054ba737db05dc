"""Signatures: each check both ways; other tools' forms; a stamp of anything else, or by anyone else, is refused."""

import base64
import io
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from comity.archive.signing import checks
from comity.archive.signing.certificates import read_chain, write_chain
from comity.archive.signing.checks import Trust, check_signature
from comity.archive.signing.development import DOMAIN, make_development_files
from comity.archive.signing.signed_data import Identity, read_identity, sign, signed_data
from comity.archive.signing.time_stamp import BadStampError, ask, completed, read_stamp
from comity.archive.verify.whole import verify
from tests.fakes.time_stamping import REFUSAL, Authority, make_authority
from tests.unit.archive.packages import package

DIGEST = f"sha256:{'0' * 64}"
STEPS = (
    checks.FORM,
    checks.HASH,
    checks.KEY,
    checks.CHAIN,
    checks.DOMAIN,
    checks.STAMP,
    checks.STAMP_CHAIN,
)


class Signatory:
    """A development identity with an authority's time stamps, and the trust in both."""

    def __init__(self, folder: Path, name: str = "Stamping") -> None:
        files = make_development_files(datetime.now(UTC))
        self.identity: Identity = read_identity(files.key, files.chain.encode())
        self.authority: Authority = make_authority(folder, name)
        self.trust = Trust(self.identity.chain[-1:], (self.authority.root,), given=True, domain=DOMAIN)

    def sign(self, digest: str = DIGEST, created: datetime | None = None) -> dict[str, Any]:
        signature = sign(digest, self.identity)
        reply = self.authority.reply(ask(signature.encode()).der)
        return signed_data(
            digest=digest,
            created=created or datetime.now(UTC),
            software="comity 1",
            signature=signature,
            identity=self.identity,
            stamp=reply,
            stamp_chain=completed(read_stamp(reply).chain, [self.authority.root]),
        )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Signatory:
    return Signatory(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Signatory:
    return Signatory(tmp_path_factory.mktemp("other"), "Other")


@pytest.fixture(scope="module")
def signed(one: Signatory) -> dict[str, Any]:
    return one.sign()


def outcomes(signed: object, trust: Trust, digest: str = DIGEST) -> dict[str, str]:
    return {step.name: step.outcome for step in check_signature(signed, digest, trust)}


def failures(signed: object, trust: Trust, digest: str = DIGEST) -> dict[str, str]:
    steps = check_signature(signed, digest, trust)
    return {step.name: " ".join((step.reason, *step.details)) for step in steps if step.outcome == "failed"}


def test_signature_holds_in_every_check(one: Signatory, signed: dict[str, Any]) -> None:
    assert outcomes(signed, one.trust) == dict.fromkeys(STEPS, "ok")


def test_openssl_says_the_same_of_the_time_stamp(one: Signatory, signed: dict[str, Any]) -> None:
    data, stamp = signed["signature"].encode(), base64.b64decode(signed["timeSignature"])
    one.authority.verify(data, stamp)
    for other in ((data[:-1], stamp), (data, stamp[:-1] + bytes([stamp[-1] ^ 1]))):
        with pytest.raises(subprocess.CalledProcessError):
            one.authority.verify(*other)
        assert checks.STAMP in failures(
            signed | {"signature": other[0].decode(), "timeSignature": base64.b64encode(other[1]).decode()}, one.trust
        )


def test_without_trust_what_holds_together_is_left_to_the_reader(signed: dict[str, Any]) -> None:
    expected = dict.fromkeys(STEPS, "ok") | {checks.CHAIN: "skipped", checks.STAMP_CHAIN: "skipped"}
    assert outcomes(signed, Trust()) == expected


def test_impostor_of_the_same_name_is_not_trusted(signed: dict[str, Any], tmp_path: Path) -> None:
    assert failures(signed, Signatory(tmp_path, "Stamping").trust).keys() & {checks.STAMP, checks.STAMP_CHAIN}


def test_trust_in_others_fails_both_chains(signed: dict[str, Any], other: Signatory) -> None:
    assert set(failures(signed, other.trust)) == {checks.CHAIN, checks.STAMP_CHAIN}


def test_root_that_the_archive_brings_is_not_trusted_for_being_there(signed: dict[str, Any], other: Signatory) -> None:
    forged = signed | {"timestampCert": signed["timestampCert"] + write_chain([other.authority.root])}
    assert checks.STAMP_CHAIN in failures(forged, other.trust)
    swapped = other.sign() | {"timestampCert": signed["timestampCert"]}
    assert checks.STAMP in failures(swapped, other.trust)


@pytest.mark.parametrize(
    ("change", "step", "said"),
    [
        ({"hash": f"sha256:{'1' * 64}"}, checks.HASH, "there is sha256:000"),
        ({"signature": base64.b64encode(b"nonsense").decode()}, checks.KEY, "not of domainCert's key"),
        ({"signature": "%%%"}, checks.KEY, "not of domainCert's key"),
        ({"domain": "comity.example"}, checks.DOMAIN, "not a name of domainCert"),
        ({"domainCert": "no certificate"}, checks.CHAIN, "no PEM chain"),
        ({"timestampCert": "no certificate"}, checks.STAMP, "no PEM chain"),
        ({"timeSignature": "%%%"}, checks.STAMP, "not base64"),
        ({"timeSignature": base64.b64encode(b"0\x03abc").decode()}, checks.STAMP, "not an RFC 3161"),
        ({"created": "2020-01-01T00:00:00Z"}, checks.STAMP, "more than 10 minutes"),
        ({"created": "yesterday"}, checks.FORM, "no time"),
        ({"software": None}, checks.FORM, "lacks software"),
        ({"mood": "good"}, checks.FORM, "mood, which the format does not know"),
        ({"crossSignedCert": "no certificate"}, checks.KEY, "crossSignedCert"),
    ],
)
def test_each_changed_member_fails_its_check(
    one: Signatory, signed: dict[str, Any], change: dict[str, Any], step: str, said: str
) -> None:
    assert said in failures(signed | change, one.trust)[step]


def test_signature_of_another_archive_is_found(one: Signatory) -> None:
    moved = one.sign(f"sha256:{'2' * 64}")
    assert checks.HASH in failures(moved, one.trust)
    assert checks.KEY in failures(moved | {"hash": DIGEST}, one.trust)


def test_stamp_of_another_signature_is_found(one: Signatory, signed: dict[str, Any]) -> None:
    mixed = signed | {name: one.sign()[name] for name in ("timeSignature", "timestampCert")}
    assert checks.STAMP in failures(mixed, one.trust)
    assert checks.STAMP in failures(mixed, Trust())


def test_other_signer_of_a_trusted_authority_is_found(one: Signatory, signed: dict[str, Any]) -> None:
    assert checks.DOMAIN in failures(
        signed, Trust(one.trust.domain_roots, one.trust.stamp_roots, True, "other.example")
    )


def test_cross_signed_certificate_must_be_of_the_same_key(
    one: Signatory, other: Signatory, signed: dict[str, Any]
) -> None:
    assert failures(signed | {"crossSignedCert": signed["domainCert"]}, one.trust) == {}
    assert (
        "another key"
        in failures(signed | {"crossSignedCert": write_chain(other.identity.chain)}, one.trust)[checks.KEY]
    )


def test_chain_with_a_missing_link_is_found(one: Signatory, other: Signatory, signed: dict[str, Any]) -> None:
    broken = signed | {"domainCert": write_chain([one.identity.chain[0], other.identity.chain[1]])}
    assert "was not issued by" in failures(broken, one.trust)[checks.CHAIN]
    assert "was not issued by" in failures(broken, Trust())[checks.CHAIN]


def test_certificate_that_was_not_valid_when_signed_is_found(one: Signatory) -> None:
    early = make_development_files(datetime.now(UTC) - timedelta(days=1000))
    signatory = Signatory.__new__(Signatory)
    signatory.identity = read_identity(early.key, early.chain.encode())
    signatory.authority = one.authority
    trust = Trust(signatory.identity.chain[-1:], one.trust.stamp_roots, given=True)
    assert checks.CHAIN in failures(signatory.sign(), trust)
    assert "was not valid when signed" in failures(signatory.sign(), Trust())[checks.CHAIN]


@pytest.mark.parametrize("form", ["der", "plain"])
def test_anonymous_signatures_of_browsers_are_checked(form: str) -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    signature = key.sign(DIGEST.encode(), ec.ECDSA(hashes.SHA256()))
    if form == "plain":
        signature = b"".join(number.to_bytes(48) for number in decode_dss_signature(signature))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    anonymous = {
        "hash": DIGEST,
        "created": "2030-01-31T12:00:00Z",
        "software": "a browser's extension",
        "version": "0.1.0",
        "signature": base64.b64encode(signature).decode(),
        "publicKey": base64.b64encode(public).decode(),
    }
    found = outcomes(anonymous, Trust())
    assert (found[checks.KEY], found[checks.DOMAIN]) == ("ok", "skipped")
    changed = anonymous | {"hash": f"sha256:{'3' * 64}"}
    assert set(failures(changed, Trust())) == {checks.HASH, checks.KEY}


@pytest.mark.parametrize("signed", [None, [], "text", {}, {"hash": 1}])
def test_what_is_no_signature_is_told(signed: object) -> None:
    assert set(failures(signed, Trust())) == {checks.FORM}


def test_refusal_of_an_authority_is_quoted() -> None:
    with pytest.raises(BadStampError, match="not today"):
        read_stamp(REFUSAL)


@pytest.mark.parametrize("data", [b"", b"0", b"\x30\x80", b"\x30\x84\xff\xff\xff\xff", b"\x30\x03\x30\x01\x00"])
def test_what_is_no_stamp_is_told(data: bytes) -> None:
    with pytest.raises(BadStampError):
        read_stamp(data)


def test_stamp_repeats_the_number_that_was_asked(one: Signatory) -> None:
    question = ask(b"data")
    stamp = read_stamp(one.authority.reply(question.der))
    assert stamp.check(b"data", [one.authority.root], nonce=question.nonce) == ""
    assert "Nonce" in stamp.check(b"data", [one.authority.root], nonce=question.nonce + 1)
    assert stamp.check(b"date", [one.authority.root])
    assert stamp.check(b"data", [])


def test_signed_archive_is_ok_until_one_byte_of_its_signature_changes(one: Signatory, tmp_path: Path) -> None:
    data = package(tmp_path, sign=one.sign)
    whole = verify(io.BytesIO(data), one.trust)
    assert {step.outcome for step in whole.steps} == {"ok"}
    assert set(STEPS) <= {step.name for step in whole.steps}
    start = data.index(b'"signedData"')
    for at in range(start, data.index(b"PK\x01\x02", start), 17):
        changed = bytearray(data)
        changed[at] ^= 1
        assert not verify(io.BytesIO(bytes(changed)), one.trust).ok, at


@pytest.mark.parametrize("member", ["domainCert", "timestampCert", "timeSignature", "signature"])
def test_no_changed_byte_passes_unnoticed_or_unexplained(one: Signatory, signed: dict[str, Any], member: str) -> None:
    """Whatever a library makes of it: a step, never a stack trace. Bytes that no signature covers stay as they are."""
    text = signed[member]
    for at in range(0, len(text), 7):
        other = "A" if text[at] != "A" else "B"
        steps = check_signature(signed | {member: text[:at] + other + text[at + 1 :]}, DIGEST, one.trust)
        assert all(step.reason for step in steps)
        if member == "signature":
            assert any(step.outcome == "failed" for step in steps)


def test_certificate_with_a_negative_number_fails_and_warns_nobody(one: Signatory, signed: dict[str, Any]) -> None:
    der = base64.b64decode(signed["timeSignature"])
    number = read_stamp(der).chain[0].serial_number
    wire = number.to_bytes((number.bit_length() + 8) // 8)
    assert wire in der
    negative = der.replace(wire, bytes([wire[0] | 0x80]) + wire[1:])
    assert checks.STAMP in failures(signed | {"timeSignature": base64.b64encode(negative).decode()}, one.trust)


def test_players_find_the_first_certificate_before_the_first_empty_line(signed: dict[str, Any]) -> None:
    first = signed["domainCert"].split("\n\n")[0]
    assert first.count("BEGIN CERTIFICATE") == 1
    assert len(read_chain(signed["domainCert"])) == 2
    assert json.loads(json.dumps(signed)) == signed


def _pem(key: Any) -> bytes:
    data: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return data


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (lambda: b"no key", "no PEM private key"),
        (lambda: _pem(ec.generate_private_key(ec.SECP384R1())), "P-256"),
        (lambda: _pem(ec.generate_private_key(ec.SECP256R1())), "not of this key"),
    ],
)
def test_identity_that_does_not_fit_is_refused(one: Signatory, key: Callable[[], bytes], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_identity(key(), write_chain(one.identity.chain).encode())
