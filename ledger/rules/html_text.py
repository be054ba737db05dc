"""The text of an HTML page without a browser: for captures that have no page list to take it from."""

from html.parser import HTMLParser

UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "textarea"})
INLINE = frozenset({"a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "i", "kbd", "mark", "q", "rb", "ruby", "s",
                    "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr"})  # fmt: skip


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.text: list[str] = []
        self._unseen: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "title":
            self._in_title = True
        elif tag in UNSEEN:
            self._unseen.append(tag)
        elif tag == "body":
            self._unseen.clear()  # a head that was never closed ends here
        if tag not in INLINE:
            self.text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]
        if tag not in INLINE:
            self.text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.text.append(data)


def title_and_text(html: str) -> tuple[str, str]:
    """Title and visible text, roughly: scripts, styles and what else is never shown left out."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    return "".join(parser.title), "".join(parser.text)
