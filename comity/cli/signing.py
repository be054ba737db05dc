"""`comity signing init`: a development CA on disk, named so that nobody takes it for real."""

import os
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from comity.archive.signing.development import make_development_files
from comity.cli.errors import BadInput

MARK = "NOT-FOR-PRODUCTION"


def init_signing(out: Path) -> list[str]:
    """Writes key (0600), chain and CA; the lines that set a capture server up with them.

    Raises BadInput where they are there already or cannot be written.
    """
    folder = out.expanduser().resolve()
    key, chain, authority = (folder / f"{MARK}-{name}.pem" for name in ("signing-key", "signing-chain", "ca"))
    made = make_development_files(datetime.now(UTC))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, data in ((key, made.key), (chain, made.chain.encode()), (authority, made.authority.encode())):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if path == key else 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
    except FileExistsError as error:
        raise BadInput(f"--out {out}: {error.filename} is there already; choose another folder") from None
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written ({error.strerror})") from None
    return [
        "# For development only. The authority's key is gone: it issued this one certificate, valid for a year.",
        "export CAPTURE_SIGNING=on-request",
        f"export CAPTURE_SIGNING_KEY={quote(str(key))}",
        f"export CAPTURE_SIGNING_CHAIN={quote(str(chain))}",
        "# Choose a time stamp authority (RFC 3161), and name the file with its root certificate:",
        "# export CAPTURE_SIGNING_TSA_URL=https://...",
        "# export CAPTURE_SIGNING_TSA_CA=...",
        f"# Check an archive with: comity verify FILE --trust {quote(str(authority))} --trust TSA_ROOT",
    ]
