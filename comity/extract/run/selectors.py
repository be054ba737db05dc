"""A selector of the portable profile, ready to run: rewritten for turbohtml where that answers as CSS does.

turbohtml is told everything as attribute selectors with quoted values and the `s` flag, because it would compare ids
and classes without case in pages without a doctype, and values of some attributes without case everywhere. Two things
it cannot be told: `:empty` (it takes white space for nothing) and attributes whose names have capitals (SVG's
`viewBox`). A selector that needs them is `exact` and answered by `comity.extract.run.matching`.
"""

from dataclasses import dataclass

from comity.extract.profile.selectors import Attribute, Complex, Compound, Empty, Not, Position, parse_selector


@dataclass(frozen=True, slots=True)
class Selector:
    """`css` is what turbohtml gets; None where only exact matching answers. `alternatives` are there for that alone.

    `winding`: sibling combinators that lead to descendants. turbohtml tries those again for each element and each of
    its ancestors, which takes minutes on a large page that means harm.
    """

    text: str
    alternatives: tuple[Complex, ...]
    css: str | None
    winding: bool

    @classmethod
    def of(cls, text: str) -> "Selector":
        """Raises SelectorError for what is outside the profile."""
        alternatives = parse_selector(text)
        exact = any(needs_exactness(one) for each in alternatives for one in each.compounds)
        css = None if exact else ", ".join(_complex_css(each) for each in alternatives)
        winding = any(_winds(each) for each in alternatives)
        return cls(text, alternatives if exact or winding else (), css, winding)


def needs_exactness(compound: Compound) -> bool:
    """Whether turbohtml answers wrongly, for this compound or for one inside its `:not()`."""
    return any(is_exact(test) for test in compound.tests)


def is_exact(test: Attribute | Position | Empty | Not) -> bool:
    match test:
        case Empty():
            return True
        case Attribute():
            return test.name != test.name.lower()
        case Not():
            return needs_exactness(test.compound)
        case Position():
            return False


def compound_css(compound: Compound) -> str:
    """The compound for turbohtml, without the tests that it cannot answer."""
    tests = [_test_css(one) for one in compound.tests if not is_exact(one)]
    return (compound.type or ("" if tests else "*")) + "".join(tests)


def _complex_css(selector: Complex) -> str:
    text = compound_css(selector.compounds[0])
    for combinator, compound in zip(selector.combinators, selector.compounds[1:], strict=True):
        text += f"{combinator if combinator == ' ' else f' {combinator} '}{compound_css(compound)}"
    return text


def _test_css(test: Attribute | Position | Empty | Not) -> str:
    match test:
        case Attribute(name, "", _):
            return f"[{name}]"
        case Attribute(name, operator, value):
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'[{name}{operator}"{quoted}" s]'
        case Position(css):
            return f":{css}"
        case Not(compound):
            return f":not({compound_css(compound)})"
        case Empty():
            return ":empty"


def _winds(selector: Complex) -> bool:
    kinds = ["sibling" if one in "~+" else "line" for one in selector.combinators]
    return "sibling" in kinds and "line" in kinds[kinds.index("sibling") :]
