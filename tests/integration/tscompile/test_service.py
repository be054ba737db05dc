"""The service around the compiler: limits, doors, start and end."""

import contextlib
import datetime
import ipaddress
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.integration.tscompile.conftest import Service, clean_environment, script

PERMUTATIONS = (
    "type P<T extends string, U extends string = T> = "
    "[T] extends [never] ? '' : T extends U ? `${T}${P<Exclude<U, T>>}` : never;\n"
)


def runaway(count: int = 400) -> str:
    """Keeps the checker busy for over a minute: every permutation of eight letters, again and again."""
    return PERMUTATIONS + "\n".join(
        f"declare const v{n}: P<{'|'.join(f'{chr(34)}{c}{n}{chr(34)}' for c in 'abcdefgh')}>; const w{n}: 1 = v{n};"
        for n in range(count)
    )


def glutton() -> str:
    """Takes more than 256 MiB within a second or two."""
    return """type D = 0|1|2|3|4|5|6|7|8|9;
type S = `${D}${D}${D}${D}`;
type Pairs<T> = T extends string ? { [K in S]: `${T & string}${K}` } : never;
declare const p: Pairs<S>;
const q: { [K in S]: number } = p;
"""


def compilers_of(service: Service) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(service.process.pid).children(recursive=True)
    return []


def poll(holds: Callable[[], Any], within_s: float = 60) -> Any:
    deadline = time.monotonic() + within_s
    while not (value := holds()):
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)
    return value


def test_runaway_check_ends_at_its_time_limit_and_leaves_no_process(start: Any) -> None:
    with start(CHECK_TIMEOUT_MS="3000") as service:  # in which a small script is checked on a loaded machine too
        began = time.monotonic()
        found = service.codes(script("a", runaway()))
        assert time.monotonic() - began < 60
        assert found == [(None, None, "time-limit")]
        assert compilers_of(service) == []
        assert list(service.scratch.iterdir()) == []
        assert service.javascript(script("a", "let fine = 1;"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us limit another process")
def test_check_that_eats_memory_ends_at_its_limit(start: Any) -> None:
    with start(MAX_MEMORY_BYTES=str(256 * 1024**2)) as service:
        assert [code for _, _, code in service.codes(script("a", glutton()))] == ["memory-limit"]
        assert service.javascript(script("a", "let fine = 1;"))


def test_output_past_its_limit_is_refused_and_below_it_passes(start: Any) -> None:
    with start(MAX_OUTPUT_BYTES="2048") as service:
        assert service.codes(script("a", f"const a = '{'x' * 3000}';")) == [(None, None, "output-limit")]
        assert service.javascript(script("a", f"const a = '{'x' * 1000}';"))


def test_flood_of_diagnostics_is_cut_and_the_message_tells_their_number(service: Service) -> None:
    answer = service.compile(script("a", "\n".join(f"nothing{n};" for n in range(1500))))
    assert answer.status_code == 422
    assert len(answer.json()["diagnostics"]) == 1000
    assert answer.json()["message"].startswith("1500 problems; the first: a.ts(1,1): TS2304: ")


def test_body_past_its_limit_is_refused_and_below_it_passes(start: Any) -> None:
    with start(MAX_BODY_BYTES="4096") as service:
        answer = service.compile(script("a", "// " + "x" * 5000))
        assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (400, "ValidationException")
        assert "TSCOMPILE_MAX_BODY_BYTES" in answer.json()["message"]
        assert service.javascript(script("a", "// " + "x" * 3000))


def test_more_checks_than_places_wait_and_only_past_their_budget_are_told_busy(start: Any) -> None:
    with start(MAX_CONCURRENT_CHECKS="1", MAX_WAIT_MS="300", CHECK_TIMEOUT_MS="4000") as service:
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(service.compile, script("slow", runaway()))
            poll(lambda: compilers_of(service))
            answer = service.compile(script("a", "let late = 1;"))
            assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (429, "Busy")
            assert slow.result().status_code == 422
        assert service.javascript(script("a", "let late = 1;"))


def test_at_most_two_compilers_run_at_once(service: Service) -> None:
    most, done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(compilers_of(service)))
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: service.compile(script("a", f"let many{n} = 1;")).status_code, range(8)))
    done.set()
    watcher.join()
    assert answers == [200] * 8
    assert 1 <= most <= 2


