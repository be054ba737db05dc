"""`comity signing init`: files that work, and that nobody can take for real."""

import stat
from pathlib import Path

import pytest

from comity.archive.signing.certificates import read_chain
from comity.archive.signing.signed_data import read_identity
from comity.cli.errors import BadInput
from comity.cli.signing import init_signing
from comity.cli.verify import trust_of


def test_files_work_and_say_what_they_are(tmp_path: Path) -> None:
    told = "\n".join(init_signing(tmp_path / "keys"))
    names = sorted(path.name for path in (tmp_path / "keys").iterdir())
    assert names == [f"NOT-FOR-PRODUCTION-{name}.pem" for name in ("ca", "signing-chain", "signing-key")]
    key, chain = tmp_path / "keys" / names[2], tmp_path / "keys" / names[1]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    identity = read_identity(key.read_bytes(), chain.read_bytes())
    assert identity.domain.endswith(".invalid")
    for certificate in read_chain(chain.read_bytes()):
        assert "NOT FOR PRODUCTION" in certificate.subject.rfc4514_string()
    assert f"CAPTURE_SIGNING_KEY={key}" in told
    assert trust_of([tmp_path / "keys" / names[0]]).domain_roots == identity.chain[-1:]


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    init_signing(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(BadInput, match="is there already"):
        init_signing(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_trust_must_be_certificates(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(BadInput, match="no PEM"):
        trust_of([tmp_path / "junk"])
    with pytest.raises(BadInput, match="cannot be read"):
        trust_of([tmp_path / "missing"])
    assert not trust_of([]).given
