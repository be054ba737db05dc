"""CSV (RFC 4180) with a header: `url`, and `title`, `lists`, `labels` where they are given, in any order.

Several lists or labels of a page are separated by `;`. Other columns are passed over.
"""

import csv
import io
from collections.abc import Iterable

from comity.watch.page_files.pages import FilePage, PagesRead, Reading

COLUMNS = ("url", "title", "lists", "labels")
_URL_NAMES = ("url", "uri", "address", "link")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_csv(text: str) -> PagesRead:
    """Commas, semicolons or tabs: whichever the header has most of."""
    reading = Reading()
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        url_at = next((header.index(name) for name in _URL_NAMES if name in header), None)
        if url_at is None:
            reading.broken(1, "the first line names no column `url`; it is a header, such as `url,title,lists,labels`")
            return reading.done()
        at = {name: header.index(name) for name in COLUMNS[1:] if name in header}
        for row in rows:
            if any(cell.strip() for cell in row):
                reading.add(_page(row, url_at, at, rows.line_num))
    except csv.Error as error:
        reading.broken(rows.line_num, f"no CSV from here on: {error}")
    return reading.done()


def _page(row: list[str], url_at: int, at: dict[str, int], line: int) -> FilePage:
    def cell(name: str) -> str:
        place = at.get(name)
        text = row[place].strip() if place is not None and place < len(row) else ""
        return text[1:] if text.startswith("'") and _is_formula(text) else text

    def several(name: str) -> tuple[str, ...]:
        return tuple(word for part in cell(name).split(";") if (word := part.strip()))

    url = row[url_at].strip() if url_at < len(row) else ""
    return FilePage(url, cell("title"), several("lists"), several("labels"), line)


def write_csv(pages: Iterable[FilePage]) -> str:
    """With all four columns. A text that a spreadsheet would run as a formula gets a `'` before it, which reading
    takes away."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for page in pages:
        writer.writerow((page.url, *map(_harmless, (page.title, ";".join(page.lists), ";".join(page.labels)))))
    return out.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    return text.lstrip("'").startswith(_FORMULA)
