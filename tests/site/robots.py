"""robots.txt in every temper (RFC 9309), for `FixtureSite.set("/robots.txt", ..., host=N)`."""

from tests.site.wire import Request, Response, redirect, stream, text

LIMIT_BYTES = 500 * 1024
"""What a crawler must at least parse (RFC 9309, section 2.5)."""


def rules(*lines: str) -> Response:
    return text("".join(line + "\n" for line in lines))


def allow_all() -> Response:
    return rules("User-agent: *", "Disallow:")


def forbid(*paths: str, crawl_delay: float | None = None, agent: str = "*") -> Response:
    delay = [] if crawl_delay is None else [f"Crawl-delay: {crawl_delay:g}"]
    return rules(f"User-agent: {agent}", *(f"Disallow: {path}" for path in paths), *delay)


def padded(line: str, *, at_byte: int) -> Response:
    """A file in which `line` begins exactly at `at_byte`, behind comments, in a group for all agents."""
    opening = b"User-agent: *\n"
    filler = b"#" * (at_byte - len(opening) - 1) + b"\n"
    return Response(body=opening + filler + line.encode() + b"\n", content_type="text/plain; charset=utf-8")


def endless(size_bytes: int = 10 * 1024**3) -> Response:
    """A valid file that goes on as comments for `size_bytes`, streamed."""
    block = (b"#" * 1023 + b"\n") * 64
    return Response(body=stream(size_bytes, block=block), content_type="text/plain", length=size_bytes)


def status(code: int) -> Response:
    return text(f"status {code}\n", status=code)


def never() -> Response:
    return Response(silent=True)


def dropped() -> Response:
    return Response(drop=True)


def chain(redirects: int, *, code: int = 302) -> Response:
    """`redirects` hops; the file at the end forbids `/chained`."""
    return redirect(f"/robots-hop/{redirects - 1}?code={code}", status=code)


def hop(request: Request) -> Response:
    """`/robots-hop/N`: N more redirects before the file."""
    left = request.path.rpartition("/")[2]
    if not left.isdigit() or int(left) == 0:
        return forbid("/chained")
    code = request.number("code", 302)
    return redirect(f"/robots-hop/{int(left) - 1}?code={code}", status=code)
