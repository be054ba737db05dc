"""The An+B micro-syntax (CSS Syntax, section 6), read into one spelling that every engine takes."""

LARGEST = 2**31 - 1
"""No page has more siblings; larger numbers are cut to it, so that no engine's arithmetic overflows."""


def parse_nth(argument: str) -> str | None:
    """`An+B` in its plain form (`2n+1`), for `odd`, `even`, ` 3 `, `-n+ 3`; None for what is none of it."""
    text = argument.strip(" \t\n\r\f").lower()
    if text in ("odd", "even"):
        return "2n+1" if text == "odd" else "2n"
    step, has_step, offset = text.partition("n")
    if not has_step:
        only = _integer(text)
        return None if only is None else str(only)
    if step in ("", "+", "-"):
        step += "1"
    a, b = _integer(step), _offset(offset)
    return None if a is None or b is None else f"{a}n{b:+d}"


def _offset(text: str) -> int | None:
    """The B of An+B: a sign with or without spaces around it, then digits; nothing is 0."""
    rest = text.strip(" \t\n\r\f")
    if not rest:
        return 0
    if rest[0] not in "+-":
        return None
    digits = rest[1:].lstrip(" \t\n\r\f")
    return _integer(rest[0] + digits) if digits[:1].isdigit() else None


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    value = LARGEST if len(digits.lstrip("0")) > 10 else min(int(digits), LARGEST)
    return -value if text.startswith("-") else value
