"""`whet hub ...`: create, serve and maintain a registry of skills."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount, number
from whet.interfaces.cli.text import clean, plural
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.hub.accounts import Invitation
    from whet.hub.bundles import Exported, Imported
    from whet.hub.instance import HubCreated
    from whet.hub.mirrors import MirrorState
    from whet.hub.registry import Hub
    from whet.hub.requests import Route
    from whet.hub.rescans import Rescanned
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser


class TokenCreated(NamedTuple):
    """A token of a hub."""

    account: str
    token: str
    """Shown only once."""
    scopes: tuple[str, ...]
    days: int

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class MemberSet(NamedTuple):
    """The current role of an account."""

    account: str
    owner: str
    """The owner; "" for the hub itself."""
    role: str
    """The role; "" for none."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class HubProof(NamedTuple):
    """The result of reading a hub's log and archives again."""

    directory: str
    entries: int
    """Number of log entries."""
    archives: int
    checkpoint: str

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


def _directory(parser: Parser) -> None:
    parser.positional("directory", "DIR", "The hub's directory.")


def configure_init(parser: Parser) -> None:
    parser.details = "Prints the administrator's token once; the hub keeps only its hash."
    _directory(parser)
    parser.option("--origin", metavar="HOST", text="The hub's host name (default: localhost).")
    parser.option("--title", metavar="TEXT", default="Skills", text="The hub's name.")
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
    parser.details = (
        "Prints `listening on http://HOST:PORT` when it is ready, and serves until you stop it. With the extra `ui`, "
        "the same address has pages for people."
    )
    _directory(parser)
    parser.option("--host", metavar="H", default="127.0.0.1", text="The address to listen on (default 127.0.0.1).")
    parser.option("--port", metavar="N", read=number, default=8765, text="The port (default 8765; 0: any free one).")
    parser.option("--check", text="Only check that Whet can open the hub and its archives.")
    _storage_options(parser)


def run_serve(_context: Context, options: Namespace) -> Answer:
    from whet.hub.instance import serve

    if options.check:
        with closing(_open(options)) as hub:
            hub.blobs.check()
        return Answer(True, lambda _, screen, __: screen.say("The hub is ready to serve."), key="success")
    serve(_open(options), options.host, options.port, _pages())
    return Answer(True, lambda *_: None, key="success")


def _pages() -> Sequence[Route]:
    """Return the human-readable pages; empty if their dependencies are not installed."""
    try:
        from whet.web.hub.app import ROUTES
    except ImportError:
        return ()
    return ROUTES


def configure_token(parser: Parser) -> None:
    parser.details = (
        "Scopes: read, publish:OWNER, publish:OWNER/NAME, yank:OWNER, moderate, admin. If a scope names an owner "
        "that does not exist, the command creates it."
    )
    _directory(parser)
    parser.positional("account", "ACCOUNT", "The account that gets the token.")
    parser.option("--scope", metavar="S", many=True, default=[], text="What it allows; can be repeated.")
    parser.option("--days", metavar="N", read=amount, default=90, text="Days until it expires (default 90).")
    parser.option("--label", metavar="TEXT", default="", text="What the token is for.")
    _storage_options(parser)


def run_token(_context: Context, options: Namespace) -> Answer:
    with closing(_open(options)) as hub:
        scopes = tuple(options.scope) or ("read",)
        token = hub.create_token(options.account, scopes, options.label, options.days)
        return Answer(TokenCreated(options.account, token, scopes, options.days), render_token)


def render_token(made: TokenCreated, screen: Screen, _options: Namespace) -> None:
    screen.line(made.token)
    allowed = ", ".join(made.scopes)
    screen.say(
        f"Created a token for {clean(made.account)} that allows {clean(allowed)} for {plural(made.days, 'day')}."
    )
    screen.hint("Keep the token; it is not shown again.")


def configure_revoke(parser: Parser) -> None:
    _directory(parser)
    parser.positional("account", "ACCOUNT", "The account whose tokens to revoke.")
    _storage_options(parser)


def run_revoke(_context: Context, options: Namespace) -> Answer:
    with closing(_open(options)) as hub:
        count = hub.revoke_tokens(options.account)
        if not count:
            hint = "Check the name of the account."
            raise NotFoundError("no-such-token", f"There is no account {options.account!r} with a token.", hint=hint)
        return Answer(count, render_revoked, key="revoked")


def render_revoked(count: int, screen: Screen, options: Namespace) -> None:
    screen.say(f"Revoked {plural(count, 'token')} of {clean(options.account)}.")


def configure_member(parser: Parser) -> None:
    parser.details = (
        "Roles of an owner: reader (sees its private skills), publisher (publishes and yanks) and admin (also "
        "manages members). Roles of the hub, without --owner: moderator and admin. The command creates an account "
        "or owner that does not exist."
    )
    _directory(parser)
    parser.positional("account", "ACCOUNT", "The account that gets or loses the role.")
    parser.option("--owner", metavar="OWNER", default="", text="The owner the role is for (default: the whole hub).")
    parser.option("--role", metavar="ROLE", default="", text="The role; without it, the account loses its role.")
    _storage_options(parser)


