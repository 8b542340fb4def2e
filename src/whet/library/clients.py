"""The programs that load skills: one table of where each looks and what it does with what it finds there.

Plain tuples and no TOML, because every command needs the directories at start-up and `tomllib` alone costs a third of
that. `measured` rows were compared with the real program (`tests/real_clients`); the others say what is
known of the client, read by the Agent Skills standard, and Whet says "as far as known" with them.

    depth       how many directories below a root a skill may lie; 0: any number
    inside      whether a skill inside a skill is found
    dotted      the roots in which directories whose name begins with a dot are searched
    links       what is followed: directories, or files too
    same        which of several skills with one name is listed: all, first, last, or any (it differs from run to run)
    order       what is sorted: each root, each root by folder in reverse, each scope, each source, or the whole list
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.errors import NotFoundError

if TYPE_CHECKING:
    from whet.library.roots import Place


class Directory(NamedTuple):
    """A directory of skills that belongs to a client, relative to a project and to the home."""

    name: str
    project: str
    user: str
    kind: str = "skills"
    """`skills`: directories with a SKILL.md; `commands`: Markdown files that are commands."""


DIRECTORIES = (
    Directory("agents", ".agents/skills", ".agents/skills"),
    Directory("claude", ".claude/skills", ".claude/skills"),
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
    Directory("opencode-home", "", ".opencode/skills"),
    Directory("agent", ".agent/skills", ".agent/skills"),
    Directory("codex-system", "", ".codex/skills/.system"),
    Directory("claude-commands", ".claude/commands", ".claude/commands", "commands"),
)
"""In the order in which Whet looks into them."""


class Client(NamedTuple):
    """One client: where it looks, in its order, and what it does with what it finds."""

    name: str
    title: str
    directory: str
    """The directory that is its own (`Directory.name`); what `whet sync` writes to."""
    project: tuple[str, ...]
    user: tuple[str, ...]
    version: str = ""
    """The version that was measured; "" for a client that was not."""
    aliases: tuple[str, ...] = ()
    format: str = "standard"
    """How it reads a SKILL.md (`client_formats.READERS`)."""
    plugins: str = ""
    """How it reads a SKILL.md of a plugin; "" for a client whose plugins Whet does not know."""
    prefixed: bool = True
    """It shows the skill of a plugin as `plugin:skill`."""
    up: bool = True
    """From a subdirectory it reads the directories above it too, as far as the repository goes."""
    user_first: bool = False
    """The list begins with the user's skills."""
    home: tuple[str, str] = ("", "")
    """A variable that moves a directory of the home, and which one."""
    depth: int = 0
    inside: bool = False
    dotted: tuple[str, ...] = ()
    root: bool = False
    """A SKILL.md directly in a root is a skill."""
    skips: tuple[str, ...] = ()
    links: Literal["directories", "files"] = "files"
    same: Literal["all", "first", "last", "any"] = "first"
    order: Literal["root", "reverse", "scope", "source", "name"] = "root"
    commands: tuple[str, ...] = ()
    """Of the directories above, those whose Markdown files it lists as skills too."""
    ignores_users_only: bool = True
    """It shows a skill with `disable-model-invocation` to its model."""
    sign: str = ""
    """A directory of the home that shows it is used; "" where the one around its own directory of skills does."""


CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        "claude",
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
    ),
    Client(
        "codex",
        "Codex",
        "codex",
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
    ),
    Client(
        "gemini",
        "Gemini CLI",
        "gemini",
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
        "opencode",
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
        "copilot",
        (".github/skills", ".agents/skills", ".claude/skills", ".claude/commands"),
        (".copilot/skills", ".agents/skills"),
        "1.0.102",
        ("copilot-cli", "github-copilot"),
        format="copilot",
        home=("COPILOT_HOME", ".copilot"),
        order="source",
        commands=(".claude/commands",),
        ignores_users_only=False,
    ),
    Client(
        "cursor",
        "Cursor",
        "cursor",
        (".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"),
        (".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"),
        aliases=("cursor-agent",),
        up=False,
        ignores_users_only=False,
    ),
    Client(
        "hermes",
        "Hermes",
        "hermes",
        (".hermes/skills", ".agents/skills"),
        (".hermes/skills",),
        aliases=("hermes-agent",),
        home=("HERMES_HOME", ".hermes"),
        up=False,
    ),
    Client(
        "openclaw",
        "OpenClaw",
        "openclaw",
        (".agents/skills", "skills"),
        (".agents/skills", ".openclaw/skills"),
        up=False,
        ignores_users_only=False,
    ),
    Client(
        "windsurf",
        "Windsurf",
        "windsurf",
        (".windsurf/skills", ".agents/skills", ".claude/skills"),
        (".codeium/windsurf/skills", ".agents/skills", ".claude/skills"),
        up=False,
    ),
    Client("kiro", "Kiro", "kiro", (".kiro/skills",), (".kiro/skills",), aliases=("kiro-cli",), up=False),
    Client(
        "goose",
        "Goose",
        "goose",
        (".agents/skills", ".goose/skills", ".claude/skills"),
        (".agents/skills", ".config/goose/skills", ".claude/skills"),
        up=False,
    ),
    Client(
        "amp",
        "Amp",
        "amp",
        (".agents/skills", ".claude/skills"),
        (".config/agents/skills", ".config/amp/skills", ".claude/skills"),
        sign=".config/amp",
    ),
    Client(
        "qwen",
        "Qwen Code",
        "qwen",
        (".qwen/skills", ".agents/skills"),
        (".qwen/skills", ".agents/skills"),
        aliases=("qwen-code",),
        up=False,
        depth=1,
    ),
    Client(
        "cline",
        "Cline",
        "cline",
        (".cline/skills", ".agents/skills", ".claude/skills"),
        (".cline/skills", ".agents/skills"),
        up=False,
        depth=1,
    ),
    Client("zed", "Zed", "agents", (".agents/skills",), (".agents/skills",), up=False, sign=".config/zed"),
    Client(
        "roo",
        "Roo Code",
        "roo",
        (".roo/skills", ".agents/skills"),
        (".roo/skills", ".agents/skills"),
        aliases=("roo-code", "roocode"),
        up=False,
    ),
    Client("junie", "Junie", "junie", (".junie/skills",), (".junie/skills",), up=False),
)


def present_clients(place: Place) -> tuple[Client, ...]:
    """The clients that have been used here, told from the directories they keep in the home."""
    own = {directory.name: os.path.dirname(directory.user) for directory in DIRECTORIES}
    return tuple(
        client for client in CLIENTS if os.path.isdir(in_home(client, client.sign or own[client.directory], place))
    )


def clients_without(root: str, place: Place) -> tuple[Client, ...]:
    """The clients used here that do not look for skills in this directory of the home."""

    def looks(client: Client) -> bool:
        return any(os.path.realpath(in_home(client, path, place)) == root for path in client.user)

    return tuple(client for client in present_clients(place) if not looks(client))


def in_home(client: Client, path: str, place: Place) -> str:
    """Where a directory of the home is for this client, which may have been moved."""
    variable, moved = client.home
    if variable and (path == moved or path.startswith(f"{moved}/")) and (base := place.env.get(variable)):
        return os.path.join(base, *filter(None, path[len(moved) :].split("/")))
    return os.path.join(place.home, *path.split("/"))


def client_named(name: str) -> Client:
    """The row of this name, however it is spelled. Raises NotFoundError."""
    rows = {_plain(word): client for client in CLIENTS for word in (client.name, client.title, *client.aliases)}
    if client := rows.get(_plain(name)):
        return client
    from whet.skill.names import closest

    names = [client.name for client in CLIENTS]
    near = closest(name, names, 3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(names)}."
    raise NotFoundError("unknown-client", f"There is no client {name!r}.", hint=hint, suggestions=list(near))


def _plain(name: str) -> str:
    return name.lower().translate(str.maketrans("", "", " -_"))
