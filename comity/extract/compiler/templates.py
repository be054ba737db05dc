"""URL templates: text with `{input}` places; `{{` and `}}` are braces."""

import re

from comity.extract.ir.program import InputSegment, LiteralSegment, Template

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def read_template(raw: str) -> Template | str:
    """The template, or a sentence on what is wrong with it. Whether its inputs are declared is for the caller."""
    segments: list[LiteralSegment | InputSegment] = []
    literal = ""
    for found in _PART.finditer(raw):
        part, name = found.group(), found.group(1)
        if name is not None:
            if not _NAME.fullmatch(name):
                return f"{{{name[:40]}}} names no input: write {{name}}, or {{{{ for a brace"
            if literal:
                segments.append(LiteralSegment(kind="literal", value=literal))
            literal = ""
            segments.append(InputSegment(kind="input", name=name))
        elif part in {"{", "}"}:
            return f"a {part} stands alone at character {found.start() + 1}: write {part}{part} for a brace"
        else:
            literal += part[0] if part in {"{{", "}}"} else part
    if literal:
        segments.append(LiteralSegment(kind="literal", value=literal))
    return _absolute(Template(raw=raw, segments=tuple(segments)))


def _absolute(template: Template) -> Template | str:
    if not template.segments:
        return "the URL is empty: write http://… or https://…"
    first = template.segments[0]
    if isinstance(first, LiteralSegment):
        scheme = _SCHEME.match(first.value)
        if scheme is None and len(template.segments) == 1:
            return "the URL must be absolute: write http://… or https://…"
        if scheme is not None and scheme.group(1).lower() not in {"http", "https"}:
            return f"only http and https are fetched, not {scheme.group(1)}"
    return template
