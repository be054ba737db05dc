"""THE RIGHTS MATRIX: every call that is served x every role x own and foreign organisation."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from comity.contract.identity import Role
from ledger.app import create_app
from ledger.rules import rights
from tests.fakes.extractor_programs import program
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at

pytestmark = pytest.mark.one_database

ROLES: tuple[Role, ...] = get_args(Role)
OPEN_ON_LOOPBACK = "/metrics"
"""Elsewhere it wants a token, as the table says."""
OWN, FOREIGN = "acme", "beta"
TITLE = program("title")
RUN = {"depth": 0, "attempt": 1, "runId": "r1"}
NOTHING = {"typescript": "7", "hostTypes": "1", "scripts": []}


class World:
    """A ledger with rows of two organisations, and a token of every role in the first."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.client = httpx.Client(trust_env=False, timeout=30)
        self.started: list[str] = []
        self.rows: dict[tuple[Make, str], str] = {}
        self.made = itertools.count(1)
        self.tokens = {role: self.token(role, OWN) for role in ROLES}
        self.submitters = {name: self.token("submitter", name) for name in (OWN, FOREIGN)}
        self.unknown = self.ask(self.tokens["viewer"], "GET", "/api/unknown").json()
        """What a path that nobody has ever heard of is answered."""
        desk.post("/api/scripts", {"id": "look", "phase": "behavior", "source": "1"}, 201)
        desk.post("/api/extractors", {"id": "facts", "source": TITLE}, 201)

    def token(self, role: Role, organization: str) -> str:
        whose = [] if role == "flows" else [organization]
        order = {"subject": f"{role}-of-{organization}", "role": role, "organizations": whose, "expiresInDays": 1}
        made: str = self.desk.post("/api/tokens", order, 201)["token"]
        return made

    def ask(self, token: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return self.client.request(method, self.desk.url + path, headers=headers, json=body)

    def new_crawl(self, organization: str) -> str:
        """A crawl of the organisation, and all earlier ones over."""
        answer = self.ask(self.submitters[organization], "POST", "/api/crawls", self.start())
        crawl_id: str = answer.json()["crawlId"]
        self.started.append(crawl_id)
        return crawl_id

    def ended_crawl(self, organization: str) -> str:
        """A crawl of the organisation that is over, so that its stream of events ends."""
        crawl_id = self.new_crawl(organization)
        self.end_running()
        return crawl_id

    def row(self, make: "Make", organization: str, *, fresh: bool) -> str:
        """A row of the organisation; where nothing will become of it, one that an earlier test had."""
        if fresh or (make, organization) not in self.rows:
            self.rows[make, organization] = make(self, organization)
        return self.rows[make, organization]

    def start(self) -> Json:
        """A start that nothing is in the way of."""
        self.end_running()
        return self.order()

    def end_running(self) -> None:
        for crawl_id in self.started:
            if self.desk.crawl(crawl_id)["state"] == "running":
                self.desk.post(f"/api/crawls/{crawl_id}/cancel")
        self.started.clear()

    def order(self) -> Json:
        return {"seeds": [f"http://127.0.0.2/{next(self.made)}"], "scripts": []}

    def new_target(self, organization: str) -> str:
        body = {"urls": [f"http://127.0.0.2/{next(self.made)}"]}
        ident: str = self.ask(self.submitters[organization], "POST", "/api/targets", body).json()["targets"][0]["id"]
        return ident

    def new_page(self, organization: str) -> str:
        body = {"pages": [{"url": f"http://127.0.0.2/{next(self.made)}"}]}
        answer = self.ask(self.submitters[organization], "POST", "/api/watch/pages", body).json()
        ident: str = answer["pageIds"][0]
        return ident

    def new_list(self, organization: str) -> str:
        answer = self.ask(self.submitters[organization], "POST", "/api/watch/lists", {"name": "antenna"}).json()
        ident: str = answer["listId"]
        return ident

    def new_channel(self, organization: str) -> str:
        made = self.ask(self.submitters[organization], "POST", "/api/watch/channels", WEBHOOK).json()
        ident: str = made["channel"]["channelId"]
        return ident

    def new_feed(self, organization: str) -> str:
        order = {"listId": self.new_list(organization)}
        made = self.ask(self.submitters[organization], "POST", "/api/watch/feeds", order).json()
        ident: str = made["feed"]["feedId"]
        return ident

    def new_token(self, organization: str) -> str:
        order = {"subject": "somebody", "role": "viewer", "organizations": [organization], "expiresInDays": 1}
        ident: str = self.desk.post("/api/tokens", order, 201)["view"]["id"]
        return ident


Make = Callable[[World, str], str]


@dataclass(frozen=True)
class Call:
    """How a call is made so that whoever has the right gets `ok`. `of`: makes the row that the call is about."""

    ok: int
    body: Callable[[World], Any] = lambda _: None
    of: Make | None = None
    query: str = ""
    shown: tuple[Make, str] | None = None
    """For lists: what makes a row, and the list's name in the answer."""
    key: str = "id"
    """What lists call the row's id."""
    fixed: Json = field(default_factory=dict)


SIGNED = ("/archives/{archive_id}", "/feeds/{name}")
"""What addresses with a secret in them lead to: whoever has none learns nothing, with a token or without."""
WEBHOOK = {"name": "mine", "kind": "webhook", "target": "http://127.0.0.1:9/"}
"""Nobody listens there."""

CALLS: dict[tuple[str, str], Call] = {
    ("GET", "/healthz"): Call(200),
    ("GET", "/readyz"): Call(200),
    ("GET", "/metrics"): Call(200),
    ("GET", "/api/audit"): Call(200),
    ("GET", "/api/openapi.json"): Call(200),
    ("GET", "/api/me"): Call(200),
    ("POST", "/api/crawls"): Call(202, World.start),
    ("GET", "/api/crawls"): Call(200, shown=(World.new_crawl, "crawls")),
    ("GET", "/api/crawls/{crawl_id}"): Call(200, of=World.new_crawl),
    ("GET", "/api/crawls/{crawl_id}/pages"): Call(200, of=World.new_crawl),
    ("POST", "/api/crawls/{crawl_id}/cancel"): Call(200, of=World.new_crawl),
    ("GET", "/api/crawls/{crawl_id}/levels/{depth}"): Call(200, of=World.new_crawl, fixed={"depth": 0}),
    ("POST", "/api/crawls/{crawl_id}/results"): Call(200, lambda _: {**RUN, "results": []}, World.new_crawl),
    ("POST", "/api/crawls/{crawl_id}/pages"): Call(
        409, lambda _: {**RUN, "results": [], "compiled": NOTHING}, World.new_crawl
    ),
    ("POST", "/api/crawls/{crawl_id}/failed"): Call(
        200, lambda _: {**RUN, "outcome": "failed", "reason": "x"}, World.new_crawl
    ),
    ("GET", "/api/crawls/{crawl_id}/events"): Call(200, of=World.ended_crawl),
    ("POST", "/api/crawls/{crawl_id}/index"): Call(202, of=World.new_crawl),
    ("POST", "/api/crawls/{crawl_id}/reconcile"): Call(200, of=World.new_crawl),
    ("POST", "/api/reconcile"): Call(200),
    ("POST", "/api/hosts/lease"): Call(400, lambda _: {}),
    ("POST", "/api/hosts/renew"): Call(400, lambda _: {}),
    ("POST", "/api/hosts/release"): Call(400, lambda _: {}),
    ("GET", "/api/search"): Call(200, query="?q=x"),
    ("GET", "/api/archives"): Call(200),
    ("POST", "/api/archives/{archive_id}/url"): Call(404, fixed={"archive_id": "a1"}),
    ("GET", "/archives/{archive_id}"): Call(404, fixed={"archive_id": "a1"}),
    ("HEAD", "/archives/{archive_id}"): Call(404, fixed={"archive_id": "a1"}),
    ("OPTIONS", "/archives/{archive_id}"): Call(404, fixed={"archive_id": "a1"}),
    ("GET", "/api/tasks/{task_id}"): Call(404, fixed={"task_id": "t1"}),
    ("GET", "/api/targets"): Call(200, shown=(World.new_target, "targets")),
    ("POST", "/api/targets"): Call(201, lambda _: {"urls": ["http://127.0.0.2/"]}),
    ("PATCH", "/api/targets/{target_id}"): Call(200, lambda _: {"enabled": False}, World.new_target),
    ("DELETE", "/api/targets/{target_id}"): Call(204, of=World.new_target),
    ("GET", "/api/scripts"): Call(200),
    ("GET", "/api/scripts/{script_id}"): Call(404, fixed={"script_id": "none"}),
    ("POST", "/api/scripts"): Call(200, lambda _: {"id": "look", "phase": "behavior", "source": "1"}),
    ("PATCH", "/api/scripts/{script_id}"): Call(200, lambda _: {"enabled": True}, fixed={"script_id": "look"}),
    ("DELETE", "/api/scripts/{script_id}"): Call(404, fixed={"script_id": "none"}),
    ("POST", "/api/watch/pages"): Call(201, lambda _: {"pages": [{"url": "http://127.0.0.2/"}]}),
    ("GET", "/api/watch/pages"): Call(200, shown=(World.new_page, "pages"), key="pageId", query="?limit=1000"),
    ("GET", "/api/watch/pages/{page_id}"): Call(200, of=World.new_page),
    ("PATCH", "/api/watch/pages/{page_id}"): Call(200, lambda _: {"title": "x"}, World.new_page),
    ("DELETE", "/api/watch/pages/{page_id}"): Call(204, of=World.new_page),
    ("POST", "/api/watch/pages/{page_id}/visit"): Call(200, of=World.new_page),
    ("GET", "/api/watch/pages/{page_id}/content"): Call(404, of=World.new_page),
    ("GET", "/api/watch/pages/{page_id}/history"): Call(200, of=World.new_page),
    ("GET", "/api/watch/pages/{page_id}/events"): Call(200, of=World.new_page),
    ("GET", "/api/watch/pages/{page_id}/events/{event_id}"): Call(404, of=World.new_page, fixed={"event_id": "e1"}),
    ("GET", "/api/watch/lists"): Call(200, shown=(World.new_list, "lists"), key="listId"),
    ("POST", "/api/watch/lists"): Call(201, lambda _: {"name": "antenna"}),
    ("PATCH", "/api/watch/lists/{list_id}"): Call(200, lambda _: {"name": "x"}, World.new_list),
    ("DELETE", "/api/watch/lists/{list_id}"): Call(204, of=World.new_list),
    ("GET", "/api/watch/lists/{list_id}/pages"): Call(200, of=World.new_list),
    ("GET", "/api/watch/lists/{list_id}/freshness"): Call(200, of=World.new_list),
    ("GET", "/api/watch/counts"): Call(200),
    ("POST", "/api/watch/queue/claim"): Call(400, lambda _: {}),
    ("POST", "/api/watch/queue/renew"): Call(400, lambda _: {}),
    ("POST", "/api/watch/queue/return"): Call(400, lambda _: {}),
    ("POST", "/api/watch/queue/complete"): Call(400, lambda _: {}),
    ("POST", "/api/watch/preview"): Call(400, lambda _: {}),
    ("GET", "/api/watch/moving"): Call(200),
    ("POST", "/api/watch/moving/pages"): Call(200, lambda _: {"pages": [{"url": "http://127.0.0.2/"}]}),
    ("POST", "/api/watch/moving/switch"): Call(200, lambda _: {"version": 2, "fromPage": "w1", "toPage": "w1"}),
    ("GET", "/api/watch/updates"): Call(200),
    ("POST", "/api/watch/updates"): Call(400, lambda _: {}),
    ("GET", "/api/watch/channels"): Call(200, shown=(World.new_channel, "channels"), key="channelId"),
    ("POST", "/api/watch/channels"): Call(201, lambda _: WEBHOOK),
    ("GET", "/api/watch/channels/{channel_id}"): Call(200, of=World.new_channel),
    ("PATCH", "/api/watch/channels/{channel_id}"): Call(200, lambda _: {"name": "x"}, World.new_channel),
    ("DELETE", "/api/watch/channels/{channel_id}"): Call(204, of=World.new_channel),
    ("POST", "/api/watch/channels/{channel_id}/secret"): Call(200, lambda _: {}, World.new_channel),
    ("POST", "/api/watch/channels/{channel_id}/test"): Call(200, of=World.new_channel),
    ("GET", "/api/watch/channels/{channel_id}/messages"): Call(200, of=World.new_channel),
    ("GET", "/api/watch/feeds"): Call(200, shown=(World.new_feed, "feeds"), key="feedId"),
    ("POST", "/api/watch/feeds"): Call(400, lambda _: {}),
    ("DELETE", "/api/watch/feeds/{feed_id}"): Call(204, of=World.new_feed),
    ("GET", "/feeds/{name}"): Call(404, fixed={"name": "x.atom"}),
    ("GET", "/api/extractors"): Call(200),
    ("GET", "/api/extractors/{extractor_id}"): Call(404, fixed={"extractor_id": "none"}),
    ("POST", "/api/extractors"): Call(200, lambda _: {"id": "facts", "source": TITLE}),
    ("PATCH", "/api/extractors/{extractor_id}"): Call(
        200, lambda _: {"enabled": True}, fixed={"extractor_id": "facts"}
    ),
    ("DELETE", "/api/extractors/{extractor_id}"): Call(404, fixed={"extractor_id": "none"}),
    ("GET", "/api/crawls/{crawl_id}/extractors"): Call(200, of=World.new_crawl),
    ("GET", "/api/crawls/{crawl_id}/pages/{page_id}/html"): Call(404, of=World.new_crawl, fixed={"page_id": "p1"}),
    ("GET", "/api/crawls/{crawl_id}/extractions"): Call(200, of=World.new_crawl),
    ("POST", "/api/crawls/{crawl_id}/extractions/orders"): Call(
        409, lambda _: {"number": 1, "runId": "r1"}, World.new_crawl
    ),
    ("POST", "/api/crawls/{crawl_id}/extractions/results"): Call(
        200, lambda _: {"number": 1, "runId": "r1", "results": []}, World.new_crawl
    ),
    ("GET", "/api/tokens"): Call(200, shown=(World.new_token, "tokens")),
    ("POST", "/api/tokens"): Call(400, lambda _: {}),
    ("DELETE", "/api/tokens/{token_id}"): Call(204, of=World.new_token),
    ("PUT", "/api/sink/{crawl_id}/{filename}"): Call(401, of=World.new_crawl, fixed={"filename": "t1.wacz"}),
}


WATCHED = ("page_id", "list_id", "event_id", "channel_id", "feed_id")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("rights")
    with FakePrefect() as prefect, ledger_at(folder / "data", folder / "store", prefect) as desk:
        world = World(desk)
        yield world
        world.client.close()


def _served(desk: Desk) -> set[tuple[str, str]]:
    paths = create_app(desk.parts).openapi()["paths"]
    listed = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    undescribed = {
        ("GET", "/api/openapi.json"),
        *((method, "/archives/{archive_id}") for method in ("HEAD", "OPTIONS")),
    }
    return listed | undescribed


def test_table_of_rights_and_this_matrix_name_every_call_that_is_served_and_no_other(world: World) -> None:
    named = {(method, path.replace(":path}", "}")) for method, path in rights.RIGHTS}
    assert named == _served(world.desk), "give the call a row in ledger/rules/rights.py"
    assert set(CALLS) == set(rights.RIGHTS), "give the call a row in this matrix"


def _path(template: str, call: Call, ident: str) -> str:
    of = template[template.index("{") + 1 : template.index("}")] if call.of is not None else ""
    return template.format(**{**call.fixed, of: ident}) + call.query


@pytest.mark.parametrize("organization", [OWN, FOREIGN])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "template"), CALLS)
def test_rights(world: World, method: str, template: str, role: Role, organization: str) -> None:
    call, right = CALLS[method, template], rights.RIGHTS[method, template]
    make = call.of or (call.shown[0] if call.shown else None)
    ident = world.row(make, organization, fresh=role in right) if make is not None else ""
    path = _path(template, call, ident)
    answer = world.ask(world.tokens[role], method, path, call.body(world))

    if answer.status_code == 202 and template == "/api/crawls":
        world.started.append(answer.json()["crawlId"])
    in_view = organization == OWN or role == "flows" or call.of is None
    if isinstance(right, str) or template == OPEN_ON_LOOPBACK:  # no role opens it or shuts it
        assert answer.status_code == call.ok
    elif role not in right:
        assert answer.status_code == 404
        assert answer.json() == {**world.unknown, "error": f"no such path: {path.partition('?')[0]!r}"}
    elif in_view:
        assert answer.status_code == call.ok, answer.text
    else:
        assert answer.status_code == 404
    if call.shown and answer.status_code == 200:
        listed = {row[call.key] for row in answer.json()[call.shown[1]]}
        assert (ident in listed) is (organization == OWN)


