"""The server's calls as a caller sees them."""

import json
import re
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def test_status_tells_browser_build_and_limits(server: CaptureServer) -> None:
    facts = server.get("/status").json()
    assert facts["busy"] is False
    assert facts["browser"]["connected"] is True
    assert "Chrome" in facts["browser"]["version"]
    assert set(facts["build"]) == {"version", "revision", "buildTime"}
    assert facts["limits"]["maxResponseBytes"] <= facts["limits"]["maxTaskBytes"]
    assert facts["defaultUrlPolicies"] == facts["defaultContentTypePolicies"] == []
    assert server.get("/healthz").json() == {"ok": True}


def test_bad_request_names_each_field(server: CaptureServer) -> None:
    response = server.post(request("http://127.0.0.1:9/", mistake=1, loadWait={"minMs": 2, "maxMs": 1}))
    assert response.status_code == 400
    assert response.headers["x-amzn-errortype"] == "ValidationException"
    assert {item["path"] for item in response.json()["fieldList"]} == {"/mistake", "/loadWait/minMs"}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"null", b'{"url": 1}', b"[" * 10_000])
def test_nonsense_is_refused(server: CaptureServer, body: bytes) -> None:
    response = server.post(body)
    assert response.status_code == 400
    assert response.json()["fieldList"]


def test_unknown_path_and_method_are_refused_with_their_kind(server: CaptureServer) -> None:
    assert server.get("/nothing").status_code == 404
    assert server.get("/captures").status_code == 405
    assert server.get("/nothing").headers["x-amzn-errortype"] == "ResourceNotFound"


def test_token_is_asked_for_where_set(store: Path, site: FixtureSite) -> None:
    with CaptureServer(store, **QUICK, CAPTURE_TOKEN="open sesame") as server:
        assert server.get("/healthz").status_code == 200
        assert server.get("/status").status_code == 401
        server.headers = {"authorization": "Bearer wrong"}
        assert server.post(request(site.url(0, "/zoo/landed"))).status_code == 401
        server.headers = {"authorization": "Bearer open sesame"}
        assert server.get("/status").status_code == 200
        assert server.capture(site.url(0, "/zoo/landed"), "html")["status"] == "success"


def test_description_names_every_model_that_it_refers_to(server: CaptureServer) -> None:
    description = server.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    body = description["paths"]["/captures"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schemas[body["$ref"].rpartition("/")[2]]["required"] == ["url", "captureFormats"]
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(description)))
    assert referred <= set(schemas)
    assert "#/$defs/" not in json.dumps(description)


def test_tls_is_spoken_with_the_given_certificate(store: Path, tmp_path: Path, site: FixtureSite) -> None:
    certificate, key = self_signed(tmp_path)
    environment = {"CAPTURE_TLS_CERT": str(certificate), "CAPTURE_TLS_KEY": str(key), "CAPTURE_TOKEN": "t"}
    with CaptureServer(store, **QUICK, **environment, CAPTURE_HOST="0.0.0.0") as server:
        port = server.url.rpartition(":")[2]
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(trust_env=False, verify=context, base_url=f"https://127.0.0.1:{port}") as client:
            assert client.get("/healthz").json() == {"ok": True}
            assert client.get("/status").status_code == 401


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "capture test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    certificate, key = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate, key


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "CAPTURE_STORE"),
        ({"CAPTURE_STORE": "x", "CAPTURE_HOST": "0.0.0.0"}, "CAPTURE_TLS_CERT"),
        ({"CAPTURE_STORE": "x", "COMITY_BROWSER": "/nowhere"}, "COMITY_BROWSER"),
        ({"CAPTURE_STORE": "x", "CAPTURE_PORT": "many"}, "CAPTURE_PORT"),
        ({"CAPTURE_STORE": "/proc/nowhere"}, "/proc/nowhere"),
    ],
)
def test_half_configured_server_does_not_start(tmp_path: Path, environment: dict[str, Any], named: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "comity.capture"],
        env={"PATH": "/usr/bin:/bin", **environment},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def sample(server: CaptureServer, name: str) -> float:
    """One value of `/metrics`; 0 where nothing was counted yet."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", server.get("/metrics").text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def test_metrics_count_captures_by_outcome(server: CaptureServer, site: FixtureSite) -> None:
    names = {
        "/zoo/landed": 'comity_captures_total{error_type="",status="success"}',
        "/status/404": 'comity_captures_total{error_type="http",status="http_error"}',
    }
    before = {name: sample(server, name) for name in names.values()}
    recorded = sample(server, "comity_capture_responses_recorded_total")
    for path, name in names.items():
        server.capture(site.url(0, path))
        assert sample(server, name) == before[name] + 1
    assert sample(server, "comity_capture_responses_recorded_total") > recorded
    refusals = sample(server, 'comity_capture_requests_refused_total{code="400"}')
    server.post(b"{")
    assert sample(server, 'comity_capture_requests_refused_total{code="400"}') == refusals + 1
    assert sample(server, "comity_capture_busy") == 0
    assert sample(server, "comity_capture_browser_connected") == 1
    assert server.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def test_log_is_json_with_the_task(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/zoo/landed"), "html")
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    told = [line for line in lines if line.get("taskId") == report["taskId"]]
    assert any(line["message"].startswith("success http://") for line in told)


def test_server_whose_browser_does_not_start_ends_and_says_why(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho '[1:ERROR:zygote.cc] No usable sandbox! Install' >&2\nexit 1\n")
    browser.chmod(0o755)
    ended = subprocess.run(
        [sys.executable, "-m", "comity.capture"],
        env={"PATH": "/usr/bin:/bin", "CAPTURE_STORE": str(tmp_path / "store"), "COMITY_BROWSER": str(browser)},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(f"capture: the browser did not start: {browser} finds no usable")
    assert "user.max_user_namespaces" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
