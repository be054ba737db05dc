"""Capture targets: the URLs that crawls `fromTargets` begin at."""

from collections.abc import Sequence

from comity.contract.ledger import AddTargets, ChangeTarget, ErrorField, TargetList, TargetsAdded, TargetView
from ledger.clock import Clock
from ledger.errors import BadInput, Unknown
from ledger.ids import new_id
from ledger.rules.scope import frontier_url
from ledger.store import targets
from ledger.store.database import Store
from ledger.store.models import Target

MAX_LABELS = 20
"""Of one target: its own and those of the whole call together."""


class TargetService:
    """Adds, lists, changes and removes targets. `organizations`: whose rows are in view, None everybody's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def every(
        self,
        organizations: Sequence[str] | None = None,
        *,
        labels: Sequence[str] = (),
        enabled: bool | None = None,
    ) -> TargetList:
        """The targets in view that have all of these labels, in the order they were added."""
        with self._store.reading() as tx:
            rows = targets.every(tx, organizations, enabled=enabled)
        return TargetList(targets=[_view(target) for target in rows if set(labels) <= set(target.labels)])

    def add(self, order: AddTargets, organization: str) -> TargetsAdded:
        """Add the URLs to the organisation's, enabled; one that is there already stays as it is.

        Raises BadInput, and then adds none.
        """
        labels = _labels_by_url(order)
        with self._store.writing() as tx:
            before = targets.by_url(tx, labels, organization)
            new = [(new_id("t"), url, its) for url, its in labels.items() if url not in before]
            targets.add(tx, new, organization=organization, at=self._clock())
            known = targets.by_url(tx, labels, organization)
        return TargetsAdded(targets=[_view(known[url]) for url in labels], added=len(new))

    def change(self, target_id: str, order: ChangeTarget, organizations: Sequence[str] | None = None) -> TargetView:
        """Set what is given. Raises Unknown."""
        with self._store.writing() as tx:
            target = targets.get(tx, target_id, organizations)
            if target is None:
                raise Unknown("target", target_id)
            targets.change(tx, target, enabled=order.enabled, labels=order.labels)
            return _view(target)

    def remove(self, target_id: str, organizations: Sequence[str] | None = None) -> None:
        """Forget the target. Raises Unknown."""
        with self._store.writing() as tx:
            target = targets.get(tx, target_id, organizations)
            if target is None:
                raise Unknown("target", target_id)
            targets.remove(tx, target)


def _labels_by_url(order: AddTargets) -> dict[str, list[str]]:
    """URLs as they enter a frontier, each once, with the labels of the call and their own. Raises BadInput."""
    if order.urls is not None and order.targets is not None:
        raise BadInput.at("targets", "came together with urls; give exactly one of them")
    wanted: list[tuple[str, str, list[str]]]
    if order.urls is not None:
        wanted = [(f"urls.{place}", url, []) for place, url in enumerate(order.urls)]
    elif order.targets is not None:
        wanted = [(f"targets.{place}", one.url, one.labels) for place, one in enumerate(order.targets)]
    else:
        raise BadInput.at("urls", "is missing; give urls, or targets with labels of their own")
    found: dict[str, dict[str, None]] = {}
    problems: list[ErrorField] = []
    for field, value, own in wanted:
        try:
            labels = found.setdefault(frontier_url(value), {})
        except ValueError as error:
            where = field if order.targets is None else f"{field}.url"
            problems.append(ErrorField(field=where, message=str(error)))
            continue
        labels.update(dict.fromkeys((*order.labels, *own)))
        if len(labels) > MAX_LABELS:
            problems.append(ErrorField(field=f"{field}.labels", message=f"over {MAX_LABELS} labels in all"))
    if problems:
        raise BadInput(problems)
    return {url: list(labels) for url, labels in found.items()}


def _view(target: Target) -> TargetView:
    return TargetView(
        id=target.id, url=target.url, enabled=target.enabled, labels=target.labels, added_at=target.added_at
    )
