"""What a report of a visit means for its page: what counts as its outcome, and what is told."""

from dataclasses import dataclass

from comity.contract.watch import EventKind, Outcome


@dataclass(frozen=True)
class Known:
    """What is known of the page. `failures` are those in a row."""

    content_sha256: str | None
    failures: int
    failing_told: bool


@dataclass(frozen=True)
class Meaning:
    """`keep`: the content that came is what the page is compared with from now on."""

    outcome: Outcome
    failures: int
    failing_told: bool
    keep: bool
    event: EventKind | None


def judge(known: Known, outcome: Outcome, content_sha256: str | None, *, tell_after_failures: int) -> Meaning:
    """What the report means. A page that failed and was told to is told to have recovered, unless it has news."""
    if outcome == "failed":
        failures = known.failures + 1
        tell = failures >= tell_after_failures and not known.failing_told
        return Meaning("failed", failures, known.failing_told or tell, keep=False, event="failing" if tell else None)
    if outcome == "skipped":
        return Meaning("skipped", known.failures, known.failing_told, keep=False, event=None)
    counts = _counts(known.content_sha256, outcome, content_sha256)
    keep = content_sha256 is not None and content_sha256 != known.content_sha256
    event: EventKind | None = "recovered" if known.failing_told else None
    return Meaning(counts, 0, False, keep=keep, event="changed" if counts == "changed" else event)


def _counts(known: str | None, outcome: Outcome, content: str | None) -> Outcome:
    """A content that is the page's own already is no change; one that has nothing before it is the first."""
    if outcome == "not-modified" or content is None:
        return outcome
    if known is None:
        return "first"
    return "unchanged" if content == known else outcome
