"""What an S3-compatible store says when it refuses, in one line, and the setting that this points to."""

import re

MAX_CHARACTERS = 300
_CODE = re.compile(r"<Code>([^<]{1,100})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,500})</Message>")
_STATUS = re.compile(r"non-2xx status code: (\d{3}[^:]*)")
_TLS = ("certificate", "UnknownIssuer", "tls", "InvalidContentType")
SETTINGS = {
    "NoSuchBucket": "COMITY_S3_BUCKET",
    "InvalidBucketName": "COMITY_S3_BUCKET",
    "PermanentRedirect": "COMITY_S3_REGION",
    "AuthorizationHeaderMalformed": "COMITY_S3_REGION",
    "InvalidAccessKeyId": "COMITY_S3_ACCESS_KEY_ID",
    "InvalidClientTokenId": "COMITY_S3_ACCESS_KEY_ID",
    "AccessDenied": "COMITY_S3_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "COMITY_S3_SECRET_ACCESS_KEY",
}
"""By the error code of the S3 protocol."""


def reason_of(error: BaseException) -> str:
    """The store's own words where it has any, else the client's first line."""
    text = str(error) or type(error).__name__
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is not None:
        return f"{code[1]}: {message[1]}" if message is not None else code[1]
    status = _STATUS.search(text)
    if status is not None:
        return f"answered {status[1].strip()}"
    first = text.partition("\n")[0].strip()
    told = _cause(text)
    return (f"{first} ({told})" if told else first)[:MAX_CHARACTERS]


def setting_at_fault(error: BaseException) -> str:
    """The name of the setting to look at first."""
    text = str(error)
    code = _CODE.search(text)
    if code is not None and code[1] in SETTINGS:
        return SETTINGS[code[1]]
    if any(word in text for word in _TLS):
        return "COMITY_S3_CA_PEM_FILE"
    if "404 Not Found" in text:
        return "COMITY_S3_BUCKET"
    if "403 Forbidden" in text or "401 Unauthorized" in text:
        return "COMITY_S3_ACCESS_KEY_ID"
    return "COMITY_S3_ENDPOINT"


def _cause(text: str) -> str:
    """The innermost reason that the client's debug output names: refused, certificate..."""
    if "UnknownIssuer" in text:
        return "its certificate has an unknown issuer"
    found = re.search(r'message: "([^"]{1,120})"', text)
    return found[1] if found else ""
