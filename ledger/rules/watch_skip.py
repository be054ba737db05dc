"""Why a page that was skipped is due when it is, where that is not for its site to say."""

from comity.polite.rules.addresses import ALLOW_SETTING, DENY_SETTING

OURS_TO_OPEN = f"the workers' address policy keeps them away: {ALLOW_SETTING} or --allow-private HOST:PORT opens it"
NEVER_VISITED = f"the workers' address policy never visits it: it is this deployment's own, or closed by {DENY_SETTING}"


def because_of_us(reason: str) -> str | None:
    """A sentence for people where our own policy for addresses refused the page; None where something else did.

    `reason` is the worker's: refusals of addresses name the setting that refuses.
    """
    if ALLOW_SETTING in reason:
        return OURS_TO_OPEN
    return NEVER_VISITED if DENY_SETTING in reason else None
