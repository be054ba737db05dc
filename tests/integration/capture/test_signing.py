"""Captures that are signed, by our own key and by a service; and every way in which that fails leaves no artifact."""

import base64
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from comity.archive.signing.certificates import read_chain
from comity.archive.signing.checks import Trust
from comity.archive.signing.signed_data import Identity, read_identity, sign, signed_data, wire_time
from comity.archive.signing.time_stamp import ask, completed, read_stamp
from comity.archive.verify.steps import Verdict
from comity.archive.verify.whole import verify
from comity.cli.signing import init_signing
from tests.fakes.http_server import Asked, FakeServer, Reply
from tests.fakes.time_stamping import Mood, TimeStampServer, make_authority
from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, path_of, request
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Papers:
    """The files that `comity signing init` makes, and an authority that stamps."""

    folder: Path
    stamps: TimeStampServer

    @property
    def ca(self) -> Path:
        return self.folder / "NOT-FOR-PRODUCTION-ca.pem"

    @property
    def key(self) -> Path:
        return self.folder / "NOT-FOR-PRODUCTION-signing-key.pem"

    @property
    def chain(self) -> Path:
        return self.folder / "NOT-FOR-PRODUCTION-signing-chain.pem"

    @property
    def identity(self) -> Identity:
        return read_identity(self.key.read_bytes(), self.chain.read_bytes())

    @property
    def trust(self) -> Trust:
        return Trust(read_chain(self.ca.read_bytes()), (self.stamps.authority.root,), given=True)

    def local(self, policy: str) -> dict[str, str]:
        return {
            "CAPTURE_SIGNING": policy,
            "CAPTURE_SIGNING_KEY": str(self.key),
            "CAPTURE_SIGNING_CHAIN": str(self.chain),
            "CAPTURE_SIGNING_TSA_URL": self.stamps.url,
            "CAPTURE_SIGNING_TSA_CA": str(self.stamps.authority.root_file),
            "CAPTURE_SIGNING_BUDGET_MS": "2500",
        }


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Papers]:
    folder = tmp_path_factory.mktemp("papers")
    init_signing(folder / "keys")
    with TimeStampServer(make_authority(folder / "tsa")) as stamps:
        yield Papers(folder / "keys", stamps)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory, papers: Papers) -> Iterator[CaptureServer]:
    with CaptureServer(tmp_path_factory.mktemp("signing") / "store", **papers.local("on-request")) as server:
        yield server


@contextmanager
def mood(papers: Papers, of_the_day: Mood) -> Iterator[None]:
    papers.stamps.mood = of_the_day
    try:
        yield
    finally:
        papers.stamps.mood = "honest"


def verdict(path: Path, trust: Trust) -> Verdict:
    with path.open("rb") as file:
        return verify(file, trust)


def refusal(server: CaptureServer, url: str, **settings: Any) -> dict[str, str]:
    answer = server.post(request(url, **settings))
    assert answer.status_code == 400, answer.text
    return {item["path"]: item["message"] for item in answer.json()["fieldList"]}


def unsigned(report: dict[str, Any]) -> str:
    """The message of a capture that failed for its signature and left nothing but its manifest."""
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "signing")
    assert report["errorDetails"]["step"] == "sign"
    assert report["artifacts"] == {}
    message: str = report["errorDetails"]["message"]
    return message


def test_signed_capture_stands_up_here_and_to_openssl(signer: CaptureServer, papers: Papers, site: FixtureSite) -> None:
    report = signer.capture(site.url(0), "wacz", "html", signing=True)
    assert report["signature"]["signed"] is True
    assert {check["outcome"] for check in report["signature"]["checks"]} == {"ok"}
    path = path_of(report["artifacts"]["wacz"])
    assert {step.outcome for step in verdict(path, papers.trust).steps} == {"ok"}
    told = json.loads(Archive(path).members["datapackage-digest.json"])["signedData"]
    papers.stamps.authority.verify(told["signature"].encode(), base64.b64decode(told["timeSignature"]))
    assert Archive(path).package["comity"]["settings"]["signing"] is True


def test_one_byte_changed_anywhere_in_a_signed_archive_is_named(
    signer: CaptureServer, papers: Papers, site: FixtureSite
) -> None:
    """All over the file, and at every byte of its last records: the ZIP's directory and the signature lie there."""
    path = path_of(signer.capture(site.url(0, "/zoo/landed"), signing=True)["artifacts"]["wacz"])
    whole = path.read_bytes()
    assert verdict(path, papers.trust).ok
    unnoticed = []
    for at in sorted({*range(0, len(whole), 211), *range(len(whole) - 250, len(whole)), *range(30)}):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        found = verify(io.BytesIO(data), papers.trust)
        if found.ok or not all(step.reason for step in found.failures):
            unnoticed.append(at)
    assert unnoticed == []


