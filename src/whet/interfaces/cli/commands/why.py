"""`whet why NAME`: where a skill comes from, and who let it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.positional("name", "NAME", "The skill.")


def run(context: Context, options: Namespace) -> Outcome:
    """Look it up."""
    return Outcome(context.library.why(options.name))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A line for everything that is known."""
    screen.line(screen.paint(clean(answer["name"]), "bold"))
    screen.line(f"  at        {screen.place(answer['path'])} ({answer['scope']})")
    if entry := answer["installed"]:
        screen.line(f"  from      {clean(entry['shown'] or 'no source')}")
        if entry["revision"]:
            screen.line(f"  revision  {clean(entry['revision'])}")
        screen.line(f"  digest    {entry['digest']} ({plural(entry['files'], 'file')})")
        screen.line(f"  since     {entry['installed']}, last updated {entry['updated']}")
        screen.line(f"  trust     {entry['trust']}, {entry['verdict']} when it was scanned")
        if entry["edited"]:
            screen.line("  edited    it is not what was installed any more; `whet verify` shows the files")
        if entry["pinned"]:
            reason = "" if entry["pinned"] == "yes" else f": {entry['pinned']}"
            screen.line(f"  pinned    updates leave it alone{clean(reason)}")
    elif answer["history"]:
        made = answer["history"][0]
        screen.line(f"  made      {made['action']} by {clean(made['actor'])} on {made['time']}")
    elif answer["scope"] == "bundled":
        screen.line("  from      Whet itself")
    else:
        screen.line("  from      nobody knows: it lies there, and Whet has not changed it")
    if decision := answer["decision"]:
        screen.line(f"  decision  {decision['decision']} on {decision['time']}: {clean(decision['reason'])}")
