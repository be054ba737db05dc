"""Three hundred captures in a row: memory stays level, nothing piles up."""

import itertools
import re
from pathlib import Path

import psutil
import pytest

from tests.integration.capture.server import CaptureServer, until
from tests.site.fixture import FixtureSite
from tests.slow.conftest import assert_only_one_profile_is_left, clean_server
from tests.slow.process_tree import alive, kinds

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CAPTURES = 300
WARM_CAPTURES = 20
MOST_GROWTH = 1.3
FORMATS = ("png", "webp", "html", "links", "mhtml", "wacz")
PATHS = (
    "/",
    "/zoo/frame",
    "/zoo/landed",
    "/zoo/post",
    "/zoo/variants",
    "/zoo/memory",
    "/redirect/chain?n=2",
    "/zoo/lazy",
)


OWN = re.compile(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def memory_bytes(server: CaptureServer) -> int:
    """Of the server and its browser together; what they share is counted once (Linux). Not the programs themselves:
    their pages are shared with every other browser of this machine, and count more when one of those ends.
    """
    return sum(map(_own_bytes, [psutil.Process(server.process.pid), *server.descendants()]))


def _own_bytes(process: psutil.Process) -> int:
    try:
        found = OWN.findall(Path(f"/proc/{process.pid}/smaps_rollup").read_text())
    except OSError:
        return 0
    return sum(map(int, found)) * 1024


def capture(server: CaptureServer, site: FixtureSite, path: str, *formats: str) -> None:
    report = server.capture(site.url(0, path), *formats, fullPage=True)
    assert (report["status"], report["completeness"]["complete"]) == ("success", True), report
    for artifact in server.store.rglob("*.*"):
        artifact.unlink()


def test_memory_stays_level_over_many_captures(tmp_path: Path, site: FixtureSite) -> None:
    with clean_server(tmp_path) as server:
        told: dict[int, int] = {}
        browsers: set[int] = set()
        for number, path in zip(range(1, CAPTURES + 1), itertools.cycle(PATHS), strict=False):
            capture(server, site, path, *(FORMATS if number % 10 == 0 else ("wacz",)))
            browsers.add(server.browser().pid)
            if number % WARM_CAPTURES == 0:
                told[number] = memory_bytes(server) // (1024 * 1024)
        print("MiB after so many captures:", told)
        assert told[CAPTURES] <= MOST_GROWTH * told[WARM_CAPTURES], told
        assert len(browsers) == CAPTURES // 100, "replaced after every hundred"
        assert kinds(server.descendants()).count("browser") == 1
        assert_only_one_profile_is_left(server)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"CAPTURE_RECYCLE_CAPTURES": "3"}, [1, 1, 1, 2, 2, 2, 3]), ({"CAPTURE_RECYCLE_CAPTURES": "100"}, [1] * 7)],
)
def test_browser_is_replaced_by_the_count_of_its_captures(
    tmp_path: Path, site: FixtureSite, environment: dict[str, str], expected: list[int]
) -> None:
    with clean_server(tmp_path, **environment) as server:
        seen: list[psutil.Process] = []
        counted = []
        for _ in expected:
            capture(server, site, "/zoo/landed", "wacz")
            if server.browser() not in seen:
                seen.append(server.browser())
            counted.append(len(seen))
            assert [process for process in seen if alive(process)] == seen[-1:]
            assert_only_one_profile_is_left(server)
        assert counted == expected


def test_browser_is_replaced_by_its_age(tmp_path: Path, site: FixtureSite) -> None:
    with clean_server(tmp_path, CAPTURE_RECYCLE_AGE_MS="2000") as server:
        capture(server, site, "/zoo/landed", "wacz")
        first = server.browser()

        def replaced() -> bool:
            capture(server, site, "/zoo/landed", "wacz")
            return server.browser() != first

        assert until(replaced, 20)
        assert not alive(first)
