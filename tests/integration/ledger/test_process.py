"""`python -m ledger`: the process as a supervisor sees it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from ledger.errors import SettingsRefused
from ledger.store.database import Store
from ledger.store.migrate import migrate
from ledger.tokens import load_or_make
from tests.integration.ledger.processes import environment, ledger_process

pytestmark = pytest.mark.one_database


def _refused(folder: Path, **settings: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "ledger"],
        env=environment(folder, **settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_process_listens_serves_and_ends_in_time(tmp_path: Path) -> None:
    with ledger_process(tmp_path) as (process, url):
        token = (tmp_path / "data" / "tokens" / "operator").read_text().strip()
        with httpx.Client(base_url=url, trust_env=False, headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.get("/healthz").json()["ok"] is True
            order = {"seeds": ["http://127.0.0.2/"], "scripts": []}
            assert client.post("/api/crawls", json=order).status_code == 202
            assert psutil.Process(process.pid).memory_info().rss < 200 * 1024 * 1024
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)  # with a dispatch in flight and a connection open
            out, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 30
    assert process.returncode == 0
    assert out == ""
    assert token not in err
    assert "crawl_started" in [json.loads(line)["event"] for line in err.splitlines()]
    for file in (tmp_path / "data").rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file


def test_open_event_stream_does_not_hold_the_end_up(tmp_path: Path) -> None:
    with ledger_process(tmp_path) as (process, url):
        token = (tmp_path / "data" / "tokens" / "operator").read_text().strip()
        with httpx.Client(base_url=url, trust_env=False, headers={"Authorization": f"Bearer {token}"}) as client:
            crawl_id = client.post("/api/crawls", json={"seeds": ["http://127.0.0.2/"], "scripts": []}).json()[
                "crawlId"
            ]
            with client.stream("GET", f"/api/crawls/{crawl_id}/events") as answer:
                lines = answer.iter_lines()
                assert next(lines).startswith("id: ")
                process.send_signal(signal.SIGTERM)
                list(lines)  # ends well: a stream that was cut would raise
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "request_failed" not in err
    assert "Traceback" not in err


def test_crawl_outlives_a_kill(tmp_path: Path) -> None:
    with ledger_process(tmp_path) as (process, url):
        token = (tmp_path / "data" / "tokens" / "operator").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        order = {"seeds": ["http://127.0.0.2/"], "scripts": []}
        started = httpx.post(url + "/api/crawls", json=order, headers=headers, trust_env=False).json()
        process.kill()
    with ledger_process(tmp_path) as (_, url):
        again = (tmp_path / "data" / "tokens" / "operator").read_text().strip()
        assert again == token
        refusal = httpx.post(url + "/api/crawls", json=order, headers=headers, trust_env=False)
        assert refusal.json()["crawlId"] == started["crawlId"]


def test_setting_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "LEDGER_PREFECT_AUTH_STRING" in _refused(tmp_path, LEDGER_PREFECT_AUTH_STRING="(unset)")


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:////nowhere/at/all.db"])
def test_database_that_cannot_be_opened_is_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsRefused, match="LEDGER_DATABASE_URL"):
        migrate(Store(url))


def test_tokens_that_others_can_read_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tokens"
    load_or_make(folder)
    (folder / "flows").chmod(0o640)
    assert "chmod 600" in _refused(tmp_path)


def test_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with ledger_process(tmp_path) as (_, url):
        refusal = _refused(tmp_path, LEDGER_PORT=url.rsplit(":", 1)[1])
    assert refusal.startswith("LEDGER_HOST, LEDGER_PORT")


def test_two_first_starts_at_once_share_one_schema(tmp_path: Path) -> None:
    with ledger_process(tmp_path) as (_, one), ledger_process(tmp_path) as (_, two):
        for url in (one, two):
            assert httpx.get(url + "/healthz", trust_env=False).json()["ok"] is True


def test_sqlite_is_opened_as_the_ledger_needs_it(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'ledger.db'}")
    with store.engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    store.close()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
