"""An archive shown by the product's own replay in a real browser, as an archivist would look at it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from comity.cli.errors import CliError
from comity.cli.replay.player import find_player
from comity.cli.replay.server import ReplayServer
from comity.cli.replay.shelf import Item, Shelf
from tests.e2e.chromium import Tab, open_tab


@contextmanager
def replayed(archive: Path, url: str) -> Iterator[Tab]:
    """A tab that shows `url` out of the archive; skips, saying why, where the replayer is not installed."""
    try:
        player = find_player()
    except CliError as missing:
        pytest.skip(str(missing))
    shelf = Shelf(archive.name, (Item(url, archive=0),), (archive,))
    with serving(ReplayServer(player, shelf)) as server, open_tab(server.first_page) as tab:
        yield tab


@contextmanager
def serving(server: ReplayServer) -> Iterator[ReplayServer]:
    """The server at work in a thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


REPLAYED_DOCUMENT = """(() => {
  const inner = (root) => {
    for (const frame of root.querySelectorAll('iframe')) {
      try { const found = frame.contentDocument && inside(frame.contentDocument); if (found) return found; }
      catch (e) { continue; }
    }
    for (const element of root.querySelectorAll('*'))
      if (element.shadowRoot) { const found = inner(element.shadowRoot); if (found) return found; }
    return null;
  };
  const inside = (document) => document.location.href.includes('mp_/') ? document : inner(document);
  return inner(document);
})()"""
"""The replayed page's own document, wherever the replayer put its frame; null until it is there."""

REPLAYED_FRAME = """(() => {
  const place = (root, x, y) => {
    for (const frame of root.querySelectorAll('iframe')) {
      const box = frame.getBoundingClientRect(), document = frame.contentDocument;
      const here = {x: x + box.x, y: y + box.y, width: Math.floor(box.width), height: Math.floor(box.height)};
      if (document?.location.href.includes('mp_/')) return here.width > 0 && here;
      const found = document && place(document, here.x, here.y);
      if (found) return found;
    }
    for (const element of root.querySelectorAll('*')) {
      const found = element.shadowRoot && place(element.shadowRoot, x, y);
      if (found) return found;
    }
    return null;
  };
  return place(document, 0, 0);
})()"""
"""Where the replayed page lies in the window (`x`, `y`, `width`, `height`, CSS pixels); null until it is there.

Asked from outside: to the replayed page itself the replayer hides that it is in a frame.
"""


def shown(expression: str) -> str:
    """An expression over the replayed page's `page` (its document); null until the page is there."""
    return f"(() => {{ const page = {REPLAYED_DOCUMENT}; return page && ({expression}) }})()"
