"""`whet publish NAME...`: skills for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, short_revision

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The skills are validated strictly and scanned first. --git commits them to a repository: an address is pushed "
        "to, a working copy of yours gets a commit. --index writes a directory for any web server, with the "
        "index that clients look for under .well-known. --hub uploads a version to a Whet hub; WHET_HUB and "
        "WHET_HUB_TOKEN say who you are there."
    )
    parser.positional("names", "NAME", "The skills, or their directories.", many=True)
    parser.option("--git", metavar="REPO", default="", text="The address or the directory of a git repository.")
    parser.option("--index", metavar="DIR", default="", text="A directory that a web server serves.")
    parser.option("--hub", metavar="ADDRESS", default="", text="A hub.")
    parser.option("--owner", metavar="O", default="", text="Under which owner, on a hub.")
    parser.option("--branch", metavar="B", default="", text="To this branch (default: the repository's own).")
    parser.option("--into", metavar="PATH", default="skills", text="The directory in the repository (default skills).")
    parser.option("--message", metavar="M", default="", text="The commit's message.")
    parser.option("--prune", text="Remove from the web directory what its index names no more.")
    parser.option("--push", text="Push a commit in a working copy too.")
    parser.option("--no-push", text="Only tell what would change in the repository at an address.")


def run(context: Context, options: Namespace) -> Outcome:
    """Check, pack and publish them."""
    push = True if options.push else False if options.no_push else None
    paths = [context.locate(name) for name in options.names]
    answer = context.library.publish(
        *paths,
        git=options.git,
        index=options.index,
        hub=options.hub,
        owner=options.owner,
        branch=options.branch,
        into=options.into,
        message=options.message,
        push=push,
        prune=options.prune,
    )
    return Outcome(answer)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill."""
    for release in answer["releases"]:
        named = f"{release['name']} {release['version']}".rstrip()
        place = f"  {release['at']}" if answer["kind"] == "git" else ""  # elsewhere it is a name that nobody types
        screen.line(f"{release['change']:<10}{clean(named)}{clean(place)}")
    for path in answer.get("removed", ()):
        screen.line(f"{'removed':<10}{clean(path)}")
    for skill in answer["prepared"]:
        screen.said.extend(f"{skill['name']}: {problem['message']}" for problem in skill["problems"])
    target = screen.place(answer["target"])
    revision = f" ({short_revision(answer['revision'])})" if answer.get("revision") else ""
    if not answer["changed"]:
        screen.said.append(f"{target} has all of it already.")
    elif options.no_push:
        screen.said.append(f"{target} would change; nothing was sent.")
    elif answer["kind"] == "git" and not answer["pushed"]:
        screen.said.append(f"Committed to {target}{revision}; nothing was pushed.")
    else:
        screen.said.append(f"Published to {target}{revision}.")
        if answer["kind"] == "index":
            screen.hints.append(
                "Let a web server serve that directory; `whet install https://HOST` takes skills from it."
            )
    screen.said.extend(note["message"] for note in answer["notes"])
