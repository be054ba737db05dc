"""What was captured is found again: by its words, as an archive behind a signed URL, and by the commands for both."""

import subprocess

import httpx
import pytest

from blocks.clients.ledger import LedgerClient
from tests.e2e.conftest import COMITY, Stack
from tests.site import FixtureSite

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]

PHRASE = '"long enough to pour tea"'


def _comity(stack: Stack, *command: str) -> str:
    done = subprocess.run(
        [COMITY, *command, "--data", str(stack.data)], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_japanese_characters_and_an_english_phrase_find_their_pages(stack: Stack, site: FixtureSite) -> None:
    seeds = [site.seeds[0], site.seeds[1]]
    crawl = stack.finished(stack.start(seeds=seeds, maxDepth=0, perHostDelayMs=0, scripts=[]))
    assert crawl.counts.captured == 2, crawl.failures
    stack.ledger.reconcile(crawl.id)  # what the level's own step has not indexed yet is indexed by this
    others = _comity(stack, "token", "create", "stranger", "--role", "viewer", "--organization", "elsewhere").strip()
    stranger = LedgerClient(stack.addresses["ledger"], others, "")
    for query, seed in ((PHRASE, seeds[0]), ("時計", seeds[1])):
        [hit] = [hit for hit in stack.ledger.search(query).hits if hit.crawl_id == crawl.id]
        assert hit.url == seed
        words = query.strip('"')
        assert f"«{words}»" in hit.snippet
        found = stranger.search(query)
        assert (found.hits, found.total) == ([], 0)
    stranger.close()
    answer = httpx.get(stack.ledger.archive_url(hit.archive_id).url, headers={"Range": "bytes=0-1"}, trust_env=False)
    assert (answer.status_code, answer.content) == (206, b"PK")
    assert hit.archive_id in _comity(stack, "search", "時計")
    assert hit.archive_id in _comity(stack, "archives", "list", "--limit", "200")
    assert "signature=" in _comity(stack, "archives", "url", hit.archive_id)
    assert "0 captures adopted" in _comity(stack, "reconcile", crawl.id)
