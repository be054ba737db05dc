"""What a KDL document parses into, and where it stands. Places are indexes into the text until a span is asked for."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from comity.extract.ir.scalars import Scalar
from comity.extract.ir.spans import Position, Span

_LINE_END = re.compile(r"\r\n|[\n\r]")


@dataclass(frozen=True, slots=True)
class Value:
    scalar: Scalar
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    value: Value
    start: int


@dataclass(frozen=True, slots=True)
class Node:
    """Arguments, properties and children in source order; what slashdash suppressed is not among them.

    `end` is after `}` where there are children, else after the last argument, else after the last property, else after
    the name: properties behind the last argument fall outside.
    """

    name: str
    arguments: tuple[Value, ...]
    properties: tuple[Property, ...]
    children: tuple["Node", ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong with the text at `start` up to `end`."""

    code: str
    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    nodes: tuple[Node, ...]
    mistakes: tuple[Mistake, ...]


class Locator:
    """Turns indexes into one file's text into positions."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._line_starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._byte_starts = None if text.isascii() else self._bytes_before_lines()

    def _bytes_before_lines(self) -> list[int]:
        starts = [0]
        for start, end in zip(self._line_starts, self._line_starts[1:], strict=False):
            starts.append(starts[-1] + len(self._text[start:end].encode()))
        return starts

    def position(self, index: int) -> Position:
        line = bisect_right(self._line_starts, index) - 1
        start = self._line_starts[line]
        offset = index
        if self._byte_starts is not None:
            offset = self._byte_starts[line] + len(self._text[start:index].encode())
        return Position(offset, line + 1, index - start + 1)

    def span(self, start: int, end: int) -> Span:
        return Span(self._file, self.position(start), self.position(end))
