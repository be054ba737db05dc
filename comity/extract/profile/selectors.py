"""The portable selector profile: CSS selectors that a browser and a parser of saved pages answer alike.

`parse_selector` is the whole validator. What is CSS but outside the profile (`:has()`, `:hover`, `::before`,
escapes, namespaces, the `i` and `s` flags) is E_SELECTOR_UNSUPPORTED; what is not CSS is E_SELECTOR_INVALID.
"""

from dataclasses import dataclass
from typing import Literal, NoReturn

from comity.extract.profile.nth import parse_nth

Combinator = Literal[" ", ">", "+", "~"]
MAX_SELECTOR_CHARS = 4096
"""Code points of one selector; longer ones are machine-made and slow everywhere."""
_SPACES = " \t\n\r\f"
_PLAIN = ("first-child", "last-child", "only-child", "empty", "first-of-type", "last-of-type", "only-of-type")
_NTH = ("nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type")
_OPERATORS = ("~=", "|=", "^=", "$=", "*=", "=")


class SelectorError(ValueError):
    """The selector cannot be used. `code` is E_SELECTOR_INVALID or E_SELECTOR_UNSUPPORTED; `offset` in characters."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Attribute:
    """`[name]`, or with `operator` one of = ~= |= ^= $= *= and a value. Ids and classes are attributes too."""

    name: str
    operator: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """A pseudo-class of an element's place among its siblings, as CSS that every engine reads: `nth-child(2n+1)`."""

    css: str


@dataclass(frozen=True, slots=True)
class Empty:
    """`:empty` of CSS 3: no element and no text at all, not even white space."""


@dataclass(frozen=True, slots=True)
class Not:
    compound: "Compound"


@dataclass(frozen=True, slots=True)
class Compound:
    """Tests that one element passes together; `type` is None or `*` for any."""

    type: str | None
    tests: tuple[Attribute | Position | Empty | Not, ...]


@dataclass(frozen=True, slots=True)
class Complex:
    """Compounds from left to right with the combinators between them: one fewer."""

    compounds: tuple[Compound, ...]
    combinators: tuple[Combinator, ...]


