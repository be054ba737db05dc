"""Pages to watch as files that people have: OPML, CSV, plain addresses. Text in, values out, and back."""

from comity.watch.page_files.csv_pages import read_csv, write_csv
from comity.watch.page_files.opml import read_opml, write_opml
from comity.watch.page_files.pages import FilePage, FileProblem, PagesRead
from comity.watch.page_files.url_lines import read_urls, write_urls

__all__ = [
    "FilePage",
    "FileProblem",
    "PagesRead",
    "read_csv",
    "read_opml",
    "read_urls",
    "write_csv",
    "write_opml",
    "write_urls",
]
