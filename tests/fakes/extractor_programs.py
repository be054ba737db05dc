"""Small programs of the scraping language."""

VERSION = "2026-07-15"
SOURCE = 'source "html" { fetch mode="http" url="https://example.org/" }'


def program(name: str = "title", body: str = "", *, source: str = SOURCE, imports: str = "") -> str:
    """A program that takes the title, with more members where they are given."""
    title = 'field "title" type="string" required=#true { select "title" match="first"; value "text" }'
    head = f'extractor "{name}" version="{VERSION}" language-version="{VERSION}"'
    return f"{imports}{head} {{\n  {source}\n  {title}\n  {body}\n}}\n"
