"""What watching a page costs, beside two others that do the same on the same web.

Ours: fetch, decode, text, hash, diff and queue, of 400 pages on 200 loopback hosts, of which one in ten changes each
round and is then fetched a second time. Scrapy: fetch, decode, text and hash. It has to cost at least three times as
much CPU a page; it is looked for in COMITY_BENCH_SCRAPY (a Python that has it) and beside ours. A crawler in Perl that
forks for each page (libwww-perl, libparallel-forkmanager-perl) is shown beside both, on fewer pages.

All in turns, each a process of its own, and the web another one. Prints milliseconds of CPU a page, and ratios.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.watching.server import urls  # noqa: E402 - after the path to it

LEAST = 3.0
TURNS = 2
ROUNDS, CONCURRENCY, WORKERS, PERL_PAGES = 2, 64, 16, 100
SCRAPY = "COMITY_BENCH_SCRAPY"


def main() -> int:
    """0 where ours is cheap enough, or there is nothing to compare it with."""
    with web() as port:
        ours, scrapy, perl = [], [], []
        python = scrapy_python()
        for _ in range(TURNS):
            ours.append(told([sys.executable, "-m", "bench.watching.comity_worker"], port, CONCURRENCY, ROUNDS))
            if python is not None:
                scrapy.append(told([python, "bench/watching/spider.py"], port, CONCURRENCY, 1))
            if has_perl():
                perl.append(told_by_perl(port))
    print(f"ours: {ms(ours):.2f} ms of CPU a page, {ours[-1]['memory_mb']:.0f} MB; {ours[-1]['outcomes']}")
    if perl:
        perl_mb = perl[-1]["memory_mb"] + WORKERS * perl[-1]["child_mb"]
        print(f"a process forked for each page (Perl): {ms(perl):.2f} ms of CPU a page, up to {perl_mb:.0f} MB")
        print(f"  over ours: CPU {ms(perl) / ms(ours):.1f}, memory {perl_mb / ours[-1]['memory_mb']:.1f}")
    else:
        print("no comparison with Perl: apt install libwww-perl libparallel-forkmanager-perl")
    if not scrapy:
        print(f"no comparison with Scrapy: {SCRAPY} names no Python that has it")
        return 0
    ratio = ms(scrapy) / ms(ours)
    print(f"Scrapy: {ms(scrapy):.2f} ms of CPU a page; over ours {ratio:.2f}, at least {LEAST}")
    return 0 if ratio >= LEAST else 1


def ms(runs: Sequence[dict[str, Any]]) -> float:
    return float(median(run["cpu_s"] / run["pages"] * 1000 for run in runs))


def told_by_perl(port: int) -> dict[str, Any]:
    some = urls(port)[:PERL_PAGES]
    return told(["perl", "bench/watching/crawler.pl"], port, WORKERS, 1, some)


def told(
    command: Sequence[str], port: int, width: int, rounds: int, some: Sequence[str] | None = None
) -> dict[str, Any]:
    """What the program says about itself, having been at all pages or at `some`."""
    done = subprocess.run(
        [*command, str(port), str(width), str(rounds)],
        cwd=ROOT,
        input="\n".join(some or ()),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"{command[-1]} failed: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    expected = len(urls(port) if some is None else some) * rounds
    if answer["pages"] != expected:
        sys.exit(f"{command[-1]} saw {answer['pages']} pages of {expected}")
    return answer


@contextmanager
def web() -> Iterator[int]:
    """The port of the web that is watched."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "port"
        server = subprocess.Popen([sys.executable, "-m", "bench.watching.server", str(ready)], cwd=ROOT)
        try:
            ends_s = time.monotonic() + 60
            while not ready.exists():
                if server.poll() is not None or time.monotonic() > ends_s:
                    sys.exit("the web did not start")
                time.sleep(0.05)
            yield int(ready.read_text())
        finally:
            server.terminate()
            server.wait(timeout=30)


def scrapy_python() -> str | None:
    for python in (os.environ.get(SCRAPY, ""), sys.executable):
        if python and _works([python, "-c", "import scrapy"]):
            return python
    return None


def has_perl() -> bool:
    return _works(["perl", "-MLWP::UserAgent", "-MParallel::ForkManager", "-MHTML::Parser", "-e", "1"])


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
