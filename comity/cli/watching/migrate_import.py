"""`comity watch migrate import`: another system's pages, with their times, texts and titles, from its own export."""

import codecs
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import keeper, list_of
from comity.cli.watching.files import read_bytes
from comity.cli.watching.parts import Line, Problem, say, sent, wrong

if TYPE_CHECKING:
    from blocks.clients.watch_people import KeeperClient
    from comity.contract.watch_moving import ImportedPage

AT_ONCE = 200
"""Each text is a file that is on the disk before the answer: a slow one takes some seconds for these."""
MOST_BYTES = 2 * 1024 * 1024
"""Of a call's lines; a ledger takes 8 MiB unless it is told otherwise, and JSON may escape a character in 12 bytes."""
FORMS = ("text", "base64", "hex", "latin1")


@dataclass
class _Import:
    """An import under way: what was taken, and what could not be."""

    ledger: "KeeperClient"
    title_form: str
    charsets: tuple[str, ...]
    problems: list[Problem] = field(default_factory=list)
    pages: int = 0
    added: int = 0
    newer: int = 0
    contents: int = 0
    _lists: dict[str, str] = field(default_factory=dict)
    _part: "list[Line[ImportedPage]]" = field(default_factory=list)
    _part_bytes: int = 0

    def take(self, number: int, line: bytes) -> None:
        """The page of a line; sent once there are enough of them."""
        page = self._read(number, line)
        if page is None:
            return
        if len(self._part) == AT_ONCE or self._part_bytes + len(line) > MOST_BYTES:
            self.send()
        self._part.append((number, page))
        self._part_bytes += len(line)

    def send(self) -> None:
        """What waits to be sent."""
        from comity.contract.watch_moving import ImportPages

        part, self._part, self._part_bytes = self._part, [], 0
        answer = sent(part, lambda pages: self.ledger.import_pages(ImportPages(pages=pages)), self.problems)
        if answer is not None:
            self.pages += len(answer.page_ids)
            self.added += answer.added
            self.newer += answer.newer
            self.contents += answer.contents

    def _read(self, number: int, line: bytes) -> "ImportedPage | None":
        from pydantic import ValidationError

        from comity.contract.watch_moving import ImportedPage

        try:
            row = self._row(line)
            names = row.pop("lists", None) or []
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("lists: must be names, as a list of texts")
            ImportedPage.model_validate(row)  # before a list is made for a line that is left out
            return ImportedPage.model_validate({**row, "lists": [self._list(name) for name in dict.fromkeys(names)]})
        except ValidationError as error:
            self.problems.append((number, wrong(error)))
        except BadInput as error:
            self.problems.append((number, str(error)))
        except (ValueError, RecursionError) as error:
            self.problems.append((number, str(error)))
        return None

    def _row(self, line: bytes) -> dict[str, Any]:
        """Raises ValueError."""
        from comity.watch.moving.old_text import old_bytes, old_text
        from comity.watch.page_files.pages import why_not_watched

        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"is no JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValueError("is no JSON object")
        reason = why_not_watched(str(row.get("url", "")))
        if reason is not None:
            raise ValueError(reason)
        title = row.get("title")
        if self.title_form != "text" and isinstance(title, str):
            row["title"] = old_text(old_bytes(title, self.title_form), self.charsets)[:1000]
        return row

    def _list(self, name: str) -> str:
        if name not in self._lists:
            self._lists[name] = list_of(self.ledger, name, make=True)
        return self._lists[name]


def migrate_import(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="JSON Lines: url, and title, updatedAt, content, lists, labels; - for standard input."
        ),
    ],
    title_form: Annotated[
        str,
        typer.Option(
            metavar="text|base64|hex|latin1",
            help="How the export wrote the titles' bytes. All but text are decoded as old databases keep them: EUC-JP "
            "or Shift_JIS or UTF-8, escaped for HTML.",
        ),
    ] = "text",
    charset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Charsets of old titles, in the order to try; repeatable.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take the other system's pages in, with their times and texts. It goes on visiting them until they are switched.

    Again: nothing is added twice, and newer times win. A line that cannot be read is named and left out; exit 1 then.
    """
    from rich.progress import track

    from comity.cli.console import progress_output

    if title_form not in FORMS:
        raise BadInput(f"--title-form: {title_form!r} is none of {', '.join(FORMS)}")
    charsets = _charsets(charset)
    lines = read_bytes(file).splitlines()
    console = progress_output()
    with keeper(data) as ledger:
        taking = _Import(ledger, title_form, charsets)
        numbered = list(enumerate(lines, start=1))
        for number, line in track(
            numbered, "importing", console=console, transient=True, disable=not console.is_terminal
        ):
            if line.strip():
                taking.take(number, line)
        taking.send()
    say(file, taking.problems)
    left_out = len(taking.problems)
    if as_json:
        counts = {name: getattr(taking, name) for name in ("pages", "added", "newer", "contents")}
        print(json.dumps({**counts, "leftOut": left_out}))
    else:
        print(
            f"{taking.pages} pages: {taking.added} added, {taking.newer} times and {taking.contents} texts "
            f"taken over, {left_out} lines left out"
        )
    if left_out:
        raise typer.Exit(1)


def _charsets(names: list[str] | None) -> tuple[str, ...]:
    from comity.watch.moving.old_text import DEFAULT_CHARSETS

    for name in names or []:
        try:
            codecs.lookup(name)
        except (LookupError, ValueError):
            raise BadInput(f"--charset: {name[:40]!r} is no charset; write one like euc_jp, cp932 or utf-8") from None
    return tuple(names or DEFAULT_CHARSETS)
