"""`python -m tests.site`: the fixture web as a process of its own.

Prints one JSON line `{"seeds": [...], "hosts": [...], "forbidden": "..."|null}` once it accepts connections; ends on
SIGTERM, SIGINT or when `--with-parent` is given and standard input ends.
"""

import argparse
import contextlib
import json
import signal
import sys
import threading
from pathlib import Path

from tests.site.fixture import FixtureSite


def delay(text: str) -> tuple[int, float]:
    host, _, seconds = text.partition("=")
    return int(host), float(seconds)


def end_with_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.site", description="Serve the fixture web on loopback.")
    parser.add_argument("--port", type=int, default=0, help="common port; 0 finds a free one")
    parser.add_argument("--hosts", type=int, default=6, help="how many addresses, from 127.0.0.2 on")
    parser.add_argument("--log", type=Path, help="append each finished request to this file, one JSON line each")
    parser.add_argument(
        "--crawl-delay", type=delay, action="append", metavar="HOST=SECONDS", help="robots.txt delay; default 1=3"
    )
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    return parser.parse_args()


def main() -> None:
    options = parse()
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    if options.with_parent:
        threading.Thread(target=end_with_input, args=(ended,), daemon=True).start()
    delays = None if options.crawl_delay is None else dict(options.crawl_delay)
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(options.log.open("a", encoding="utf-8")) if options.log else None
        site = stack.enter_context(FixtureSite(options.hosts, port=options.port, crawl_delay=delays, log_to=sink))
        facts = {"seeds": site.seeds, "hosts": site.hosts, "forbidden": site.forbidden() if options.hosts > 1 else None}
        print(json.dumps(facts), flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
