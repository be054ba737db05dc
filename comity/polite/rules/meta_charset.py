"""Where a page says which charset it is in: its Content-Type, or a `<meta>` near its beginning.

The second is the prescan of the HTML Standard ("prescan a byte stream to determine its encoding"), over as many bytes
as the caller gives. Unlike there, an unknown label is returned and not passed over: the caller refuses it.
"""

_SPACES = b"\t\n\f\r "
_LETTERS = frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B))


def label_in_content_type(value: str) -> str | None:
    """The `charset` parameter of a Content-Type; None where it has none. The first one counts."""
    for parameter in value.split(";")[1:]:
        name, equals, label = parameter.partition("=")
        if equals and name.strip().lower() == "charset":
            return label.strip().strip("\"'").strip() or None
    return None


def declared_in_meta(head: bytes) -> str | None:
    """The label that a `<meta charset>` or `<meta http-equiv=content-type content>` declares; None without one."""
    at = 0
    while (at := head.find(b"<", at)) >= 0:
        if head.startswith(b"<!--", at):
            # `<!-->` is a whole comment: its two dashes may be the opening ones
            end = head.find(b"-->", at + 2)
            at = len(head) if end < 0 else end + 3
        elif head[at + 1 : at + 5].lower() == b"meta" and head[at + 5 : at + 6] in (
            b"\t",
            b"\n",
            b"\f",
            b"\r",
            b" ",
            b"/",
        ):
            at, found = _meta(head, at + 5)
            if found:
                return found
        elif _begins_a_tag(head, at):
            at = _skip_tag(head, at)
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            end = head.find(b">", at)
            at = len(head) if end < 0 else end + 1
        else:
            at += 1
    return None


def _begins_a_tag(head: bytes, at: int) -> bool:
    after = at + 2 if head.startswith(b"/", at + 1) else at + 1
    return after < len(head) and head[after] in _LETTERS


def _skip_tag(head: bytes, at: int) -> int:
    while at < len(head) and head[at] not in _SPACES + b">":
        at += 1
    while True:
        at, name, _ = _attribute(head, at)
        if not name:
            return at + 1


def _meta(head: bytes, at: int) -> tuple[int, str | None]:
    seen: dict[bytes, bytes] = {}
    while True:
        at, name, value = _attribute(head, at)
        if not name:
            break
        seen.setdefault(name, value)
    if b"charset" in seen:
        return at, _meant(seen[b"charset"].decode("latin-1"))
    if seen.get(b"http-equiv") == b"content-type" and b"content" in seen:
        return at, _meant(_label_in_content(seen[b"content"].decode("latin-1")))
    return at, None


def _meant(label: str | None) -> str | None:
    """A page whose `<meta>` could be read byte by byte is not UTF-16, and `x-user-defined` is only for scripts."""
    name = (label or "").strip("\t\n\f\r ").lower()
    if name.startswith(("utf-16", "utf16", "csunicode", "ucs-2", "unicodefe", "iso-10646-ucs-2")) or name == "unicode":
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name or None


def _label_in_content(content: str) -> str | None:
    """The standard's "extracting a character encoding from a meta element"."""
    at = 0
    while (at := content.find("charset", at)) >= 0:
        at += len("charset")
        rest = content[at:].lstrip("\t\n\f\r ")
        if not rest.startswith("="):
            continue
        rest = rest[1:].lstrip("\t\n\f\r ")
        if rest[:1] in ('"', "'"):
            label, closed, _ = rest[1:].partition(rest[0])
            return label if closed else None
        return rest.split(";")[0].split()[0] if rest.split(";")[0].split() else None
    return None


def _attribute(head: bytes, at: int) -> tuple[int, bytes, bytes]:
    """The standard's "get an attribute": where it ended, its name and value in lower case; no name at the tag's end."""
    while at < len(head) and head[at] in _SPACES + b"/":
        at += 1
    start = at
    while at < len(head) and head[at] not in _SPACES + b"/>" and (head[at] != 0x3D or at == start):
        at += 1
    name = head[start:at].lower()
    if at >= len(head) or not name:
        return at, b"", b""
    while at < len(head) and head[at] in _SPACES:
        at += 1
    if not head.startswith(b"=", at):
        return at, name, b""
    at += 1
    while at < len(head) and head[at] in _SPACES:
        at += 1
    if head[at : at + 1] in (b'"', b"'"):
        end = head.find(head[at : at + 1], at + 1)
        return (len(head), b"", b"") if end < 0 else (end + 1, name, head[at + 1 : end].lower())
    start = at
    while at < len(head) and head[at] not in _SPACES + b">":
        at += 1
    return at, name, head[start:at].lower()
