"""Scrapy doing what a watcher's fetch does: every page once a round, its charset, its text, a hash of that.

    PYTHON bench/watching/spider.py PORT CONCURRENCY ROUNDS

Runs in an environment that has Scrapy; imports nothing of ours but the list of pages. Tells its CPU time as JSON.
"""

import hashlib
import json
import resource
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.watching.server import urls

TOLD: dict[str, object] = {}


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Watcher(scrapy.Spider):  # type: ignore[misc]  # Scrapy is not of our environment
    """Text as Scrapy's own selectors give it: the text nodes of the body, scripts and styles left out."""

    name = "watcher"

    def __init__(self, port: int, rounds: int) -> None:
        super().__init__()
        self.port, self.rounds = port, rounds
        self.hashes: dict[str, str] = {}
        self.seen = self.changed = 0
        self.began_s = 0.0

    async def start(self) -> AsyncIterator[Any]:
        self.began_s = cpu_s()
        for url in urls(self.port):
            for _ in range(self.rounds):
                yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Any) -> None:
        texts = response.xpath("//body//text()[not(parent::script or parent::style)]").getall()
        lines = [line for text in texts if (line := " ".join(text.split()))]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        self.changed += self.hashes.get(response.url, digest) != digest
        self.hashes[response.url] = digest
        self.seen += 1

    def closed(self, reason: str) -> None:
        del reason
        TOLD.update(pages=self.seen, cpu_s=cpu_s() - self.began_s, changed=self.changed)


def main() -> None:
    port, concurrency, rounds = (int(one) for one in sys.argv[1:4])
    settings = {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }
    process = CrawlerProcess(settings)
    process.crawl(Watcher, port=port, rounds=rounds)
    process.start()
    print(json.dumps(TOLD | {"memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
