"""RFC 3161 time stamps: the question, and what an answer is worth."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from comity.archive.signing.certificates import Chain, is_whole, read_certificate, readable

SIGNED_DATA_CERTIFICATES = 0xA0
"""The tag of `certificates [0] IMPLICIT SET` in a SignedData (RFC 5652, 5.1)."""


class BadStampError(ValueError):
    """The answer is no time stamp, or not one of what was asked. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent to an authority (`application/timestamp-query`), and the number that its answer must repeat."""

    der: bytes
    nonce: int


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time stamp, read but not yet believed. `chain` begins with the certificate that signed it."""

    moment: datetime
    chain: Chain
    _response: TimeStampResponse

    def check(self, data: bytes, roots: Sequence[x509.Certificate], more: Chain = (), nonce: int | None = None) -> str:
        """Why this is no stamp of `data` by an authority below `roots`; empty: it is one. `more` fills chains.

        Whatever issues itself in `more` is left out: the verifier would take it for trusted.
        """
        if not roots:
            return "no trusted certificates are given"
        try:
            between = [one for one in dict.fromkeys(more) if _may_be_between(one) and one not in roots]
            verifier = VerifierBuilder(intermediates=between, roots=list(roots), nonce=nonce).build()
            verifier.verify_message(self._response, data)
        except VerificationError as error:
            return _short(str(error))
        except Exception as error:  # as in reading: damaged bytes raise anything
            return _short(f"it cannot be read: {error!r}")
        return ""


def ask(data: bytes) -> Question:
    """A question for a stamp over the SHA-256 of `data`, with the authority's certificates."""
    builder = TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256)
    request = builder.nonce(nonce=True).cert_request(cert_request=True).build()
    return Question(request.as_bytes(), request.nonce or 0)


def read_stamp(der: bytes) -> Stamp:
    """The stamp in an authority's answer (`application/timestamp-reply`). Raises BadStampError."""
    try:
        response = decode_timestamp_response(_in_order(der))
        if response.status != 0:
            said = "; ".join(response.status_string) or f"status {response.status}"
            raise BadStampError(f"the authority granted no time stamp: {said}")
        certificates = [read_certificate(one) for one in response.signed_data.certificates]
        signers = [(signer.issuer, signer.serial_number) for signer in response.signed_data.signer_infos]
        moment = response.tst_info.gen_time
        with readable():
            leaves = [one for one in certificates if (one.issuer, one.serial_number) in signers]
    except BadStampError:
        raise
    except Exception as error:  # what the reader raises for damaged bytes has no common base: KeyError is among it
        raise BadStampError(f"not an RFC 3161 time stamp in DER: {_short(str(error))}") from None
    if len(signers) != 1 or len(leaves) != 1:
        raise BadStampError("the time stamp does not bring the certificate of its one signer")
    return Stamp(moment, _chain(leaves[0], certificates), response)


def from_base64(text: str) -> Stamp:
    """`timeSignature` as it stands in an archive. Raises BadStampError."""
    try:
        return read_stamp(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise BadStampError("timeSignature is not base64") from None


def _may_be_between(certificate: x509.Certificate) -> bool:
    return certificate.issuer != certificate.subject and is_whole(certificate)


def completed(chain: Chain, known: Sequence[x509.Certificate]) -> Chain:
    """The chain with issuers from `known` added until one issues itself or none is known."""
    return _chain(chain[0], [*chain[1:], *known])


def _chain(leaf: x509.Certificate, others: Sequence[x509.Certificate]) -> Chain:
    chain = [leaf]
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((one for one in others if one.subject == chain[-1].issuer and one not in chain), None)
        if issuer is None:
            break
        chain.append(issuer)
    return tuple(chain)


def _short(message: str) -> str:
    """A library's message without its stack of causes."""
    line = " ".join(message.split())
    cause = line.partition('data: "')[2].partition('"')[0].rstrip(": ")
    first = line.partition(": ErrorStack")[0]
    return f"{first} ({cause})" if cause else first[:300]


def _in_order(der: bytes) -> bytes:
    """The same answer with its certificates in DER's order for sets.

    Most authorities send them leaf first, which is BER; the reader takes DER alone. No signature covers their order.
    """
    parts = _children(der, 0)
    if len(parts) < 2:
        return der  # refused without a token
    content = _children(der, _children(der, parts[1][0])[1][0])
    ordered = bytearray(der)
    for start, end in _children(der, content[0][0]):
        if der[start] == SIGNED_DATA_CERTIFICATES:
            inside = _children(der, start)
            ordered[inside[0][0] : end] = b"".join(sorted(der[one:other] for one, other in inside))
    return bytes(ordered)


def _children(der: bytes, at: int) -> list[tuple[int, int]]:
    """Where the values inside the value at `at` begin and end. Raises ValueError or IndexError for what is no DER."""
    start, end = _content(der, at)
    found: list[tuple[int, int]] = []
    while start < end:
        _, after = _content(der, start)
        found.append((start, after))
        start = after
    return found


def _content(der: bytes, at: int) -> tuple[int, int]:
    length, start = der[at + 1], at + 2
    if length >= 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[at + 2 : start], "big")
    if start + length > len(der):
        raise ValueError("it is cut off")
    return start, start + length
