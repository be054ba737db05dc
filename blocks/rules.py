"""What a service's address may look like, and which CA goes with it. Pure: text in, text or a ValueError out.

Every refusal names the field and says what to write instead, for the form in the Prefect UI shows it as it is.
"""

import re
from urllib.parse import urlsplit

from pydantic import ValidationError

_HOST_PORT = re.compile(r"^[A-Za-z0-9_.\-]+:\d+/?$|^\[[0-9A-Fa-f:.]+\]:\d+/?$")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


def service_url(field: str, value: str) -> str:
    """The base URL of a service without its trailing slash. Raises ValueError naming `field`."""
    text = value.strip()
    if not text:
        raise ValueError(f"{field}: is empty; write the service's URL, for example http://127.0.0.1:8080")
    if _HOST_PORT.match(text):
        raise ValueError(
            f"{field}: {text} is the old host:port form; write http://{text}, or https://{text} with tls_ca_pem"
        )
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
        raise ValueError(f"{field}: {text!r} has spaces or control characters; write one URL")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{field}: {text} is not a URL ({error})") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{field}: {text} must begin with http:// or https://")
    if not host:
        raise ValueError(f"{field}: {text} names no host; write for example http://127.0.0.1:8080")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{field}: no user or password in the URL; put the secret into token")
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        raise ValueError(f"{field}: {text} must have no query and no fragment; write the bare address")
    return text.rstrip("/")


def service_urls(field: str, values: list[str]) -> list[str]:
    """Several services of one kind, in the order given: at least one, none twice. Raises ValueError naming `field`."""
    if not values:
        raise ValueError(f"{field}: the list is empty; name at least one server, for example http://127.0.0.1:8080")
    urls = [service_url(f"{field}[{place}]", value) for place, value in enumerate(values)]
    for place, url in enumerate(urls):
        first = next(earlier for earlier, other in enumerate(urls) if _same(other) == _same(url))
        if first != place:
            raise ValueError(f"{field}[{place}]: {url} is listed twice (first as {field}[{first}]); name each once")
    return urls


def check_ca(field: str, urls: list[str], tls_ca_pem: str) -> None:
    """Refuse a CA that does not go with the addresses: https:// needs one, http:// takes none."""
    for place, url in enumerate(urls):
        named = field if len(urls) == 1 else f"{field}[{place}]"
        secure = urlsplit(url).scheme.lower() == "https"
        if secure and not tls_ca_pem.strip():
            raise ValueError(
                f"tls_ca_pem: is empty, but {named} is {url}; paste the CA certificate (PEM) that signed the server's"
                " certificate. The system's CAs are never used"
            )
        if not secure and tls_ca_pem.strip():
            raise ValueError(
                f"tls_ca_pem: is given, but {named} is {url}, which is plaintext and would ignore it; write https://,"
                " or empty tls_ca_pem on purpose"
            )


def _same(url: str) -> tuple[str, str, int, str]:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme.lower() == "https" else 80)
    return parts.scheme.lower(), (parts.hostname or "").lower(), port, parts.path


def certificates(field: str, text: str) -> str:
    """The certificates in `text` as clean PEM, or "" where it is blank. Raises ValueError naming `field`.

    A form with a one-line input turns line ends into blanks, and a shell may leave a literal backslash-n: both are
    mended here, for either would be refused later with a message about base64.
    """
    if not text.strip():
        return ""
    if "PRIVATE KEY-----" in text:
        raise ValueError(f"{field}: holds a private key; paste the CA certificate alone, and treat that key as leaked")
    bodies = [re.sub(r"\\n|\s", "", body) for body in _CERTIFICATE.findall(text)]
    if not bodies or not all(re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", body) for body in bodies):
        raise ValueError(f"{field}: holds no certificate; paste it as PEM, from -----BEGIN CERTIFICATE----- on")
    lines = ("\n".join(body[at : at + 64] for at in range(0, len(body), 64)) for body in bodies)
    return "".join(f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n" for body in lines)


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a message, on one line, its field in front and its value left out."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step) for step in problem["loc"])
    said = problem["msg"].removeprefix("Value error, ")
    return said if not place or said.startswith((f"{place}:", f"{place}[")) else f"{place}: {said}"
