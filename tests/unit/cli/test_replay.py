"""What a replay serves, to whom, and what it says of pages that it cannot show."""

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from comity.cli.data_folder import DataFolder
from comity.cli.errors import BadInput, CliError
from comity.cli.replay.command import find_shelf
from comity.cli.replay.player import Player, find_player
from comity.cli.replay.server import ReplayServer, byte_range
from comity.cli.replay.shelf import Item, Shelf, shelf_of_crawl, shelf_of_files
from tests.e2e.replay import serving
from tests.unit.cli.facts import at, crawl, page

BODY = bytes(range(200)) * 5


@pytest.fixture
def player(tmp_path: Path) -> Player:
    for name in ("ui.js", "sw.js"):
        (tmp_path / name).write_text(f"// {name}")
    return Player(tmp_path / "ui.js", tmp_path / "sw.js")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "one.wacz"
    path.write_bytes(BODY)
    return path


@contextmanager
def client(server: ReplayServer) -> Iterator[httpx.Client]:
    with serving(server), httpx.Client(base_url=server.origin, trust_env=False, timeout=30) as made:
        yield made


def wacz(path: Path, *pages: dict[str, str]) -> Path:
    lines = [{"format": "json-pages-1.0", "id": "pages"}, *pages]
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("pages/pages.jsonl", "\n".join(json.dumps(line) for line in lines))
    return path


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, None),
        ("bytes=0-0", range(1)),
        ("bytes=990-", range(990, 1000)),
        ("bytes=990-5000", range(990, 1000)),
        ("bytes=-10", range(990, 1000)),
        ("bytes=-5000", range(1000)),
        ("bytes=5-4", None),
        ("bytes=0-1,5-6", None),
        ("bytes=-", None),
        ("lines=1-2", None),
    ],
)
def test_ranges_are_clamped_to_the_file(asked: str | None, expected: range | None) -> None:
    assert byte_range(asked, 1000) == expected


@pytest.mark.parametrize("asked", ["bytes=1000-", "bytes=1000-1001", "bytes=-0"])
def test_range_behind_the_end_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=r"bytes \*/1000"):
        byte_range(asked, 1000)


def test_archive_is_served_whole_and_by_range(player: Player, archive: Path) -> None:
    shelf = Shelf("one", (Item("http://a.test/", archive=0),), (archive,))
    server = ReplayServer(player, shelf)
    with client(server) as http:
        page = http.get(urlsplit(server.first_page).path)
        assert page.status_code == 200
        source = page.text.split('source="')[1].split('"')[0]
        assert http.get(source).content == BODY
        part = http.get(source, headers={"Range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, BODY[10:20])
        assert part.headers["content-range"] == f"bytes 10-19/{len(BODY)}"
        assert http.get(source, headers={"Range": "bytes=-99999"}).content == BODY
        head = http.head(source)
        assert (head.headers["content-length"], head.content) == (str(len(BODY)), b"")
        beyond = http.get(source, headers={"Range": "bytes=5000-"})
        assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(BODY)}")
        archive.unlink()
        assert http.get(source).status_code == 410


def test_nothing_else_is_on_the_origin(player: Player, archive: Path) -> None:
    (archive.parent / "two.wacz").write_bytes(b"secret")
    server = ReplayServer(player, Shelf("one", (Item("http://a.test/", archive=0),), (archive,)))
    with client(server) as http:
        base = urlsplit(server.first_page).path.rpartition("/view/")[0]
        for path in (
            "/",
            "/archives/0.wacz",
            f"{base}/archives/1.wacz",
            f"{base}/../two.wacz",
            "/two.wacz",
            "/etc/passwd",
        ):
            assert http.get(path).status_code == 404, path
        for path in ("/ui.js", "/replay/ui.js", "/replay/sw.js"):
            assert http.get(path).status_code == 200, path
        assert http.post("/ui.js").status_code == 501
        assert http.get("/ui.js", headers={"Host": "evil.example"}).status_code == 421


def test_list_shows_what_can_be_replayed_and_why_the_rest_cannot(player: Player, tmp_path: Path) -> None:
    archive = wacz(tmp_path / "home.wacz", {"url": "http://a.test/", "title": "<Home> & more"})
    pages = [
        page("/", artifacts={"wacz": archive.as_uri()}, settled_at=at(1)),
        page("/far", artifacts={"wacz": "s3://bucket/far.wacz"}),
        page("/html", artifacts={"html": "file:///x.html"}),
        page("/no", "skipped", reason="robots-disallowed"),
    ]
    shelf = shelf_of_crawl(crawl(pages), pages)
    server = ReplayServer(player, Shelf(shelf.title, (*shelf.items, Item("http://b.test/", archive=0)), shelf.archives))
    with client(server) as http:
        text = http.get(urlsplit(server.first_page).path).text
    assert "crawl c1" in text
    assert "2 of 5 pages can be replayed" in text
    assert "&lt;Home&gt; &amp; more" in text
    assert "2030-01-31 12:00:01" in text
    for said in ("s3://bucket/far.wacz", "captured without wacz", "skipped: robots-disallowed"):
        assert said in text
    assert text.count("<a ") == 2


def test_crawl_without_archives_is_told() -> None:
    pages = [page("/no", "skipped", reason="robots-disallowed")]
    with pytest.raises(BadInput, match="crawl c1 has no archive"):
        shelf_of_crawl(crawl(pages), pages)


def test_files_and_folders_give_their_pages(tmp_path: Path) -> None:
    one = wacz(tmp_path / "one.wacz", {"url": "http://a.test/", "title": "A", "ts": "2030-01-31T12:00:00Z"})
    wacz(tmp_path / "two.wacz", {"url": "http://b.test/"}, {"url": "http://b.test/2"})
    assert shelf_of_files([one]).items == (Item("http://a.test/", "A", "2030-01-31 12:00:00", 0),)
    shelf = find_shelf([str(tmp_path)], DataFolder(tmp_path / "data"))
    assert [(item.url, item.archive) for item in shelf.items] == [
        ("http://a.test/", 0),
        ("http://b.test/", 1),
        ("http://b.test/2", 1),
    ]


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    (tmp_path / "text.wacz").write_text("text")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare.wacz").write_bytes(_empty_zip())
    for name, said in (
        ("text.wacz", "is not a WACZ"),
        ("bare.wacz", "has no pages/pages.jsonl"),
        ("empty", "no .wacz file"),
        ("missing", "neither a WACZ file nor a crawl's id"),
    ):
        with pytest.raises(BadInput, match=said):
            find_shelf([str(tmp_path / name)], data)


def _empty_zip() -> bytes:
    out = io.BytesIO()
    zipfile.ZipFile(out, "w").close()
    return out.getvalue()


def test_crawl_needs_its_stack_and_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="comity up"):
        find_shelf(["c0123456789abcdef"], DataFolder(tmp_path / "data"))


