"""Write the generated parts of the documentation again: pages made from tables, the output of sessions, pictures.

With `--check`, only say whether what is made from tables is up to date; the tests look at the sessions.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import life_picture
from catalogue import catalogue
from charts import CHARTS
from plot import PLOT, plot
from reference import api

from whet import errors
from whet.interfaces.cli.verbs import COMMANDS, all_commands, front_screen, parser_of
from whet.library.client_formats import READERS, Dropped
from whet.library.clients import CLIENTS
from whet.library.settings import SETTINGS
from whet.prompt.rendering import VARIABLES
from whet.skill.validate.quality import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.library.clients import Client

API = Path(__file__).parent / "api.md"
CLI = Path(__file__).parent / "cli.md"
SETTINGS_PAGE = Path(__file__).parent / "settings.md"
CODES = Path(__file__).parent / "codes.md"
CODES_DATA = Path(__file__).parent / "codes.toml"
LIBRARY = Path(__file__).parent / "library.md"
PROMPTS = Path(__file__).parent / "prompts.md"
RULES = Path(__file__).parent / "rules.md"
_GENERATED = re.compile(r"(<!-- generated: \w+ -->\n).*?(<!-- end -->)", re.DOTALL)


def cli() -> str:
    """The page about the command line, from the help of every command."""
    parts = [
        "# The command line",
        "Written from the help of every command; `make docs` writes it again.",
        _code(front_screen()),
        "`whet help all` lists every command:",
        _code(all_commands()),
        'Old names work until the next release, with a note. The names after "Also" work always.',
    ]
    for name, verb in COMMANDS.items():
        parts.append(f"## whet {name}")
        for label, spellings in (("Old names", verb.old), ("Also", verb.also)):
            words = [one.partition(" --")[0] for one in spellings]
            parts.extend([f"{label}: {', '.join(f'`whet {word}`' for word in words)}."] if words else [])
        parts.append(_code(parser_of(name)[0].format_help()))
    return "\n\n".join(parts) + "\n"


def settings() -> str:
    """The page about settings, with the table of all of them."""
    rows = ["| setting | kind | default | what it does |", "|---|---|---|---|"]
    for setting in SETTINGS:
        default = " ".join(setting.default) if isinstance(setting.default, tuple) else setting.default
        shown = f"`{str(default).lower() if isinstance(default, bool) else default}`" if default not in ("", {}) else ""
        rows.append(f"| `{setting.name}` | {setting.kind} | {shown} | {setting.help} |")
    table = "\n".join(rows)
    return _GENERATED.sub(rf"\g<1>{table}\n\2", SETTINGS_PAGE.read_text(encoding="utf-8"))


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


def library() -> str:
    """The page about libraries, with the table of what each measured client does."""
    measured = [client for client in CLIENTS if client.version]
    rows = [["case", *(client.title for client in measured)], ["---"] * (len(measured) + 1)]
    rows.extend([label, *map(said, measured)] for label, said in _BEHAVIOUR.items())
    rows.extend([label, *(_reading(client, text) for client in measured)] for label, text in _SAMPLES.items())
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return _GENERATED.sub(lambda found: f"{found[1]}{table}\n{found[2]}", LIBRARY.read_text(encoding="utf-8"))


_SAME = {"all": "lists both", "first": "first root wins", "last": "last root wins", "any": "any of them"}
_BEHAVIOUR: dict[str, Callable[[Client], str]] = {
    "version measured": lambda client: client.version,
    "reads `.agents/skills`": lambda client: _yes(".agents/skills" in client.project),
    "reads directories above a subdirectory": lambda client: _yes(client.up),
    "skill in a group folder": lambda client: _depth(client.depth),
    "skill inside a skill": lambda client: _yes(client.inside),
    "two skills with one name": lambda client: _SAME[client.same],
    "skill of a plugin": lambda client: (
        ("`plugin:skill`" if client.prefixed else "`skill`") if client.plugins else "not known"
    ),
    "`disable-model-invocation`": lambda client: "ignored" if client.ignores_users_only else "respected",
}
_TEXT = "---\n\n# A title\n\nThe text.\n"
_HEAD = "---\nname: folder\ndescription:"
_SAMPLES = {
    "colon in the description": f"{_HEAD} Use when: it fits\n{_TEXT}",
    "list that is not closed": f"{_HEAD} Words.\ntags: [a, b\n{_TEXT}",
    "`argument-hint: [file] [other]`": f"{_HEAD} Words.\nargument-hint: [file] [other]\n{_TEXT}",
    "no name": f"---\ndescription: Words.\n{_TEXT}",
    "name differs from the folder": f"---\nname: name\ndescription: Words.\n{_TEXT}",
    "no description": f"---\nname: folder\n{_TEXT}",
    "description of 2,000 characters": f"{_HEAD} {'x' * 2000}\n{_TEXT}",
    "byte order mark": f"\ufeff{_HEAD} Words.\n{_TEXT}",
}


def _depth(levels: int) -> str:
    return f"up to {levels} levels" if levels > 1 else _yes(not levels)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _reading(client: Client, text: str) -> str:
    """What the client makes of a SKILL.md in a folder called `folder`."""
    read = READERS[client.format](text.encode(), "folder")
    if isinstance(read, Dropped):
        return "drops"
    if read.cut:
        return f"cuts at {len(read.description):,}"
    if f"description: {read.description}\n" not in text:
        return f"describes it as `{read.description}`"
    if "name: folder" in text:
        return "loads"
    return f"uses the {read.name}"


def codes() -> str:
    """The page about every code: errors, notes and the findings of validation."""
    with CODES_DATA.open("rb") as file:
        data = tomllib.load(file)
    classes = [
        f"| `{name}` | {kind.__doc__} | {kind.exit_code} |"
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.WhetError) and kind is not errors.WhetError
    ]
    return "\n".join(
        (
            "# Codes",
            "",
            "Whatever Whet has to say carries a code that never changes. An **error** stops a command. A **note**",
            "stops nothing: it tells what was skipped, repaired, hidden or doubted. A **finding** is a rule of the",
            "format that `whet skill validate` checks. `make docs` writes this page from `docs/codes.toml`.",
            "",
            "## Errors",
            "",
            "Every failure that reaches a caller is a `WhetError`: a code, a sentence and a hint. With `--json` the",
            'answer is `{"success": false, "error", "code", "hint"}` and whatever else helps, such as `suggestions`',
            "or `candidates`. The class says who must act; in [Python](api.md#errors) it is what to catch.",
            "",
            "| class | meaning | exit |",
            "|---|---|---|",
            *classes,
            "",
            "A few codes are answers, not exceptions: `below-minimum`, `eval-skill-unknown`, `tests-failed`,",
            "`eval-worse`, `eval-incomplete` and `not-improved` come with `success: false` and exit code 1.",
            "",
            "| code | class | what it means | what to do |",
            "|---|---|---|---|",
            *(
                f"| `{code}` | {', '.join(row['class'])} | {row['meaning']} | {row['remedy']} |"
                for code, row in sorted(data["errors"].items())
            ),
            "",
            "## Notes",
            "",
            "An *error* means that something cannot be used, a *warning* that it was read in part or differently",
            "from what is written, an *info* that nothing was lost. `whet doctor` lists the notes about a library;",
            "`whet list --all` shows why a skill is hidden; other commands add theirs as `report` or `notes`. In",
            "Python each is a [`Note`](api.md). Where the reason is an error, the note carries its code.",
            "",
            "| code | severity | what it means | what to do |",
            "|---|---|---|---|",
            *(
                f"| `{code}` | {', '.join(row['severity'])} | {row['meaning']} | {row['remedy']} |"
                for code, row in sorted(data["notes"].items())
            ),
            "",
            "## Findings of validation",
            "",
            "The severity of a finding depends on the profile: only errors make a skill invalid. Problems of a",
            "package as a whole, such as a link that leaves it, appear under the codes of errors.",
            "",
            "Findings of the profile `quality` show an example of what to write; with `-v` each of them does.",
            "",
            "| code | meaning | example |",
            "|---|---|---|",
            *(
                f"| `{code}` | {meaning} | {EXAMPLES.get(code, '')} |"
                for code, meaning in sorted(data["findings"].items())
            ),
            "",
        )
    )


GENERATED = {
    API: api,
    CLI: cli,
    SETTINGS_PAGE: settings,
    PROMPTS: prompts,
    LIBRARY: library,
    CODES: codes,
    RULES: catalogue,
    PLOT: plot,
    life_picture.PICTURE: life_picture.picture,
    **CHARTS,
}
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
    from picture import PICTURE, picture
    from sessions import PAGES, rewritten

    for page, made in GENERATED.items():
        page.write_text(made(), encoding="utf-8")
    for page in PAGES:
        before, after = page.read_text(encoding="utf-8"), rewritten(page)
        if after != before:
            page.write_text(after, encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(check() if "--check" in sys.argv[1:] else write())
