"""`whet hub login`, `yank`, `deprecate` and so on: using a hub that somebody runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError
from whet.interfaces.cli.arguments import nonempty
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.terminal import can_ask, write
from whet.interfaces.cli.text import clean, plural
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.sources.model import Ref
    from whet.sources.registries.hub_client import Account, HubOwner, LogCheck, LoggedOut, TrustedPublisher

_SKILL = "The skill: OWNER/NAME, or hub:ADDRESS/OWNER/NAME."
_VERSION = "The version: OWNER/NAME@VERSION, or hub:ADDRESS/OWNER/NAME@VERSION."
_OWNER = "The owner: OWNER, or hub:ADDRESS/OWNER."
_LONGEST_TOKEN = 4096


class HubDone(NamedTuple):
    """An action on a hub."""

    hub: str
    skill: str
    version: str
    done: str
    """The action in a sentence."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


def _render_done(done: HubDone, screen: Screen, _options: Namespace) -> None:
    screen.say(clean(done.done))


def configure_login(parser: Parser) -> None:
    parser.details = (
        "Opens the hub's login page in your browser if the hub has one; otherwise asks for a token. Whet keeps the "
        "token in credentials.json in its state directory and sends it only to this hub. WHET_HUB and "
        "WHET_HUB_TOKEN take precedence."
    )
    parser.positional("address", "ADDRESS", "The hub, or the link of an invitation.")
    parser.option(
        "--token",
        metavar="TOKEN",
        read=nonempty,
        text="The token, which other users of this machine may see in the list of processes; - asks for it, even if "
        "the hub has a login page.",
    )
    parser.option("--token-stdin", text="Read the token from standard input.")
    parser.option("--account", metavar="NAME", read=nonempty, text="With an invitation: the account to create.")
    parser.exclude(("--token", "--token-stdin"))


def run_login(context: Context, options: Namespace) -> Answer:
    sources, address = context.library.sources, options.address
    if "/invitation#" in address:
        if not options.account:
            raise UsageError("usage", "The name of the account is missing.", hint="Pass --account NAME.")
        return Answer(sources.accept_invitation(address, options.account), render_account)
    if options.token_stdin:
        token = sys.stdin.readline(_LONGEST_TOKEN).strip() if sys.stdin else ""
    elif options.token not in (None, "-"):
        token = options.token.strip()
    elif not can_ask(options):
        hint = "Pass --token-stdin and the token on standard input."
        raise UsageError("usage", "There is no terminal to ask for the token.", hint=hint)
    elif not options.token and sources.hub(address).has_login_page():
        return Answer(sources.login_with_browser(address, _open_browser), render_account)
    else:
        from getpass import getpass

        token = getpass(f"Token for {address}: ").strip()
    if not token:
        raise UsageError("bad-token", "The token is empty.", hint="Ask the hub's operator for one.")
    return Answer(sources.login(address, token), render_account)


def _open_browser(address: str) -> None:
    import webbrowser

    write(f"Log in at this address:\n  {address}\n")
    webbrowser.open(address)


def render_account(account: Account, screen: Screen, _options: Namespace) -> None:
    allowed = ", ".join(account.scopes) or "nothing"
    screen.say(f"Logged in to {clean(account.hub)} as {clean(account.account)}: {clean(allowed)}.")


def configure_logout(parser: Parser) -> None:
    parser.details = "Also revokes the token on the hub."
    parser.positional("address", "ADDRESS", "The hub (default: the one you are logged in to).", optional=True)


def run_logout(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.sources.logout(options.address or ""), render_logout)


def render_logout(done: LoggedOut, screen: Screen, _options: Namespace) -> None:
    screen.say("Logged out." if done.logged_out else "You were not logged in.")
    if done.problem:
        screen.say(f"The hub may still accept the token: {clean(done.problem)}")


def configure_yank(parser: Parser) -> None:
    parser.details = (
        "The hub no longer offers a yanked version. You can install it only by its exact version; locks that name "
        "it still work."
    )
    parser.positional("place", "VERSION", _VERSION)
    parser.option("--reason", metavar="R", read=nonempty, text="The reason; everyone can see it.")
    parser.option("--undo", text="Offer the version again.")


