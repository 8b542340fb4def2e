"""Skills that clients disagree about, and what the clients listed of them (`edge_cases.json`).

`build_world` writes them below a home and a project: the cases into the first directory of a client, and into every
directory that some client reads one skill of its own and one that is called the same everywhere.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from whet.library.client_lists import list_for
from whet.library.clients import CLIENTS
from whet.library.roots import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.library.clients import Client

MEASURED = [client for client in CLIENTS if client.version]
RECORDED = Path(__file__).with_suffix(".json")
Rows = list[tuple[str, str]]


def skill(name: str | None, description: str | None, extra: str = "", body: str = "Do it.\n") -> str:
    """A SKILL.md; what is None is left out."""
    given = {"name": name, "description": description}
    lines = [f"{key}: {value}" for key, value in given.items() if value is not None]
    return "\n".join(["---", *lines, *filter(None, [extra]), "---", "", body])


_MAIN: dict[str, str | bytes] = {
    "plain": skill("plain", "Plain words."),
    "quoted": skill("quoted", '"Use when: it is quoted"'),
    "single-quoted": skill("single-quoted", "'It''s quoted'"),
    "no-name": skill(None, "It has no name."),
    "empty-name": skill("", "Its name is empty."),
    "no-description": skill("no-description", None),
    "empty-description": skill("empty-description", ""),
    "blank-description": skill("blank-description", '"  "'),
    "no-description-title": skill("no-description-title", None, body="# A title\n\nThe first\nparagraph.\n"),
    "folder-name": skill("other-name", "Its name differs from its folder."),
    "long-name": skill("n" * 70, "A name of seventy letters."),
    "name-64": skill("m" * 64, "A name of sixty-four letters."),
    "long-description": skill("long-description", "x" * 1100),
    "exact-description": skill("exact-description", "y" * 1024),
    "huge-description": skill("huge-description", "z" * 1700),
    "bom": b"\xef\xbb\xbf" + skill("bom", "It begins with a byte order mark.").encode(),
    "crlf": skill("crlf", "Lines end as on Windows.").replace("\n", "\r\n"),
    "latin": skill("latin", "Caf\u00e9 in Latin 1.").encode("latin-1"),
    "no-frontmatter": "# A title\n\nThe first paragraph.\n",
    "empty": "",
    "unclosed": "---\nname: unclosed\ndescription: The frontmatter never ends.\n",
    "late": "\n" + skill("late", "A blank line comes first."),
    "spaced-fence": skill("spaced-fence", "The fence has a space after it.").replace("---\n", "--- \n", 1),
    "indented-fence": " " + skill("indented-fence", "The fence is indented."),
    "four-dashes": skill("four-dashes", "The fence has four dashes.").replace("---\n", "----\n"),
    "dashes-inside": skill("dashes-inside", "Before --- after."),
    "capital-keys": "---\nName: capital-keys\nDescription: Keys with capitals.\n---\nText.\n",
    "only-text": "---\njust text\n---\nBody text\n",
    "only-list": "---\n- a\n- b\n---\nBody text\n",
    "group/nested": skill("nested", "It lies in a group."),
    "plain/inner": skill("inner", "It lies in a skill."),
    ".dotted": skill("dotted", "Its folder begins with a dot."),
    "node_modules": skill("modules", "Its folder is node_modules."),
    "node_modules/packed": skill("packed", "It lies in node_modules."),
    "a/b/c/d/e/f": skill("depth-six", "Six deep."),
    "g/h/i/j/k/l/m": skill("depth-seven", "Seven deep."),
    "twin-one": skill("twin", "The first twin."),
    "twin-two": skill("twin", "The second twin."),
}
_DESCRIPTIONS = {
    "colon": "Use when: the text has a colon",
    "colon-end": "Ends in a colon:",
    "colon-tab": "a:\tb",
    "comment": "Before # after",
    "comment-colon": "x: #y",
    "angle": "Uses <b>bold</b> & ampersands.",
    "apostrophe": "it's: fine",
    "backslash": "back\\slash: x",
    "broken-list": "[never closed",
    "broken-quote": '"never closed',
    "broken-map": "{never closed",
    "quote-tail": '"Quoted" and more',
    "list": "[one, two]",
    "two-lists": "[one] [two]",
    "list-tail": "[one, two] and more",
    "map": "{one: two}",
    "number": "42",
    "bool": "true",
    "date": "2024-01-01",
    "null": "null",
    "anchor": "&a Anchored.",
    "starred": "*bold* words.",
    "at-sign": "@file at the start",
    "percent": "%d at the start",
    "backtick": "`code` at the start",
    "bang": "!important words",
    "dash": "- a dash first",
    "question": "? question",
    "folded": ">\n  Two lines\n  become one.",
    "literal": "|\n  Two lines\n  stay two.",
    "continued": "A plain scalar\n  goes on here.",
}
_EXTRAS = {
    "users-only": "disable-model-invocation: true",
    "users-only-text": 'disable-model-invocation: "true"',
    "users-only-capital": "disable-model-invocation: True",
    "users-only-word": "disable-model-invocation: yes",
    "models-only": "user-invocable: false",
    "hint-list": "argument-hint: [file]",
    "hint-lists": "argument-hint: [file] [other]",
    "hint-angle": "argument-hint: <file> [other]",
    "tools-glob": "allowed-tools: Bash(git:*), Read",
    "tools-star": "allowed-tools: *",
    "tools-number": "allowed-tools: 5",
    "globs": "globs: **/*.py",
    "paths": 'paths: ["src/**"]',
    "when": "when_to_use: When it fits.",
    "metadata-colon": "metadata:\n  key: a: b",
    "metadata-list": "metadata: [a, b]",
    "metadata-json": 'metadata: {"openclaw": {"requires": {"bins": ["x"]}}}',
    "tabbed": "metadata:\n\ta: 1",
    "indent": "metadata:\n  a: 1\n b: 2",
    "twice": "description: Second.",
    "twice-other": "a: 1\na: 2",
    "no-colon": "no colon here",
    "open-list": "tags: [a, b",
    "own-tag": "x: !tag y",
}
_NAMES = ("Two Words", "Upper-Case", "under_score", "odd:signs/here", "a.b", "-dash", "\u00fcber", "123", "a@b", "a,b")
CASES: dict[str, str | bytes] = {
    **_MAIN,
    **{f"described-{key}": skill(f"described-{key}", text) for key, text in _DESCRIPTIONS.items()},
    **{f"extra-{key}": skill(f"extra-{key}", "Fine here.", text) for key, text in _EXTRAS.items()},
    **{f"named-{at}": skill(name, f"Name {at}.") for at, name in enumerate(_NAMES)},
}
DIRECTORIES = (
    *dict.fromkeys(path for client in CLIENTS for path in (*client.project, *client.user) if path != "skills"),
)


def build_world(home: Path, work: Path, client: Client, directories: Iterable[str] = DIRECTORIES) -> None:
    """All cases for one client; `work` is a repository, and `work/sub` a directory in it."""
    _write_cases(work / client.project[0], home.parent / "elsewhere")
    for level, base in (("home", home), ("work", work), ("sub", work / "sub")):
        for directory in directories:
            label = directory.replace("/skills", "").replace("/", "-").strip(".")
            for name in (f"{level}-{label}", "same"):
                text = skill(name, f"{name} of {level}, {directory}")
                if directory.endswith("commands"):
                    _write(base / directory / f"{name}.md", text)
                else:
                    _write(base / directory / name / "SKILL.md", text)


def _write_cases(root: Path, outside: Path) -> None:
    for folder, text in CASES.items():
        _write(root / folder / "SKILL.md", text)
    _write(root / "lower" / "skill.md", skill("lower", "Its file is in lower case."))
    _write(root / "flat.md", skill("flat", "A file without a folder."))
    (root / "directory" / "SKILL.md").mkdir(parents=True)
    _write(outside / "linked" / "SKILL.md", skill("linked", "A link leads to it."))
    _write(outside / "file.md", skill("file-link", "Its file is a link."))
    _write(outside / "grouped" / "far" / "SKILL.md", skill("far", "It lies in a linked group."))
    (root / "linked").symlink_to(outside / "linked")
    (root / "linked-again").symlink_to(outside / "linked")
    (root / "linked-group").symlink_to(outside / "grouped")
    (root / "broken-link").symlink_to(outside / "nowhere")
    (root / "file-link").mkdir()
    (root / "file-link" / "SKILL.md").symlink_to(outside / "file.md")


_PLUGIN = {
    "alpha": {
        "skills/one": skill("one", "The first skill."),
        "skills/folder-name": skill("other-name", "Its name differs from its folder."),
        "skills/no-name": skill(None, "It has no name."),
        "skills/no-description": skill("no-description", None),
        "skills/users-only": skill("users-only", "For people.", "disable-model-invocation: true"),
        "skills/group/nested": skill("nested", "It lies in a group."),
        "skills/one/inner": skill("inner", "It lies in a skill."),
        "skills/.dotted": skill("dotted", "Its folder begins with a dot."),
        "skills/long": skill("long", "x" * 1100),
        "skills/two words": skill("Two Words", "Its name has a space."),
    },
    "beta": {
        "skills/one": skill("one", "The one of beta."),
        "extra/three": skill("three", "The manifest names its folder."),
        "more/solo": skill("alone", "The manifest names it."),
    },
    "gamma": {".": skill("whole", "The plugin is the skill.")},
}
PLUGINS = tuple(_PLUGIN)


def build_market(market: Path, bases: Iterable[Path], client: Client) -> None:
    """A marketplace of three plugins that are extensions too, and below `bases` skills with names of theirs."""
    for base in bases:
        _write(base / client.project[0] / "one" / "SKILL.md", skill("one", f"The one of {base.name}."))
        for directory in client.commands:
            _write(base / directory / "go.md", skill("go", f"The command of {base.name}."))
    entries = [{"name": name, "source": f"./plugins/{name}", "description": f"The plugin {name}."} for name in PLUGINS]
    listed = {"name": "market", "owner": {"name": "tester"}, "plugins": entries}
    _write(market / ".claude-plugin" / "marketplace.json", json.dumps(listed))
    for name, skills in _PLUGIN.items():
        plugin = market / "plugins" / name
        manifest: dict[str, object] = {"name": name, "version": "1.0.0", "description": f"The plugin {name}."}
        _write(plugin / "gemini-extension.json", json.dumps(manifest))
        if name == "beta":
            manifest |= {"skills": ["./extra", "./more/solo"]}
        _write(plugin / ".claude-plugin" / "plugin.json", json.dumps(manifest))
        for folder, text in skills.items():
            _write(plugin / folder / "SKILL.md", text)
    _write(market / "plugins" / "alpha" / "commands" / "go.md", skill(None, "A command."))
    _write(market / "plugins" / "beta" / "commands" / "stop.md", skill(None, "A command of beta."))
    _write(market / "plugins" / "alpha" / "commands" / "deep" / "go.md", skill(None, "A command in a folder."))


def install_plugins(home: Path, market: Path, client: Client) -> None:
    """What the client writes when the plugins are installed."""
    for name in PLUGINS:
        plugin = market / "plugins" / name
        if client.name == "gemini":
            shutil.copytree(plugin, home / ".gemini" / "extensions" / name)
        if client.name == "codex":
            copy = home / ".codex" / "plugins" / "cache" / market.name / name / "1.0.0"
            shutil.copytree(plugin, copy)
            for path in (copy / "commands").rglob("*.md"):
                made = "-".join(("source-command", *path.relative_to(copy / "commands").with_suffix("").parts))
                text = path.read_text(encoding="utf-8").replace("---\n", f"---\nname: {made}\n", 1)
                _write(copy / ".codex-plugin" / "migrated-command-skills" / made / "SKILL.md", text)
    labels = [f"{name}@{market.name}" for name in PLUGINS]
    if client.name == "codex":
        text = "".join(f'[plugins."{label}"]\nenabled = true\n' for label in labels)
        _write(home / ".codex" / "config.toml", text)
    if client.name == "claude-code":
        base = home / ".claude"
        records = {label: [{"scope": "user", "installPath": str(market.parent / "cache")}] for label in labels}
        _write(base / "plugins" / "installed_plugins.json", json.dumps({"version": 2, "plugins": records}))
        source = {"source": {"source": "directory", "path": str(market)}, "installLocation": str(market)}
        _write(base / "plugins" / "known_marketplaces.json", json.dumps({market.name: source}))
        _write(base / "settings.json", json.dumps({"enabledPlugins": dict.fromkeys(labels, True)}))


def _write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def foreseen(client: Client, home: Path, directory: Path) -> Rows:
    """What Whet says that the client lists."""
    place = Place(str(directory), str(home), "", "linux", {})
    return shorten(client, ((skill.name, skill.description) for skill in list_for(client, place).skills))


def shorten(client: Client, rows: Iterable[tuple[str, str]]) -> Rows:
    """Long descriptions by their length; where chance decides which of several skills is listed, only the name.

    Gemini CLI reads the folders of a root at once, so chance decides the order within it, too, and which of two wins.
    """
    loose = client.order == "reverse"
    chance = ("same", "twin") if client.same == "any" else ("twin",) if loose else ()
    found = [
        (name, "" if name in chance else text if len(text) < 100 else f"{text[:20]}...{text[-4:]} {len(text)}")
        for name, text in rows
    ]
    return sorted(found) if loose else found


def recorded(client: Client, directory: str) -> Rows:
    """What the client listed when it was last asked."""
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))
    return shorten(client, kept[client.name][directory])
