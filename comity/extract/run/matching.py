"""Exact matching of a selector over a whole page, in time linear in the page.

Every compound is first answered for the whole page by turbohtml, less what it cannot answer. Then one walk in document
order decides, for each element, which beginnings of the selector end there: by then its ancestors and its earlier
siblings are decided. Each state is a set of bits, bit i for "the first i + 1 compounds match, and the last is here".
"""

from collections.abc import Callable
from dataclasses import dataclass

from turbohtml import Comment, Document, DocumentFragment, Element, ProcessingInstruction

from comity.extract.profile.selectors import Attribute, Complex, Compound, Empty, Not, Position
from comity.extract.run.selectors import compound_css, is_exact

_SPACES = str.maketrans("\t\n\f\r", "    ")


def matching_elements(page: Document, alternatives: tuple[Complex, ...]) -> set[Element]:
    """Every element of the page that one of the alternatives matches."""
    found: set[Element] = set()
    for selector in alternatives:
        candidates = [_candidates(page, compound) for compound in selector.compounds]
        found |= _ends(page, selector, candidates) if selector.combinators else candidates[0]
    return found


@dataclass(slots=True)
class _Place:
    """What a parent knows while its children are walked: bits of itself, its ancestors and the children so far."""

    here: int
    above: int
    before: int = 0
    earlier: int = 0


def _ends(page: Document, selector: Complex, candidates: list[set[Element]]) -> set[Element]:
    last = 1 << len(selector.combinators)
    found: set[Element] = set()
    line: list[tuple[object, _Place]] = [(page, _Place(0, 0))]  # from the page down to the parent of what comes next
    for element in page.iter_elements():
        parent = element.parent
        while isinstance(parent, DocumentFragment):  # what a <template> holds
            parent = parent.parent
        while line[-1][0] != parent:
            line.pop()
        place = line[-1][1]
        bits = 1 if element in candidates[0] else 0
        for index, combinator in enumerate(selector.combinators):
            match combinator:
                case " ":
                    reached = place.here | place.above
                case ">":
                    reached = place.here
                case "+":
                    reached = place.before
                case "~":
                    reached = place.earlier
            if reached >> index & 1 and element in candidates[index + 1]:
                bits |= 2 << index
        place.before = bits
        place.earlier |= bits
        line.append((element, _Place(bits, place.here | place.above)))
        if bits & last:
            found.add(element)
    return found


def _candidates(page: Document, compound: Compound) -> set[Element]:
    found = set(page.select(compound_css(compound)))
    for test in compound.tests:
        if is_exact(test):
            found = _passing(page, found, test)
    return found


def _passing(page: Document, elements: set[Element], test: Attribute | Position | Empty | Not) -> set[Element]:
    match test:
        case Empty():
            return {one for one in elements if _is_empty(one)}
        case Not(compound):
            return elements - _candidates(page, compound)
        case Attribute(name, operator, value):
            return {one for one in elements if _attribute_passes(one.attr(name), operator, value)}
        case Position():
            return elements


def _is_empty(element: Element) -> bool:
    return all(isinstance(child, Comment | ProcessingInstruction) for child in element)


def _attribute_passes(held: str | None, operator: str, value: str) -> bool:
    if held is None or (value == "" and operator in ("^=", "$=", "*=")):
        return False
    passes: dict[str, Callable[[str], bool]] = {
        "": lambda _: True,
        "=": lambda text: text == value,
        "~=": lambda text: value != "" and value in text.translate(_SPACES).split(" "),
        "|=": lambda text: text == value or text.startswith(f"{value}-"),
        "^=": lambda text: text.startswith(value),
        "$=": lambda text: text.endswith(value),
        "*=": lambda text: value in text,
    }
    return passes[operator](held)