def run_member(_context: Context, options: Namespace) -> Answer:
    from whet.hub.members import set_hub_role, set_member
    from whet.hub.tokens import OPERATOR

    with closing(_open(options)) as hub:
        if options.owner:
            set_member(hub, OPERATOR, options.owner, options.account, options.role, create=True)
        else:
            set_hub_role(hub, OPERATOR, options.account, options.role, create=True)
        return Answer(MemberSet(options.account, options.owner, options.role), render_member)


def render_member(done: MemberSet, screen: Screen, _options: Namespace) -> None:
    of = clean(done.owner) or "the hub"
    role = f"now has the role {clean(done.role)} for {of}" if done.role else f"no longer has a role for {of}"
    screen.say(f"{clean(done.account)} {role}.")


def configure_invite(parser: Parser) -> None:
    parser.details = (
        "The link works once. The person who opens it gets an account with the role. The command creates an owner "
        "that does not exist."
    )
    _directory(parser)
    parser.option("--owner", metavar="OWNER", default="", text="The owner the role is for (default: the whole hub).")
    parser.option("--role", metavar="ROLE", default="", text="The role; `whet hub member --help` lists them.")
    parser.option("--days", metavar="N", read=amount, default=7, text="Days until it expires (default 7).")
    _storage_options(parser)


def run_invite(_context: Context, options: Namespace) -> Answer:
    from whet.hub.accounts import invite
    from whet.hub.tokens import OPERATOR

    with closing(_open(options)) as hub:
        made = invite(hub, OPERATOR, options.owner, options.role, options.days, create=True)
        return Answer(made, render_invitation)


def render_invitation(made: Invitation, screen: Screen, options: Namespace) -> None:
    screen.line(made.link)
    screen.say(f"The link works once, for {plural(options.days, 'day')}.")


def configure_queue(parser: Parser) -> None:
    parser.details = (
        "Lists the cases that moderators have to decide: findings of the guard, reports and appeals. With --case, "
        "it decides one and writes the decision and its reason into the log."
    )
    _directory(parser)
    parser.option("--closed", text="List decided cases.")
    parser.option("--limit", metavar="N", read=amount, default=20, text="Show at most N cases (default 20).")
    parser.option("--case", metavar="N", read=amount, text="Decide this case.")
    parser.option("--decision", metavar="D", default="", text="quarantine, release or dismiss.")
    parser.option("--reason", metavar="TEXT", default="", text="Why, in a sentence.")
    _storage_options(parser)


def run_queue(_context: Context, options: Namespace) -> Answer:
    from whet.hub.moderation import decide, list_queue
    from whet.hub.tokens import OPERATOR

    with closing(_open(options)) as hub:
        if options.case:
            decided = decide(hub, OPERATOR, options.case, options.decision, options.reason)
            return Answer({"cases": [decided], "next": None}, render_queue)
        return Answer(list_queue(hub, OPERATOR, closed=options.closed, limit=options.limit), render_queue)


def render_queue(found: Json, screen: Screen, _options: Namespace) -> None:
    for case in found["cases"]:
        _show_case(case, screen)
    if not found["cases"]:
        screen.say("No cases.")


def _show_case(case: Json, screen: Screen) -> None:
    place = f"{case['owner']}/{case['name']} {case['version']}"
    screen.line(f"{case['id']}  {clean(place)}  {case['cause']}: {clean(case['text'])}")
    for told in case["reports"]:
        screen.line(f"    {clean(told['account'])}: {told['kind']}: {clean(told['text'])}")
    if decided := case["decided"]:
        screen.line(f"    {decided['decision']} by {clean(decided['by'])}: {clean(decided['reason'])}")


def configure_rescan(parser: Parser) -> None:
    parser.details = (
        "Scans every version that has not been scanned with the current rules. It keeps old verdicts, writes "
        "changed verdicts into the log, quarantines versions that are now dangerous and adds them to the queue. A "
        "running hub does this automatically."
    )
    _directory(parser)
    _storage_options(parser)


def run_rescan(_context: Context, options: Namespace) -> Answer:
    from whet.hub.rescans import Rescan

    with closing(_open(options)) as hub:
        return Answer(Rescan(hub).run(), render_rescanned)