def test_capture_is_signed_only_on_request(signer: CaptureServer, papers: Papers, site: FixtureSite) -> None:
    asked = papers.stamps.asked
    report = signer.capture(site.url(0))
    assert "signature" not in report
    assert papers.stamps.asked == asked
    assert "signedData" not in json.loads(Archive.of(report).members["datapackage-digest.json"])


@pytest.mark.parametrize(
    ("today", "said"),
    [
        ("silent", "did not answer within 2500 ms"),
        ("error", "answered 503: closed on Sundays"),
        ("broken", "not an RFC 3161 time stamp"),
        ("endless", "over 1048576 bytes"),
        ("refusing", "not today"),
    ],
)
def test_authority_that_fails_leaves_no_artifact(
    signer: CaptureServer, papers: Papers, site: FixtureSite, today: Mood, said: str
) -> None:
    with mood(papers, today):
        report = signer.capture(site.url(0), "wacz", "html", signing=True)
    assert said in unsigned(report)
    task_files = list(signer.store.rglob(f"*{report['taskId']}*"))
    assert [file.name for file in task_files] == [f"{report['taskId']}.result.json"]


def test_old_stamp_given_again_is_refused(signer: CaptureServer, papers: Papers, site: FixtureSite) -> None:
    with mood(papers, "replaying"):
        assert signer.capture(site.url(0), signing=True)["status"] == "success"
        assert "does not stand up" in unsigned(signer.capture(site.url(0), signing=True))


def test_required_signs_unasked_and_takes_no_refusal(tmp_path: Path, papers: Papers, site: FixtureSite) -> None:
    with CaptureServer(tmp_path / "store", **papers.local("required")) as server:
        assert server.capture(site.url(0))["signature"]["signed"] is True
        assert "required" in refusal(server, site.url(0), signing=False)["/signing"]
        assert "signature" not in server.capture(site.url(0), "html", signing=False)


def test_server_that_does_not_sign_says_so(server: CaptureServer, site: FixtureSite) -> None:
    assert "CAPTURE_SIGNING=off" in refusal(server, site.url(0), signing=True)["/signing"]
    assert "signature" not in server.capture(site.url(0), signing=False)


class Service:
    """A signing service; `spoil` changes what it answers."""

    def __init__(self, papers: Papers) -> None:
        self.papers = papers
        self.spoil: dict[str, Any] = {}
        self.status = 200

    def __call__(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization", asked.headers.get("Authorization")) != "bearer sesame":
            return Reply(status=403, text="who are you")
        identity, stamps = self.papers.identity, self.papers.stamps.authority
        signature = sign(asked.body["hash"], identity)
        reply = stamps.reply(ask(signature.encode()).der)
        signed = signed_data(
            digest=asked.body["hash"],
            created=read_stamp(reply).moment,
            software="authsigner 9",
            signature=signature,
            identity=identity,
            stamp=reply,
            stamp_chain=completed(read_stamp(reply).chain, [stamps.root]),
        )
        assert wire_time(read_stamp(reply).moment)[:10] == asked.body["created"][:10]
        return Reply(body=signed | {"crossSignedCert": None} | self.spoil)


def test_service_signs_and_what_comes_back_is_checked(tmp_path: Path, papers: Papers, site: FixtureSite) -> None:
    service = Service(papers)
    with FakeServer(service) as remote:
        environment = {
            "CAPTURE_SIGNING": "on-request",
            "CAPTURE_SIGNING_URL": f"{remote.url}/sign",
            "CAPTURE_SIGNING_TOKEN": "sesame",
            "CAPTURE_SIGNING_CA": str(papers.ca),
            "CAPTURE_SIGNING_TSA_CA": str(papers.stamps.authority.root_file),
        }
        with CaptureServer(tmp_path / "store", **environment) as server:
            report = server.capture(site.url(0), signing=True)
            assert report["signature"]["software"] == "authsigner 9"
            assert verdict(path_of(report["artifacts"]["wacz"]), papers.trust).ok
            for spoil, check in (
                ({"hash": f"sha256:{'0' * 64}"}, "signature-hash"),
                ({"domain": "comity.example"}, "signature-domain"),
                ({"signature": base64.b64encode(b"x" * 70).decode()}, "time-stamp"),
                ({"publicKey": "x"}, "signature-form"),
            ):
                service.spoil = spoil
                failed = server.capture(site.url(0), signing=True)
                assert f"{check}:" in unsigned(failed), spoil
                assert failed["signature"]["signed"] is False
        with CaptureServer(tmp_path / "other", **environment | {"CAPTURE_SIGNING_TOKEN": "wrong"}) as server:
            message = unsigned(server.capture(site.url(0), signing=True))
    assert "answered 403: who are you" in message
    assert "sesame" not in message