def test_missing_player_says_how_to_get_it_and_the_newest_is_taken(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="make setup"):
        find_player(tmp_path)
    for number in ("2.4.6", "2.10.0", "2.11.0"):
        folder = tmp_path / "share" / f"replaywebpage-{number}"
        folder.mkdir(parents=True)
        for name in ("ui.js", "sw.js") if number != "2.11.0" else ("ui.js",):
            (folder / name).write_text("")
    assert find_player(tmp_path).ui.parent.name == "replaywebpage-2.10.0"


def test_command_prints_its_address_serves_and_ends_on_interrupt(tmp_path: Path) -> None:
    try:
        find_player()
    except CliError as missing:
        pytest.skip(str(missing))
    path = wacz(tmp_path / "one.wacz", {"url": "http://a.test/"})
    process = subprocess.Popen(
        [sys.executable, "-m", "comity.cli.main", "replay", str(path), "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        shown = httpx.get(url, trust_env=False, timeout=30)
        assert 'url="http://a.test/"' in shown.text
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in told


def test_cut_archive_is_refused_as_cut_off(tmp_path: Path) -> None:
    path = wacz(tmp_path / "half.wacz", {"url": "http://a.test/"})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadInput, match="begins like a ZIP, but its end is missing: it was cut off"):
        shelf_of_files([path])


def test_damaged_archive_is_shown_and_named(tmp_path: Path) -> None:
    path = wacz(tmp_path / "one.wacz", {"url": "http://a.test/"})
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("archive/data.warc", "WARC/1.1")
    assert shelf_of_files([path]).damaged == ()
    data = bytearray(path.read_bytes())
    data[data.index(b"archive/data.warc")] ^= 1
    path.write_bytes(data)
    shelf = shelf_of_files([path])
    assert [item.url for item in shelf.items] == ["http://a.test/"]
    [line] = shelf.damaged
    assert line.startswith(f"{path}: is damaged: archive/data.warc: header and directory disagree on its name")


def test_files_and_a_crawl_do_not_go_together(tmp_path: Path) -> None:
    path, data = wacz(tmp_path / "one.wacz", {"url": "http://a.test/"}), DataFolder(tmp_path / "data")
    with pytest.raises(BadInput, match="c0123456789abcdef: is a crawl's id; give files or one crawl, not both"):
        find_shelf([str(path), "c0123456789abcdef"], data)
    assert find_shelf([str(path), str(path)], data).title == "2 archives"
