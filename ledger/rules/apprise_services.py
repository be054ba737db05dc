"""Which of Apprise's services a ledger sends by where nobody said otherwise."""

PUBLIC_SERVICES = (
    "discord",
    "gchat",
    "line",
    "opsgenie",
    "pagerduty",
    "pbul",
    "pover",
    "slack",
    "tgram",
    "wxteams",
)
"""Each is reached at one known place, by TLS. Others go wherever their URL says, inside too: deployments name them."""
