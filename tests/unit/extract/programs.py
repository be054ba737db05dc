"""Extractors that differ from a right one in one thing."""

from comity import extract
from comity.extract import Compilation

VERSIONS = 'version="2026-07-15" language-version="2026-07-15"'
SOURCE = 'source "html" { fetch mode="http" url="https://example.org/" }'
BROWSER = 'source "html" { fetch mode="browser" url="https://example.org/" }'


def extractor(body: str = "", *, source: str = SOURCE) -> str:
    return f'extractor "test" {VERSIONS} {{\n{source}\n{body}\n}}\n'


def field(children: str = 'select "h1"; value "text"', properties: str = 'type="string" required=#true') -> str:
    return f'field "title" {properties} {{ {children} }}'


def applied(apply: str, properties: str = 'type="string" required=#true') -> str:
    return extractor(field(f'select "h1"; value "text"; {apply}', properties))


def transform(body: str, types: str = 'input="string" output="string"') -> str:
    return extractor(f'transform "own" {types} {{ {body} }}\n{field()}')


def codes(source: str | bytes) -> list[str]:
    return [one.code for one in extract.compile(source).diagnostics]


def places(compilation: Compilation) -> list[tuple[str, int, int, str | None]]:
    """Code, line, column and path of every diagnostic."""
    return [(one.code, one.span.start.line, one.span.start.column, one.path) for one in compilation.diagnostics]
