"""What a sitemap says."""

import pytest

from comity.polite.rules.sitemaps import MAX_URLS, Sitemap, SitemapReader

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def read(text: str | bytes, *, piece: int = 7) -> Sitemap:
    reader = SitemapReader()
    data = text.encode() if isinstance(text, str) else text
    for start in range(0, len(data), piece):
        reader.feed(data[start : start + piece])
    return reader.finish()


@pytest.mark.parametrize(
    ("text", "urls", "sitemaps"),
    [
        (f"{HEAD}<urlset {NS}><url><loc>http://a/1?x=1&amp;y=2</loc></url></urlset>", ["http://a/1?x=1&y=2"], []),
        ("<urlset><url><loc>\n http://a/1\n</loc><lastmod>2030</lastmod></url><url/></urlset>", ["http://a/1"], []),
        ("<s:urlset xmlns:s='x'><s:url><s:loc><![CDATA[http://a/猫]]></s:loc></s:url></s:urlset>", ["http://a/猫"], []),
        (f"<sitemapindex {NS}><sitemap><loc>http://a/2.xml</loc></sitemap></sitemapindex>", [], ["http://a/2.xml"]),
        (
            f'<urlset {NS} xmlns:i="i"><url><i:image><i:loc>http://a/p.png</i:loc></i:image><loc>http://a/1</loc></url>'
            "<loc>http://a/lost</loc><sitemap><loc>http://a/s</loc></sitemap></urlset>",
            ["http://a/1"],
            [],
        ),
        ("<urlset/>", [], []),
    ],
)  # fmt: skip
def test_entries_are_read_whatever_the_pieces(text: str, urls: list[str], sitemaps: list[str]) -> None:
    for piece in (1, 7, 10_000):
        found = read(text, piece=piece)
        assert (found.urls, found.sitemaps, found.problem) == (urls, sitemaps, "")


@pytest.mark.parametrize(
    ("text", "urls", "problem"),
    [
        ("<urlset><url><loc>http://a/1</loc></url><url><loc>http://a/2</lo", ["http://a/1"], "is not well-formed XML"),
        ("<urlset><url><loc>http://a/1</loc></url></oops>", ["http://a/1"], "is not well-formed XML"),
        ("<urlset><url><loc>http://a/1</loc></url>", ["http://a/1"], "is not well-formed XML"),
        ("", [], "is not well-formed XML"),
        ("<html><body>Not found</body></html>", [], "is no sitemap: its root is <html>"),
        ("<rss><channel/></rss>", [], "is no sitemap"),
        ("http://a/1\nhttp://a/2\n", [], "is not well-formed XML"),
        ('<!DOCTYPE u [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>', [], "has what no sitemap needs"),
        ('<!DOCTYPE u SYSTEM "http://b/x.dtd"><urlset/>', [], "has what no sitemap needs"),
        ('<?xml version="1.0" encoding="klingon"?><urlset/>', [], "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_and_what_came_before_is_kept(text: str, urls: list[str], problem: str) -> None:
    found = read(text)
    assert found.urls == urls
    assert problem in found.problem


def test_entries_are_bounded_in_number_and_length() -> None:
    one = "<url><loc>http://a/</loc></url>"
    assert read(f"<urlset>{one * MAX_URLS}</urlset>", piece=1 << 16).problem == ""
    over = read(f"<urlset>{one * (MAX_URLS + 5)}</urlset>", piece=1 << 16)
    assert (len(over.urls), over.problem) == (MAX_URLS, f"has more than {MAX_URLS} entries")
    long = read(f"<urlset><url><loc>http://a/{'x' * 100_000}</loc></url>{one}</urlset>", piece=100)
    assert long.urls == ["http://a/"]


def test_another_encoding_is_read_as_it_is_declared() -> None:
    text = '<?xml version="1.0" encoding="iso-8859-1"?><urlset><url><loc>http://a/ü</loc></url></urlset>'
    assert read(text.encode("latin-1")).urls == ["http://a/ü"]
