"""The clients: one table of the directories each one searches and how it treats the skills there.

Plain tuples and no TOML, because every command needs the directories at start-up and `tomllib` alone costs a third of
that. `measured` rows were compared with the real program (`tests/real_clients`); the others say what is
known of the client, read by the Agent Skills standard, and Whet says that they are not tested.

    depth       how many directories below a root a skill may be; 0: any number
    inside      whether a skill inside a skill is found
    dotted      the roots in which directories whose name begins with a dot are searched
    links       what is followed: directories, or files too
    same        which of several skills with one name is listed: all, first, last, or any (it differs from run to run)
    order       what is sorted: each root, each root by folder in reverse, each scope, each source, or the whole list;
                reverse is usual, but the client reads folders at once and may finish them in another order
"""

from __future__ import annotations

import os

from whet.errors import NotFoundError, expected_text
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Literal

    from whet.library.roots import Place


class Directory(NamedTuple):
    """A directory of skills, relative to a project and to the home."""

    client: str
    """The client it belongs to (`Client.name`); `agents` and `agent` belong to no client."""
    project: str
    user: str
    kind: str = "skills"
    """`skills`: directories with a SKILL.md; `commands`: Markdown files that are commands."""
    role: Literal["own", "second", "managed"] = "own"
    """The client's own directory, another one of a client, or one that its client fills and Whet does not change."""


DIRECTORIES = (
    Directory("agents", ".agents/skills", ".agents/skills"),
    Directory("claude-code", ".claude/skills", ".claude/skills"),
    Directory("codex", ".codex/skills", ".codex/skills"),
    Directory("hermes", ".hermes/skills", ".hermes/skills"),
    Directory("openclaw", ".openclaw/skills", ".openclaw/skills"),
    Directory("cursor", ".cursor/skills", ".cursor/skills"),
    Directory("gemini", ".gemini/skills", ".gemini/skills"),
    Directory("copilot", ".github/skills", ".copilot/skills"),
    Directory("opencode", ".opencode/skills", ".config/opencode/skills"),
    Directory("goose", ".goose/skills", ".config/goose/skills"),
    Directory("windsurf", ".windsurf/skills", ".codeium/windsurf/skills"),
    Directory("kiro", ".kiro/skills", ".kiro/skills"),
    Directory("junie", ".junie/skills", ".junie/skills"),
    Directory("roo", ".roo/skills", ".roo/skills"),
    Directory("qwen", ".qwen/skills", ".qwen/skills"),
    Directory("cline", ".cline/skills", ".cline/skills"),
    Directory("amp", "", ".config/agents/skills"),
    Directory("opencode", "", ".opencode/skills", role="second"),
    Directory("agent", ".agent/skills", ".agent/skills"),
    Directory("codex", "", ".codex/skills/.system", role="managed"),
    Directory("claude-code", ".claude/commands", ".claude/commands", "commands", "second"),
)
"""In the order in which Whet searches them."""


class Client(NamedTuple):
    """One client: the directories it searches, in its order, and how it treats the skills there."""

    name: str
    title: str
    project: tuple[str, ...]
    user: tuple[str, ...]
    version: str = ""
    """The version that was measured; "" for a client that was not."""
    aliases: tuple[str, ...] = ()
    """Other names of the client, besides name and title."""
    shares: str = ""
    """The client whose directory of skills it uses as its own; "" for a client with its own directory."""
    format: str = "standard"
    """The reader of a SKILL.md (`client_formats.READERS`)."""
    plugins: str = ""
    """The reader of a plugin's SKILL.md; "" for a client whose plugins Whet does not know."""
    prefixed: bool = True
    """Whether it shows the skill of a plugin as `plugin:skill`."""
    up: bool = True
    """Whether it also reads the directories above a subdirectory, up to the root of the repository."""
    user_first: bool = False
    """Whether the list begins with the user's skills."""
    home: tuple[str, str] = ("", "")
    """A variable that moves a directory of the home, and that directory."""
    depth: int = 0
    inside: bool = False
    dotted: tuple[str, ...] = ()
    root: bool = False
    """Whether a SKILL.md directly in a root is a skill."""
    skips: tuple[str, ...] = ()
    links: Literal["directories", "files"] = "files"
    same: Literal["all", "first", "last", "any"] = "first"
    order: Literal["root", "reverse", "scope", "source", "name"] = "root"
    commands: tuple[str, ...] = ()
    """Those of the directories above whose Markdown files it also lists as skills."""
    ignores_users_only: bool = True
    """Whether it shows a skill with `disable-model-invocation` to its model."""
    share: int = 0
    """Its list of skills may fill one part in this many of the context window; 0: unknown."""
    line: str = ""
    """The format of a skill in that list."""
    over: str = ""
    """How it shortens a list that does not fit."""
    sign: str = ""
    """A directory of the home that shows it is used; "" for the parent of its own directory of skills."""
    switches: str = ""
    """A TOML file of the home whose `[[skills.config]]` tables disable skills; "" for a client without such a file."""

    @property
    def directory(self) -> Directory:
        """Its own directory, which `whet sync` writes to."""
        owner = self.shares or self.name
        return next(one for one in DIRECTORIES if one.client == owner and one.role == "own")


