"""Why the settings could not be read.

BlockUnreadable     missing, unreadable or invalid: named, with the command that creates it
"""

# ruff: noqa: N818 -- the name says what happened


class BlockUnreadable(Exception):
    """A Block that a run cannot do without. There is no fallback: a guessed address would be someone else's.

    `fix` is the next step: another one where Prefect gave no answer, for then nothing is known to be wrong with it.
    """

    def __init__(self, slug: str, why: str, *, answered: bool = True) -> None:
        self.slug = slug
        self.why = why
        self.fix = "create or repair it with: comity blocks init" if answered else "see Prefect's log, and try again"
        super().__init__(f"Block {slug} cannot be read: {why}; {self.fix}")
