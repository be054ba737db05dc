"""Feeds of what was found: Atom, RSS and JSON Feed, of the same entries. Values in, bytes out."""

from comity.watch.feeds.atom import atom
from comity.watch.feeds.entries import Entry, Feed
from comity.watch.feeds.json_feed import json_feed
from comity.watch.feeds.rss import rss

__all__ = ["Entry", "Feed", "atom", "json_feed", "rss"]
