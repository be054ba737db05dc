"""The capture client against real sockets: what is told apart, how soon it hangs up, whom TLS trusts."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.clients.capture import CaptureClient
from blocks.clients.errors import (
    AnswerUnreadable,
    CaptureBusy,
    ConnectionLost,
    DeadlinePassed,
    HungUp,
    ServiceRefused,
    ServiceUnreachable,
)
from comity.contract.capture import CaptureAnswer, CaptureFormats, CaptureRequest
from tests.fakes.certificates import Authority, authority
from tests.fakes.endpoints import FakeEndpoint, Turn, busy, lost, refusal, slow, success
from tests.fakes.http_server import Reply
from tests.fakes.ports import dead_url

REQUEST = CaptureRequest(
    url="http://a.test/",
    capture_formats=CaptureFormats(png=False, webp=False, html=True, links=True, mhtml=False, wacz=True),
    correlation_id="c1.p1.1.1",
)


def capture(url: str, ca: str = "", *, stop: threading.Event | None = None, deadline_ms: int = 5_000) -> CaptureAnswer:
    """One capture, its client closed."""
    with CaptureClient(url, "secret", ca) as client:
        return client.capture(REQUEST, stop=stop or threading.Event(), deadline_ms=deadline_ms)


def test_capture_sends_token_and_wire_names_and_reads_the_answer() -> None:
    with FakeEndpoint() as endpoint:
        answer = capture(endpoint.url)
    assert answer.task_id == "t-c1.p1.1.1"
    [asked] = endpoint.captures
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.headers["host"] == f"127.0.0.1:{endpoint.port}"
    assert asked.body["captureFormats"]["wacz"] is True


@pytest.mark.parametrize(
    ("turn", "kind", "said"),
    [
        (busy, CaptureBusy, "429 Busy: at another page"),
        (refusal(400, "ValidationException", "url: no"), ServiceRefused, "400 ValidationException: url: no"),
        (refusal(500, "InternalFailure", "broken"), ServiceRefused, "500 InternalFailure: broken"),
        (lost, ConnectionLost, "connection lost after sending: closed without an answer"),
        (lambda asked: Reply(200, {"taskId": "t"}), AnswerUnreadable, "report: Field required"),
    ],
)
def test_capture_tells_outcomes_apart(turn: Turn, kind: type[Exception], said: str) -> None:
    with FakeEndpoint([turn]) as endpoint, pytest.raises(kind) as caught:
        capture(endpoint.url)
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert endpoint.url in str(caught.value)


def test_capture_of_a_dead_server_is_unreachable_at_once() -> None:
    with pytest.raises(ServiceUnreachable, match="Connection refused"):
        capture(dead_url())


def test_capture_of_an_unknown_name_is_unreachable() -> None:
    with pytest.raises(ServiceUnreachable):
        capture("http://nobody.invalid:8080")


def test_capture_that_gets_no_connection_in_time_is_unreachable() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # one waits in the backlog; the next gets no answer to its SYN
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with (
            CaptureClient(url, "", "") as client,
            pytest.raises(ServiceUnreachable, match="no connection within 300 ms"),
        ):
            client.capture(REQUEST, stop=threading.Event(), connect_timeout_ms=300)


def test_capture_ends_at_its_deadline_and_closes_the_connection() -> None:
    with FakeEndpoint([slow(60)]) as endpoint:
        started = time.monotonic()
        with pytest.raises(DeadlinePassed, match="deadline 400 ms passed"):
            capture(endpoint.url, deadline_ms=400)
        assert time.monotonic() - started < 30
        _until(lambda: bool(endpoint.hung_up))


@pytest.mark.parametrize("tls", [False, True])
def test_capture_is_hung_up_from_another_thread_and_the_server_sees_it(
    tls: bool, ca: Authority, tmp_path: Path
) -> None:
    with FakeEndpoint([slow(60)], tls=ca.server_context(tmp_path) if tls else None) as endpoint:
        stop = threading.Event()
        stopped_at: list[float] = []

        def stop_it() -> None:
            _until(lambda: bool(endpoint.captures))
            stopped_at.append(time.monotonic())
            stop.set()

        threading.Thread(target=stop_it, daemon=True).start()
        with pytest.raises(HungUp):
            capture(endpoint.url, ca.pem if tls else "", stop=stop, deadline_ms=60_000)
        assert time.monotonic() - stopped_at[0] < 30
        _until(lambda: bool(endpoint.hung_up))
        assert endpoint.hung_up[0][1] - stopped_at[0] < 30


def test_capture_asked_for_after_the_stop_sends_nothing() -> None:
    stop = threading.Event()
    stop.set()
    with FakeEndpoint() as endpoint:
        with pytest.raises(HungUp):
            capture(endpoint.url, stop=stop)
        assert endpoint.captures == []


def test_capture_reads_an_answer_larger_than_a_socket_buffer() -> None:
    big = {"location": "file:///" + "x" * 3_000_000}

    def turn(asked: object) -> Reply:
        reply = success(asked)  # type: ignore[arg-type]
        return Reply(body=reply.body | {"manifest": big})

    with FakeEndpoint([turn]) as endpoint:
        assert capture(endpoint.url).manifest.location == big["location"]


# --- TLS


@pytest.fixture(scope="module")
def ca() -> Authority:
    """The CA that clients trust."""
    return authority()


@pytest.fixture
def secure(ca: Authority, tmp_path: Path) -> Iterator[FakeEndpoint]:
    """A server with a certificate of that CA."""
    with FakeEndpoint(tls=ca.server_context(tmp_path)) as endpoint:
        yield endpoint


def test_server_signed_by_the_given_ca_is_accepted(secure: FakeEndpoint, ca: Authority) -> None:
    assert capture(secure.url, ca.pem).report.status == "success"
    with CaptureClient(secure.url, "", ca.pem) as client:
        assert client.status().busy is False


def test_server_signed_by_another_ca_is_unreachable_and_gets_no_request(secure: FakeEndpoint) -> None:
    other = authority("another CA").pem
    with pytest.raises(ServiceUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        capture(secure.url, other)
    with CaptureClient(secure.url, "", other) as client, pytest.raises(ServiceUnreachable, match="CERTIFICATE_VERIFY"):
        client.status()
    assert secure.asked == []


def test_server_whose_certificate_names_another_host_is_unreachable(ca: Authority, tmp_path: Path) -> None:
    with (
        FakeEndpoint(tls=ca.server_context(tmp_path, names=("elsewhere.internal",))) as endpoint,
        pytest.raises(ServiceUnreachable, match="IP address mismatch"),
    ):
        capture(endpoint.url, ca.pem)


def test_https_to_a_plaintext_server_is_unreachable(ca: Authority) -> None:
    with FakeEndpoint() as endpoint, pytest.raises(ServiceUnreachable, match=r"WRONG_VERSION_NUMBER|record layer"):
        capture(endpoint.url.replace("http://", "https://"), ca.pem)


def test_http_to_a_tls_server_gets_no_capture(secure: FakeEndpoint) -> None:
    with pytest.raises(ConnectionLost):
        capture(secure.url.replace("https://", "http://"))
    assert secure.captures == []


def test_context_holds_the_given_ca_and_none_of_the_systems(ca: Authority) -> None:
    with CaptureClient("https://a.internal", "", ca.pem) as client:
        context = client._tls
    assert context is not None
    assert len(context.get_ca_certs()) == 1
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_environment_adds_no_ca_and_no_proxy(
    secure: FakeEndpoint, ca: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").write_text(ca.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with CaptureClient(secure.url, "", ca.pem) as client:
        assert client.status().busy is False
    with CaptureClient(secure.url, "", authority("another").pem) as client, pytest.raises(ServiceUnreachable):
        client.status()


def _until(look: object, budget_s: float = 5) -> None:
    ends_at = time.monotonic() + budget_s
    while time.monotonic() < ends_at:
        if look():  # type: ignore[operator]
            return
        time.sleep(0.005)
    raise AssertionError("not in time")
