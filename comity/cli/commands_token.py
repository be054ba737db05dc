"""`comity token`: who may call the ledger."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption

if TYPE_CHECKING:
    from blocks.clients.ledger import LedgerClient
    from comity.contract.identity import TokenView

token_app = typer.Typer(help="Tokens of people and programs that call the ledger.", no_args_is_help=True)

UrlOption = Annotated[
    str | None,
    typer.Option("--ledger-url", help="A ledger elsewhere, instead of the running stack's.", show_default=False),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option("--token-file", help="With --ledger-url: file with an admin's token.", show_default=False),
]
CaOption = Annotated[
    Path | None,
    typer.Option("--ca-file", help="With an https:// --ledger-url: its CA certificate (PEM).", show_default=False),
]


@token_app.command("create")
def create(  # noqa: PLR0917 - typer reads options from parameters
    subject: Annotated[str, typer.Argument(metavar="NAME", help="Who will show it.", show_default=False)],
    role: Annotated[str, typer.Option(help="viewer, submitter, admin; flows for flow runs.")],
    organization: Annotated[
        list[str] | None,
        typer.Option("--organization", help="Whose rows it opens; repeatable. What it starts is the first's."),
    ] = None,
    days: Annotated[int, typer.Option(help="How long it lasts.")] = 90,
    ledger_url: UrlOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token. It goes to standard output, this once: the ledger keeps a hash alone."""
    from pydantic import ValidationError

    from blocks.clients.errors import ServiceRefused
    from comity.contract.identity import CreateToken

    order = {"subject": subject, "role": role, "organizations": organization or [], "expires_in_days": days}
    try:
        wanted = CreateToken.model_validate(order)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{_option(str(problem['loc'][0]))}: {problem['msg'][:1].lower()}{problem['msg'][1:]}") from None
    with _ledger(data, ledger_url, token_file, ca_file) as ledger:
        try:
            created = ledger.create_token(wanted)
        except ServiceRefused as refusal:
            if refusal.status != 400:
                raise
            named = "; ".join(f"{_option(one.field)}: {one.message}" for one in refusal.fields)
            raise BadInput(named or refusal.message) from None
    if as_json:
        print(json.dumps(created.to_wire(), indent=2))
        return
    print(f"{_line(created.view)}; keep it: it is not shown again", file=sys.stderr)
    print(created.token)


@token_app.command("list")
def show(
    ledger_url: UrlOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tokens, newest first; never the tokens themselves."""
    with _ledger(data, ledger_url, token_file, ca_file) as ledger:
        tokens = ledger.tokens().tokens
    if as_json:
        print(json.dumps([token.to_wire() for token in tokens], indent=2))
        return
    for token in tokens:
        print(_line(token))
    if not tokens:
        print("no tokens; `comity token create NAME --role ROLE` makes one", file=sys.stderr)


@token_app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `comity token list` shows it.", show_default=False)],
    ledger_url: UrlOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaOption = None,
    data: DataOption = None,
) -> None:
    """Let nobody in with it any more, from now on."""
    from blocks.clients.errors import ServiceRefused

    with _ledger(data, ledger_url, token_file, ca_file) as ledger:
        try:
            ledger.revoke_token(token_id)
        except ServiceRefused as refusal:
            if refusal.status != 404:
                raise
            raise BadInput(f"no token {token_id}: `comity token list` shows them") from None
    print(f"{token_id} is revoked")


def _ledger(data: DataOption, url: str | None, token_file: Path | None, ca_file: Path | None) -> "LedgerClient":
    from comity.cli.ledger_access import client_at, operator_client
    from comity.cli.stack.remote import require_stack

    if url is None:
        if token_file is not None or ca_file is not None:
            raise BadInput("--token-file and --ca-file go with --ledger-url")
        folder = data_folder(data)
        return operator_client(folder, require_stack(folder))
    if token_file is None:
        raise BadInput("--ledger-url: give --token-file too, with an admin's token in it")
    return client_at(url, token_file, ca_file)


def _option(field: str) -> str:
    named = {"organizations": "--organization", "expires_in_days": "--days", "expiresInDays": "--days"}
    return {"subject": "NAME", "role": "--role"}.get(field, named.get(field.split(".", maxsplit=1)[0], field))


def _line(token: "TokenView") -> str:
    if token.revoked_at is not None:
        until = f"revoked {token.revoked_at:%Y-%m-%d %H:%M} UTC"
    elif token.expires_at <= datetime.now(UTC):
        until = f"expired {token.expires_at:%Y-%m-%d %H:%M} UTC"
    else:
        until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC"
    used = f"used {token.last_used_at:%Y-%m-%d %H:%M} UTC" if token.last_used_at else "never used"
    whose = ", ".join(token.organizations) or "all organisations"
    return f"{token.id}  {token.subject}  {token.role} of {whose}  {until}  {used}"
