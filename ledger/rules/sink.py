"""The write capability of a sink, and the names that it takes.

`{expires}.{mac}`: whoever shows it may write artifacts of one crawl until then. Nothing is stored for it.
"""

import base64
import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta

from comity.contract.capture import MAX_NAME_BYTES
from comity.contract.identity import SINK_TOKEN_MS

_TOKEN = re.compile(r"([0-9]{1,12})\.([A-Za-z0-9_-]{43})")
_NAME = re.compile(
    r"(?P<task>[A-Za-z0-9-]{1,64})_(?P<crawl>[A-Za-z0-9]+)\.[A-Za-z0-9]+\.[0-9]+\.[0-9]+"
    r"(?:_[^/\\\x00-\x1f_]+)*"
    r"\.(?:png|webp|html|links\.json|mhtml|wacz|trace\.jsonl|result\.json)"
)
"""`{taskId}_{correlationId}[_{labels}].<ext>`, as capture servers write them."""


def new_token(key: bytes, crawl_id: str, now: datetime) -> str:
    """A token for the crawl's artifacts that lasts three hours."""
    expires = int((now + timedelta(milliseconds=SINK_TOKEN_MS)).timestamp())
    return f"{expires}.{_mac(key, crawl_id, expires)}"


def lets_in(key: bytes, crawl_id: str, token: str, now: datetime) -> bool:
    """Whether the token is for this crawl and has not expired. Compared in constant time."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return False
    expires = int(found[1])
    genuine = hmac.compare_digest(found[2], _mac(key, crawl_id, expires))
    return genuine and now.astimezone(UTC).timestamp() < expires


def why_not_this_name(filename: str, crawl_id: str) -> str | None:
    """Why no artifact of the crawl has such a name, or None where one has."""
    if len(filename.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is over {MAX_NAME_BYTES} bytes"
    found = _NAME.fullmatch(filename)
    if found is None:
        return "is not of the form {taskId}_{correlationId}[_{labels}].<ext> that captures write"
    if found["crawl"] != crawl_id:
        return "is of another crawl: its correlationId does not begin with this one's id"
    return None


def _mac(key: bytes, crawl_id: str, expires: int) -> str:
    digest = hmac.digest(key, f"{crawl_id}\n{expires}".encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
