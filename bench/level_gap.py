"""How long a crawl stands still between two levels.

Each level is a flow run of its own, so between closing one and the first capture of the next lie the ledger's decision,
Prefect's scheduling, a new process with its imports, the work order, the plan and the script check. The baseline is
what none of that can go below: a bare `import prefect` in a new process, measured in the same run and beside the same
stack.

Prints the median gap, the median import, and their ratio, which must not be over `MOST`. Starts a stack of its own in a
temporary folder on loopback, and ends it.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
MOST = 2.2
CRAWLS = 4
IMPORTS_EACH = 3
CRAWL_BUDGET_S = 300


def main() -> int:
    """0 where the ratio is within `MOST`."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as data, _site() as site:
        assert site.stdout is not None
        seed = json.loads(site.stdout.readline())["seeds"][0]
        try:
            _crawl(seed, data)  # warms caches: the first run compiles scripts and byte code
            gaps_s: list[float] = []
            imports_s: list[float] = []
            for _ in range(CRAWLS):
                imports_s += [_import_s() for _ in range(IMPORTS_EACH)]
                gaps_s += _gaps_s(_crawl(seed, data))
        finally:
            subprocess.run(_comity("down", "--data", data), cwd=ROOT, check=False, capture_output=True, timeout=60)
            if site.stdin is not None:
                site.stdin.close()
            site.wait(timeout=20)
    gap_s, import_s = statistics.median(gaps_s), statistics.median(imports_s)
    ratio = gap_s / import_s
    print(f"level gap      {gap_s:6.2f} s   median of {len(gaps_s)}: {_shown(gaps_s)}")
    print(f"import prefect {import_s:6.2f} s   median of {len(imports_s)}: {_shown(imports_s)}")
    print(f"ratio          {ratio:6.2f}     at most {MOST}")
    return 0 if ratio <= MOST else 1


def _site() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.site", "--port", "0", "--hosts", "1", "--with-parent"]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _comity(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("comity")), *arguments]


def _crawl(seed: str, data: str) -> list[dict[str, Any]]:
    """The pages of a crawl of three small levels without delays."""
    policy = ["--delay-ms", "0", "--max-depth", "2", "--max-pages", "6", "--browsers", "1"]
    policy += ["--allow-private", urlsplit(seed).netloc]
    command = _comity("crawl", seed, "--data", data, *policy, "--keep", "--json")
    done = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=CRAWL_BUDGET_S, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise SystemExit(f"the crawl failed ({done.returncode}):\n{done.stderr[-3000:]}")
    pages = json.loads(done.stdout)["pages"]
    assert isinstance(pages, list)
    return pages


def _gaps_s(pages: list[dict[str, Any]]) -> list[float]:
    """From the last result of a level, which its closing follows at once, to the first submission of the next."""
    ended: dict[int, datetime] = {}
    begun: dict[int, datetime] = {}
    for page in pages:
        depth = page["depth"]
        for visit in page["visits"]:
            received, submitted = (datetime.fromisoformat(visit[name]) for name in ("receivedAt", "submittedAt"))
            ended[depth] = max(received, ended.get(depth, received))
            begun[depth] = min(submitted, begun.get(depth, submitted))
    return [(begun[depth + 1] - ended[depth]).total_seconds() for depth in sorted(ended) if depth + 1 in begun]


def _import_s() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import prefect"], check=True, cwd=ROOT)
    return time.perf_counter() - started


def _shown(values_s: list[float]) -> str:
    return " ".join(f"{value:.2f}" for value in sorted(values_s))


if __name__ == "__main__":
    sys.exit(main())
