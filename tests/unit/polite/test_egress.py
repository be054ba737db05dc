"""Looking names up: every address is judged, answers are shared, failures are asked about again."""

import asyncio
import time
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from comity.polite.egress import Egress, Lookup, rules_of, system_lookup
from comity.polite.errors import AddressRefusedError, LookupFailedError
from comity.polite.rules.addresses import EgressRules, egress_rules


class Resolver:
    """Answers in turn; the last answer stays."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        await asyncio.sleep(0)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


def egress(lookup: Lookup, allow: str = "", kept_s: float = 30, budget_s: float = 5) -> Egress:
    return Egress(egress_rules(allow), lookup=lookup, kept_s=kept_s, budget_s=budget_s)


async def test_public_addresses_of_a_name_are_given_in_order() -> None:
    found = await egress(Resolver(["2606:4700::1111", "1.1.1.1", "1.1.1.1"])).addresses("a.example", 443)
    assert found == (ip_address("2606:4700::1111"), ip_address("1.1.1.1"))


async def test_name_that_leads_inside_is_refused_naming_both() -> None:
    with pytest.raises(AddressRefusedError, match=r"a\.example:80 is 10\.0\.0\.1: .*private.*COMITY_ALLOW_PRIVATE"):
        await egress(Resolver(["10.0.0.1"])).addresses("a.example", 80)
    assert await egress(Resolver(["10.0.0.1"]), "10.0.0.0/8").addresses("a.example", 80) == (ip_address("10.0.0.1"),)


async def test_only_the_allowed_addresses_of_a_name_are_given() -> None:
    found = await egress(Resolver(["127.0.0.1", "1.1.1.1", "fe80::1%eth0"])).addresses("mixed.example", 80)
    assert found == (ip_address("1.1.1.1"),)


async def test_literal_and_localhost_are_never_looked_up() -> None:
    resolver = Resolver(["1.1.1.1"])
    assert await egress(resolver).addresses("0x08.8.8.8", 80) == (ip_address("8.8.8.8"),)
    assert await egress(resolver, "127.0.0.0/8").addresses("a.localhost", 80) == (ip_address("127.0.0.1"),)
    for host in ("localhost", "127.1", "[::1]"):
        with pytest.raises(AddressRefusedError):
            await egress(resolver).addresses(host, 80)
    assert not resolver.asked


async def test_answer_is_shared_and_kept_for_its_time_alone() -> None:
    resolver = Resolver(["1.1.1.1"])
    keeping, fresh = egress(resolver), egress(resolver, kept_s=0)
    await asyncio.gather(*(keeping.addresses("A.example.", 80) for _ in range(5)))
    assert resolver.asked == ["a.example"]
    for _ in range(2):
        await fresh.addresses("a.example", 80)
    assert len(resolver.asked) == 3


async def test_changed_answer_is_judged_anew() -> None:
    rebinding = egress(Resolver(["1.1.1.1"], ["127.0.0.1"]), kept_s=0)
    assert await rebinding.addresses("a.example", 80)
    with pytest.raises(AddressRefusedError):
        await rebinding.addresses("a.example", 80)


@pytest.mark.parametrize("answer", [OSError(-2, "Name or service not known"), []])
async def test_failed_lookup_is_told_and_asked_again(answer: Sequence[str] | OSError) -> None:
    resolver = Resolver(answer, ["1.1.1.1"])
    one = egress(resolver)
    with pytest.raises(LookupFailedError, match=r"a\.example cannot be looked up: "):
        await one.addresses("a.example", 80)
    assert await one.addresses("a.example", 80)


async def test_lookup_ends_with_its_budget() -> None:
    async def silent(_: str) -> Sequence[str]:
        await asyncio.sleep(60)
        return []

    began_s = time.monotonic()
    with pytest.raises(LookupFailedError, match=r"no answer within 0\.05 s") as caught:
        await egress(silent, budget_s=0.05).addresses("a.example", 80)
    assert caught.value.timed_out
    assert time.monotonic() - began_s < 30


@pytest.mark.parametrize("host", ["a..b.invalid", "x" * 70 + ".invalid", "nobody.invalid"])
async def test_systems_resolver_fails_as_an_oserror(host: str) -> None:
    with pytest.raises(OSError, match=r"."):
        await system_lookup(host)


async def test_systems_resolver_knows_this_machine() -> None:
    assert set(await system_lookup("localhost")) <= {"127.0.0.1", "::1"}


def test_rules_come_from_the_environment_and_are_closed_without() -> None:
    assert rules_of({}) == EgressRules()
    assert rules_of({"COMITY_ALLOW_PRIVATE": "127.0.0.0/8"}).of_address(ip_address("127.0.0.1"), 1).allowed
