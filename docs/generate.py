"""Write the generated parts of the documentation again: the pages made from tables, the output of sessions.

With `--check`, only tell whether the pages made from tables are up to date; the tests look at the sessions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from catalogue import catalogue
from reference import api

from whet.interfaces.cli.verbs import ALIASES, VERBS, overview, parser_of
from whet.library.settings import KNOBS
from whet.prompt.rendering import VARIABLES
from whet.skill.validate import CODES

API = Path(__file__).parent / "api.md"
CLI = Path(__file__).parent / "cli.md"
SETTINGS = Path(__file__).parent / "settings.md"
FINDINGS = Path(__file__).parent / "findings.md"
PROMPTS = Path(__file__).parent / "prompts.md"
RULES = Path(__file__).parent / "rules.md"
_GENERATED = re.compile(r"(<!-- generated: \w+ -->\n).*?(<!-- end -->)", re.DOTALL)


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


def settings() -> str:
    """The page about settings, with the table of all of them."""
    rows = ["| setting | kind | default | what it does |", "|---|---|---|---|"]
    for knob in KNOBS:
        default = " ".join(knob.default) if isinstance(knob.default, tuple) else knob.default
        shown = f"`{str(default).lower()}`" if default not in ("", {}) else ""
        rows.append(f"| `{knob.name}` | {knob.kind} | {shown} | {knob.help} |")
    table = "\n".join(rows)
    return _GENERATED.sub(rf"\g<1>{table}\n\2", SETTINGS.read_text(encoding="utf-8"))


def prompts() -> str:
    """The page about prompts, with the table of variables."""
    by_meaning: dict[str, list[str]] = {}
    for variable, field in VARIABLES.items():
        by_meaning.setdefault(field, []).append(f"`{variable}`")
    rows = ["| variable | stands for |", "|---|---|"]
    rows.extend(f"| {', '.join(names)} | {_MEANINGS[field]} |" for field, names in by_meaning.items())
    table = "\n".join(rows).replace("\\", r"\\")
    return _GENERATED.sub(rf"\g<1>{table}\n\2", PROMPTS.read_text(encoding="utf-8"))


_MEANINGS = {
    "skill_dir": "the skill's directory",
    "skill_name": "the skill's name",
    "session_id": "the session, when there is one",
    "project_dir": "the repository around the working directory, or that directory",
    "plugin_root": "the plugin's directory, for a plugin's skill",
    "plugin_data": "the plugin's data directory, when the client has one",
    "effort": "the skill's `effort`",
}


def findings() -> str:
    """The page about what `whet validate` can find."""
    rows = [f"| `{code}` | {sentence} |" for code, sentence in sorted(CODES.items())]
    return "\n".join(
        (
            "# Findings of validation",
            "",
            "What `whet validate` can say about a skill; `make docs` writes this page from the code. The severity of",
            "a finding depends on the profile: only errors make a skill invalid. Problems of a package as a whole,",
            "such as a link that leaves it, appear under the codes of [errors](errors.md).",
            "",
            "| code | meaning |",
            "|---|---|",
            *rows,
            "",
        )
    )


GENERATED = {API: api, CLI: cli, SETTINGS: settings, PROMPTS: prompts, FINDINGS: findings, RULES: catalogue}
"""Page -> what writes it."""


def _code(text: str) -> str:
    return f"```text\n{text}```"


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


def check() -> int:
    """Compare."""
    stale = [page.name for page, made in GENERATED.items() if _text(page) != made()]
    for name in stale:
        sys.stderr.write(f"{name} is not up to date; run `make docs`.\n")
    return 1 if stale else 0


def write() -> int:
    """Write every page whose content changed."""
    from sessions import PAGES, rewritten

    for page, made in GENERATED.items():
        page.write_text(made(), encoding="utf-8")
    for page in PAGES:
        before, after = page.read_text(encoding="utf-8"), rewritten(page)
        if after != before:
            page.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(check() if "--check" in sys.argv[1:] else write())
