"""`python -m ledger backup FILE`: a copy that a ledger opens, made while another one works."""

import shlex
import shutil
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger import databases
from tests.integration.ledger.databases import SQLITE
from tests.integration.ledger.desk import Desk, ShiftedClock, ledger_at
from tests.integration.ledger.processes import environment

SITE = "http://127.0.0.2:8000"


def _backup(desk: Desk, file: Path) -> "subprocess.CompletedProcess[str]":
    settings = {"LEDGER_DATA": str(desk.data), "LEDGER_DATABASE_URL": desk.parts.settings.store_url}
    command = [sys.executable, "-m", "ledger", "backup", str(file)]
    env = environment(desk.data.parent, **settings)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_copy_made_while_results_arrive_is_whole_and_a_ledger_opens_it(
    desk: Desk, database_kind: str, tmp_path: Path, prefect: FakePrefect
) -> None:
    if database_kind != SQLITE:
        pytest.skip("pg_dump copies PostgreSQL; what the command says of it is tested below")
    crawl_id = desk.start(*(f"{SITE}/{number}" for number in range(40)), maxPages=40)
    pages = desk.order(crawl_id)["frontier"]
    done = threading.Event()

    def report() -> None:
        for page in pages[1:]:
            desk.report(crawl_id, [desk.captured(crawl_id, page)])
        done.set()

    desk.report(crawl_id, [desk.captured(crawl_id, pages[0])])
    reporting = threading.Thread(target=report)
    reporting.start()
    copy = tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir()
    made = _backup(desk, copy)
    reporting.join()
    assert done.is_set()
    assert (made.returncode, made.stderr) == (0, "")
    assert [file.name for file in copy.parent.iterdir()] == ["ledger.db"]
    assert copy.stat().st_mode & 0o077 == 0
    assert desk.token.encode() not in copy.read_bytes()
    restored = tmp_path / "restored"
    restored.mkdir(mode=0o700)
    shutil.copy(copy, restored / "ledger.db")
    with ledger_at(restored, desk.root, prefect) as again:
        view = again.crawl(crawl_id)
        captured = view["counts"]["captured"]
        assert 1 <= captured <= 40
        assert captured + view["counts"]["pending"] == 40
        visits = [page["visits"] for page in again.get(f"/api/crawls/{crawl_id}/pages", state="captured")["pages"]]
        assert [len(tries) for tries in visits] == [1] * captured
        again.post(f"/api/crawls/{crawl_id}/cancel")


def test_what_cannot_be_copied_is_one_line_that_says_why(desk: Desk, database_kind: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    if database_kind == SQLITE:
        for target, words in ((there, "exists"), (tmp_path / "nowhere" / "x", "No such file")):
            refused = _backup(desk, target)
            assert refused.returncode == 1
            assert words in refused.stderr
            assert refused.stderr.count("\n") == 1
    else:
        refused = _backup(desk, tmp_path / "copy")
        assert refused.returncode == 2
        assert "pg_dump --format=custom" in refused.stderr
        assert "postgresql://" in refused.stderr
    assert there.read_text() == "mine"
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump and pg_restore are not installed")
def test_printed_command_makes_a_copy_that_a_ledger_opens(
    desk: Desk, database_kind: str, tmp_path: Path, prefect: FakePrefect
) -> None:
    if database_kind == SQLITE:
        pytest.skip("SQLite is copied by the ledger itself")
    crawl_id = desk.start(f"{SITE}/")
    desk.do_level(crawl_id)
    pages = desk.get(f"/api/crawls/{crawl_id}/pages")
    command = _backup(desk, tmp_path / "x").stderr.splitlines()[-1]
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True, timeout=120)
    with databases.empty_database() as url:
        target = make_url(url).set(drivername="postgresql", query={}).render_as_string(hide_password=False)
        restore = ["pg_restore", "--clean", "--if-exists", f"--dbname={target}", "ledger.dump"]
        subprocess.run(restore, cwd=tmp_path, check=True, timeout=120)
        with ledger_at(tmp_path / "again", desk.root, prefect, database_url=url) as again:
            assert again.get(f"/api/crawls/{crawl_id}/pages") == pages
            again.start(f"{SITE}/")


@pytest.mark.one_database
def test_commands_for_people_work_without_a_running_stack(tmp_path: Path, prefect: FakePrefect) -> None:
    data = tmp_path / "data"
    (data / "artifacts").mkdir(parents=True)

    def comity(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "comity.cli.main", *arguments, "--data", str(data)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    nothing = comity("backup", str(tmp_path / "x.db"))
    assert nothing.returncode == 2
    assert "no ledger in" in nothing.stderr
    clock = ShiftedClock(timedelta(days=-40))
    with ledger_at(data / "ledger", data / "artifacts", prefect, clock=clock) as desk:
        old = desk.start(f"{SITE}/")
        desk.do_level(old)
    made = comity("backup", str(tmp_path))
    assert made.returncode == 0, made.stderr
    [copy] = tmp_path.glob("ledger-*.db")
    assert str(copy) in made.stdout
    assert comity("prune").returncode == 2
    assert "would go: 1 crawls, 2 files" in comity("prune", "--days", "30", "--dry-run").stdout
    assert len(list((data / "artifacts").iterdir())) == 2
    assert "removed: 1 crawls, 2 files" in comity("prune", "--days", "30").stdout
    assert not list((data / "artifacts").iterdir())
    with ledger_at(data / "ledger", data / "artifacts", prefect) as desk:
        desk.get(f"/api/crawls/{old}", 404)
