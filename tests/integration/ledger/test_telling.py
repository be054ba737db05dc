"""What was found on watched pages reaches whoever asked to be told: once, signed, folded, and in the end always."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from comity.watch.rules.webhook import secret_bytes, verified
from tests.fakes.webhook_receiver import Receiver, receiver
from tests.integration.ledger.desk import Json
from tests.integration.ledger.telling import World, world_at

# Apprise imports a module of Python's that is going to go.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path) as made:
        yield made


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as here:
        yield here


def test_change_is_posted_once_with_its_diff_and_a_signature_that_verifies(world: World, hook: Receiver) -> None:
    made = world.channel(hook.url)
    event = world.happens(world.page())
    world.tell()
    world.tell()
    ((headers, body),) = hook.got
    assert verified(headers, body, now=world.clock(), secret=secret_bytes(made["secret"]))
    said = json.loads(body)
    assert (said["type"], said["channel"]) == ("watch.changed", made["channel"]["channelId"])
    (told,) = said["data"]["events"]
    assert (told["eventId"], told["url"]) == (event, "https://a.example/default/0")
    assert told["diff"] == "@@ -1,1 +1,1 @@\n-old <b>\n+new\n"
    shown = world.desk.get(f"/api/watch/channels/{said['channel']}")
    assert (shown["waiting"], shown["lastSentAt"] is not None, shown["lastProblem"]) == (0, True, None)
    (message,) = world.desk.get(f"/api/watch/channels/{said['channel']}/messages")["messages"]
    assert (message["state"], message["events"], message["messageId"]) == ("sent", [event], headers["webhook-id"])


def test_receiver_that_is_away_is_tried_again_with_the_same_id_and_nothing_overtakes(
    world: World, hook: Receiver
) -> None:
    ident = world.channel(hook.url)["channel"]["channelId"]
    hook.answers = [(503, {"Retry-After": "120"})]
    first = world.happens(world.page())
    world.tell()
    second = world.happens(world.page())
    world.tell()
    assert len(hook.got) == 1
    assert world.desk.get(f"/api/watch/channels/{ident}")["lastProblem"] == "HTTP 503"
    world.clock.advance(119)
    world.tell()
    assert len(hook.got) == 1
    world.clock.advance(2)
    world.tell()
    told = [body["data"]["events"][0]["eventId"] for body in hook.bodies()]
    assert told == [first, first, second]
    assert hook.got[0][0]["webhook-id"] == hook.got[1][0]["webhook-id"] != hook.got[2][0]["webhook-id"]
    assert world.desk.get(f"/api/watch/channels/{ident}")["lastProblem"] is None


@pytest.mark.one_database
def test_message_is_given_up_after_a_day_and_shown_so(world: World, hook: Receiver) -> None:
    ident = world.channel(hook.url)["channel"]["channelId"]
    hook.answers = [(500, {})] * 50
    world.happens(world.page())
    for _ in range(12):
        world.tell()
        world.clock.advance(13 * 3600)
    (message,) = world.desk.get(f"/api/watch/channels/{ident}/messages")["messages"]
    assert (message["state"], message["tries"], message["problem"]) == ("given-up", 8, "HTTP 500")
    assert len(hook.got) == 8
    assert world.desk.get(f"/api/watch/channels/{ident}")["givenUp"] == 1


def test_many_changes_are_folded_into_one_message_that_names_the_first(world: World, hook: Receiver) -> None:
    world.channel(hook.url)
    for _ in range(30):
        world.happens(world.page())
    world.tell()
    (said,) = hook.bodies()
    assert (said["data"]["count"], len(said["data"]["events"])) == (30, 20)


def test_flood_of_failures_is_one_message_and_what_mended_itself_none(world: World, hook: Receiver) -> None:
    world.channel(hook.url)
    pages = [world.page() for _ in range(12)]
    for page in pages:
        world.happens(page, "failing")
    world.tell()
    assert hook.got == []
    for page in pages[:2]:
        world.happens(page, "recovered")
    world.clock.advance(61)
    world.tell()
    (said,) = hook.bodies()
    assert (said["type"], said["data"]["count"]) == ("watch.failing", 10)
    assert said["data"]["events"][0]["problem"] == "HTTP 500"


def test_channel_of_a_list_or_a_page_or_a_kind_tells_of_nothing_else(world: World, hook: Receiver) -> None:
    inside, outside = world.page(), world.page()
    foreign = world.page("other")
    world.channel(hook.url + "?list", listId=world.in_list(inside))
    world.channel(hook.url + "?page", pageId=f"w{outside}", kinds=["failing", "recovered"])
    changed = world.happens(inside)
    world.happens(outside)
    world.happens(foreign)
    failing = world.happens(outside, "failing")
    world.clock.advance(61)
    world.tell()
    told = [event["eventId"] for body in hook.bodies() for event in body["data"]["events"]]
    assert sorted(told) == sorted([changed, failing])


def test_channel_is_not_told_what_happened_before_it_was_made(world: World, hook: Receiver) -> None:
    page = world.page()
    world.happens(page)
    world.channel(hook.url)
    after = world.happens(page)
    world.tell()
    assert [body["data"]["events"][0]["eventId"] for body in hook.bodies()] == [after]


@pytest.mark.one_database
def test_nothing_is_told_in_quiet_hours_and_everything_after(world: World, hook: Receiver) -> None:
    now = world.clock()
    quiet = {
        "begin": f"{now - timedelta(hours=1):%H:%M}",
        "end": f"{now + timedelta(hours=2):%H:%M}",
        "zone": "UTC",
    }
    ident = world.channel(hook.url, quiet=quiet)["channel"]["channelId"]
    event = world.happens(world.page())
    world.tell()
    assert hook.got == []
    assert world.desk.get(f"/api/watch/channels/{ident}")["waiting"] == 1
    world.clock.advance(3 * 3600)
    world.tell()
    assert [body["data"]["events"][0]["eventId"] for body in hook.bodies()] == [event]


@pytest.mark.one_database
def test_night_with_more_events_than_one_look_takes_is_told_whole(
    world: World, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.store.watch_channels.TAKEN_AT_ONCE", 10)
    now = world.clock()
    quiet = {"begin": f"{now - timedelta(hours=1):%H:%M}", "end": f"{now + timedelta(hours=2):%H:%M}", "zone": "UTC"}
    ident = world.channel(hook.url, quiet=quiet)["channel"]["channelId"]
    page = world.page()
    for _ in range(25):
        world.happens(page)
    world.tell()
    world.clock.advance(3 * 3600)
    world.tell()
    assert sum(body["data"]["count"] for body in hook.bodies()) == 25
    assert world.desk.get(f"/api/watch/channels/{ident}")["waiting"] == 0


@pytest.mark.one_database
def test_receiver_that_is_gone_is_not_asked_again_until_somebody_switches_it_on(world: World, hook: Receiver) -> None:
    ident = world.channel(hook.url)["channel"]["channelId"]
    hook.answers = [(410, {})]
    page = world.page()
    event = world.happens(page)
    world.tell()
    assert world.desk.get(f"/api/watch/channels/{ident}")["enabled"] is False
    world.clock.advance(3600)
    world.tell()
    assert len(hook.got) == 1
    assert world.desk.client.patch(f"/api/watch/channels/{ident}", json={"enabled": True}).status_code == 200
    world.tell()
    assert [body["data"]["events"][0]["eventId"] for body in hook.bodies()] == [event, event]


@pytest.mark.one_database
def test_secret_is_renewed_while_the_old_one_still_verifies(world: World, hook: Receiver) -> None:
    made = world.channel(hook.url)
    ident = made["channel"]["channelId"]
    renewed = world.desk.post(f"/api/watch/channels/{ident}/secret", {"oldForHours": 1})
    page = world.page()
    world.happens(page)
    world.tell()
    headers, body = hook.got[0]
    for secret in (made["secret"], renewed["secret"]):
        assert verified(headers, body, now=world.clock(), secret=secret_bytes(secret))
    world.clock.advance(3601)
    world.happens(page)
    world.tell()
    headers, body = hook.got[1]
    assert not verified(headers, body, now=world.clock(), secret=secret_bytes(made["secret"]))
    assert verified(headers, body, now=world.clock(), secret=secret_bytes(renewed["secret"]))


@pytest.mark.one_database
def test_redirect_is_not_followed_and_the_test_call_says_so(world: World, hook: Receiver) -> None:
    ident = world.channel(hook.url)["channel"]["channelId"]
    hook.answers = [(307, {"Location": hook.url + "/elsewhere"})]
    tried = world.desk.post(f"/api/watch/channels/{ident}/test")
    assert tried["sent"] is False
    assert "follow no redirects" in tried["problem"]
    assert world.desk.post(f"/api/watch/channels/{ident}/test") == {"sent": True, "problem": None}
    assert hook.bodies()[1]["type"] == "watch.test"
    assert len(hook.got) == 2


@pytest.mark.one_database
def test_apprise_service_gets_a_message_for_people(world: World, hook: Receiver) -> None:
    target = hook.url.replace("http://", "json://")
    made = world.channel(target, kind="apprise")
    assert made["secret"] is None
    assert made["channel"]["target"] == "json://…"
    world.happens(world.page())
    world.tell()
    (said,) = hook.bodies()
    assert said["title"].startswith("Page ")
    assert said["title"].endswith("has changed")
    assert "https://a.example/default/0" in said["message"]
    assert "+new" in said["message"]


@pytest.mark.parametrize(
    ("order", "field", "says"),
    [
        ({"target": "https://169.254.169.254/latest"}, "target", "metadata"),
        ({"target": "https://10.0.0.1/"}, "target", ""),
        ({"target": "ftp://a.example/"}, "target", "not an http(s) address"),
        ({"target": "https://me:secret@a.example/"}, "target", "user name or password"),
        ({"kind": "apprise", "target": "syslog://"}, "target", "none of the services that this deployment sends to"),
        ({"kind": "apprise", "target": "json://:0"}, "target", "Apprise does not take"),
        ({"listId": "a0000000000000000"}, "listId", "there is no list"),
        ({"pageId": "w999"}, "pageId", "there is no page"),
        ({"pageId": "w1", "listId": "a0000000000000000"}, "", "give one"),
        ({"kinds": []}, "kinds", ""),
        ({"quiet": {"begin": "22:00", "end": "07:00", "zone": "Mars/Olympus"}}, "quiet.zone", "no time zone"),
        ({"quiet": {"begin": "22:00", "end": "22:00", "zone": "UTC"}}, "quiet", "the same"),
        ({"quiet": {"begin": "24:00", "end": "07:00", "zone": "UTC"}}, "quiet.begin", "HH:MM"),
    ],
)
@pytest.mark.one_database
def test_channel_that_could_tell_nothing_is_refused_by_its_field(
    world: World, order: Json, field: str, says: str
) -> None:
    refusal = world.desk.post(
        "/api/watch/channels", {"name": "x", "kind": "webhook", "target": "https://a.example/", **order}, 400
    )
    assert [one["field"] for one in refusal["fields"]] == [field]
    assert says in refusal["fields"][0]["message"]
    assert "secret" not in json.dumps(refusal)
    assert world.desk.get("/api/watch/channels")["channels"] == []


def test_two_lookers_tell_once_and_a_ledger_that_died_after_sending_repeats_the_id(
    world: World, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.channel(hook.url)
    world.happens(world.page())
    teller = world.desk.parts.teller

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(teller, "_note", dies)
        with pytest.raises(KeyboardInterrupt):
            teller.one_look()
    world.tell()
    assert len({headers["webhook-id"] for headers, _ in hook.got}) == 1
    assert len(hook.got) == 2
