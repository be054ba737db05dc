"""Addresses and CAs as a form or a command line gives them."""

import pytest

from blocks.rules import certificates, check_ca, service_url, service_urls

PEM = "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://ledger.internal/", "https://ledger.internal"),
        (" http://[::1]:8080 ", "http://[::1]:8080"),
        ("https://proxy.internal/comity/ledger/", "https://proxy.internal/comity/ledger"),
    ],
)
def test_service_url_takes_http_and_https(given: str, kept: str) -> None:
    assert service_url("url", given) == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "url: is empty"),
        ("127.0.0.1:8080", "url: 127.0.0.1:8080 is the old host:port form; write http://127.0.0.1:8080"),
        ("localhost:8080", "old host:port form"),
        ("browser_1:8080/", "old host:port form"),
        ("[::1]:8080", "old host:port form"),
        ("ftp://a:1", "must begin with http:// or https://"),
        ("a.internal", "must begin with http:// or https://"),
        ("http://", "names no host"),
        ("http://:80", "names no host"),
        ("http://a:99999", "is not a URL"),
        ("http://a b", "spaces"),
        ("http://user:pass@a", "put the secret into token"),
        ("http://a/?x=1", "no query"),
        ("http://a/#x", "no fragment"),
    ],
)
def test_service_url_refuses_naming_the_field_and_the_next_step(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as refused:
        service_url("url", given)
    assert said in str(refused.value)


def test_service_urls_keeps_the_order() -> None:
    assert service_urls("urls", ["http://b:1/", "http://a:1"]) == ["http://b:1", "http://a:1"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "urls: the list is empty; name at least one server"),
        (["http://a:1", "b:2"], r"urls\[1\]: b:2 is the old host:port form"),
        (["http://a:1", "http://A:1/"], r"urls\[1\]: http://A:1 is listed twice \(first as urls\[0\]\)"),
        (["http://a", "http://a:80"], "is listed twice"),
    ],
)
def test_service_urls_refuses_empty_wrong_and_double(given: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        service_urls("urls", given)


@pytest.mark.parametrize(("url", "ca"), [("http://a", ""), ("http://a", "  \n"), ("https://a", PEM)])
def test_ca_that_goes_with_the_address_is_taken(url: str, ca: str) -> None:
    check_ca("url", [url], ca)


@pytest.mark.parametrize(
    ("urls", "ca", "said"),
    [
        (["https://a"], "", "tls_ca_pem: is empty, but urls is https://a"),
        (["https://a"], " \n", "tls_ca_pem: is empty"),
        (["http://a"], PEM, "tls_ca_pem: is given, but urls is http://a, which is plaintext"),
        (["https://a", "http://b"], PEM, r"tls_ca_pem: is given, but urls\[1\] is http://b"),
        (["http://b", "HTTPS://a"], "", r"tls_ca_pem: is empty, but urls\[1\] is HTTPS://a"),
    ],
)
def test_ca_that_does_not_go_with_the_address_is_refused(urls: list[str], ca: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_ca("urls", urls, ca)


@pytest.mark.parametrize("given", [PEM, PEM.replace("\n", " "), PEM.replace("\n", "\\n"), f"comment\n{PEM}more"])
def test_certificates_mends_what_a_form_or_shell_does_to_line_ends(given: str) -> None:
    assert certificates("tls_ca_pem", given) == PEM


def test_certificates_keeps_several_and_takes_blank_for_none() -> None:
    assert certificates("tls_ca_pem", PEM + PEM) == PEM + PEM
    assert certificates("tls_ca_pem", " \n") == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/etc/ssl/ca.pem", "tls_ca_pem: holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----", "tls_ca_pem: holds no certificate"),
        (PEM + "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----", "tls_ca_pem: holds a private key"),
    ],
)
def test_certificates_refuses_what_is_none(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        certificates("tls_ca_pem", given)
