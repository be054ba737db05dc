"""What makes a level fail. A page's failure is never an exception here: it is a value in the report.

LevelError
├── StepFailed            `[step] message`: what the ledger and the Prefect UI are told
├── ServerUnavailable     no capture server takes the page in hand
├── HostNotFree           others had a host for longer than anyone may
└── LedgerUnavailable     the ledger does not take what we have to say
LeaseLost                 not a failure: the host was given to others while we waited, and is asked for again
Stopped                   not a failure: the level was told to stop, and a wait or a capture ended early
"""

# ruff: noqa: N818 -- the names say what happened, as the contract between the rooms words it

from flows.rules.reasons import step_reason


class LevelError(Exception):
    """Root: the level cannot go on."""


class StepFailed(LevelError):
    """A step of the level came to nothing. The text is `[step] message`, at most 2,000 characters on one line.

    `unexpected`: no part that is away or refuses, but a fault of this program, whose trace belongs into the log.
    """

    def __init__(self, step: str, message: str, *, unexpected: bool = False) -> None:
        self.step = step
        self.unexpected = unexpected
        super().__init__(step_reason(step, message))


class ServerUnavailable(LevelError):
    """No capture server can be reached, or none came free; each is quoted."""


class HostNotFree(LevelError):
    """It did not come to be our turn at a host within the budget. Its pages stay pending."""


class LedgerUnavailable(LevelError):
    """The ledger did not take a result within its budget; its last answer is quoted."""


class LeaseLost(Exception):
    """A lease ran out and another took the host. Nothing was sent to it since."""


class Stopped(Exception):
    """This level is to end. What is in hand stays pending."""
