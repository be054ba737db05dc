from typing import Any

import pytest

from comity.cli.crawl_request import CrawlWishes, start_request
from comity.cli.errors import BadInput

URL = "http://127.0.0.2:8000/"


@pytest.mark.parametrize(
    ("wishes", "named"),
    [
        ({"urls": ["ftp://example.org/"]}, "'ftp://example.org/' is not a URL to crawl: it must begin with http"),
        ({"urls": ["example.org"]}, "'example.org'"),
        ({"urls": [URL, "http://"]}, "'http://' is not a URL to crawl: it has no host"),
        ({"urls": ["http://a b/"]}, "percent-encode"),
        ({"urls": ["http://host:99999/"]}, "not a URL"),
        ({"urls": ["http://me:secret@host/"]}, "credentials"),
        ({"urls": [URL + "x" * 10_000]}, "is over 2048 bytes"),
        ({"urls": ["http://2130706433/"]}, "four decimal"),
        ({"urls": [URL], "include": ["/a", "(b"]}, "--include (b: not an RE2 pattern: missing )"),
        ({"urls": [URL], "exclude": ["(?=c)"]}, "--exclude (?=c): not an RE2 pattern"),
        ({"urls": [URL], "exclude": ["d"] * 101}, "--exclude"),
        ({"urls": [URL], "include": ["e" * 1001]}, "--include"),
        ({"urls": [URL], "max_depth": 11}, "--max-depth 11"),
        ({"urls": [URL], "max_depth": -1}, "--max-depth -1"),
        ({"urls": [URL], "max_pages": 0}, "--max-pages 0"),
        ({"urls": [URL], "delay_ms": 600_001}, "--delay-ms 600001"),
        ({"urls": [URL], "host_parallelism": 33}, "--host-parallelism 33"),
        ({"urls": [URL], "scope": "everything"}, "--scope everything: choose one of same-origin"),
        (
            {"urls": [URL], "formats": "wacz,pdf"},
            "--formats wacz,pdf: pdf is not one of wacz, html, png, webp, mhtml, links",
        ),
        ({"urls": [URL], "formats": "gif"}, "gif is not one of"),
        ({"urls": [URL], "formats": ","}, "--formats: name at least one"),
    ],
)
def test_bad_input_is_one_line_that_names_it(wishes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput) as refusal:
        start_request(CrawlWishes(**wishes))
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 10}, {"delay_ms": 0}, {"host_parallelism": 32}])
def test_limits_themselves_are_accepted(limits: dict[str, Any]) -> None:
    assert start_request(CrawlWishes(urls=[URL], **limits)).seeds == [URL]


def test_what_was_not_chosen_is_left_to_the_ledger() -> None:
    sent = start_request(CrawlWishes(urls=[URL])).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert "maxDepth" not in sent
    assert "scripts" not in sent
    assert sent["capture"] == {}


def test_no_scripts_is_an_empty_list_and_a_choice_is_exactly_that() -> None:
    assert start_request(CrawlWishes(urls=[URL], scripts=[])).scripts == []
    assert start_request(CrawlWishes(urls=[URL], scripts=["autofetch"])).scripts == ["autofetch"]


def test_scope_and_patterns_are_sent_as_they_were_typed() -> None:
    wanted = start_request(CrawlWishes(urls=[URL], scope="same-domain", include=["^http://", "b"], exclude=["c$"]))
    assert (wanted.scope, wanted.include, wanted.exclude) == ("same-domain", ["^http://", "b"], ["c$"])


def test_formats_name_all_six() -> None:
    formats = start_request(CrawlWishes(urls=[URL], formats="wacz, png,html")).capture.formats
    assert formats is not None
    assert formats.model_dump() == {
        "png": True, "webp": False, "html": True, "links": False, "mhtml": False, "wacz": True,
    }  # fmt: skip
