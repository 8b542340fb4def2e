"""`whet keys ...` and `whet keys sign`: sign your skills, and choose which signatures to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError
from whet.interfaces.cli.arguments import nonempty
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.state import TrustedKey
    from whet.sources.keys import OwnKey, SignedSkill
    from whet.values import Json

_DEFAULT = "default"


class KeyList(NamedTuple):
    """Your keys, and trusted keys of others."""

    own: tuple[OwnKey, ...]
    trusted: tuple[TrustedKey, ...]

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        own = [{"name": each.name, "key": str(each.key), "path": each.path} for each in self.own]
        return {"success": True, "own": own, "trusted": [{"name": each.name, "key": each.key} for each in self.trusted]}


def configure_create(parser: Parser) -> None:
    parser.details = (
        "The private key stays in `keys/` in Whet's state directory. Keep a copy where nobody else can read it."
    )
    parser.positional("name", "NAME", "A name for the key (default: default).", optional=True)


def run_create(context: Context, options: Namespace) -> Answer:
    made = context.library.sources.create_key(options.name or _DEFAULT)
    return Answer(KeyList((made,), ()), render_created)


def render_created(keys: KeyList, screen: Screen, _options: Namespace) -> None:
    (made,) = keys.own
    screen.line(str(made.key))
    screen.say(f"Created the key {clean(made.name)} in {screen.place(made.path)}. The line above is its public half.")
    screen.hint("`whet keys sign NAME` signs a skill with it; give the public half to those who install your skills.")


def configure_list(parser: Parser) -> None:
    parser.details = "Whet never shows private keys."


def run_list(context: Context, _options: Namespace) -> Answer:
    return Answer(KeyList(*context.library.sources.keys()), render_list)


def render_list(keys: KeyList, screen: Screen, _options: Namespace) -> None:
    for own in keys.own:
        screen.line(f"{clean(own.name)}  {own.key}  (yours)")
    for other in keys.trusted:
        screen.line(f"{clean(other.name)}  {other.key}")
    if not keys.own and not keys.trusted:
        screen.say("You have no keys and trust none.")
        screen.hint("`whet keys create` makes one; `whet keys trust KEY NAME` trusts one.")


def configure_trust(parser: Parser) -> None:
    parser.details = (
        "With the setting `require_signature`, Whet installs skills from other machines only if a trusted key "
        "signed them. Accept a key only from a source that you would trust for the skill itself."
    )
    parser.positional("key", "KEY", "The public key, ed25519:BASE64, or an identity, sigstore:ISSUER#IDENTITY.")
    parser.positional("name", "NAME", "A name for its owner.")


def run_trust(context: Context, options: Namespace) -> Answer:
    done = context.library.sources.trust_key(options.key, nonempty(options.name))
    said = f"Whet trusts the signatures of {clean(options.name)} from now on." if done else "Whet already trusts them."
    return Answer(done, lambda _, screen, __: screen.say(said), key="changed")


def configure_untrust(parser: Parser) -> None:
    parser.positional("key", "KEY|NAME", "The key, or the name you gave it.")


def run_untrust(context: Context, options: Namespace) -> Answer:
    if not context.library.sources.untrust_key(options.key):
        hint = "`whet keys list` shows the keys you trust."
        raise NotFoundError("no-such-key", f"You do not trust a key {options.key}.", hint=hint)
    said = f"Whet no longer trusts the signatures of {clean(options.key)}."
    return Answer(True, lambda _, screen, __: screen.say(said), key="changed")


def configure_sign(parser: Parser) -> None:
    parser.details = (
        "Writes skill.oms.sig into the skill's directory, in the format of OpenSSF Model Signing. The signature "
        "covers every other file: sign again after you change one."
    )
    parser.positional("path", "PATH|NAME", "The skill, by path or by name.")
    parser.option("--key", metavar="NAME", default=_DEFAULT, text="Your key (default: default).")


def run_sign(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.sources.sign(context.locate(options.path), options.key), render_signed)


def render_signed(signed: SignedSkill, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.place(signed.path))
    screen.say(f"Signed {plural(signed.files, 'file')} with {signed.key}.")


COMMANDS = {
    "keys create": Command(configure_create, run_create),
    "keys list": Command(configure_list, run_list),
    "keys trust": Command(configure_trust, run_trust),
    "keys untrust": Command(configure_untrust, run_untrust),
    "keys sign": Command(configure_sign, run_sign),
}
