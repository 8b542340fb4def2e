"""`whet hub ...`: make, serve and look after a registry of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount, number
from whet.interfaces.cli.text import clean, plural
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.hub.instance import HubCreated
    from whet.hub.registry import Hub
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


class TokenCreated(NamedTuple):
    """A token of a hub."""

    account: str
    token: str
    """Shown once."""
    scopes: tuple[str, ...]
    days: int

    def to_json(self) -> Json:
        """The answer as JSON carries it."""
        return answer_json(self)


class HubProof(NamedTuple):
    """A hub whose log and archives were read again."""

    directory: str
    entries: int
    """Of the log."""
    archives: int
    checkpoint: str

    def to_json(self) -> Json:
        """The answer as JSON carries it."""
        return answer_json(self)


def _directory(parser: Parser) -> None:
    parser.positional("directory", "DIR", "The hub's directory.")


def configure_init(parser: Parser) -> None:
    parser.details = "Prints the administrator's token once; the hub keeps only its hash."
    _directory(parser)
    parser.option("--origin", metavar="HOST", text="The host that people reach the hub by (default: localhost).")
    parser.option("--title", metavar="TEXT", default="Skills", text="What the hub is called.")
    parser.option("--private", text="Ask for a token even to read.")
    _storage_options(parser)


def _storage_options(parser: Parser) -> None:
    parser.option("--database", metavar="URL", text="A postgresql:// address (default: a file in DIR).")
    text = "Where archives go: a directory, `database` or s3://BUCKET/PREFIX."
    parser.option("--blobs", metavar="URL", text=text)


def run_init(_context: Context, options: Namespace) -> Answer:
    from whet.hub.instance import HubConfig, create_hub

    config = HubConfig(
        options.origin or "localhost", options.title, options.private, options.database or "", options.blobs or ""
    )
    return Answer(create_hub(options.directory, config), render_created)


def render_created(hub: HubCreated, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Created a hub in {clean(hub.directory)}.")
    screen.line(f"admin token  {hub.admin_token}")
    screen.line(f"log key      {hub.log_key}")
    screen.hint(f"Keep the token; it is not shown again. `whet hub serve {clean(hub.directory)}` starts the hub.")


def configure_serve(parser: Parser) -> None:
    parser.details = "Prints `listening on http://HOST:PORT` when it answers, and serves until it is stopped."
    _directory(parser)
    parser.option("--host", metavar="H", default="127.0.0.1", text="The address to listen on (default 127.0.0.1).")
    parser.option("--port", metavar="N", type=number, default=8765, text="The port (default 8765; 0: any free one).")
    parser.option("--check", text="Only open the hub, to see whether it can be served.")
    _storage_options(parser)


def run_serve(_context: Context, options: Namespace) -> Answer:
    from whet.hub.instance import serve

    hub = _open(options)
    if options.check:
        hub.close()
        return Answer(True, lambda _, screen, __: screen.say("The hub can be served."), key="success")
    serve(hub, options.host, options.port)
    return Answer(True, lambda *_: None, key="success")


def configure_token(parser: Parser) -> None:
    parser.details = (
        "Scopes: read, publish:OWNER, publish:OWNER/NAME, yank:OWNER, moderate, admin. An owner that a scope names is "
        "made if it does not exist."
    )
    _directory(parser)
    parser.positional("account", "ACCOUNT", "Who gets the token.")
    parser.option("--scope", metavar="S", action="append", default=[], text="What it allows; can be repeated.")
    parser.option("--days", metavar="N", type=amount, default=90, text="When it expires (default 90 days).")
    parser.option("--label", metavar="TEXT", default="", text="What it is for.")
    _storage_options(parser)


def run_token(_context: Context, options: Namespace) -> Answer:
    hub = _open(options)
    try:
        scopes = tuple(options.scope) or ("read",)
        token = hub.create_token(options.account, scopes, options.label, options.days)
        return Answer(TokenCreated(options.account, token, scopes, options.days), render_token)
    finally:
        hub.close()


def render_token(made: TokenCreated, screen: Screen, _options: Namespace) -> None:
    screen.line(made.token)
    allowed = ", ".join(made.scopes)
    screen.say(
        f"Created a token for {clean(made.account)} that allows {clean(allowed)} for {plural(made.days, 'day')}."
    )
    screen.hint("Keep the token; it is not shown again.")


def configure_revoke(parser: Parser) -> None:
    _directory(parser)
    parser.positional("account", "ACCOUNT", "Whose tokens.")
    _storage_options(parser)


def run_revoke(_context: Context, options: Namespace) -> Answer:
    hub = _open(options)
    try:
        return Answer(hub.revoke_tokens(options.account), render_revoked, key="revoked")
    finally:
        hub.close()


def render_revoked(count: int, screen: Screen, options: Namespace) -> None:
    screen.say(f"Revoked {plural(count, 'token')} of {clean(options.account)}.")


def configure_verify(parser: Parser) -> None:
    parser.details = "Reads the whole log and every archive again and compares them with what was signed."
    _directory(parser)
    _storage_options(parser)


def run_verify(_context: Context, options: Namespace) -> Answer:
    hub = _open(options)
    try:
        entries, archives = hub.verify()
        return Answer(HubProof(options.directory, entries, archives, hub.log.checkpoint()), render_verified)
    finally:
        hub.close()


def render_verified(proof: HubProof, screen: Screen, _options: Namespace) -> None:
    screen.say(f"The log is whole: {plural(proof.entries, 'entry')}, {plural(proof.archives, 'archive')}.")


def _open(options: Namespace) -> Hub:
    from whet.hub.instance import open_hub

    return open_hub(options.directory, database=options.database or "", blobs=options.blobs or "")


COMMANDS = {
    "hub init": Command(configure_init, run_init),
    "hub serve": Command(configure_serve, run_serve),
    "hub token": Command(configure_token, run_token),
    "hub revoke": Command(configure_revoke, run_revoke),
    "hub verify": Command(configure_verify, run_verify),
}
