"""The suite's expected documents: KDL in its canonical form, one node a line, four spaces for each level.

A reader for that form alone, so that what our parser reads is compared with something that is not our parser.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from comity.extract.kdl.tree import Node

_TOKEN = re.compile(r'(?:([^\s"={}]+)=)?("(?:[^"\\]|\\.)*"|[^\s={}]+)')
Plain = tuple[str, tuple[Any, ...], dict[str, Any], list[Any]]


def read_canonical(text: str) -> list[Plain]:
    """Nodes as (name, arguments, properties, children)."""
    levels: list[list[Plain]] = [[]]
    for line in text.splitlines():
        words = line.strip()
        if words == "}":
            levels.pop()
        elif words:
            name, arguments, properties = _node(words.removesuffix("{"))
            children: list[Plain] = []
            levels[-1].append((name, arguments, properties, children))
            if words.endswith("{"):
                levels.append(children)
    return levels[0]


def plain_nodes(nodes: Sequence[Node]) -> list[Plain]:
    """What our parser read, in the same shape; of properties that are there twice, the last counts."""
    return [
        (
            one.name,
            tuple(value.scalar for value in one.arguments),
            {each.name: each.value.scalar for each in one.properties},
            plain_nodes(one.children),
        )
        for one in nodes
    ]


def _node(words: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    (_, name), *rest = _TOKEN.findall(words)
    arguments = tuple(_value(text) for key, text in rest if not key)
    return name, arguments, {key: _value(text) for key, text in rest if key}


def _value(text: str) -> Any:
    constants = {"#true": True, "#false": False, "#null": None}
    if text in constants:
        return constants[text]
    if text.startswith('"'):
        return json.loads(text.replace("\\s", " "), strict=False)
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    return float(text) if re.match(r"-?[0-9]", text) else text  # a word without quotes is a string
