"""`comity watch import|export`: pages from and for feed readers, spreadsheets and editors."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput
from comity.cli.options import DataOption
from comity.cli.reading import head_of
from comity.cli.watching.access import AT_ONCE, MAX_NAME_CHARACTERS, keeper, list_of
from comity.cli.watching.chosen import LabelOption
from comity.cli.watching.pages import ListOption, every_page
from comity.cli.watching.parts import Line, Problem, say, sent, wrong

if TYPE_CHECKING:
    from blocks.clients.watch_people import KeeperClient
    from comity.contract.watch import NewPage
    from comity.watch.page_files import FilePage, PagesRead

MAX_FILE_BYTES = 256 * 1024 * 1024
FORMS = ("opml", "csv", "urls")


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="OPML, CSV or one address a line; - for standard input.")],
    form: Annotated[
        str | None, typer.Option("--as", metavar="opml|csv|urls", help="Else by the file's name and begin.")
    ] = None,
    in_list: ListOption = None,
    label: LabelOption = None,
    data: DataOption = None,
) -> None:
    """Watch the pages of a file: of a feed reader, of a spreadsheet, or plain addresses.

    Folders of OPML and the column `lists` of CSV become lists. What cannot be watched is named, the rest is added;
    exit 1 where something was left out.
    """
    from comity.watch.page_files import FilePage

    read = _read_file(file, form)
    with keeper(data) as ledger:
        extra = tuple(in_list or [])
        pages = [
            FilePage(one.url, one.title, (*one.lists, *extra), (*one.labels, *(label or [])), one.line)
            for one in read.pages
        ]
        problems = [(one.line, one.reason) for one in read.problems]
        unnamed = read.left_out - len(problems)
        taken, added = _add_all(ledger, pages, problems)
    say(file, problems, unnamed)
    left_out = len(problems) + unnamed
    print(f"{added} added, {taken - added} were watched already, {left_out} left out")
    if left_out:
        raise typer.Exit(1)


def export_file(
    form: Annotated[str, typer.Option("--as", metavar="opml|csv|urls")] = "opml",
    of_list: Annotated[
        str | None, typer.Option("--list", metavar="NAME", help="Only this list.", show_default=False)
    ] = None,
    data: DataOption = None,
) -> None:
    """Write the watched pages to standard output, for a feed reader, a spreadsheet or another Comity."""
    from comity.watch.page_files import FilePage, write_csv, write_opml, write_urls

    if form not in FORMS:
        raise BadInput(f"--as: {form!r} is none of {', '.join(FORMS)}")
    with keeper(data) as ledger:
        names = {one.list_id: one.name for one in ledger.watch_lists().lists}
        chosen = None if of_list is None else list_of(ledger, of_list)
        pages = [
            FilePage(page.url, page.title, tuple(sorted(names.get(one, one) for one in page.lists)), tuple(page.labels))
            for page in every_page(ledger, None)
            if chosen is None or chosen in page.lists
        ]
    if form == "opml":
        sys.stdout.buffer.write(write_opml(pages, of_list or "Comity"))
    else:
        sys.stdout.write(write_csv(pages) if form == "csv" else write_urls(pages))


def _read_file(file: str, form: str | None) -> "PagesRead":
    from comity.watch.page_files import read_csv, read_opml, read_urls

    if form is not None and form not in FORMS:
        raise BadInput(f"--as: {form!r} is none of {', '.join(FORMS)}")
    content = read_bytes(file)
    chosen = form or _form_of(file, content)
    if chosen == "opml":
        return read_opml(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadInput(f"{file}:{line}: is not UTF-8; nothing was added") from None
    return read_csv(text) if chosen == "csv" else read_urls(text)


def _form_of(file: str, content: bytes) -> str:
    if file.lower().endswith((".opml", ".xml")) or content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "opml"
    return "csv" if file.lower().endswith((".csv", ".tsv")) else "urls"


def read_bytes(file: str) -> bytes:
    """The file's content, or standard input's. Raises BadInput."""
    try:
        content = head_of(file, MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise BadInput(f"{file}: is over {MAX_FILE_BYTES} bytes; split it")
    return content


def _add_all(ledger: "KeeperClient", wanted: "list[FilePage]", problems: "list[Problem]") -> tuple[int, int]:
    """How many pages are watched now, and how many of them were added. The others go to `problems`."""
    from rich.progress import track

    from comity.cli.console import progress_output
    from comity.contract.watch import AddPages

    lists: dict[str, str] = {}
    lines: list[Line[NewPage]] = []
    for one in wanted:
        page = _new_page(ledger, one, lists, problems)
        if page is not None:
            lines.append((one.line, page))
    parts = [lines[start : start + AT_ONCE] for start in range(0, len(lines), AT_ONCE)]
    taken = added = 0
    console = progress_output()
    for part in track(parts, "adding", console=console, transient=True, disable=not console.is_terminal):
        answer = sent(part, lambda pages: ledger.add_pages(AddPages(pages=pages)), problems)
        if answer is not None:
            taken, added = taken + len(answer.page_ids), added + answer.added
    return taken, added


def _new_page(
    ledger: "KeeperClient", one: "FilePage", lists: dict[str, str], problems: "list[Problem]"
) -> "NewPage | None":
    from pydantic import ValidationError

    from comity.contract.watch import NewPage

    # Folders of feed readers may have longer names than lists have.
    names = list(dict.fromkeys(name[:MAX_NAME_CHARACTERS] for name in one.lists))
    try:
        page = NewPage(url=one.url, title=one.title[:1000], labels=list(one.labels))
        for name in names:
            if name not in lists:
                lists[name] = list_of(ledger, name, make=True)
        return NewPage.model_validate({**page.to_wire(), "lists": [lists[name] for name in names]})
    except ValidationError as error:
        problems.append((one.line, wrong(error)))
        return None
