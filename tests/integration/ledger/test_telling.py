"""What was found on watched pages reaches whoever asked to be told: once, signed, folded, and in the end always."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import feedparser
import httpx
import pytest

from comity.contract.watch import Diff, DiffHunk
from comity.watch.rules.webhook import secret_bytes, verified
from ledger.rules.watch_diffs import packed
from ledger.rules.watch_pages import url_digest
from ledger.store.models_watch import WatchEvent, WatchList, WatchMember, WatchPage
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at

# Apprise imports a module of Python's that is going to go.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
DIFF = Diff(
    hunks=[DiffHunk(before_line=1, after_line=1, removed=["old <b>"], added=["new"])], removed_lines=1, added_lines=1
)


@dataclass
class Receiver:
    """Where webhooks arrive. `answers`: statuses for the next requests; then 204."""

    url: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.got]


@contextmanager
def receiver() -> Iterator[Receiver]:
    here = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            here.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status, headers = here.answers.pop(0) if here.answers else (204, {})
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    here.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class World:
    desk: Desk
    clock: ShiftedClock
    pages: list[int] = field(default_factory=list)

    def page(self, organization: str = "default") -> int:
        with self.desk.parts.store.writing() as tx:
            url = f"https://a.example/{organization}/{len(self.pages)}"
            row = WatchPage(
                organization=organization,
                url=url,
                url_digest=url_digest(organization, url),
                version=2,
                paused=False,
                added_at=self.clock(),
            )
            tx.add(row)
            tx.flush()
            self.pages.append(row.id)
            return row.id

    def in_list(self, *pages: int) -> str:
        ident = f"a{len(self.pages):016x}"
        with self.desk.parts.store.writing() as tx:
            tx.add(
                WatchList(
                    id=ident,
                    organization="default",
                    name="My <list>",
                    description="",
                    pages=len(pages),
                    created_at=self.clock(),
                )
            )
            tx.flush()
            for page in pages:
                tx.add(WatchMember(list_id=ident, page_id=page, updated_at=self.clock()))
        return ident

    def happens(self, page: int, kind: str = "changed") -> str:
        with self.desk.parts.store.writing() as tx:
            found = tx.get(WatchPage, page)
            assert found is not None
            event = WatchEvent(
                page_id=page,
                organization=found.organization,
                kind=kind,
                at=self.clock(),
                url=found.url,
                title=f"Page {page} & more",
                diff=packed(DIFF) if kind == "changed" else None,
                removed_lines=1 if kind == "changed" else None,
                added_lines=1 if kind == "changed" else None,
                problem=None if kind == "changed" else "HTTP 500",
            )
            tx.add(event)
            tx.flush()
            return f"e{event.id}"

    def channel(self, target: str, **more: Any) -> Json:
        self.clock.advance(0.01)
        order = {"name": "mine", "kind": "webhook", "target": target, **more}
        made = self.desk.post("/api/watch/channels", order, 201)
        self.clock.advance(0.01)
        return made

    def tell(self) -> None:
        """All looks that there is something to do for."""
        for _ in range(100):
            if not self.desk.parts.teller.one_look():
                return
        raise AssertionError("the teller does not come to an end")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = ShiftedClock()
    with (
        FakePrefect() as prefect,
        ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, apprise_services=("json",)) as desk,
    ):
        yield World(desk, clock)


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
        ({"quiet": {"begin": "24:00", "end": "07:00", "zone": "UTC"}}, "quiet.begin", ""),
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


def _read(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, trust_env=False, timeout=30)


@pytest.mark.parametrize("form", ["atom", "rss", "jsonFeed"])
def test_feed_of_a_list_shows_what_changed_to_whoever_has_its_address(world: World, form: str) -> None:
    inside, outside = world.page(), world.page()
    made = world.desk.post("/api/watch/feeds", {"listId": world.in_list(inside)}, 201)
    world.happens(inside)
    world.happens(outside)
    answer = _read(made[form])
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    if form == "jsonFeed":
        read = answer.json()
        entries, title = [(one["title"], one["url"], one["content_html"]) for one in read["items"]], read["title"]
    else:
        parsed = feedparser.parse(answer.content)
        assert not parsed.bozo
        entries = [
            (one.title, one.link, (one.get("content") or [one])[0].get("value") or one.summary)
            for one in parsed.entries
        ]
        title = parsed.feed.title
    ((name, link, html),) = entries
    assert name == f"Page {inside} & more"
    assert link == "https://a.example/default/0"
    assert "<del>-old &lt;b&gt;</del>" in html
    assert "list" in title
    assert _read(made[form], **{"If-None-Match": answer.headers["etag"]}).status_code == 304
    world.happens(inside)
    assert _read(made[form], **{"If-None-Match": answer.headers["etag"]}).status_code == 200


def test_feed_of_a_page_ends_with_its_removal_and_no_address_is_told_twice(world: World) -> None:
    page = world.page()
    made = world.desk.post("/api/watch/feeds", {"pageId": f"w{page}"}, 201)
    event_ids = []
    for _ in range(2):
        world.happens(page)
        event_ids.append({one["id"] for one in _read(made["jsonFeed"]).json()["items"]})
    assert event_ids[0] < event_ids[1]
    listed = world.desk.get("/api/watch/feeds")["feeds"]
    assert [one["feedId"] for one in listed] == [made["feed"]["feedId"]]
    secret = made["atom"].rpartition("/")[2].removesuffix(".atom")
    assert secret not in json.dumps(listed)
    assert listed[0]["lastReadAt"] is not None
    wrong = _read(made["atom"].replace(secret, "x" * len(secret)))
    assert world.desk.client.delete(f"/api/watch/feeds/{made['feed']['feedId']}").status_code == 204
    gone = _read(made["atom"])
    assert wrong.status_code == gone.status_code == 404
    assert wrong.json() == gone.json()


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
