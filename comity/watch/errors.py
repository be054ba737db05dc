"""What this room raises.

    WatchError
    ├── BadWatchSettings   a page's settings cannot work; names the field
    ├── QueueUnavailable   the queue could not be asked; a worker tries again
    ├── PageDropped        the lease of a page was lost: nothing about it may be sent or told
    └── WorkerHalted       the worker cannot go on, and says why

What a page's host does is never an exception here: it is an outcome.
"""


class WatchError(Exception):
    """Root of this room's errors."""


class BadWatchSettings(WatchError, ValueError):  # noqa: N818  says what is wrong
    """A page's settings cannot work. `field` is the setting's name on the wire, dotted, `reason` why it cannot."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.reason = message


class QueueUnavailable(WatchError):  # noqa: N818  as above
    """The queue did not answer, or not with what it should. The worker waits and asks again."""


class PageDropped(WatchError):  # noqa: N818  as above
    """The page is no longer this worker's."""


class WorkerHalted(WatchError):  # noqa: N818  as above
    """The worker cannot go on: the message says what to mend."""
