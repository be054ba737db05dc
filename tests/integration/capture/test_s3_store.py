"""Artifacts go to a bucket as they go to a folder: whole, below their day, and told as lost where they are lost."""

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from comity.capture import s3_store
from comity.capture.errors import CaptureFault
from comity.capture.s3_settings import S3Settings
from comity.capture.s3_store import PART_BYTES, S3Store
from comity.capture.store import Batch
from tests.fakes.certificates import authority
from tests.fakes.s3 import S3Server, s3_server
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.faulty_line import Fault, FaultyLine
from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite

DAY = PurePosixPath("2030/01/31")
SILENCE_MS = 1200
"""Where a store falls silent, which is waited for three times over; it must not make a busy one a silent one."""
PATIENT_MS = 15_000
"""Where it answers: a loaded machine's store too."""


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def line(bucket: S3Server) -> Iterator[FaultyLine]:
    at = urlsplit(bucket.endpoint)
    with FaultyLine(at.hostname or "", at.port or 0) as running:
        yield running


def keys(bucket: S3Server) -> set[str]:
    """Every object's key."""
    return {item["path"] for page in bucket.bucket_store().list() for item in page}


def objects(bucket: S3Server) -> dict[str, bytes]:
    """Every object by its key."""
    store = bucket.bucket_store()
    return {key: bytes(store.get(key).bytes()) for key in keys(bucket)}


def open_uploads(bucket: S3Server) -> str:
    """What the store says of uploads that were neither completed nor aborted."""
    with httpx.Client(trust_env=False) as client:
        return client.get(f"{bucket.endpoint}/{bucket.bucket}?uploads").text


def store_of(bucket: S3Server, port: int | None = None, silence_ms: int = PATIENT_MS) -> S3Store:
    endpoint = bucket.endpoint if port is None else f"http://127.0.0.1:{port}"
    facts: dict[str, Any] = {
        name.removeprefix("COMITY_S3_").lower(): value
        for name, value in (dict(bucket.settings) | {"COMITY_S3_ENDPOINT": endpoint}).items()
    }
    return S3Store(S3Settings(**facts), silence_ms=silence_ms)


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    """A small file and one of several parts."""
    made = Batch(tmp_path / "work")
    made.put("t1_灯 50%?#.links.json", b"{}")
    made.put("t1.wacz", os.urandom(3 * PART_BYTES + 1000))
    made.sync()
    return made


def serving(store: Path, bucket: S3Server, port: int | None = None) -> CaptureServer:
    endpoint = {} if port is None else {"COMITY_S3_ENDPOINT": f"http://127.0.0.1:{port}"}
    settings = QUICK | dict(bucket.settings) | endpoint | {"CAPTURE_STORE_SILENCE_MS": str(SILENCE_MS)}
    return CaptureServer(store, **settings, CAPTURE_STORE="", TMPDIR=str(store.parent))


def capture(server: CaptureServer, url: str) -> dict[str, Any]:
    answered = server.post(request(url, "wacz", "html", "links", correlationId="c1.p1.1.1", trace=True))
    assert answered.status_code == 200, answered.text
    answer: dict[str, Any] = answered.json()
    return answer


@pytest.mark.browser
def test_bucket_gets_every_artifact_then_the_manifest(store: Path, bucket: S3Server, site: FixtureSite) -> None:
    with serving(store, bucket) as server:
        assert server.get("/status").json()["store"] == "s3"
        answer = capture(server, site.url(0, "/zoo/landed"))
        left = [path for path in store.parent.rglob("*") if path.is_file() and "batch-" in str(path)]
    report = answer["report"]
    assert report["status"] == "success"
    day = report["timestamp"][:10].replace("-", "/")
    stem = f"{day}/{report['taskId']}_c1.p1.1.1"
    assert report["artifacts"]["wacz"] == f"s3://{bucket.bucket}/{stem}.wacz"
    assert report["traceLocation"] == f"s3://{bucket.bucket}/{stem}.trace.jsonl"
    assert answer["manifest"] == {"location": f"s3://{bucket.bucket}/{stem}.result.json"}
    kept = objects(bucket)
    assert {stem + end for end in (".wacz", ".html", ".links.json", ".result.json", ".trace.jsonl")} <= set(kept)
    assert json.loads(kept[f"{stem}.result.json"]) == report
    with zipfile.ZipFile(io.BytesIO(kept[f"{stem}.wacz"])) as package:
        assert package.testzip() is None
    assert not any("probe" in key for key in kept)
    assert not left
    assert not store.exists()


@pytest.mark.browser
def test_silent_store_ends_as_artifact_sink_and_the_next_capture_works(
    store: Path, bucket: S3Server, site: FixtureSite, line: FaultyLine
) -> None:
    with serving(store, bucket, line.port) as server:
        before = keys(bucket)
        line.fail("stall", after_bytes=0)
        answer = capture(server, site.url(0, "/zoo/landed"))
        assert line.struck.is_set()
        assert keys(bucket) == before
        line.heal()
        healed = capture(server, site.url(0, "/zoo/landed"))
    report = answer["report"]
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "artifact_sink")
    assert bucket.bucket in report["errorDetails"]["message"]
    assert report["artifacts"] == {}
    assert set(answer["manifest"]) == {"error"}
    assert healed["report"]["status"] == "success"


