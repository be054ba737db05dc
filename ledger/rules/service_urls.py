"""Which addresses of services may be told a secret."""

from urllib.parse import urlsplit

from comity.contract.web_address import is_loopback


def keeps_secrets(url: str) -> bool:
    """Whether the URL is https, or http on this machine, and has neither user nor query nor fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or parts.username is not None or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
