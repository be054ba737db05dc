"""Signatures that receivers check with any library of the Standard Webhooks specification."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.watch.rules.webhook import WebhookSecretError, headers, secret_bytes, secret_text, verified

# The example of the specification's own libraries.
SECRET = secret_bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"


def test_signature_is_the_one_of_the_specification() -> None:
    assert headers(ID, BODY, at=AT, secrets=(SECRET,)) == {
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_right_message_is_verified_and_any_other_is_not() -> None:
    given = headers(ID, BODY, at=AT, secrets=(SECRET,))
    soon = AT + timedelta(seconds=200)
    assert verified(given, BODY, now=soon, secret=SECRET)
    assert not verified(given, BODY + b" ", now=soon, secret=SECRET)
    assert not verified({**given, "webhook-id": "msg_2"}, BODY, now=soon, secret=SECRET)
    assert not verified({**given, "webhook-timestamp": "1614265331"}, BODY, now=soon, secret=SECRET)
    assert not verified({**given, "webhook-timestamp": "soon"}, BODY, now=soon, secret=SECRET)
    assert not verified(given, BODY, now=soon, secret=b"x" * 32)
    assert not verified(given, BODY, now=AT + timedelta(seconds=301), secret=SECRET)
    assert not verified({}, BODY, now=soon, secret=SECRET)


def test_while_a_secret_is_replaced_both_verify() -> None:
    new = b"n" * 32
    given = headers(ID, BODY, at=AT, secrets=(new, SECRET))
    assert verified(given, BODY, now=AT, secret=SECRET)
    assert verified(given, BODY, now=AT, secret=new)


def test_secret_is_given_back_by_its_text_and_what_is_none_is_refused() -> None:
    assert secret_bytes(secret_text(b"s" * 32)) == b"s" * 32
    for text in ("whsec_", "whsec_c2hvcnQ=", "c" * 40, "whsec_!!!", secret_text(b"x" * 65)):
        with pytest.raises(WebhookSecretError, match="24 to 64 bytes"):
            secret_bytes(text)
