"""Which exact headers belong to which hop, whatever order and session they come by."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from comity.capture.cdp import Session
from comity.capture.exchange import Chain, Hop, header_of

MOMENT = datetime(2030, 1, 31, tzinfo=UTC)


def session(name: str) -> Session:
    return Session(cast(Any, None), name)


def hop(url: str, status: int | None, *, has_exact: bool = True) -> Hop:
    response = None if status is None else {"status": status, "headers": {}}
    return Hop({"url": url, "method": "GET", "headers": {}}, MOMENT, "Document", response=response, has_exact=has_exact)


def exact(status: int) -> dict[str, Any]:
    return {"statusCode": status, "headers": {"n": str(status)}}


def chain(*hops: Hop) -> Chain:
    owner = session("one")
    return Chain("r1", owner, [owner], hops=list(hops))


def test_nth_exact_headers_belong_to_the_nth_hop() -> None:
    made = chain(hop("a", 301), hop("b", 302), hop("c", 200))
    made.exact_responses["one"] = [exact(301), exact(302), exact(200)]
    made.join_exact()
    assert [item.status for item in made.hops] == [301, 302, 200]
    assert [item.response_headers["n"] for item in made.hops] == ["301", "302", "200"]


def test_hop_without_exact_headers_takes_none_of_the_others() -> None:
    made = chain(hop("a", 307, has_exact=False), hop("b", 200))
    made.exact_responses["one"] = [exact(200)]
    made.join_exact()
    assert made.hops[0].exact_response is None
    assert made.hops[1].exact_response == exact(200)


def test_session_that_tells_all_is_believed() -> None:
    made = chain(hop("a", 200))
    made.exact_responses["two"] = [exact(200)]
    made.join_exact()
    assert made.last.exact_response == exact(200)


def test_twice_told_headers_count_once() -> None:
    made = chain(hop("a", 301), hop("b", 200))
    made.exact_responses = {"one": [exact(301), exact(200)], "two": [exact(301), exact(200)]}
    made.join_exact()
    assert made.last.exact_response == exact(200)


def test_not_modified_is_told_by_the_wire_alone() -> None:
    made = chain(hop("a", 200))
    made.exact_responses["one"] = [exact(304)]
    made.join_exact()
    assert made.last.status == 304


def test_promised_headers_are_missed_until_they_come() -> None:
    made = chain(hop("a", 200))
    assert made.lacks_exact
    made.exact_responses["one"] = [exact(200)]
    assert not made.lacks_exact


@pytest.mark.parametrize(
    ("kind", "ended", "counts"), [("Image", False, True), ("Image", True, False), ("EventSource", False, False)]
)
def test_page_waits_for_what_ends(kind: str, ended: bool, counts: bool) -> None:
    made = chain(hop("a", None))
    made.last.kind, made.ended = kind, ended
    assert made.counts is counts


def test_header_is_found_in_any_case() -> None:
    assert header_of({"Content-TYPE": "a"}, "content-type") == "a"
    assert header_of({}, "content-type") is None
