"""A stack that is stopped in good order in mid-level: its crawl goes on at the next start, and no attempt is lost."""

from pathlib import Path

import pytest

from tests.e2e.conftest import start_stack, stop_stack
from tests.e2e.test_survival import assert_resumed, crawl_in_mid_level
from tests.site import FixtureSite

pytestmark = [pytest.mark.slow, pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]


@pytest.mark.timeout(600)
def test_stack_that_is_told_to_end_resumes_its_crawl_and_counts_no_attempt(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with FixtureSite(hosts=6) as site:
        first = start_stack(data, browsers=1)
        crawl_id = crawl_in_mid_level(first, site)
        stop_stack(first)
        again = start_stack(data, browsers=1)
        try:
            assert_resumed(again, site, crawl_id, "stopped")
        finally:
            stop_stack(again)