async def test_batch_goes_up_whole_and_small_files_only_once(bucket: S3Server, batch: Batch) -> None:
    store = store_of(bucket)
    await store.prepare()
    locations = await store.place(DAY).give(batch)
    kept = objects(bucket)
    for path, name in batch.files:
        assert locations[name] == f"s3://{bucket.bucket}/2030/01/31/{name}"
        assert kept[f"2030/01/31/{name}"] == path.read_bytes()
    head = httpx.head(f"{bucket.endpoint}/{bucket.bucket}/2030/01/31/t1.wacz", trust_env=False)
    assert head.headers["content-type"] == "application/wacz"
    place = store.place(DAY)
    again = await place.put("t1.result.json", b"one")
    assert await place.put("t1.result.json", b"one") == again, "a lost answer is no fault"
    with pytest.raises(CaptureFault, match="already there"):
        await place.put("t1.result.json", b"another")
    assert objects(bucket)["2030/01/31/t1.result.json"] == b"one"


@pytest.mark.parametrize("fault", ["stall", "break"])
async def test_upload_that_fails_in_its_middle_names_nothing(
    bucket: S3Server, line: FaultyLine, batch: Batch, fault: Fault
) -> None:
    before = keys(bucket)
    line.fail(fault, after_bytes=PART_BYTES + 100_000)
    with pytest.raises(CaptureFault, match=r"did not take t1\.wacz") as told:
        await store_of(bucket, line.port, SILENCE_MS).place(PurePosixPath(f"2031/{fault}")).give(batch)
    assert told.value.kind == "artifact_sink"
    line.heal()
    left = keys(bucket) - before
    assert not [key for key in left if key.endswith(".wacz")], "a partial artifact has a name"


async def test_upload_that_is_cancelled_is_aborted_at_the_store(
    bucket: S3Server, line: FaultyLine, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for budget in (
        "ABORT_BUDGET_S",
        "CLEAN_UP_BUDGET_S",
    ):  # a loaded machine's store may take longer than we would wait
        monkeypatch.setattr(s3_store, budget, 60.0)
    before = keys(bucket)
    line.fail("stall", after_bytes=PART_BYTES + 100_000)
    giving = asyncio.create_task(store_of(bucket, line.port).place(PurePosixPath("2031/02/01")).give(batch))
    assert await asyncio.to_thread(line.struck.wait, 60)
    assert "2031/02/01" in await asyncio.to_thread(open_uploads, bucket)
    giving.cancel()
    line.heal()
    with pytest.raises(asyncio.CancelledError):
        await giving
    assert "2031/02/01" not in await asyncio.to_thread(open_uploads, bucket)
    assert keys(bucket) == before, "the small file that had gone up is taken away again"


async def test_store_with_a_certificate_of_its_own_is_trusted_by_its_authority(
    bucket: S3Server, tmp_path: Path
) -> None:
    own = authority()
    pem = tmp_path / "own-ca.pem"
    pem.write_text(own.pem)
    at = urlsplit(bucket.endpoint)
    with FaultyLine(at.hostname or "", at.port or 0, own.server_context(tmp_path)) as line:
        facts = {"endpoint": f"https://127.0.0.1:{line.port}", "bucket": bucket.bucket, "access_key_id": "k"}
        trusting: Any = facts | {"secret_access_key": "s", "ca_pem_file": pem}
        await S3Store(S3Settings(**trusting), silence_ms=PATIENT_MS).prepare()
        doubting: Any = facts | {"secret_access_key": "s"}
        with pytest.raises(Exception, match="COMITY_S3_CA_PEM_FILE"):
            await S3Store(S3Settings(**doubting), silence_ms=PATIENT_MS).prepare()


def started(tmp_path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "comity.capture"],
        env={
            "PATH": "/usr/bin:/bin",
            "TMPDIR": str(tmp_path),
            "CAPTURE_STORE_SILENCE_MS": str(PATIENT_MS),
            **environment,
        },
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"COMITY_S3_BUCKET": "no-such-bucket"}, "COMITY_S3_BUCKET"),
        ({"COMITY_S3_BUCKET": "Not A Name"}, "COMITY_S3_BUCKET"),
        ({"COMITY_S3_BUCKET": ""}, "COMITY_S3_BUCKET"),
        ({"COMITY_S3_ENDPOINT": "http://127.0.0.1:9"}, "COMITY_S3_ENDPOINT"),
        ({"COMITY_S3_ENDPOINT": "http://store.example"}, "https"),
        ({"COMITY_S3_SECRET_ACCESS_KEY": ""}, "COMITY_S3_SECRET_ACCESS_KEY"),
        ({"COMITY_S3_CA_PEM_FILE": "/nowhere"}, "COMITY_S3_CA_PEM_FILE"),
        ({"CAPTURE_STORE": "/tmp"}, "CAPTURE_STORE"),
    ],
)
def test_store_that_cannot_be_used_ends_the_start(
    tmp_path: Path, bucket: S3Server, change: dict[str, str], named: str
) -> None:
    ended = started(tmp_path, dict(bucket.settings) | change)
    assert ended.returncode == 2, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("capture: ")]
    assert named in line
    assert "Traceback" not in ended.stderr
    assert "test-secret" not in ended.stderr
    assert ended.stdout == ""


def test_keys_that_the_store_does_not_know_end_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", "1")  # the making of the bucket; from then on keys are asked for
    with s3_server() as guarded:
        ended = started(tmp_path, dict(guarded.settings))
    assert ended.returncode == 2, ended.stderr
    assert "capture: COMITY_S3_ACCESS_KEY_ID: " in ended.stderr
    assert "InvalidAccessKeyId" in ended.stderr
