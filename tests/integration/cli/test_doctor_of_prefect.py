"""What the doctor says of a Prefect that is busy, lacks something, keeps us out, or is not there."""

from collections.abc import Iterator

import pytest

from comity.cli.doctor import from_pool
from comity.cli.doctor.from_pool import look_from_pool
from comity.cli.doctor.prefect_side import BUSY_FIX, DEPLOYMENTS, PrefectSide
from flows.doctor_links import Link
from ledger.rules.ask_again import Patience
from tests.fakes.prefect_api import FakePrefect

AUTH = "comity:secret"
NOBODY = "http://127.0.0.1:9/api"
SEEN = {"name": "ledger", "ok": True, "said": "version 1", "fix": ""}
SHORT = Patience(budget_s=0.5, first_pause_s=0.02)
LONG = Patience(budget_s=60.0, first_pause_s=0.02)
ENDLESS = 1_000_000
SOUND = [
    "version 3.9.0",
    "demanded",
    "worker comity-levels-worker online",
    "worker comity-extractions-worker online",
    "worker comity-triggers-worker online",
    "worker comity-watchers-worker online",
    ", ".join(DEPLOYMENTS),
    "Completed",
    "version 1",
]


@pytest.fixture
def fake() -> Iterator[FakePrefect]:
    with FakePrefect(deployments=DEPLOYMENTS, auth=AUTH) as prefect:
        prefect.begins_as = "COMPLETED"
        prefect.artifacts = [{"data": [SEEN]}]
        yield prefect


def links_of(fake: FakePrefect, patience: Patience = LONG, auth: str = AUTH) -> list[Link]:
    user, _, password = auth.partition(":")
    with PrefectSide(fake.url, (user, password), patience=patience) as prefect:
        links = prefect.look()
        return links + look_from_pool(prefect) if links[0].ok else links


def said_by(links: list[Link]) -> list[str]:
    """Without the seconds that anything took."""
    return [link.said.split(" after ")[0] for link in links]


def test_a_sound_prefect_is_sound_in_every_link(fake: FakePrefect) -> None:
    links = links_of(fake)
    assert said_by(links) == SOUND
    assert all(link.ok for link in links)


@pytest.mark.parametrize(
    ("at", "status"),
    [
        ("/admin/version", 503),
        ("/work_pools/comity-levels", 503),
        ("/workers/filter", 502),
        ("/deployments/name/trigger-crawl/nightly", 429),
        ("/create_flow_run", 503),
        ("/flow_runs/", 503),
        ("/artifacts/filter", 503),
    ],
)
def test_a_prefect_that_is_busy_for_a_moment_is_asked_again(fake: FakePrefect, at: str, status: int) -> None:
    fake.busy, fake.busy_at, fake.busy_status = 2, at, status
    assert said_by(links_of(fake)) == SOUND
    assert fake.busy == 0
    assert len(fake.runs) == 1


def test_a_pause_that_prefect_asks_for_is_kept_to(fake: FakePrefect) -> None:
    fake.busy, fake.busy_at, fake.retry_after = 1, "/work_pools/", "1"
    patience = Patience(budget_s=60.0, first_pause_s=0.0, longest_pause_s=0.0)
    assert said_by(links_of(fake, patience)) == SOUND
    fake.busy, fake.retry_after = 1, "61"
    [link] = [link for link in links_of(fake, patience) if not link.ok]
    assert link.said.startswith("Prefect answers 503, asked 1 time in ")


