"""What a caller may say about one extraction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

from comity.extract.run.browser import BrowserPages
from comity.polite.answers import RedirectHook, Session

if TYPE_CHECKING:
    from comity.polite.client import GuardedClient

TIMEOUT_S = 30.0
MAX_PAGE_BYTES = 32 * 1024 * 1024
MAX_ROWS = 1_000_000
MAX_TEXT_CHARS = 256 * 1024 * 1024
"""A page of 32 MiB read eight times over. Nested rows repeat their text: without a limit, 1 MB of page is 20 GB."""
USER_AGENT = f"comity/{version('comity')} scrape-kdl/1.0"
"""What a site sees. It begins with the token that a robots.txt addresses."""


class Cancellation(Protocol):
    """Anything that can be asked whether to stop: a `threading.Event`, an `asyncio.Event`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What any extraction may be told.

    `external_transforms`: host functions by their symbol, the only place where they are looked for. `cancellation` is
    looked at while a page is waited for, before it is parsed, at every member and at every row. The limits end an
    extraction of a page that means harm; nothing recovers from them. `timeout_s` is for everything together.
    """

    external_transforms: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    cancellation: Cancellation | None = None
    timeout_s: float = TIMEOUT_S
    max_rows: int = MAX_ROWS
    max_text_chars: int = MAX_TEXT_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions(RunOptions):
    """How to read one page that is there. `content_type`: the header that the bytes came with; text needs none."""

    content_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions(RunOptions):
    """How to get a program's page, and how to read it.

    `url`: this page instead of the program's own, whose inputs are not needed then. `session`: headers and cookies for
    the first request, where the program takes them. `max_page_bytes`: of the page, packed and unpacked.
    `allow_private_hosts` also visits addresses that are not of the public web; those where clouds hand out credentials
    stay closed. `on_redirect` is asked about each redirect after the policy has allowed it. `user_agent`: None is
    `USER_AGENT`. `client`: one for many extractions of the same event loop; it has its own policy and its own
    User-Agent, and goes with `extract_async` alone. `browser`: loads the pages of programs with `fetch mode="browser"`.
    """

    url: str | None = None
    session: Session | None = None
    max_page_bytes: int = MAX_PAGE_BYTES
    user_agent: str | None = None
    allow_private_hosts: bool = False
    on_redirect: RedirectHook | None = None
    client: "GuardedClient | None" = None
    browser: BrowserPages | None = None