def run_yank(context: Context, options: Namespace) -> Answer:
    ref = _read(context, options.place, version=True)
    if not options.undo and not options.reason:
        raise UsageError("usage", "The reason is missing.", hint="Pass `--reason R`; everyone can see it.")
    context.library.sources.hub(ref.location).yank(ref.path, ref.ref, None if options.undo else options.reason)
    verb = "is offered again" if options.undo else "was yanked"
    return Answer(HubDone(ref.location, ref.path, ref.ref, f"{ref.path} {ref.ref} {verb}."), _render_done)


def configure_deprecate(parser: Parser) -> None:
    parser.details = "Installing a deprecated skill still works; Whet warns and names the successor."
    parser.positional("skill", "SKILL", _SKILL)
    parser.option("--reason", metavar="R", default="", text="The reason; everyone can see it.")
    parser.option("--successor", metavar="SKILL", default="", text="The skill to use instead: OWNER/NAME.")
    parser.option("--archive", text="Mark it as no longer maintained, without a successor.")
    parser.option("--undo", text="Mark it as active again.")


def run_deprecate(context: Context, options: Namespace) -> Answer:
    ref = _read(context, options.skill)
    status = "active" if options.undo else "archived" if options.archive else "deprecated"
    hub = context.library.sources.hub(ref.location)
    hub.set_status(ref.path, status, successor=options.successor, reason=options.reason)
    return Answer(HubDone(ref.location, ref.path, "", f"{ref.path} is {status}."), _render_done)


def configure_report(parser: Parser) -> None:
    parser.details = "The hub's moderators see the report; `docs/hub.md` says what they can do."
    parser.positional("skill", "SKILL", "The skill or the version: OWNER/NAME or OWNER/NAME@VERSION.")
    parser.option("--reason", metavar="R", read=nonempty, text="What is wrong with it.")


def run_report(context: Context, options: Namespace) -> Answer:
    ref = _read(context, options.skill)
    if not options.reason:
        raise UsageError(
            "usage", "The reason is missing.", hint="Pass `--reason R` and say what is wrong with the skill."
        )
    context.library.sources.hub(ref.location).report(ref.path, ref.ref, options.reason)
    return Answer(HubDone(ref.location, ref.path, ref.ref, f"Reported {ref.path}. Thank you."), _render_done)


def configure_owner(parser: Parser) -> None:
    parser.details = (
        "Shows the tier of an owner, how the owner got it, and what the owner has proved. --prove asks the hub to "
        "look for the line whet-owner=HUB/OWNER in the TXT record of _whet.DOMAIN, or in the file .whet-owner of a "
        "repository; it is for the owner's admins. --tier is for admins of the hub."
    )
    parser.positional("owner", "OWNER", _OWNER)
    parser.option("--prove", metavar="KIND:VALUE", text="dns:DOMAIN, github:REPOSITORY or gitlab:REPOSITORY.")
    parser.option("--tier", metavar="T", choices=("community", "verified", "official"), text="A new tier.")
    parser.option("--reason", metavar="R", default="", text="Why the tier changes; everyone can see it.")
    parser.exclude(("--prove", "--tier"))


def run_owner(context: Context, options: Namespace) -> Answer:
    ref = _read(context, options.owner)
    hub = context.library.sources.hub(ref.location)
    if options.prove:
        kind, _, value = options.prove.partition(":")
        hub.prove(ref.path, kind, value)
    if options.tier:
        hub.set_tier(ref.path, options.tier, options.reason)
    return Answer(hub.owner(ref.path), render_owner)


def render_owner(found: HubOwner, screen: Screen, _options: Namespace) -> None:
    won = f": {clean(found.won)}" if found.won else ""
    screen.line(f"{clean(found.owner)} is {clean(found.tier)}{won}")
    for proof in found.proofs:
        screen.line(f"  proved {clean(proof.kind)}:{clean(proof.value)} on {clean(proof.proved[:10])}")