@pytest.mark.parametrize(
    ("method", "template"),
    [key for key in CALLS if rights.RIGHTS[key] != "open" and key[1] not in (OPEN_ON_LOOPBACK, *SIGNED)],
)
def test_without_a_token_every_call_is_refused_alike(world: World, method: str, template: str) -> None:
    names = (
        "crawl_id",
        "task_id",
        "extractor_id",
        "depth",
        "target_id",
        "script_id",
        "token_id",
        "archive_id",
        "filename",
        *WATCHED,
    )
    path = template.format(**dict.fromkeys(names, "1"))
    bare = world.client.request(method, world.desk.url + path)
    wrong = world.ask("wrong", method, path)
    assert bare.status_code == wrong.status_code == 401
    assert bare.content == wrong.content


def test_foreign_row_is_answered_exactly_as_one_that_is_not_there(world: World) -> None:
    makes = ((World.new_crawl, "crawls"), (World.new_target, "targets"), (World.new_token, "tokens"))
    for make, path in (*makes, (World.new_page, "watch/pages"), (World.new_list, "watch/lists")):
        method = "GET" if path == "crawls" else "DELETE"
        foreign = make(world, FOREIGN)
        nowhere = f"{foreign[0]}{'9' * (len(foreign) - 1)}"
        answers = [world.ask(world.tokens["admin"], method, f"/api/{path}/{one}") for one in (foreign, nowhere)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].text.replace(foreign, "") == answers[1].text.replace(nowhere, "")


