"""A real S3-compatible object store over HTTP, as a process of its own: moto's server on a free loopback port.

It speaks the protocol (ranges, multipart, listings, conditional puts) but judges no signature and no expiry.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from obstore.store import S3Store

REGION = "us-east-1"
BUCKET = "comity-archives"


@dataclass(frozen=True)
class S3Server:
    """Where the store listens, the bucket that it has, and keys that it takes."""

    endpoint: str
    bucket: str
    process: subprocess.Popen[str] = field(repr=False)
    region: str = REGION
    access_key_id: str = "test-key"
    secret_access_key: str = "test-secret"

    @property
    def settings(self) -> Mapping[str, str]:
        """As the environment of a capture server or a ledger has them."""
        return {
            "COMITY_S3_ENDPOINT": self.endpoint,
            "COMITY_S3_BUCKET": self.bucket,
            "COMITY_S3_REGION": self.region,
            "COMITY_S3_ACCESS_KEY_ID": self.access_key_id,
            "COMITY_S3_SECRET_ACCESS_KEY": self.secret_access_key,
        }

    def bucket_store(self, bucket: str | None = None) -> S3Store:
        """An `obstore` store of its own on a bucket, for what a test wants to see or to put there."""
        return S3Store(
            bucket or self.bucket,
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=self.access_key_id,
            secret_access_key=self.secret_access_key,
            client_options={"allow_http": True},
        )

    def make_bucket(self, name: str) -> None:
        """One more bucket."""
        asked = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=30).close()

    def suspend(self) -> contextlib.AbstractContextManager[None]:
        """While it lasts the store takes connections and answers nothing."""
        return _suspended(self.process)


@contextlib.contextmanager
def s3_server(bucket: str = BUCKET) -> Iterator[S3Server]:
    """A running store with one empty bucket; gone with everything in it when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.fakes.s3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_PROXY": "*"},
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"the object store did not start (exit {process.poll()})"
        server = S3Server(json.loads(line)["endpoint"], bucket, process)
        server.make_bucket(bucket)
        yield server
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()
        if process.stdin is not None:
            process.stdin.close()


@contextlib.contextmanager
def _suspended(process: subprocess.Popen[str]) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def _serve() -> None:
    """Serve until standard input closes, which it does when the test process goes, whatever it dies of."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(json.dumps({"endpoint": f"http://{host}:{port}"}), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    _serve()