def configure_publisher(parser: Parser) -> None:
    parser.details = (
        "Lists the repositories whose workflows may publish for an owner without a stored secret. --add allows another "
        "repository. It needs the numeric IDs of the repository and of its owner, because someone else can take over a "
        "name: `gh api repos/OWNER/REPO --jq '.id, .owner.id'`; on GitLab, the project ID and the ID of its group."
    )
    parser.positional("owner", "OWNER", _OWNER)
    parser.option("--add", metavar="PLATFORM:REPO", text="github:ORG/REPO or gitlab:GROUP/PROJECT.")
    parser.option("--repository-id", metavar="N", default="", text="The repository's numeric ID on the platform.")
    parser.option("--owner-id", metavar="N", default="", text="The numeric ID of its owner or group on the platform.")
    parser.option("--workflow", metavar="FILE", default="", text="Allow only this workflow, such as release.yml.")
    parser.option("--environment", metavar="E", default="", text="Allow only jobs of this environment.")
    parser.option("--ref", metavar="PATTERN", default="", text="Allow only these refs, such as refs/tags/v*.")
    parser.option(
        "--skill",
        metavar="NAME",
        default="",
        text="Allow only this skill of the owner; it does not have to exist yet.",
    )
    parser.option("--remove", metavar="N", read=amount, text="Stop trusting the repository with this ID.")
    parser.exclude(("--add", "--remove"))


def run_publisher(context: Context, options: Namespace) -> Answer:
    ref = _read(context, options.owner)
    hub = context.library.sources.hub(ref.location)
    if options.add:
        from whet.sources.registries.hub_client import TrustedPublisher

        provider, _, repository = options.add.partition(":")
        numbers = options.repository_id, options.owner_id
        limits = options.workflow, options.environment, options.ref, options.skill
        hub.add_publisher(ref.path, TrustedPublisher(provider, repository, *numbers, *limits))
    if options.remove:
        hub.remove_publisher(ref.path, options.remove)
    return Answer(hub.publishers(ref.path), render_publishers, key="publishers")


def render_publishers(found: tuple[TrustedPublisher, ...], screen: Screen, _options: Namespace) -> None:
    rows = [
        (
            str(row.id),
            f"{row.provider}:{row.repository}",
            row.name or "every skill",
            ", ".join(filter(None, (row.workflow, row.environment, row.ref))) or "every workflow",
            row.used[:10] or "never",
        )
        for row in found
    ]
    if rows:
        screen.table(("NUMBER", "REPOSITORY", "SKILL", "ONLY", "USED"), rows)
    else:
        screen.say("No repository may publish without a token.")


def configure_pin(parser: Parser) -> None:
    parser.details = (
        "Whet remembers the key that a hub shows at the first contact, and refuses the hub if the key changes. Use "
        "this command if the hub's operator gave you the key or announced a new one."
    )
    parser.positional("address", "ADDRESS", "The hub.")
    parser.positional("key", "KEY", "The key of its log: NAME+0123abcd+BASE64.")


def run_pin(context: Context, options: Namespace) -> Answer:
    context.library.sources.pin_hub(options.address, options.key)
    done = HubDone(options.address, "", "", f"The log of {options.address} must be signed with this key from now on.")
    return Answer(done, _render_done)


def configure_check(parser: Parser) -> None:
    parser.details = (
        "Compares the hub's current log with what you and your locks have seen of it before. A hub that shows "
        "different logs to different people fails."
    )
    parser.positional("address", "ADDRESS", "The hub (default: the one you are logged in to).", optional=True)


def run_check(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.sources.check_hub(options.address or ""), render_check)


def render_check(check: LogCheck, screen: Screen, _options: Namespace) -> None:
    count = plural(check.entries, "entry")
    if check.known:
        screen.say(f"The log of {clean(check.hub)} has {count} and continues the {check.known} that were seen before.")
    else:
        screen.say(f"The log of {clean(check.hub)} has {count}. This was the first look at it.")
    screen.line(f"key  {check.key}")


def _read(context: Context, text: str, *, version: bool = False) -> Ref:
    ref = context.library.sources.hub_ref(text)
    if not ref.path or (version and not ref.ref):
        raise UsageError("usage", f"{text} does not name a {'version' if version else 'skill'}.", hint=_VERSION)
    return ref


COMMANDS = {
    "hub login": Command(configure_login, run_login),
    "hub logout": Command(configure_logout, run_logout),
    "hub yank": Command(configure_yank, run_yank),
    "hub deprecate": Command(configure_deprecate, run_deprecate),
    "hub owner": Command(configure_owner, run_owner),
    "hub publisher": Command(configure_publisher, run_publisher),
    "hub report": Command(configure_report, run_report),
    "hub pin": Command(configure_pin, run_pin),
    "hub check": Command(configure_check, run_check),
}
