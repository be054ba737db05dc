"""Programs of the tests, compiled from their text."""

from comity import extract
from comity.extract.run import Failure, Program, Result

VERSIONS = 'version="2026-07-15" language-version="2026-07-15"'
TITLE = 'field "title" type="string" required=#true { select "h1"; value "text" }'


def program_of(source: str) -> Program:
    compilation = extract.compile(source)
    assert compilation.program is not None, compilation
    prepared = Program.prepare(compilation.program)
    assert isinstance(prepared, Program), prepared
    return prepared


def titles_of(
    url: str, *, inputs: str = "", session: str = "", members: str = TITLE, mode: str = "http", workflow: str = ""
) -> Program:
    """A program that reads the heading of the page at `url`."""
    policy = f'session policy="{session}"' if session else ""
    source = f'source "html" {{ fetch mode="{mode}" url="{url}"; {policy}; {workflow} }}'
    return program_of(f'extractor "titles" {VERSIONS} {{\n {source.replace("; ;", ";")}\n {inputs}\n {members}\n}}')


def value_of(outcome: Result | Failure) -> dict[str, object]:
    assert isinstance(outcome, Result), outcome
    return outcome.value


def code_of(outcome: Result | Failure) -> str:
    assert isinstance(outcome, Failure), outcome
    return outcome.code
