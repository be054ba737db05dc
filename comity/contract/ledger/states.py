"""The words for what a crawl, its pages and its runs can be, and limits that both sides keep."""

from typing import Literal

Scope = Literal["same-origin", "same-host", "same-domain", "prefix"]
CrawlState = Literal["running", "succeeded", "failed", "cancelled"]
PageState = Literal["pending", "captured", "failed", "skipped"]
StopReason = Literal["completed", "max_depth", "max_pages", "max_bytes", "no_space", "failed", "cancelled"]
RunOutcome = Literal["failed", "crashed", "stopped", "cancelled"]
"""`stopped`: its machine told the run's process to end, as an orderly stop of the stack does."""
AttemptEnd = Literal["crashed", "lost", "silent", "stopped", "unstored", "failed", "cancelled"]
"""How an attempt at a level ended that did not close it. After the first five the level is tried again.

`unstored`: every page had its turn, but what was captured of some did not reach us: no sink took it, or the answer of
the capture server was lost.
"""
MAX_REASON_CHARACTERS = 2000
"""A reason is cut to this by whoever sends it: a longer one would be refused, and the crawl stay running."""
NO_HEARTBEAT = "No heartbeat"
"""How the message of Prefect's automation begins that calls a silent run crashed: nobody has seen its process end, and
it may only be cut off."""
TOLD_TO_END = ("Execution was aborted by a termination signal", "Execution was aborted by an interrupt signal")
"""How Prefect's message begins for a run whose process got SIGTERM or SIGINT. One that was killed has another."""
MAX_HOST_DELAY_MS = 600_000
"""A host that asks for more rest than this is skipped, never visited sooner."""