@pytest.mark.parametrize(
    ("at", "name"),
    [
        ("/admin/version", "Prefect "),
        ("/work_pools/comity-levels", "work pool comity-levels"),
        ("/deployments/name/crawl-level", "deployments"),
        ("/create_flow_run", "flow run on the pool"),
        ("/artifacts/filter", "flow run on the pool"),
    ],
)
def test_a_prefect_that_stays_busy_is_called_so_and_nothing_is_said_to_be_missing(
    fake: FakePrefect, at: str, name: str
) -> None:
    fake.busy, fake.busy_at = ENDLESS, at
    [link] = [link for link in links_of(fake, SHORT) if not link.ok]
    assert link.name.startswith(name)
    assert link.said.startswith("Prefect answers 503, asked ")
    assert link.fix == BUSY_FIX
    assert "deploy" not in link.fix
    assert fake.busy < ENDLESS - 2


def test_an_answer_that_is_lost_makes_no_second_run(fake: FakePrefect) -> None:
    with PrefectSide(fake.url, ("comity", "secret")) as prefect:
        assert prefect.look()[0].ok
        fake.unheard = 1
        assert look_from_pool(prefect)[0].ok
    assert len([path for _, path in fake.calls if path.endswith("/create_flow_run")]) == 2
    assert len(fake.runs) == 1


def test_what_is_missing_is_said_to_be_with_the_command_that_makes_it(fake: FakePrefect) -> None:
    del fake.deployments["trigger-crawl/nightly"], fake.deployments["doctor/doctor"]
    fake.pools = ("comity-levels", "comity-extractions")
    failed = [(link.name, link.said, link.fix) for link in links_of(fake) if not link.ok]
    assert failed == [
        ("work pool comity-triggers", "does not exist", "prefect work-pool create --type process comity-triggers"),
        ("work pool comity-watchers", "does not exist", "prefect work-pool create --type process comity-watchers"),
        ("deployments", "missing: trigger-crawl/nightly, doctor/doctor", "prefect deploy --all"),
        ("flow run on the pool", "doctor/doctor is not deployed", "prefect deploy --all"),
    ]


def test_a_prefect_whose_code_fails_is_not_called_busy(fake: FakePrefect) -> None:
    fake.busy, fake.busy_at, fake.busy_status = ENDLESS, "/work_pools/comity-levels", 500
    [link] = [link for link in links_of(fake, SHORT) if not link.ok]
    assert (link.said.split(",")[0], link.fix) == ("Prefect answers 500", "see the log of prefect")


def test_a_run_that_does_not_begin_is_cancelled(fake: FakePrefect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_pool, "RUN_BUDGET_S", 0.0)
    fake.begins_as = "PENDING"
    with PrefectSide(fake.url, ("comity", "secret")) as prefect:
        [link] = look_from_pool(prefect)
    assert (link.ok, link.said) == (False, "still Pending after 0 s")
    assert [run["state"]["type"] for run in fake.runs.values()] == ["CANCELLING"]


def test_a_prefect_that_does_not_answer_is_one_link() -> None:
    with PrefectSide(NOBODY, None) as prefect:
        links = prefect.look()
    assert [(link.ok, link.name) for link in links] == [(False, f"Prefect {NOBODY}")]
    assert "comity up" in links[0].fix


def test_a_prefect_that_went_away_between_two_questions_is_waited_for(fake: FakePrefect) -> None:
    with PrefectSide(fake.url, ("comity", "secret"), patience=SHORT) as prefect:
        assert prefect.look()[0].ok
        fake.away = True
        calls = len(fake.calls)
        [link] = look_from_pool(prefect)
    assert not link.ok
    assert link.fix == "see the log of prefect"
    assert len(fake.calls) > calls + 1


def test_a_prefect_that_refuses_our_string_says_how_to_get_the_right_one(fake: FakePrefect) -> None:
    [link] = links_of(fake, auth="comity:wrong")
    assert not link.ok
    assert "refuses our authentication string" in link.said
    assert "comity env" in link.fix


def test_a_prefect_that_is_open_to_strangers_is_told(fake: FakePrefect) -> None:
    fake.auth = ""
    [link] = [link for link in links_of(fake) if not link.ok]
    assert (link.name, link.said) == ("Prefect authentication", "a caller without it gets 200")
