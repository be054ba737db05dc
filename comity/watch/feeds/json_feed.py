"""JSON Feed 1.1 (jsonfeed.org/version/1.1)."""

import json

from comity.watch.feeds.entries import Feed, one_line

CONTENT_TYPE = "application/feed+json; charset=utf-8"


def json_feed(feed: Feed) -> bytes:
    """The feed as UTF-8."""
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": one_line(feed.title),
        "feed_url": feed.feed_url,
        "items": [
            {
                "id": entry.id,
                "url": entry.url,
                "title": one_line(entry.title),
                "content_html": entry.html,
                "content_text": entry.text,
                "date_published": entry.at.isoformat(),
            }
            for entry in feed.entries
        ],
    }
    if feed.home_url:
        document["home_page_url"] = feed.home_url
    if feed.description:
        document["description"] = feed.description
    # Lone surrogates are no UTF-8; escaped they are still JSON.
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document).encode()