def test_token_is_asked_for_where_one_is_set_but_not_for_health(start: Any) -> None:
    with start(TOKEN="s3cret") as service:
        for headers in ({}, {"authorization": "Bearer other"}, {"authorization": "s3cret"}):
            answer = service.compile(headers=headers)
            assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (401, "Unauthorized")
        assert service.compile(headers={"authorization": "Bearer s3cret"}).status_code == 200
        assert service.client.get("/healthz").status_code == 200


def test_web_pages_are_refused(service: Service) -> None:
    answer = service.compile(headers={"origin": "http://127.0.0.1:9"})
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (403, "ForeignOrigin")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/compile", 405), ("GET", "/", 404), ("POST", "/healthz", 405)]
)
def test_unknown_call_is_named(service: Service, method: str, path: str, status: int) -> None:
    answer = service.client.request(method, path)
    assert answer.status_code == status
    assert "POST /compile" in answer.json()["message"]
    assert "x-amzn-errortype" in answer.headers


def test_compiler_that_breaks_is_a_500_that_says_what_to_check(start: Any, tmp_path: Path) -> None:
    broken = tmp_path / "tsc"
    marker = tmp_path / "break"
    broken.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'Version 7.9.9' && exit 0\n[ -e {marker} ] || exit 0\n"
        "echo 'panic: lost'\nexit 3\n"
    )
    broken.chmod(0o755)
    with start(TSC=str(broken)) as service:
        assert service.client.get("/healthz").json()["typescript"] == "7.9.9"
        marker.touch()
        answer = service.compile(script("a", "let a = 1;"))
        assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (500, "InternalFailure")
        assert "TSCOMPILE_TSC" in answer.json()["message"]
        assert "Traceback" not in answer.text


def refusal_to_start(tmp_path: Path, **settings: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "comity.tscompile"],
        env=clean_environment(tmp_path, **settings),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("answer", "named"),
    [(None, "TSCOMPILE_TSC="), ("echo Version 5.9.2", "5.9.2"), ("exit 1", "--version"), ("echo hello", "--version")],
)
def test_unusable_compiler_is_named_at_start(tmp_path: Path, answer: str | None, named: str) -> None:
    tsc = tmp_path / "tsc"
    if answer is not None:
        tsc.write_text(f"#!/bin/sh\n{answer}\n")
        tsc.chmod(0o755)
    said = refusal_to_start(tmp_path, TSC=str(tsc))
    assert named in said
    assert "make setup" in said


def test_half_configured_service_does_not_start(tmp_path: Path) -> None:
    assert "TSCOMPILE_TLS_CERT" in refusal_to_start(tmp_path, HOST="0.0.0.0")


def test_unusable_cache_folder_is_named_at_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "TSCOMPILE_CACHE=" in refusal_to_start(tmp_path, CACHE=str(tmp_path / "file"))


def test_taken_port_is_named(service: Service, tmp_path: Path) -> None:
    port = str(service.client.base_url.port)
    assert f"TSCOMPILE_PORT={port}" in refusal_to_start(tmp_path, PORT=port)


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert, pem = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert, pem


def test_tls_is_served_with_the_given_certificate(start: Any, tmp_path: Path) -> None:
    cert, key = self_signed(tmp_path)
    with start(TLS_CERT=str(cert), TLS_KEY=str(key), verify=str(cert)) as service:
        assert service.client.base_url.scheme == "https"
        assert service.javascript(script("a", "let a = 1;"))
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.client.base_url}/healthz", trust_env=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_at_once_even_in_mid_check(start: Any, number: signal.Signals) -> None:
    with start(CHECK_TIMEOUT_MS="60000") as service:
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(service.compile, script("a", runaway()))
            (compiler,) = poll(lambda: compilers_of(service))
            os.kill(service.process.pid, number)
            assert service.process.wait(40) == 0, "the check was waited for"
            assert not compiler.is_running() or compiler.status() == psutil.STATUS_ZOMBIE
            with contextlib.suppress(httpx.HTTPError):
                assert call.result().status_code >= 500
        assert list(service.scratch.iterdir()) == []
