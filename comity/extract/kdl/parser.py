"""Tokens as nodes. Every mistake is kept and parsing goes on behind it."""

from comity.extract.kdl.lexer import Token, tokens_of
from comity.extract.kdl.tree import Document, Mistake, Node, Property, Value

SYNTAX = "E_KDL_SYNTAX"
MAX_DEPTH = 32
"""Levels of children. Collections in collections need about ten; readers of JSON give up at 200 levels of theirs."""
MAX_MISTAKES = 200
"""Mistakes that one document is told about: who has more has not written KDL."""
_NODE_ENDS = frozenset({"newline", "semicolon", "close", "end"})


def parse(text: str) -> Document:
    """Parses a whole document. Never raises: what is wrong is among the mistakes, in order of place."""
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens, unclosed = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._mistakes = [Mistake(SYNTAX, one.reason, one.start, one.end) for one in unclosed]

    def document(self) -> Document:
        nodes = self._nodes()
        while self._tokens[self._at].kind == "close":
            self._mistake(self._next(), "this } closes nothing: remove it")
            nodes += self._nodes()
        self._mistakes.sort(key=lambda mistake: mistake.start)
        return Document(tuple(nodes), tuple(self._mistakes[:MAX_MISTAKES]))

    def _next(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def _mistake(self, token: Token, message: str, code: str = SYNTAX) -> None:
        self._mistakes.append(Mistake(code, message, token.start, token.end))
        if token.kind == "bad":  # what the parser did not expect, and why the lexer could not read it
            self._mistakes.append(Mistake(code, token.reason, token.start, token.end))

    def _nodes(self) -> list[Node]:
        """Nodes up to a closing brace or the end, neither of them taken."""
        nodes: list[Node] = []
        while (kind := self._tokens[self._at].kind) not in {"close", "end"}:
            if kind in {"newline", "semicolon"}:
                self._at += 1
                continue
            suppressed = self._slashdash()
            node = self._node()
            if node is not None and not suppressed:
                nodes.append(node)
        return nodes

    def _slashdash(self) -> bool:
        if self._tokens[self._at].kind != "slashdash":
            return False
        slashdash = self._next()
        while self._tokens[self._at].kind == "newline":
            self._at += 1
        if self._tokens[self._at].kind in _NODE_ENDS:
            self._mistake(slashdash, "/- has nothing behind it to leave out: remove it")
        return True

    def _annotation(self) -> None:
        """Passes over type annotations, each told of once."""
        while self._tokens[self._at].kind == "annotation":
            self._mistake(
                self._next(),
                "type annotations are not part of the language: remove it",
                "E_TYPE_ANNOTATION_UNSUPPORTED",
            )
            close = self._at
            while self._tokens[close].kind in {"name", "value"}:
                close += 1
            if self._is_closing_parenthesis(self._tokens[close]):
                self._at = close + 1

    def _is_closing_parenthesis(self, token: Token) -> bool:
        return token.kind == "bad" and self._text[token.start : token.end] == ")"

    def _node(self) -> Node | None:
        self._annotation()
        first = self._tokens[self._at]
        if first.kind in _NODE_ENDS:
            return None
        if first.kind != "open":
            self._at += 1
        if first.kind != "name":
            self._mistake(first, f"a node begins with its name, not with {self._shown(first)}")
        entries = _Entries(end=first.end if first.kind == "name" else first.start)
        children: tuple[Node, ...] | None = None
        while children is None and self._tokens[self._at].kind not in _NODE_ENDS:
            children = self._entry(entries)
        if first.kind != "name":
            return None
        name = self._text[first.start : first.end]
        end = entries.node_end if children is None else self._tokens[self._at - 1].end
        return Node(name, tuple(entries.arguments), tuple(entries.properties), children or (), first.start, end)

    def _entry(self, entries: "_Entries") -> tuple[Node, ...] | None:
        """Takes one argument, property or block of children into `entries`; the children end the node."""
        suppressed = self._slashdash()
        self._annotation()
        token = self._tokens[self._at]
        if token.kind in _NODE_ENDS:
            return None
        if token.kind == "open":
            children = self._children()
            return None if suppressed else children
        self._at += 1
        if token.kind == "value":
            if not suppressed:
                entries.arguments.append(Value(token.value, token.start, token.end))
        elif token.kind == "name" and self._tokens[self._at].kind == "equals":
            found = self._property(token)
            if found is not None and not suppressed:
                entries.properties.append(found)
        elif token.kind == "name":
            self._mistake(token, f'strings are written in quotes: "{self._text[token.start : token.end]}"')
        else:
            self._mistake(token, f"unexpected {self._shown(token)} in a node")
        return None

    def _property(self, name: Token) -> Property | None:
        equals = self._next()
        self._annotation()
        token = self._tokens[self._at]
        if token.kind == "value":
            self._at += 1
            shown = self._text[name.start : name.end]
            return Property(shown, Value(token.value, token.start, token.end), name.start)
        if token.kind in _NODE_ENDS or token.kind == "open":
            self._mistake(equals, f"{self._text[name.start : name.end]}= has no value: write one behind the =")
            return None
        self._at += 1
        if token.kind == "name":
            self._mistake(token, f'strings are written in quotes: "{self._text[token.start : token.end]}"')
        else:
            self._mistake(token, f"unexpected {self._shown(token)} as the value of a property")
        return None

    def _children(self) -> tuple[Node, ...]:
        opening = self._next()
        if self._depth == MAX_DEPTH:
            self._mistake(opening, f"children are nested deeper than {MAX_DEPTH} levels")
            self._pass_block()
            return ()
        self._depth += 1
        nodes = self._nodes()
        self._depth -= 1
        if self._next().kind == "end":
            self._mistake(opening, "this { is never closed: write the } that ends it")
        return tuple(nodes)

    def _pass_block(self) -> None:
        depth = 1
        while depth and self._tokens[self._at].kind != "end":
            kind = self._next().kind
            depth += {"open": 1, "close": -1}.get(kind, 0)

    def _shown(self, token: Token) -> str:
        written = self._text[token.start : token.end]
        return written if len(written) <= 40 else f"{written[:37]}…"


class _Entries:
    """What a node has been given so far."""

    def __init__(self, end: int) -> None:
        self.arguments: list[Value] = []
        self.properties: list[Property] = []
        self._name_end = end

    @property
    def node_end(self) -> int:
        if self.arguments:
            return self.arguments[-1].end
        return self.properties[-1].value.end if self.properties else self._name_end
