"""A page that changes on a script: true changes when it is told to, and everything that is none at each request."""

import email.utils
import hashlib
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from tests.site.wire import Request, Response

Validator = Literal["none", "etag", "last-modified"]
ADS = (
    "Buy a boat before it rains",
    "Hats, now in two sizes",
    "A lighthouse of your own",
    "Socks by the metre",
    "Tea that forgives",
    "Nails, mostly straight",
)


@dataclass
class ChangingPage:
    """Answers with its `lines`, one paragraph each. What is switched on beside them never means an update.

    `counter`: visits are counted on the page. `ads`: another one at each request. `dated`: today's date stands on it,
    by a calendar that `days` sets forward. `shuffled`: a list in another order each time. `mislabelled`: the header
    names this charset, whatever the bytes are. `rest`: 503 with this Retry-After.
    """

    lines: Sequence[str]
    encoding: str = "utf-8"
    label: str | None = ""
    validator: Validator = "none"
    counter: bool = False
    ads: bool = False
    dated: bool = False
    shuffled: Sequence[str] = ()
    modified_at: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    requests: "itertools.count[int]" = field(default_factory=itertools.count)
    served: list[int] = field(default_factory=list)

    def change(self, *lines: str) -> None:
        """A true change: from now on the page says this."""
        self.lines = lines
        self.modified_at += timedelta(seconds=1)

    def __call__(self, request: Request) -> Response:
        number = next(self.requests)
        body = self._html(number).encode(self.encoding)
        headers = self._validators()
        if self._is_known(request, headers):
            self.served.append(304)
            return Response(status=304, headers=tuple(headers.items()))
        self.served.append(200)
        return Response(body=body, content_type=self._content_type(), headers=tuple(headers.items()))

    def _content_type(self) -> str:
        label = self.encoding.replace("_", "-") if self.label == "" else self.label
        return f"text/html; charset={label}" if label else "text/html"

    def _html(self, number: int) -> str:
        parts = [f"<p>{line}</p>" for line in self.lines]
        if self.counter:
            parts.insert(1, f"<p class=visitors>Visitors: {100_000 + number * 7:,}</p>")
        if self.ads:
            parts.insert(len(parts) // 2, f"<aside>{ADS[number % len(ADS)]}</aside>")
        if self.dated:
            parts.append(f"<footer>Today is {datetime.now(UTC):%A, %d %B %Y, %H:%M:%S}</footer>")
        if self.shuffled:
            items = list(self.shuffled)
            random.Random(number).shuffle(items)
            parts.append("<ul>" + "".join(f"<li>{one}</li>" for one in items) + "</ul>")
        return "<!doctype html><html><head><title>A page that changes</title></head><body>" + "\n".join(parts)

    def _validators(self) -> dict[str, str]:
        if self.validator == "etag":
            digest = hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:16]
            return {"ETag": f'"{digest}"'}
        if self.validator == "last-modified":
            return {"Last-Modified": email.utils.format_datetime(self.modified_at, usegmt=True)}
        return {}

    def _is_known(self, request: Request, headers: dict[str, str]) -> bool:
        asked = {
            "ETag": request.headers.get("if-none-match"),
            "Last-Modified": request.headers.get("if-modified-since"),
        }
        return any(asked[name] == value for name, value in headers.items())


def encoded_pages() -> dict[str, ChangingPage]:
    """Pages in the encodings that are read wrongly most often, labelled and not."""
    japanese = ("本日は晴天なり", "カフェの営業時間は十時から", "港まで歩いて三分です", "土曜日は休みます")
    chinese = ("今天天气很好", "图书馆八点开门", "我们去公园玩", "星期六休息")
    pages = {}
    for encoding, lines in (("shift_jis", japanese), ("euc_jp", japanese), ("gb18030", chinese)):
        pages[encoding] = ChangingPage(lines, encoding=encoding)
        pages[f"{encoding}-unlabelled"] = replace(pages[encoding], label=None, requests=itertools.count(), served=[])
        pages[f"{encoding}-as-utf-8"] = replace(pages[encoding], label="utf-8", requests=itertools.count(), served=[])
    return pages