def describe_obstruction(directory: str) -> str:
    """Return why a client's directory cannot hold skills, and how to fix that; "" if it can."""
    if os.path.isdir(directory) or not os.path.lexists(directory):
        return ""
    if os.path.exists(directory):
        return f"{directory} is not a directory. Move it away, then run `whet sync`."
    return f"{directory} is a broken link. Delete it or restore its target, then run `whet sync`."


CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        (".claude/skills", ".claude/commands"),
        (".claude/skills", ".claude/commands"),
        "2.1.197",
        ("claude",),
        format="claude-code",
        plugins="claude-plugin",
        user_first=True,
        home=("CLAUDE_CONFIG_DIR", ".claude"),
        depth=1,
        dotted=(".claude/skills",),
        same="all",
        commands=(".claude/commands",),
        ignores_users_only=False,
        share=100,
        line="- {0.name}: {0.description}\n",
        over="leaves out descriptions, those of the least used skills first",
    ),
    Client(
        "codex",
        "Codex",
        (".agents/skills", ".codex/skills"),
        (".agents/skills", ".codex/skills"),
        "0.166.0",
        ("codex-cli", "openai-codex"),
        format="codex",
        plugins="codex",
        home=("CODEX_HOME", ".codex"),
        depth=6,
        inside=True,
        root=True,
        links="directories",
        same="all",
        order="scope",
        share=50,
        line="- {0.name}: {0.description} (file: {0.path})\n",
        over="shortens the longest descriptions, then leaves out skills, yours first",
        switches=".codex/config.toml",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        (".gemini/skills", ".agents/skills"),
        (".gemini/skills", ".agents/skills"),
        "0.61.0",
        ("gemini-cli",),
        format="gemini",
        plugins="gemini",
        prefixed=False,
        up=False,
        user_first=True,
        depth=1,
        root=True,
        skips=("node_modules", ".git"),
        same="last",
        order="reverse",
    ),
    Client(
        "opencode",
        "OpenCode",
        (".claude/skills", ".agents/skills", ".opencode/skills", ".opencode/skill"),
        (
            ".claude/skills",
            ".agents/skills",
            ".config/opencode/skills",
            ".config/opencode/skill",
            ".opencode/skills",
            ".opencode/skill",
        ),
        "1.18.18",
        format="opencode",
        user_first=True,
        inside=True,
        dotted=(".claude/skills", ".agents/skills"),
        root=True,
        same="any",
        order="name",
    ),
    Client(
        "copilot",
        "Copilot CLI",
        (".github/skills", ".agents/skills", ".claude/skills", ".claude/commands"),
        (".copilot/skills", ".agents/skills"),
        "1.0.102",
        ("copilot-cli", "github-copilot", "github-copilot-cli"),
        format="copilot",
        home=("COPILOT_HOME", ".copilot"),
        order="source",
        commands=(".claude/commands",),
        ignores_users_only=False,
    ),
    Client(
        "vscode",
        "VS Code",
        (".github/skills", ".agents/skills", ".claude/skills"),
        (".copilot/skills", ".agents/skills", ".claude/skills"),
        aliases=("code", "visual-studio-code"),
        shares="copilot",
        home=("COPILOT_HOME", ".copilot"),
        up=False,
        ignores_users_only=False,
        sign=".config/Code",
    ),
    Client(
        "cursor",
        "Cursor",
        (".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"),
        (".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"),
        aliases=("cursor-agent",),
        up=False,
        ignores_users_only=False,
    ),
    Client(
        "hermes",
        "Hermes",
        (".hermes/skills", ".agents/skills"),
        (".hermes/skills",),
        aliases=("hermes-agent",),
        home=("HERMES_HOME", ".hermes"),
        up=False,
    ),
    Client(
        "openclaw",
        "OpenClaw",
        (".agents/skills", "skills"),
        (".agents/skills", ".openclaw/skills"),
        up=False,
        ignores_users_only=False,
    ),
    Client(
        "windsurf",
        "Windsurf",
        (".windsurf/skills", ".agents/skills", ".claude/skills"),
        (".codeium/windsurf/skills", ".agents/skills", ".claude/skills"),
        aliases=("codeium",),
        up=False,
    ),
    Client("kiro", "Kiro", (".kiro/skills",), (".kiro/skills",), aliases=("kiro-cli",), up=False),
    Client(
        "goose",
        "Goose",
        (".agents/skills", ".goose/skills", ".claude/skills"),
        (".agents/skills", ".config/goose/skills", ".claude/skills"),
        up=False,
    ),
    Client(
        "amp",
        "Amp",
        (".agents/skills", ".claude/skills"),
        (".config/agents/skills", ".config/amp/skills", ".claude/skills"),
        aliases=("ampcode",),
        sign=".config/amp",
    ),
    Client(
        "qwen",
        "Qwen Code",
        (".qwen/skills", ".agents/skills"),
        (".qwen/skills", ".agents/skills"),
        aliases=("qwen-code",),
        up=False,
        depth=1,
    ),
    Client(
        "cline",
        "Cline",
        (".cline/skills", ".agents/skills", ".claude/skills"),
        (".cline/skills", ".agents/skills"),
        up=False,
        depth=1,
    ),
    Client("zed", "Zed", (".agents/skills",), (".agents/skills",), shares="agents", up=False, sign=".config/zed"),
    Client(
        "roo",
        "Roo Code",
        (".roo/skills", ".agents/skills"),
        (".roo/skills", ".agents/skills"),
        aliases=("roo-code", "roocode"),
        up=False,
    ),
    Client("junie", "Junie", (".junie/skills",), (".junie/skills",), up=False),
)


