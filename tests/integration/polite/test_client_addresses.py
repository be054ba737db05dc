"""What is not of the public web is never reached: in any spelling, by any name, after any redirect.

The verdict is the guarded target's log, which stays empty.
"""

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import pytest

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from tests.integration.polite.raw_site import Call, answering, ok, raw_site
from tests.unit.polite.test_addresses import LOOPBACK_SPELLINGS, SPECIAL

LIMITS = GetLimits(connect_ms=5_000, first_byte_ms=20_000, total_ms=30_000)
REFUSED = {"E_URL_POLICY", "E_URL_INVALID"}
NUMBERED = [f"[{address}]" if ":" in address else address for address, _ in SPECIAL]
SPELLINGS = [
    f"[{spelling}]" if ":" in spelling and "[" not in spelling else spelling for spelling in LOOPBACK_SPELLINGS
]


@pytest.mark.parametrize(
    "host", [*SPELLINGS, "localhost", "LOCALHOST.", "a.localhost", "0", "0.0.0.0", "[::]", "[::1]"]
)
async def test_this_machine_is_not_reached_in_any_spelling(host: str) -> None:
    async with raw_site(answering(ok()), host="") as site, GuardedClient(Egress(egress_rules())) as client:
        got = await client.get(f"http://{host}:{site.port}/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert got.code in REFUSED
        assert site.connections == 0


@pytest.mark.parametrize("host", NUMBERED)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_special_address_is_refused_before_a_connection(scheme: str, host: str) -> None:
    async with GuardedClient(Egress(egress_rules())) as client:
        got = await client.get(f"{scheme}://{host}/", limits=LIMITS)
    assert isinstance(got, FetchFailure)
    assert got.code == "E_URL_POLICY"


async def test_the_same_target_is_reached_where_it_is_allowed() -> None:
    async with (
        raw_site(answering(ok())) as site,
        GuardedClient(Egress(egress_rules(site_authority(site.port)))) as client,
    ):
        for host in ("127.0.0.1", "0x7f.1", "2130706433", "127.1", "[::ffff:127.0.0.1]"):
            got = await client.get(f"http://{host}:{site.port}/", limits=LIMITS)
            assert isinstance(got, Fetched), got
        assert {call.header("host") for call in site.calls[:-1]} == {site.authority}


def site_authority(port: int) -> str:
    return f"127.0.0.1:{port}"


def resolver(*answers: Sequence[str]) -> Callable[[str], object]:
    left = list(answers)

    async def lookup(_: str) -> Sequence[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return lookup


@pytest.mark.parametrize(("address", "name"), SPECIAL)
async def test_name_that_leads_inside_is_refused(address: str, name: str) -> None:
    egress = Egress(egress_rules(), lookup=resolver([address]))  # type: ignore[arg-type]
    async with GuardedClient(egress) as client:
        got = await client.get("http://inside.example/", limits=LIMITS)
    assert isinstance(got, FetchFailure)
    assert (got.code, name in got.message) == ("E_URL_POLICY", True)


async def test_name_that_changes_its_address_is_judged_anew_at_each_connection() -> None:
    async with raw_site(answering(ok(b"x", "Connection: close"))) as open_site, raw_site(answering(ok())) as inside:
        # The first answer may be visited; the second is the same machine by an address that may not.
        egress = Egress(egress_rules(open_site.authority), lookup=resolver(["127.0.0.1"], ["127.0.0.2"]), kept_s=0)  # type: ignore[arg-type]
        async with GuardedClient(egress) as client:
            url = f"http://rebinding.example:{open_site.port}/"
            assert isinstance(await client.get(url, limits=LIMITS), Fetched)
            got = await client.get(url, limits=LIMITS)
            assert isinstance(got, FetchFailure)
            assert got.code == "E_URL_POLICY"
        assert (open_site.connections, inside.connections) == (1, 0)


async def test_of_several_addresses_only_those_that_may_be_are_dialled() -> None:
    async with raw_site(answering(ok())) as site:
        egress = Egress(egress_rules(site.authority), lookup=resolver(["127.0.0.2", "::1", "127.0.0.1"]))  # type: ignore[arg-type]
        async with GuardedClient(egress) as client:
            got = await client.get(f"http://mixed.example:{site.port}/", limits=LIMITS)
        assert isinstance(got, Fetched), got
        assert got.address == "127.0.0.1"


async def test_address_that_does_not_answer_is_followed_by_the_next() -> None:
    async with raw_site(answering(ok())) as site:
        egress = Egress(egress_rules("127.0.0.0/8"), lookup=resolver(["127.0.0.9", "127.0.0.1"]))  # type: ignore[arg-type]
        async with GuardedClient(egress) as client:
            got = await client.get(f"http://two.example:{site.port}/", limits=LIMITS)
        assert isinstance(got, Fetched), got
        assert got.address == "127.0.0.1"


@pytest.mark.parametrize("spelling", [*SPELLINGS, "localhost", "inside.example", "user:pw@127.0.0.1", "0", "[::]"])
async def test_redirect_inside_is_refused(spelling: str) -> None:
    async with raw_site(answering(ok()), host="") as inside:

        async def away(call: Call) -> None:
            place = f"Location: http://{spelling}:{inside.port}/"
            await call.send(f"HTTP/1.1 302 Found\r\n{place}\r\nContent-Length: 0\r\n\r\n".encode())

        async with raw_site(away) as site:
            egress = Egress(egress_rules(site.authority), lookup=resolver(["127.0.0.1"]))  # type: ignore[arg-type]
            async with GuardedClient(egress) as client:
                got = await client.get(f"http://{site.authority}/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert got.code == "E_URL_POLICY"
        assert inside.connections == 0
        assert urlsplit(got.url).port == site.port


async def test_deployments_own_ports_stay_closed_whatever_is_allowed() -> None:
    async with raw_site(answering(ok())) as site:
        rules = egress_rules("127.0.0.0/8", site.authority)
        async with GuardedClient(Egress(rules)) as client:
            got = await client.get(f"http://127.0.0.3:{site.port}/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert (got.code, site.connections) == ("E_URL_POLICY", 0)
