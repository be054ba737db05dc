"""The ledger's parts, put together once per process."""

from dataclasses import dataclass
from pathlib import Path

from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.trust import TlsTrust
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.bucket import Bucket
from ledger.artifacts.folder import Folder
from ledger.artifacts.place import Place
from ledger.artifacts.s3_settings import S3Settings
from ledger.clock import Clock, utc_now
from ledger.services.admit_late import LateManifestService
from ledger.services.adopt import AdoptionService
from ledger.services.archives import ArchiveService
from ledger.services.audit import AuditService
from ledger.services.background import Background
from ledger.services.catch_up import CatchUp
from ledger.services.close_level import CloseLevelService
from ledger.services.deliver import Deliverer
from ledger.services.dispatch import Dispatcher
from ledger.services.extract_pages import ExtractionService
from ledger.services.follow_crawl import FollowService
from ledger.services.host_gate import HostGateService
from ledger.services.identify import Identify
from ledger.services.index_pages import IndexService
from ledger.services.keep_channels import ChannelService
from ledger.services.keep_extractors import ExtractorService
from ledger.services.keep_scripts import ScriptService
from ledger.services.keep_targets import TargetService
from ledger.services.keep_tokens import TokenService
from ledger.services.look import LookService
from ledger.services.oidc import OidcIssuer
from ledger.services.prefect_api import PrefectApi
from ledger.services.prune import PruneService
from ledger.services.readiness import ReadinessService
from ledger.services.reconcile import Reconciler
from ledger.services.reconcile_extractions import ExtractionReconciler
from ledger.services.record_results import RecordResultsService
from ledger.services.search_pages import SearchService
from ledger.services.sink import SinkService
from ledger.services.space import Space
from ledger.services.start_crawl import StartCrawlService
from ledger.services.stop_crawl import StopCrawlService
from ledger.services.tell import Teller
from ledger.services.terms import Terms
from ledger.services.watch_feeds import FeedService
from ledger.services.watch_preview import PreviewService
from ledger.services.watching import Watching, watching
from ledger.services.work_order import WorkOrderService
from ledger.settings import Settings
from ledger.store.database import Store
from ledger.tokens import Tokens, kept_secret


@dataclass(frozen=True)
class Parts:
    """What routes ask, and what runs behind them."""

    settings: Settings
    store: Store
    identify: Identify
    tokens: TokenService
    background: Background
    artifacts: Artifacts
    prefect: PrefectApi
    dispatcher: Dispatcher
    reconciler: Reconciler
    sink: SinkService
    starts: StartCrawlService
    orders: WorkOrderService
    results: RecordResultsService
    closings: CloseLevelService
    stops: StopCrawlService
    looks: LookService
    follows: FollowService
    pruning: PruneService
    space: Space
    readiness: ReadinessService
    gate: HostGateService
    audits: AuditService
    targets: TargetService
    scripts: ScriptService
    extractors: ExtractorService
    extractions: ExtractionService
    extraction_runs: ExtractionReconciler
    archives: ArchiveService
    index: IndexService
    searches: SearchService
    catch_up: CatchUp
    channels: ChannelService
    feeds: FeedService
    teller: Teller
    watching: Watching
    preview: PreviewService


def places_of(root: Path, s3: S3Settings | None) -> list[Place]:
    """The folder, and the bucket where there is one."""
    return [Folder(root), *([Bucket(s3)] if s3 is not None and s3.bucket else [])]


def prefect_of(settings: Settings, deployment: str) -> PrefectApi:
    """Prefect, creating runs of this deployment."""
    return PrefectApi(
        settings.prefect_api_url,
        settings.prefect_auth_string.get_secret_value(),
        deployment,
        settings.prefect_timeout_s,
    )


def _terms(settings: Settings) -> Terms:
    """What crawls of this deployment may ask for."""
    return Terms(
        formats=settings.formats,
        allowed_formats=settings.may_choose,
        signing=settings.signing,
        shared_session_organization=settings.shared_session_organization,
        max_running_crawls=settings.max_running_crawls,
        max_crawl_bytes=settings.max_crawl_bytes,
    )


