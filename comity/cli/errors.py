"""What a person at the command line is told when something cannot be done.

CliError                a part failed or refused: exit 1
├── BadInput            what was typed cannot be meant: exit 2, and nothing was started
├── StackError          the embedded stack did not start or did not stay up
│   ├── AlreadyRunning  another supervisor holds the data folder
│   └── PortTaken       a kept port belongs to someone else
└── NoStack             a command needs a running stack and there is none
"""

# ruff: noqa: N818 -- the names say what happened


class CliError(Exception):
    """One line that says what happened and the next step."""

    exit_code = 1


class BadInput(CliError):
    exit_code = 2


class StackError(CliError):
    pass


class AlreadyRunning(StackError):
    pass


class PortTaken(StackError):
    pass


class NoStack(CliError):
    pass
