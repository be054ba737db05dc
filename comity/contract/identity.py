"""Wire models of who may call the ledger: tokens, and what a sink answers to its own kind of them."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from comity.contract.wire import Answer, Instant, Request

Role = Literal["viewer", "submitter", "admin", "flows"]
"""`viewer` reads, `submitter` starts and cancels crawls and keeps targets, `admin` keeps scripts and tokens too.
`flows` is for flow runs: levels, results and the host gate, and nothing else."""

ORGANIZATION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$"
Organization = Annotated[str, Field(pattern=ORGANIZATION_PATTERN)]
Subject = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,57}$")]
"""Who shows a token: crawls are attributed to it. No colon: that marks subjects that an issuer vouches for."""

MAX_TOKEN_DAYS = 3650

SINK_TOKEN_MS = 3 * 3_600_000
"""How long the sink token of a work order lasts."""
SINK_RENEW_MS = 600_000
"""With less than this left the work order is fetched again: a page may wait so long for a free browser."""


class Me(Answer):
    """`GET /api/me`: whom the token speaks for."""

    subject: str
    organizations: list[str]
    can_submit: bool


class CreateToken(Request):
    """`POST /api/tokens`. `flows` tokens name no organisation: they serve the levels of all."""

    subject: Subject
    role: Role
    organizations: Annotated[list[Organization], Field(max_length=100)] = []
    expires_in_days: Annotated[StrictInt, Field(ge=1, le=MAX_TOKEN_DAYS)]


class TokenView(Answer):
    """A token without the token. What it starts belongs to the first organisation."""

    id: str
    subject: str
    role: Role
    organizations: list[str]
    created_by: str
    created_at: Instant
    expires_at: Instant
    last_used_at: Instant | None = None
    revoked_at: Instant | None = None


class TokenCreated(Answer):
    """The only answer that ever holds the token."""

    token: str
    view: TokenView


class TokenList(Answer):
    """Newest first."""

    tokens: list[TokenView]


class SinkStored(Answer):
    """`PUT /api/sink/{crawlId}/{filename}`: where the artifact lies."""

    location: str