def assemble(
    settings: Settings,
    store: Store,
    tokens: Tokens,
    clock: Clock = utc_now,
    *,
    s3: S3Settings | None = None,
    egress: EgressRules | None = None,
    trust: TlsTrust | None = None,
    proxies: ProxyRules | None = None,
) -> Parts:
    """Connect everything. Nothing runs yet. `s3`: a bucket that artifacts lie in besides the folder.

    `egress`: which addresses this ledger may itself go to; without it, those of the public web. `trust` and `proxies`:
    whose certificates it believes there, and which URLs go through a proxy.
    """
    background = Background()
    prefect = prefect_of(settings, settings.level_deployment)
    dispatcher = Dispatcher(store, prefect, clock)
    space = Space((settings.artifact_root, settings.data), settings.min_free_bytes)
    artifacts = Artifacts(places_of(settings.artifact_root, s3))
    results = RecordResultsService(store, artifacts, clock)
    adoptions = AdoptionService(store, artifacts, clock, window_s=settings.adoption_window_s)
    index = IndexService(store, artifacts, clock, since_s=settings.late_manifest_limit_s)
    late = LateManifestService(
        store, artifacts, clock, every_s=settings.catch_up_every_s, limit_s=settings.late_manifest_limit_s
    )
    extraction_runs = ExtractionReconciler(
        store=store,
        prefect=prefect_of(settings, settings.extract_deployment),
        limits=settings.limits,
        clock=clock,
        every_s=settings.reconcile_every_s,
    )
    given = TokenService(store, clock)
    rules = egress or EgressRules()
    deliverer = Deliverer(rules, clock, services=frozenset(settings.apprise_services), trust=trust, proxies=proxies)
    sink_key = kept_secret(settings.data / "sink.key").encode()
    sink = SinkService(settings.artifact_root, sink_key, settings.sink_url, settings.max_artifact_bytes, clock)
    return Parts(
        settings=settings,
        store=store,
        identify=Identify(tokens, given, OidcIssuer(settings.oidc) if settings.oidc else None),
        tokens=given,
        background=background,
        artifacts=artifacts,
        prefect=prefect,
        dispatcher=dispatcher,
        reconciler=Reconciler(
            store=store,
            prefect=prefect,
            dispatcher=dispatcher,
            limits=settings.limits,
            clock=clock,
            every_s=settings.reconcile_every_s,
        ),
        sink=sink,
        starts=StartCrawlService(store, _terms(settings), space, background, clock),
        orders=WorkOrderService(store, adoptions, sink, clock),
        results=results,
        closings=CloseLevelService(store, results, space, background, clock),
        stops=StopCrawlService(store, background, clock),
        looks=LookService(store, settings.prefect_ui_url),
        follows=FollowService(store, settings.max_event_streams),
        pruning=PruneService(store, artifacts.places, clock),
        space=space,
        readiness=ReadinessService(store, settings.artifact_root, space, prefect),
        gate=HostGateService(store, clock),
        audits=AuditService(store),
        targets=TargetService(store, clock),
        scripts=ScriptService(store, clock),
        extractors=ExtractorService(store, clock),
        extractions=ExtractionService(store, artifacts, clock),
        extraction_runs=extraction_runs,
        archives=ArchiveService(
            store, artifacts, clock, url_key=kept_secret(settings.data / "archive-url.key").encode()
        ),
        index=index,
        searches=SearchService(store),
        catch_up=CatchUp(store, late, adoptions, index, extraction_runs, every_s=settings.catch_up_every_s),
        watching=watching(store, artifacts, clock, settings.watching),
        preview=PreviewService(
            store, clock, egress=rules, delay_ms=settings.watching.host_delay_ms, trust=trust, proxies=proxies
        ),
        channels=ChannelService(store, deliverer, clock),
        feeds=FeedService(store, clock),
        teller=Teller(store, deliverer, clock, every_s=settings.tell_every_s),
    )
