"""Whether a page can be watched by its settings: one answer for the command line, the preview and the ledger."""

from comity.contract.watch import WatchSettings
from comity.watch.rules.settings import ContentSettings, check, content_settings
from comity.watch.rules.text import check_selector


def check_watch_settings(wire: WatchSettings) -> ContentSettings:
    """The settings of a page's content. Raises BadWatchSettings naming the field that cannot work.

    Whether there is such an extractor, and such fields of it, its catalogue knows.
    """
    settings = content_settings(wire)
    check(settings)
    if settings.part == "selector":
        check_selector(settings.selector)
    return settings