def render_rescanned(done: Rescanned, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Scanned {plural(done.scanned, 'version')} by {done.ruleset}: {done.changed} changed.")
    if done.dangerous or done.held:
        screen.line(f"{done.dangerous} dangerous, {done.held} not scanned")
        screen.hint("`whet hub queue` lists them.")


def configure_mirror(parser: Parser) -> None:
    parser.details = (
        "With URL, fetches the skills that this hub does not have from another hub or, with --owner, from a site with "
        "/.well-known/agent-skills. Without URL, lists the mirrors and their state."
    )
    _directory(parser)
    parser.positional("url", "URL", "The hub or site to mirror.", optional=True)
    parser.option("--owner", metavar="OWNER", default="", text="Mirror a site, and put its skills under this owner.")
    parser.option("--prefix", metavar="TEXT", default="", text="A prefix for the names of the other hub's owners.")
    text = "Mirror only this owner of the other hub; can be repeated."
    parser.option("--only", metavar="OWNER", many=True, default=[], text=text)
    parser.option(
        "--key", metavar="KEY", default="", text="The key of the other hub's log (default: the key it shows now)."
    )
    _storage_options(parser)


def run_mirror(_context: Context, options: Namespace) -> Answer:
    from whet.hub.instance import add_mirror
    from whet.hub.mirrors import Mirrors
    from whet.hub.settings import Mirror

    with closing(_open(options)) as hub:
        if options.url:
            kind = "site" if options.owner else "hub"
            mirror = Mirror(options.url, kind, options.owner, options.prefix, tuple(options.only), options.key)
            add_mirror(options.directory, hub, mirror)
        with closing(Mirrors(hub)) as mirrors:
            return Answer(mirrors.states(), render_mirrors, key="mirrors")


def render_mirrors(found: tuple[MirrorState, ...], screen: Screen, options: Namespace) -> None:
    for state in found:
        screen.line(f"{clean(state.url)}  {plural(state.skills, 'skill')}, {plural(state.versions, 'version')}")
        if state.key:
            screen.line(f"    log key {clean(state.key)}")
        if state.problem:
            screen.line(f"    {clean(state.problem)}")
    if not found:
        screen.say("No mirrors.")
    if options.url:
        screen.hint("Restart the hub to use the mirror.")


def configure_export(parser: Parser) -> None:
    parser.details = (
        "Writes everything public into one file for `whet hub import` on a hub without a network: the versions, "
        "their archives and their proofs."
    )
    _directory(parser)
    parser.option("--to", metavar="FILE", default="", text="The file to write, such as hub.tar.")
    parser.option(
        "--skills", metavar="OWNER/NAME", many=True, default=[], text="Export only this skill; can be repeated."
    )
    text = "Export only what is new since this earlier export or checkpoint file."
    parser.option("--since", metavar="FILE", default="", text=text)
    _storage_options(parser)


def run_export(_context: Context, options: Namespace) -> Answer:
    from whet.hub.bundles import export_bundle

    if not options.to:
        raise UsageError("usage", "--to is missing.", hint="Name the file to write: --to hub.tar")
    with closing(_open(options)) as hub:
        made = export_bundle(hub, options.to, skills=tuple(options.skills), since=options.since)
        return Answer(made, render_exported)


def render_exported(made: Exported, screen: Screen, _options: Namespace) -> None:
    what = f"{plural(made.versions, 'version')} of {plural(made.skills, 'skill')}"
    screen.say(f"Wrote {what} to {screen.place(made.path)}.")


def configure_import(parser: Parser) -> None:
    parser.details = (
        "Checks a file from `whet hub export`, without a network: the signature of the log, the proof and the "
        "bytes of every version. Then it scans and stores what is new. Importing the same file again is safe."
    )
    _directory(parser)
    parser.positional("file", "FILE", "The file that `whet hub export` wrote.")
    parser.option(
        "--key", metavar="KEY", default="", text="The key of the other hub's log, if this hub does not know it."
    )
    _storage_options(parser)


def run_import(_context: Context, options: Namespace) -> Answer:
    from whet.hub.bundles import import_bundle

    with closing(_open(options)) as hub:
        return Answer(import_bundle(hub, options.file, options.key), render_imported)


def render_imported(done: Imported, screen: Screen, _options: Namespace) -> None:
    new, acts = plural(done.versions, "new version"), plural(done.acts, "other change")
    screen.say(f"Imported {new} and {acts} from {clean(done.url)}; {done.known} already existed.")
    for line in done.refused:
        screen.line(f"refused  {clean(line)}")


def configure_verify(parser: Parser) -> None:
    parser.details = "Reads the whole log and every archive again and compares them with what was signed."
    _directory(parser)
    _storage_options(parser)


def run_verify(_context: Context, options: Namespace) -> Answer:
    with closing(_open(options)) as hub:
        entries, archives = hub.verify()
        return Answer(HubProof(options.directory, entries, archives, hub.log.checkpoint()), render_verified)


def render_verified(proof: HubProof, screen: Screen, _options: Namespace) -> None:
    screen.say(f"The log is intact: {plural(proof.entries, 'entry')}, {plural(proof.archives, 'archive')}.")


def _open(options: Namespace) -> Hub:
    from whet.hub.instance import open_hub

    return open_hub(options.directory, database=options.database or "", blobs=options.blobs or "")


COMMANDS = {
    "hub init": Command(configure_init, run_init),
    "hub serve": Command(configure_serve, run_serve),
    "hub token": Command(configure_token, run_token),
    "hub revoke": Command(configure_revoke, run_revoke),
    "hub member": Command(configure_member, run_member),
    "hub invite": Command(configure_invite, run_invite),
    "hub queue": Command(configure_queue, run_queue),
    "hub rescan": Command(configure_rescan, run_rescan),
    "hub mirror": Command(configure_mirror, run_mirror),
    "hub export": Command(configure_export, run_export),
    "hub import": Command(configure_import, run_import),
    "hub verify": Command(configure_verify, run_verify),
}
