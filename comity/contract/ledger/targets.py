"""Capture targets: rows that crawls are started from."""

from typing import Annotated

from pydantic import Field, StrictBool

from comity.contract.wire import Answer, Instant, Request

Labels = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)]


class NewTarget(Request):
    url: str
    labels: Labels = []


class AddTargets(Request):
    """`POST /api/targets`. One unreadable URL adds none, and is named.

    Exactly one of `urls` and `targets`, which have labels of their own; `labels` go to each of them.
    """

    urls: Annotated[list[str], Field(min_length=1, max_length=10_000)] | None = None
    targets: Annotated[list[NewTarget], Field(min_length=1, max_length=10_000)] | None = None
    labels: Labels = []


class ChangeTarget(Request):
    """`PATCH /api/targets/{id}`."""

    enabled: StrictBool | None = None
    labels: Labels | None = None


class TargetView(Answer):
    id: str
    url: str
    enabled: bool
    labels: list[str]
    added_at: Instant


class TargetList(Answer):
    targets: list[TargetView]


class TargetsAdded(TargetList):
    """The rows of the URLs that were sent; `added` of them are new, the others stay as they were."""

    added: int