def parse_selector(text: str) -> tuple[Complex, ...]:
    """The alternatives of a selector list. Raises SelectorError for everything outside the profile."""
    if len(text) > MAX_SELECTOR_CHARS:
        message = f"a selector may have {MAX_SELECTOR_CHARS} characters, this one has {len(text)}"
        raise SelectorError("E_SELECTOR_INVALID", message, MAX_SELECTOR_CHARS)
    return _Parser(text).selector_list()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def selector_list(self) -> tuple[Complex, ...]:
        found = [self._complex()]
        while self._peek() == ",":
            self._at += 1
            found.append(self._complex())
        if self._at < len(self._text):
            self._unexpected()
        return tuple(found)

    def _complex(self) -> Complex:
        self._skip_spaces()
        compounds, combinators = [self._compound()], list[Combinator]()
        while (combinator := self._combinator()) is not None:
            combinators.append(combinator)
            compounds.append(self._compound())
        return Complex(tuple(compounds), tuple(combinators))

    def _combinator(self) -> Combinator | None:
        spaced = self._skip_spaces()
        match self._peek():
            case "" | "," | ")":
                return None
            case ">" | "+" | "~" as found:
                self._at += 1
                self._skip_spaces()
                return found
            case "|" if self._text.startswith("||", self._at):
                self._unsupported("the column combinator")
        return " " if spaced else None

    def _compound(self, *, is_negated: bool = False) -> Compound:
        start = self._at
        named = self._type()
        tests: list[Attribute | Position | Empty | Not] = []
        while True:
            match self._peek():
                case "#":
                    self._at += 1
                    tests.append(Attribute("id", "=", self._identifier("an id after `#`")))
                case ".":
                    self._at += 1
                    tests.append(Attribute("class", "~=", self._identifier("a class after `.`")))
                case "[":
                    tests.append(self._attribute())
                case ":":
                    tests.append(self._pseudo(is_negated))
                case _:
                    break
        if self._at == start:
            self._unexpected()
        return Compound(named, tuple(tests))

    def _type(self) -> str | None:
        named: str | None = None
        if self._peek() == "*":
            self._at += 1
            named = "*"
        elif self._begins_identifier():
            named = self._identifier("an element")
        if self._peek() == "|" and not self._text.startswith("||", self._at) and self._after_bar_is_a_name():
            self._unsupported("a namespace")
        return named

    def _after_bar_is_a_name(self) -> bool:
        following = self._text[self._at + 1 : self._at + 2]
        return following in ("*", "\\") or _is_name(following)

    def _attribute(self) -> Attribute:
        self._at += 1
        self._skip_spaces()
        if self._peek() in ("*", "|") and not self._text.startswith(("*=", "|="), self._at):
            self._unsupported("a namespace")
        name = self._identifier("an attribute name after `[`")
        if self._peek() == "|" and self._text[self._at + 1 : self._at + 2] != "=":
            self._unsupported("a namespace")
        self._skip_spaces()
        if self._peek() == "]":
            self._at += 1
            return Attribute(name)
        operator = next((one for one in _OPERATORS if self._text.startswith(one, self._at)), None)
        if operator is None:
            self._unexpected()
        self._at += len(operator)
        self._skip_spaces()
        value = self._string() if self._peek() in ("'", '"') else self._identifier("a quoted value or a name")
        self._skip_spaces()
        if self._peek() in ("i", "I", "s", "S"):
            self._unsupported("a case flag in an attribute selector")
        if self._peek() != "]":
            self._unexpected()
        self._at += 1
        return Attribute(name, operator, value)

    def _string(self) -> str:
        quote, start = self._peek(), self._at + 1
        end = self._text.find(quote, start)
        value = self._text[start : len(self._text) if end < 0 else end]
        if "\\" in value:
            self._unsupported("an escape")
        if end < 0 or any(newline in value for newline in "\n\r\f"):
            self._invalid("a string that is not closed")
        self._at = end + 1
        return value

    def _pseudo(self, is_negated: bool) -> Position | Empty | Not:
        self._at += 1
        if self._peek() == ":":
            self._at += 1
            self._identifier("a pseudo-element after `::`")
            self._unsupported("a pseudo-element")
        name = self._identifier("a pseudo-class after `:`").lower()
        if self._peek() != "(":
            if name == "not" or name in _NTH:
                self._invalid(f"`:{name}` without its argument")
            if name not in _PLAIN:
                self._unsupported(f"`:{name}`")
            return Empty() if name == "empty" else Position(name)
        self._at += 1
        if name == "not":
            return self._negation(is_negated)
        argument = self._argument()
        if name in _PLAIN:
            self._invalid(f"`:{name}()`, which takes no argument")
        if name not in _NTH:
            self._unsupported(f"`:{name}()`")
        nth = parse_nth(argument)
        if nth is None:
            if " of " in f"{argument.lower()} ":
                self._unsupported("`of` inside `:nth-…()`")
            self._invalid(f"`:{name}({argument})`, which is not of the form An+B")
        return Position(f"{name}({nth})")

    def _negation(self, is_negated: bool) -> Not:
        if is_negated:
            self._unsupported("`:not()` inside `:not()`")
        self._skip_spaces()
        compound = self._compound(is_negated=True)
        self._skip_spaces()
        if self._peek() == ")":
            self._at += 1
            return Not(compound)
        self._argument()  # refuses what is not closed
        return self._unsupported("`:not()` with more than one compound selector")

    def _argument(self) -> str:
        """The text up to the parenthesis that closes the one just read, strings and nested ones passed over."""
        start, depth = self._at, 1
        while depth:
            match self._peek():
                case "":
                    self._invalid("a parenthesis that is not closed")
                case "'" | '"':
                    self._string()
                    continue
                case "(":
                    depth += 1
                case ")":
                    depth -= 1
            self._at += 1
        return self._text[start : self._at - 1]

    def _identifier(self, wanted: str) -> str:
        if self._peek() == "\\":
            self._unsupported("an escape")
        if not self._begins_identifier():
            self._invalid(f"{self._here()} where {wanted} is expected")
        return self._name(wanted)

    def _name(self, wanted: str) -> str:
        start = self._at
        while _is_name(self._peek()):
            self._at += 1
        if self._peek() == "\\":
            self._unsupported("an escape")
        if self._at == start:
            self._invalid(f"{self._here()} where {wanted} is expected")
        return self._text[start : self._at]

    def _begins_identifier(self) -> bool:
        first, second = self._text[self._at : self._at + 1], self._text[self._at + 1 : self._at + 2]
        if first == "-":
            return second == "-" or (_is_name(second) and not _is_digit(second))
        return first == "\\" or (_is_name(first) and not _is_digit(first))

    def _skip_spaces(self) -> bool:
        start = self._at
        while self._peek() and self._peek() in _SPACES:
            self._at += 1
        if self._text.startswith("/*", self._at):
            self._unsupported("a comment")
        return self._at > start

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _here(self) -> str:
        return f"`{self._peek()}`" if self._at < len(self._text) else "the end"

    def _unexpected(self) -> NoReturn:
        if self._peek() in ("\\", "&"):
            self._unsupported("an escape" if self._peek() == "\\" else "nesting")
        self._invalid(f"{self._here()} in a place where CSS has none")

    def _invalid(self, what: str) -> NoReturn:
        raise SelectorError(
            "E_SELECTOR_INVALID", f"the selector {self._text[:200]!r} is not CSS: it has {what}", self._at
        )

    def _unsupported(self, what: str) -> NoReturn:
        message = f"the selector {self._text[:200]!r} uses {what}, which is outside the portable profile"
        raise SelectorError("E_SELECTOR_UNSUPPORTED", message, self._at)


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def _is_name(character: str) -> bool:
    return bool(character) and (
        character in "-_" or character >= "\x80" or (character.isascii() and character.isalnum())
    )
