"""Who may make which call: one table. What is not in it nobody may call.

A caller without the right gets what a caller of a path that does not exist gets. Which rows a call shows is not decided
here: services see the caller's organisations.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from comity.contract.identity import Role

Right = frozenset[Role] | Literal["open", "proof"]
"""Roles; or `open` to everyone without a token; or `proof`: the call carries a proof of its own and checks it."""

EVERYONE: Right = frozenset(("viewer", "submitter", "admin", "flows"))
PEOPLE: Right = frozenset(("viewer", "submitter", "admin"))
SUBMITTERS: Right = frozenset(("submitter", "admin"))
ADMINS: Right = frozenset(("admin",))
FLOWS: Right = frozenset(("flows",))

RIGHTS: Mapping[tuple[str, str], Right] = {
    ("GET", "/healthz"): "open",
    ("GET", "/readyz"): "open",
    ("GET", "/metrics"): PEOPLE,
    ("GET", "/api/audit"): PEOPLE,
    ("GET", "/api/openapi.json"): EVERYONE,
    ("GET", "/api/me"): EVERYONE,
    ("POST", "/api/crawls"): SUBMITTERS,
    ("GET", "/api/crawls"): PEOPLE,
    ("GET", "/api/crawls/{crawl_id}"): PEOPLE,
    ("GET", "/api/crawls/{crawl_id}/pages"): PEOPLE,
    ("GET", "/api/crawls/{crawl_id}/events"): PEOPLE,
    ("POST", "/api/crawls/{crawl_id}/cancel"): SUBMITTERS,
    ("GET", "/api/crawls/{crawl_id}/levels/{depth}"): FLOWS,
    ("POST", "/api/crawls/{crawl_id}/results"): FLOWS,
    ("POST", "/api/crawls/{crawl_id}/pages"): FLOWS,
    ("POST", "/api/crawls/{crawl_id}/failed"): FLOWS,
    ("POST", "/api/crawls/{crawl_id}/index"): FLOWS,
    ("POST", "/api/hosts/lease"): FLOWS,
    ("POST", "/api/hosts/renew"): FLOWS,
    ("POST", "/api/hosts/release"): FLOWS,
    ("GET", "/api/search"): PEOPLE,
    ("GET", "/api/archives"): PEOPLE,
    ("POST", "/api/archives/{archive_id}/url"): PEOPLE,
    ("GET", "/api/tasks/{task_id}"): PEOPLE,
    ("POST", "/api/reconcile"): ADMINS,
    ("POST", "/api/crawls/{crawl_id}/reconcile"): ADMINS,
    ("GET", "/archives/{archive_id}"): "proof",
    ("HEAD", "/archives/{archive_id}"): "proof",
    ("OPTIONS", "/archives/{archive_id}"): "proof",
    ("GET", "/api/targets"): PEOPLE,
    ("POST", "/api/targets"): SUBMITTERS,
    ("PATCH", "/api/targets/{target_id}"): SUBMITTERS,
    ("DELETE", "/api/targets/{target_id}"): SUBMITTERS,
    ("GET", "/api/scripts"): PEOPLE,
    ("GET", "/api/scripts/{script_id}"): PEOPLE,
    ("POST", "/api/scripts"): ADMINS,
    ("PATCH", "/api/scripts/{script_id}"): ADMINS,
    ("DELETE", "/api/scripts/{script_id}"): ADMINS,
    ("GET", "/api/extractors"): PEOPLE,
    ("GET", "/api/extractors/{extractor_id}"): EVERYONE,
    ("POST", "/api/extractors"): ADMINS,
    ("PATCH", "/api/extractors/{extractor_id}"): ADMINS,
    ("DELETE", "/api/extractors/{extractor_id}"): ADMINS,
    ("GET", "/api/crawls/{crawl_id}/extractors"): EVERYONE,
    ("GET", "/api/crawls/{crawl_id}/pages/{page_id}/html"): EVERYONE,
    ("GET", "/api/crawls/{crawl_id}/extractions"): PEOPLE,
    ("POST", "/api/crawls/{crawl_id}/extractions/orders"): FLOWS,
    ("POST", "/api/crawls/{crawl_id}/extractions/results"): FLOWS,
    ("POST", "/api/watch/pages"): SUBMITTERS,
    ("GET", "/api/watch/pages"): PEOPLE,
    ("GET", "/api/watch/pages/{page_id}"): PEOPLE,
    ("PATCH", "/api/watch/pages/{page_id}"): SUBMITTERS,
    ("DELETE", "/api/watch/pages/{page_id}"): SUBMITTERS,
    ("POST", "/api/watch/pages/{page_id}/visit"): SUBMITTERS,
    ("POST", "/api/watch/preview"): SUBMITTERS,
    ("GET", "/api/watch/pages/{page_id}/content"): EVERYONE,
    ("GET", "/api/watch/pages/{page_id}/history"): PEOPLE,
    ("GET", "/api/watch/pages/{page_id}/events"): PEOPLE,
    ("GET", "/api/watch/pages/{page_id}/events/{event_id}"): PEOPLE,
    ("GET", "/api/watch/lists"): PEOPLE,
    ("POST", "/api/watch/lists"): SUBMITTERS,
    ("PATCH", "/api/watch/lists/{list_id}"): SUBMITTERS,
    ("DELETE", "/api/watch/lists/{list_id}"): SUBMITTERS,
    ("GET", "/api/watch/lists/{list_id}/pages"): PEOPLE,
    ("GET", "/api/watch/lists/{list_id}/freshness"): PEOPLE,
    ("GET", "/api/watch/counts"): PEOPLE,
    ("POST", "/api/watch/queue/claim"): FLOWS,
    ("POST", "/api/watch/queue/renew"): FLOWS,
    ("POST", "/api/watch/queue/return"): FLOWS,
    ("POST", "/api/watch/queue/complete"): FLOWS,
    ("GET", "/api/tokens"): ADMINS,
    ("POST", "/api/tokens"): ADMINS,
    ("DELETE", "/api/tokens/{token_id}"): ADMINS,
    ("PUT", "/api/sink/{crawl_id}/{filename}"): "proof",
    ("GET", "/api/watch/moving"): PEOPLE,
    ("POST", "/api/watch/moving/pages"): ADMINS,
    ("POST", "/api/watch/moving/switch"): ADMINS,
    ("GET", "/api/watch/updates"): PEOPLE,
    ("POST", "/api/watch/updates"): SUBMITTERS,
    ("GET", "/api/watch/channels"): SUBMITTERS,
    ("POST", "/api/watch/channels"): SUBMITTERS,
    ("GET", "/api/watch/channels/{channel_id}"): SUBMITTERS,
    ("PATCH", "/api/watch/channels/{channel_id}"): SUBMITTERS,
    ("DELETE", "/api/watch/channels/{channel_id}"): SUBMITTERS,
    ("POST", "/api/watch/channels/{channel_id}/secret"): SUBMITTERS,
    ("POST", "/api/watch/channels/{channel_id}/test"): SUBMITTERS,
    ("GET", "/api/watch/channels/{channel_id}/messages"): SUBMITTERS,
    ("GET", "/api/watch/feeds"): PEOPLE,
    ("POST", "/api/watch/feeds"): SUBMITTERS,
    ("DELETE", "/api/watch/feeds/{feed_id}"): SUBMITTERS,
    ("GET", "/feeds/{name}"): "proof",
}
"""By method and path, `{name}` for one segment and `{name:path}` for any number of them."""


def rights_of(path: str) -> dict[str, list[Right]]:
    """The rights of every method that the path has, from each row that it fits."""
    found: dict[str, list[Right]] = {}
    for pattern, method, right in _patterns():
        if pattern.fullmatch(path):
            found.setdefault(method, []).append(right)
    return found


def may(role: Role, rights: list[Right]) -> bool:
    """Whether the role has the right by every row: where two fit, the stricter one counts."""
    return bool(rights) and all(isinstance(right, str) or role in right for right in rights)


def needs_no_token(rights: list[Right]) -> bool:
    """Whether the call is for everyone, or brings its own proof."""
    return bool(rights) and all(isinstance(right, str) for right in rights)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str, Right], ...]:
    return tuple((_pattern(path), method, right) for (method, path), right in RIGHTS.items())


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("".join(_pieces(path)))


def _pieces(path: str) -> Iterator[str]:
    for piece in re.split(r"(\{\w+(?::path)?\})", path):
        if piece.endswith(":path}"):
            yield "(?s:.+)"
        elif piece.startswith("{"):
            yield "[^/]+"
        else:
            yield re.escape(piece)
