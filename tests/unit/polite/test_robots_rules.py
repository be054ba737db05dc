"""Tables for robots.txt (RFC 9309): what a fetch means for a URL."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.polite.errors import NotAWebUrlError, OriginError
from comity.polite.rules.robots import (
    LIMIT_BYTES,
    MAX_DELAY_MS,
    RobotsFetch,
    RobotsVerdict,
    delay_ms,
    judge,
    origin_of,
    origins_of,
    outcome_of_status,
    within_limit,
)

ORIGIN = "https://light.example"


def found(*lines: str) -> RobotsFetch:
    return RobotsFetch(ORIGIN, "found", body="\n".join(lines).encode(), http_status=200)


def allows(fetch: RobotsFetch, path: str) -> bool:
    return judge(fetch, [ORIGIN + path]).verdicts[0].allowed


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "found"),
        (204, "found"),
        (299, "found"),
        (300, "unreachable"),
        (302, "unreachable"),
        (304, "unreachable"),
        (399, "unreachable"),
        (400, "absent"),
        (401, "absent"),
        (403, "absent"),
        (404, "absent"),
        (410, "absent"),
        (428, "absent"),
        (429, "unreachable"),
        (430, "absent"),
        (451, "absent"),
        (499, "absent"),
        (500, "unreachable"),
        (503, "unreachable"),
        (599, "unreachable"),
        (100, "unreachable"),
        (600, "unreachable"),
    ],
)
def test_status_decides_whether_rules_are_known(status: int, outcome: str) -> None:
    assert outcome_of_status(status) == outcome


def test_unreachable_robots_forbid_everything_and_say_why() -> None:
    fetch = RobotsFetch(ORIGIN, "unreachable", detail="HTTP 503")
    ruling = judge(fetch, [f"{ORIGIN}/", f"{ORIGIN}/a"])
    assert ruling.verdicts == (
        RobotsVerdict(f"{ORIGIN}/", False, "robots-unreachable", "HTTP 503"),
        RobotsVerdict(f"{ORIGIN}/a", False, "robots-unreachable", "HTTP 503"),
    )
    assert ruling.crawl_delay_ms is None


def test_absent_robots_allow_everything() -> None:
    ruling = judge(RobotsFetch(ORIGIN, "absent", http_status=404), [f"{ORIGIN}/", f"{ORIGIN}/a"])
    assert ruling.verdicts == (RobotsVerdict(f"{ORIGIN}/", True), RobotsVerdict(f"{ORIGIN}/a", True))


def test_empty_robots_allow_everything() -> None:
    assert allows(found(""), "/anything")


def test_forbidden_path_is_refused_with_its_reason_and_its_neighbour_is_not() -> None:
    ruling = judge(found("User-agent: *", "Disallow: /private"), [f"{ORIGIN}/private/a", f"{ORIGIN}/public"])
    refused, allowed = ruling.verdicts
    assert (refused.allowed, refused.reason) == (False, "robots-disallowed")
    assert refused.detail == f"forbidden by {ORIGIN}/robots.txt"
    assert allowed == RobotsVerdict(f"{ORIGIN}/public", True)


@pytest.mark.parametrize(
    ("lines", "path", "allowed"),
    [
        (("User-agent: comity", "Disallow: /a"), "/a", False),
        (("User-agent: COMITY", "Disallow: /a"), "/a", False),
        (("User-agent: comity/2.0", "Disallow: /a"), "/a", False),
        (("user-agent : comity # ours", "Disallow: /a"), "/a", False),
        # Whole tokens only: neither a beginning of ours nor one that ours begins.
        (("User-agent: com", "Disallow: /a"), "/a", True),
        (("User-agent: comity-news", "Disallow: /a"), "/a", True),
        (("User-agent: other", "Disallow: /a"), "/a", True),
        # Our own group replaces the one for everybody, in any order and however often it comes.
        (("User-agent: *", "Disallow: /", "User-agent: comity", "Disallow: /a"), "/b", True),
        (("User-agent: comity", "Disallow: /a", "User-agent: *", "Disallow: /"), "/b", True),
        (("User-agent: comity", "Disallow: /a", "User-agent: comity", "Disallow: /b"), "/a", False),
        (("User-agent: comity", "Disallow: /a", "User-agent: comity", "Disallow: /b"), "/b", False),
        (("User-agent: comity", "Disallow:", "User-agent: *", "Disallow: /"), "/a", True),
        (("User-agent: other", "User-agent: comity", "Disallow: /a"), "/a", False),
        (("User-agent: com", "Disallow: /", "User-agent: *", "Disallow: /a"), "/b", True),
        # The longest match wins, allow where they are equal.
        (("User-agent: *", "Disallow: /a", "Allow: /a/b"), "/a/b", True),
        (("User-agent: *", "Disallow: /a/b", "Allow: /a"), "/a/b", False),
        (("User-agent: *", "Disallow: /a", "Allow: /a"), "/a", True),
        (("User-agent: *", "Disallow: /*.pdf$"), "/x/y.pdf", False),
        (("User-agent: *", "Disallow: /*.pdf$"), "/x/y.pdf?z", True),
        (("User-agent: *", "Disallow: /A"), "/a", True),
        (("User-agent: *", "Disallow: /%E7%8C%AB"), "/猫", False),
        (("User-agent: *", "Disallow: /猫"), "/%e7%8c%ab", False),
        (("User-agent: *", "Disallow: /"), "/robots.txt", True),
        (("User-agent: *", "Disallow: /a # comment"), "/a", False),
        (("\ufeffUser-agent: *", "Disallow: /a"), "/a", False),
        (("User agent comity", "Disallow: /a"), "/a", False),
        (("User\u00a0agent : com", "Disallow: /a"), "/a", True),
        (("Disallow: /a",), "/a", True),
        (("<!doctype html>", "<p>Not found, politely</p>"), "/a", True),
        # Only CR and LF end a line: what follows another separator is still the comment.
        (("User-agent: *", "# said\u2028Disallow: /a"), "/a", True),
    ],
)
def test_rules_decide(lines: tuple[str, ...], path: str, allowed: bool) -> None:
    assert allows(found(*lines), path) is allowed


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_ends_a_line(end: str) -> None:
    body = end.join(("User-agent: *", "Disallow: /a", "Disallow: /b")).encode()
    fetch = RobotsFetch(ORIGIN, "found", body=body)
    assert [allows(fetch, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_bytes_that_are_no_text_do_not_hide_the_rules() -> None:
    fetch = RobotsFetch(ORIGIN, "found", body=b"\xff\xfe\x00\nUser-agent: *\nDisallow: /a\n\x80\x81\n")
    assert not allows(fetch, "/a")
    assert allows(fetch, "/b")


@pytest.mark.parametrize(
    ("lines", "expected_ms"),
    [
        (("User-agent: *", "Crawl-delay: 3"), 3000),
        (("User-agent: *", "Crawl-delay: 0.5"), 500),
        (("User-agent: *", "Crawl-delay: 1.1"), 1100),
        (("User-agent: *", "Crawl-delay: 0.0001"), 1),
        (("User-agent: *", "Crawl-delay: 0"), 0),
        (("User-agent: *", "Crawl-delay: -1"), None),
        (("User-agent: *", "Crawl-delay: inf"), None),
        (("User-agent: *", "Crawl-delay: nan"), None),
        (("User-agent: *", "Crawl-delay: soon"), None),
        (("User-agent: *", "Crawl-delay:"), None),
        (("User-agent: *", "Crawl-delay: 1e300"), MAX_DELAY_MS),
        (("User-agent: *", "Disallow: /a"), None),
        (("User-agent: other", "Crawl-delay: 9"), None),
        (("User-agent: *", "Crawl-delay: 9", "User-agent: comity", "Crawl-delay: 2"), 2000),
        (("User-agent: *", "Crawl-delay: 9", "User-agent: comity", "Disallow: /a"), None),
    ],
)
def test_crawl_delay_is_read_in_milliseconds(lines: tuple[str, ...], expected_ms: int | None) -> None:
    assert judge(found(*lines), []).crawl_delay_ms == expected_ms


@pytest.mark.parametrize(
    ("seconds", "expected_ms"),
    [(None, None), (float("inf"), None), (float("nan"), None), (-0.001, None), (0.0, 0), (600.0, 600_000)],
)
def test_delay_takes_finite_times_from_zero_on(seconds: float | None, expected_ms: int | None) -> None:
    assert delay_ms(seconds) == expected_ms


@pytest.mark.parametrize(
    ("size_bytes", "truncated"), [(LIMIT_BYTES - 1, False), (LIMIT_BYTES, False), (LIMIT_BYTES + 1, True)]
)
def test_content_beyond_500_kib_is_left_out(size_bytes: int, truncated: bool) -> None:
    content = (b"#\n" * LIMIT_BYTES)[:size_bytes]
    kept, cut = within_limit(content)
    assert cut is truncated
    assert len(kept) == min(size_bytes, LIMIT_BYTES)


@pytest.mark.parametrize(
    ("tail", "kept_tail"),
    [
        (b"Disallow: /private", b""),  # the limit falls inside the line: it goes whole
        (b"\nDisallow: /x", b"\n"),
    ],
)
def test_line_that_the_limit_cuts_is_left_out_whole(tail: bytes, kept_tail: bytes) -> None:
    padding = b"#" * (LIMIT_BYTES - 12) + b"\n"
    content = (padding + tail + b" " * 20)[: LIMIT_BYTES + 1]
    assert within_limit(content) == (padding + kept_tail, True)


def test_line_that_ends_exactly_at_the_limit_is_kept() -> None:
    line = b"Disallow: /last"
    content = b"#" * (LIMIT_BYTES - len(line) - 1) + b"\n" + line + b"\n"
    assert len(content) == LIMIT_BYTES + 1
    assert within_limit(content)[0].endswith(line)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://light.example/a?b#c", "http://light.example"),
        ("HTTP://Light.Example:80/", "http://light.example"),
        ("https://light.example:443", "https://light.example"),
        ("https://light.example:80/", "https://light.example:80"),
        ("http://user:secret@light.example:8080/", "http://light.example:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ],
)
def test_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url", ["", "/a", "ftp://light.example/", "http://", "http://[", "http://a:99999/", "mailto:x@y"]
)
def test_what_is_no_web_address_has_no_origin(url: str) -> None:
    with pytest.raises(NotAWebUrlError):
        origin_of(url)


def test_origins_come_once_each_in_order() -> None:
    urls = ["http://b.example/1", "http://a.example/", "http://b.example/2", "https://b.example/"]
    assert origins_of(urls) == ("http://b.example", "http://a.example", "https://b.example")


@pytest.mark.parametrize("other", ["http://light.example/", "https://light.example:8443/", "https://dark.example/"])
def test_robots_of_one_origin_say_nothing_of_another(other: str) -> None:
    with pytest.raises(OriginError, match="fetch its own"):
        judge(found("User-agent: *"), [other])


def test_url_that_no_rule_can_be_matched_against_is_refused() -> None:
    fetch = found("User-agent: *", "Disallow: /a")
    assert not allows(fetch, "/\ud800")
    assert allows(fetch, "/b")


@pytest.mark.parametrize(
    "path",
    [
        "/closed",
        "/open/../closed",
        "/open/./../closed",
        "/open/%2e%2E/closed",
        "/open/.%2e/closed",
        "/../../closed",
        "/open\\..\\closed",
        "/\\..\\closed",
        "/./closed?q=1",
        "/%63losed",
    ],
)
def test_path_is_judged_as_the_browser_asks_for_it(path: str) -> None:
    fetch = found("User-agent: *", "Disallow: /closed")
    assert not allows(fetch, path)
    assert allows(fetch, path.replace("closed", "free").replace("%63lo", "lo"))


@given(body=st.binary(max_size=300), path=st.text(max_size=40))
def test_no_content_and_no_url_is_an_error(body: bytes, path: str) -> None:
    fetch = RobotsFetch(ORIGIN, "found", body=b"User-agent: *\n" + body)
    (verdict,) = judge(fetch, [f"{ORIGIN}/{path}"]).verdicts
    assert verdict.allowed is (verdict.reason is None)


def test_values_travel_between_processes() -> None:
    ruling = judge(found("User-agent: *", "Disallow: /a", "Crawl-delay: 2"), [f"{ORIGIN}/a"])
    assert pickle.loads(pickle.dumps(ruling)) == ruling
    assert pickle.loads(pickle.dumps(found("x"))) == found("x")
