"""Write the generated parts of the documentation again: the page about the command line, and the output of sessions.

With `--check`, only tell whether the page about the command line is up to date; the tests look at the sessions.
"""

from __future__ import annotations

import sys
from pathlib import Path

from whet.interfaces.cli.overview import overview
from whet.interfaces.cli.run import parser_of
from whet.interfaces.cli.verbs import ALIASES, VERBS

CLI = Path(__file__).parent / "cli.md"


def cli() -> str:
    """The page about the command line, from the help of every command."""
    parts = [
        "# The command line",
        "Written from the help of every command; `make docs` writes it again.",
        _code(overview()),
    ]
    for name in VERBS:
        parts.append(f"## whet {name}")
        parts.extend(f"Also called `whet {alias}`." for alias, verb in ALIASES.items() if verb == name)
        parts.append(_code(parser_of(name)[0].format_help()))
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    return f"```text\n{text}```"


def check() -> int:
    """Compare."""
    if CLI.exists() and CLI.read_text(encoding="utf-8") == cli():
        return 0
    sys.stderr.write(f"{CLI.name} is not up to date; run `make docs`.\n")
    return 1


def write() -> int:
    """Write every page whose content changed."""
    from sessions import PAGES, rewritten

    CLI.write_text(cli(), encoding="utf-8")
    for page in PAGES:
        before, after = page.read_text(encoding="utf-8"), rewritten(page)
        if after != before:
            page.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(check() if "--check" in sys.argv[1:] else write())