def test_operator_sees_everybody_and_what_it_starts_is_the_defaults(world: World) -> None:
    seen = {world.new_target(OWN), world.new_target(FOREIGN)}
    assert seen <= {target["id"] for target in world.desk.get("/api/targets")["targets"]}
    crawl = world.desk.crawl(world.new_crawl(FOREIGN))
    assert (crawl["organization"], crawl["startedBy"]) == (FOREIGN, f"submitter-of-{FOREIGN}")
    world.end_running()
    world.started.append(world.desk.start())
    own = world.desk.crawl(world.started[-1])
    assert (own["organization"], own["startedBy"]) == ("default", "operator")


def test_crawl_in_the_way_is_named_only_to_those_who_may_see_it(world: World) -> None:
    crawl_id = world.new_crawl(FOREIGN)
    refusal = world.ask(world.tokens["submitter"], "POST", "/api/crawls", world.order())
    assert (refusal.status_code, refusal.json()["code"]) == (409, "slots-taken")
    assert crawl_id not in refusal.text
    named = world.ask(world.submitters[FOREIGN], "POST", "/api/crawls", world.order()).json()
    assert (named["code"], named["crawlId"]) == ("crawl-in-the-way", crawl_id)


def test_targets_are_unique_per_organisation_and_a_crawl_begins_at_the_callers_alone(world: World) -> None:
    new = {name: world.token("submitter", name) for name in ("gamma", "delta")}
    shared = "http://127.0.0.9/shared"
    for name, token in new.items():
        body = {"urls": [shared, f"http://127.0.0.9/{name}"]}
        for _ in range(2):
            assert len(world.ask(token, "POST", "/api/targets", body).json()["targets"]) == 2
        assert len(world.ask(token, "GET", "/api/targets").json()["targets"]) == 2
    world.end_running()
    started = world.ask(new["gamma"], "POST", "/api/crawls", {"fromTargets": {}, "scripts": []}).json()
    world.started.append(started["crawlId"])
    assert world.desk.crawl(started["crawlId"])["seeds"] == [shared, "http://127.0.0.9/gamma"]
    world.end_running()
    both = {"subject": "both", "role": "submitter", "organizations": ["delta", "gamma"], "expiresInDays": 1}
    token = world.desk.post("/api/tokens", both, 201)["token"]
    started = world.ask(token, "POST", "/api/crawls", {"fromTargets": {}, "scripts": []}).json()
    world.started.append(started["crawlId"])
    crawl = world.desk.crawl(started["crawlId"])
    assert (crawl["organization"], len(crawl["seeds"])) == ("delta", 3)


def test_same_key_of_same_name_in_two_organisations_is_two_crawls(world: World) -> None:
    order = world.start()
    started = []
    for name in ("epsilon", "zeta"):
        twin = {"subject": "twin", "role": "submitter", "organizations": [name], "expiresInDays": 1}
        headers = {"Authorization": f"Bearer {world.desk.post('/api/tokens', twin, 201)['token']}"}
        headers["Idempotency-Key"] = "the same"
        world.end_running()
        url = world.desk.url + "/api/crawls"
        twice = [world.client.post(url, json=order, headers=headers).json()["crawlId"] for _ in range(2)]
        assert twice[0] == twice[1]
        world.started.append(twice[0])
        started.append(twice[0])
    assert started[0] != started[1]
