"""Wire models of looking at a page before it is watched."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from comity.contract.watch import WatchSettings
from comity.contract.wire import Answer, Request

MAX_PREVIEW_CHARACTERS = 20_000
MAX_PREVIEW_LINES = 200
MAX_PREVIEW_FIELDS_BYTES = 100_000


class PreviewPage(Request):
    """`POST /api/watch/preview`. `again`: whether it is fetched a second time, to see what of it never means an update.

    `settings` are those that the page would be watched with.
    """

    url: Annotated[str, Field(min_length=1, max_length=2048)]
    settings: WatchSettings = WatchSettings()
    again: StrictBool = True


class PreviewProblem(Answer):
    """Why there is nothing to show: `code` for programs, `reason` for people."""

    code: str
    reason: str


class PagePreview(Answer):
    """What a visit would find. `text` is its beginning, `lines` how many lines would be watched.

    `volatileLines` would not count: two fetches moments apart disagreed about them. `encoding` is absent of what is no
    text; `undecodable` counts characters that the encoding does not have. `crawlDelayMs` is what robots.txt asks for.

    `wholeInstead`: main content is asked for and the page has none, so the whole page would be watched, and stay so.
    `fields` are what an extractor makes of the page, where its fields are watched; absent where they are over 100,000
    bytes as JSON, of which `text` has the beginning.
    """

    url: str
    final_url: str | None = None
    http_status: int | None = None
    kind: Literal["html", "text", "binary"] | None = None
    title: str = ""
    encoding: str | None = None
    undecodable: int = 0
    whole_instead: bool = False
    fields: dict[str, Any] | None = None
    lines: int = 0
    text: str = ""
    truncated: bool = False
    fetched_twice: bool = False
    volatile_lines: list[str] = []
    crawl_delay_ms: int | None = None
    problem: PreviewProblem | None = None