def is_managed(path: str) -> bool:
    """Return whether this is a directory that its client fills itself."""
    return any(path.replace(os.sep, "/").endswith(f"/{one.user}") for one in DIRECTORIES if one.role == "managed")


FORMER = {
    "claude": "claude-code",
    "claude-commands": "claude-code",
    "codex-system": "codex",
    "opencode-home": "opencode",
}
"""Names of clients in the `clients` setting and in records of earlier versions."""


def present_clients(place: Place) -> tuple[Client, ...]:
    """Return the clients that have been used here, judged by their directories in the home."""
    return tuple(
        client
        for client in CLIENTS
        if os.path.isdir(in_home(client, client.sign or os.path.dirname(client.directory.user), place))
    )


def clients_without(root: str, place: Place, names: Collection[str]) -> tuple[Client, ...]:
    """Return the clients used here that do not read this directory of the home and lack some of these skills."""

    def has(client: Client) -> bool:
        own = in_home(client, client.directory.user, place)
        looks = any(os.path.realpath(in_home(client, path, place)) == root for path in client.user)
        return looks or all(os.path.lexists(os.path.join(own, name)) for name in names)

    return tuple(client for client in present_clients(place) if not has(client))


def in_home(client: Client, path: str, place: Place) -> str:
    """Return the path of a directory of the home for this client, which may have been moved."""
    variable, moved = client.home
    if variable and (path == moved or path.startswith(f"{moved}/")) and (base := place.env.get(variable)):
        return os.path.join(base, *filter(None, path[len(moved) :].split("/")))
    return os.path.join(place.home, *path.split("/"))


def client_named(name: str, among: Collection[str] = (), missing: str = "There is no client {!r}.") -> Client:
    """Return the client of this name, in any spelling; with `among`, one of these. Raises NotFoundError."""
    if not isinstance(name, str):
        raise expected_text("bad-name", "The name of a client", name, hint="Pass a name such as claude-code.")
    table = [client for client in CLIENTS if not among or client.name in among]
    rows = {_plain(word): client for client in table for word in (client.name, client.title, *client.aliases)}
    if row := rows.get(_plain(name)):
        return row
    from whet.skill.names import closest, is_slip

    names = [client.name for client in table]
    slips = [word for word in rows if is_slip(_plain(name), word)]
    words = [word for word in slips if word in names] or slips or closest(_plain(name), rows, 3)
    near = tuple(dict.fromkeys(rows[word].name for word in words))
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The clients are {', '.join(names)}."
    raise NotFoundError("unknown-client", missing.format(name), hint=hint, suggestions=list(near))


def _plain(name: str) -> str:
    return name.lower().translate(str.maketrans("", "", " -_"))
