"""The clients Whet can be connected to: one table, to extend when a client appears or changes.

A row has the path of a client's configuration, its declarations of an MCP server that it starts itself and of hooks,
and the steps for a person afterwards. Nothing here reads a file; `entries` turns a row into entries and `plan` plans
the edits. A row has only what the client's own documentation describes.

Placeholders in the written values:

    "{command}"     the program of Whet               "{call}"     a hook's command line
    "{arguments}"   the arguments of the MCP server   "{timeout}"  a hook's time limit, in the client's unit
    "{words}"       program and arguments, one list   "{matcher}"  the tools a hook is for; left out if it is for all
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from whet.interfaces.hooks.clients import native
from whet.library.clients import client_named

NAME = "whet"
"""The name of the MCP server in every client."""
Event = Literal["start", "prompt", "before", "tool", "compact", "stop", "end"]
Format = Literal["jsonc", "toml", "yaml"]


class Spot(NamedTuple):
    """A path that counts if its variable is set and its platform is this one; otherwise the next spot is tried."""

    path: str
    """The path below the directory of the variable, else below the home."""
    variable: str = ""
    platform: str = ""


class File(NamedTuple):
    """One configuration file of a client."""

    format: Format
    spots: tuple[Spot, ...]
    other_names: tuple[str, ...] = ()
    """Other names of the file in the same directory; an existing one is used."""
    strict: bool = False
    """Whether the client reads plain JSON there: no comments, no trailing commas."""


class Server(NamedTuple):
    """The declaration of an MCP server: this value, under Whet's name in the table at `path`."""

    path: tuple[str, ...]
    value: dict[str, Any]


class Hook(NamedTuple):
    """One event of Whet; `hooks.clients` has the client's name for it."""

    event: Event
    matcher: str = ""
    seconds: int = 10
    background: bool = False
    """Whether the client does not wait for it, if it supports such hooks."""
    enforces: bool = False
    """Only for users who want `allowed-tools` to be enforced."""


class Hooks(NamedTuple):
    """The declaration of hooks: a list for each event, below the table `hooks` of `file`."""

    file: File
    value: dict[str, Any]
    each: tuple[Hook, ...]
    per_second: int = 1
    """Units of the client's time limits in a second."""
    always: tuple[tuple[str, Any], ...] = ()
    """Keys the file must have, and their values if they are missing."""
    background: str = ""
    """The key that marks a hook that the client does not wait for."""


class Obstacle(NamedTuple):
    """A setting of the client that prevents hooks from running, or interferes with them."""

    file: File
    path: tuple[str, ...]
    value: bool | None
    """None: any value."""
    note: str


class Connection(NamedTuple):
    """The connection of one client."""

    name: str
    """The client (`whet.library.clients.Client.name`)."""
    signs: tuple[Spot, ...]
    """Any of these paths exists if the client is installed, or was."""
    file: File
    server: Server
    project: str
    """The project's own configuration file, with the same server entry; "" for a client without one."""
    restart: str
    """How to make a running client read its configuration; "" if it does so automatically."""
    seen: str
    """How a person sees that it worked."""
    docs: str
    native: tuple[tuple[str, ...], Server] | None = None
    """A newer way to declare the server, used if the file has a table at this path."""
    hooks: Hooks | None = None
    obstacles: tuple[Obstacle, ...] = ()
    after_hooks: str = ""
    """Steps that are necessary for the hooks to run."""
    hook_trust: tuple[str, ...] = ()
    """Path of the trusted hooks in its file, by `FILE:event:0:0`; () for a client that runs them unasked."""
    limits: tuple[str, ...] = ()
    """Limitations of its hooks."""

    @property
    def title(self) -> str:
        """The human-readable name of the client."""
        return client_named(self.name).title

    @property
    def enforced_by(self) -> tuple[str, ...]:
        """The client's names of hooks that can refuse a tool call; empty if it has none."""
        hooks = self.hooks.each if self.hooks else ()
        return tuple(native(self.name, hook.event) for hook in hooks if hook.enforces)


_STDIO = {"type": "stdio", "command": "{command}", "args": "{arguments}"}
_PLAIN = {"command": "{command}", "args": "{arguments}"}
_COMMAND = {"type": "command", "command": "{call}", "timeout": "{timeout}"}
_GROUP = {"matcher": "{matcher}", "hooks": [_COMMAND]}
"""Hooks in groups, with a matcher for each: the format of Claude Code, which others adopted."""
_OFF = "Its hooks are off: {}. They run once you change that."
_NO_CONTEXT = "{} accepts no context from a prompt hook; skills that fit are offered with the next tool call."

_CLAUDE_SETTINGS = File(
    "jsonc", (Spot("settings.json", "CLAUDE_CONFIG_DIR"), Spot(".claude/settings.json")), strict=True
)
_CODEX_CONFIG = File("toml", (Spot("config.toml", "CODEX_HOME"), Spot(".codex/config.toml")))
_GEMINI_SETTINGS = File("jsonc", (Spot(".gemini/settings.json", "GEMINI_CLI_HOME"), Spot(".gemini/settings.json")))
_COPILOT_SETTINGS = File("jsonc", (Spot("settings.json", "COPILOT_HOME"), Spot(".copilot/settings.json")))
_QWEN_SETTINGS = File("jsonc", (Spot("settings.json", "QWEN_HOME"), Spot(".qwen/settings.json")))
_HERMES_CONFIG = File(
    "yaml",
    (
        Spot("config.yaml", "HERMES_HOME"),
        Spot("hermes/config.yaml", "LOCALAPPDATA", "win32"),
        Spot(".hermes/config.yaml"),
    ),
)

CONNECTIONS: tuple[Connection, ...] = (
    Connection(
        name="claude-code",
        signs=(Spot("", "CLAUDE_CONFIG_DIR"), Spot(".claude"), Spot(".claude.json")),
        file=File("jsonc", (Spot(".claude.json", "CLAUDE_CONFIG_DIR"), Spot(".claude.json")), strict=True),
        server=Server(("mcpServers",), _STDIO),
        project=".mcp.json",
        restart="Start a new session of Claude Code",
        seen="`/mcp` shows whet",
        docs="https://code.claude.com/docs/en/mcp",
        hooks=Hooks(
            _CLAUDE_SETTINGS,
            _GROUP,
            (
                Hook("start"),
                Hook("prompt"),
                Hook("before", enforces=True),
                Hook("tool", "Skill|Read|mcp__whet__.*", background=True),
                Hook("compact"),
                Hook("stop"),
                Hook("end", seconds=5),
            ),
            background="async",
        ),
        obstacles=(Obstacle(_CLAUDE_SETTINGS, ("disableAllHooks",), True, _OFF.format("disableAllHooks is true")),),
    ),
    Connection(
        name="codex",
        signs=(Spot("", "CODEX_HOME"), Spot(".codex")),
        file=_CODEX_CONFIG,
        server=Server(("mcp_servers",), _PLAIN),
        project=".codex/config.toml",
        restart="Start Codex again",
        seen="`/mcp` shows whet",
        docs="https://developers.openai.com/codex/mcp",
        hooks=Hooks(
            File("jsonc", (Spot("hooks.json", "CODEX_HOME"), Spot(".codex/hooks.json"))),
            _GROUP,
            (
                Hook("start"),
                Hook("prompt"),
                Hook("before", enforces=True),
                Hook("tool", "Bash|mcp__whet__.*"),
                Hook("compact"),
                Hook("stop"),
                Hook("end", seconds=3),
            ),
        ),
        obstacles=(
            Obstacle(_CODEX_CONFIG, ("features", "hooks"), False, _OFF.format("features.hooks is false")),
            Obstacle(_CODEX_CONFIG, ("features", "codex_hooks"), False, _OFF.format("features.codex_hooks is false")),
            Obstacle(
                _CODEX_CONFIG,
                ("hooks",),
                None,
                "config.toml has hooks too: Codex runs the hooks of both files and says so at start-up.",
            ),
        ),
        after_hooks="Codex runs the hooks once you trust them with `/hooks`.",
        hook_trust=("hooks", "state"),
    ),
    Connection(
        name="cursor",
        signs=(Spot(".cursor"),),
        file=File("jsonc", (Spot(".cursor/mcp.json"),)),
        server=Server(("mcpServers",), _STDIO),
        project=".cursor/mcp.json",
        restart="",
        seen="its settings show whet among the MCP servers",
        docs="https://cursor.com/docs/context/mcp",
        hooks=Hooks(
            File("jsonc", (Spot(".cursor/hooks.json"),)),
            {"command": "{call}", "timeout": "{timeout}", "matcher": "{matcher}"},
            (
                Hook("start"),
                Hook("prompt"),
                Hook("tool"),
                Hook("compact"),
                Hook("stop"),
                Hook("end"),
            ),
            always=(("version", 1),),
        ),
        limits=(_NO_CONTEXT.format("Cursor"),),
    ),
    Connection(
        name="vscode",
        signs=(
            Spot("Code", "APPDATA", "win32"),
            Spot("Library/Application Support/Code", platform="darwin"),
            Spot("Code", "XDG_CONFIG_HOME"),
            Spot(".config/Code"),
            Spot("", "VSCODE_PORTABLE"),
        ),
        file=File(
            "jsonc",
            (
                Spot("user-data/User/mcp.json", "VSCODE_PORTABLE"),
                Spot("Code/User/mcp.json", "APPDATA", "win32"),
                Spot("Library/Application Support/Code/User/mcp.json", platform="darwin"),
                Spot("Code/User/mcp.json", "XDG_CONFIG_HOME"),
                Spot(".config/Code/User/mcp.json"),
            ),
        ),
        server=Server(("servers",), _STDIO),
        project=".vscode/mcp.json",
        restart="",
        seen="it asks once for permission to start whet",
        docs="https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
        hooks=Hooks(
            File("jsonc", (Spot("hooks/whet.json", "COPILOT_HOME"), Spot(".copilot/hooks/whet.json"))),
            _COMMAND,
            (
                Hook("start"),
                Hook("prompt"),
                Hook("tool"),
                Hook("compact"),
                Hook("stop"),
            ),
            always=(("version", 1),),
        ),
        limits=(_NO_CONTEXT.format("VS Code"),),
    ),
    Connection(
        name="copilot",
        signs=(
            Spot("config.json", "COPILOT_HOME"),
            Spot(".copilot/config.json"),
            Spot(".copilot/mcp-config.json"),
        ),
        file=File("jsonc", (Spot("mcp-config.json", "COPILOT_HOME"), Spot(".copilot/mcp-config.json"))),
        server=Server(("mcpServers",), {"type": "local", **_PLAIN, "tools": ["*"]}),
        project=".github/mcp.json",
        restart="Start Copilot CLI again",
        seen="`/mcp show` lists whet",
        docs="https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
        # VS Code also runs the hooks in ~/.copilot/hooks; these settings are only for Copilot CLI
        hooks=Hooks(
            _COPILOT_SETTINGS,
            _COMMAND,
            (
                Hook("start"),
                Hook("prompt"),
                Hook("before", enforces=True),
                Hook("tool"),
                Hook("compact"),
                Hook("stop"),
                Hook("end"),
            ),
        ),
        obstacles=(Obstacle(_COPILOT_SETTINGS, ("disableAllHooks",), True, _OFF.format("disableAllHooks is true")),),
    ),
    Connection(
        name="gemini",
        signs=(Spot(".gemini", "GEMINI_CLI_HOME"), Spot(".gemini")),
        file=_GEMINI_SETTINGS,
        server=Server(("mcpServers",), _PLAIN),
        project=".gemini/settings.json",
        restart="Start Gemini CLI again",
        seen="`/mcp` shows whet",
        docs="https://geminicli.com/docs/tools/mcp-server",
        hooks=Hooks(
            _GEMINI_SETTINGS,
            {"matcher": "{matcher}", "hooks": [{"name": NAME, **_COMMAND}]},
            (
                Hook("start"),
                Hook("prompt"),
                Hook("before", enforces=True),
                Hook("tool", "activate_skill|read_file|read_many_files|mcp_.*whet.*"),
                Hook("compact"),
                Hook("stop"),
                Hook("end"),
            ),
            per_second=1000,
        ),
        obstacles=(
            Obstacle(_GEMINI_SETTINGS, ("hooksConfig", "enabled"), False, _OFF.format("hooksConfig.enabled is false")),
        ),
    ),
    Connection(
        name="opencode",
        signs=(Spot("opencode", "XDG_CONFIG_HOME"), Spot(".config/opencode")),
        file=File(
            "jsonc",
            (Spot("opencode/opencode.json", "XDG_CONFIG_HOME"), Spot(".config/opencode/opencode.json")),
            ("opencode.jsonc",),
        ),
        server=Server(("mcp",), {"type": "local", "command": "{words}", "enabled": True}),
        project="opencode.json",
        restart="Start OpenCode again",
        seen="`opencode mcp list` shows whet",
        docs="https://opencode.ai/docs/mcp-servers",
        native=(("mcp", "servers"), Server(("mcp", "servers"), {"type": "local", "command": "{words}"})),
    ),
    Connection(
        name="hermes",
        signs=(Spot("", "HERMES_HOME"), Spot("hermes", "LOCALAPPDATA", "win32"), Spot(".hermes")),
        file=_HERMES_CONFIG,
        server=Server(("mcp_servers",), _PLAIN),
        project="",
        restart="Start Hermes again",
        seen="`hermes mcp list` shows whet",
        docs="https://hermes-agent.nousresearch.com/docs/user-guide/features/mcp",
        hooks=Hooks(
            _HERMES_CONFIG,
            {"matcher": "{matcher}", "command": "{call}", "timeout": "{timeout}"},
            (
                Hook("start"),
                Hook("prompt"),
                Hook("tool", "skill_view|skill_manage|read_file|mcp_.*whet.*"),
                Hook("stop"),
                Hook("end"),
            ),
        ),
        after_hooks="Hermes asks once for each hook, on the terminal.",
    ),
    Connection(
        name="qwen",
        signs=(Spot("", "QWEN_HOME"), Spot(".qwen")),
        file=_QWEN_SETTINGS,
        server=Server(("mcpServers",), _PLAIN),
        project=".qwen/settings.json",
        restart="Start Qwen Code again",
        seen="`/mcp` shows whet",
        docs="https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
        hooks=Hooks(
            _QWEN_SETTINGS,
            _GROUP,
            (
                Hook("start"),
                Hook("prompt"),
                Hook("before", enforces=True),
                Hook("tool", "skill|read_file|read_many_files|mcp__whet__.*"),
                Hook("compact"),
                Hook("stop"),
                Hook("end"),
            ),
            per_second=1000,
        ),
        obstacles=(Obstacle(_QWEN_SETTINGS, ("disableAllHooks",), True, _OFF.format("disableAllHooks is true")),),
    ),
    Connection(
        name="cline",
        signs=(Spot("", "CLINE_DIR"), Spot(".cline")),
        file=File(
            "jsonc",
            (
                Spot("", "CLINE_MCP_SETTINGS_PATH"),
                Spot("settings/cline_mcp_settings.json", "CLINE_DATA_DIR"),
                Spot("data/settings/cline_mcp_settings.json", "CLINE_DIR"),
                Spot(".cline/data/settings/cline_mcp_settings.json"),
            ),
        ),
        server=Server(("mcpServers",), _PLAIN),
        project="",
        restart="",
        seen="its MCP servers include whet",
        docs="https://docs.cline.bot/mcp/configuring-mcp-servers",
    ),
    Connection(
        name="windsurf",
        signs=(Spot(".codeium/windsurf"),),
        file=File("jsonc", (Spot(".codeium/windsurf/mcp_config.json"),)),
        server=Server(("mcpServers",), _PLAIN),
        project="",
        restart="Refresh the MCP servers in Windsurf's Cascade panel",
        seen="they include whet",
        docs="https://docs.windsurf.com/windsurf/cascade/mcp",
    ),
    Connection(
        name="zed",
        signs=(
            Spot("Zed", "APPDATA", "win32"),
            Spot("zed", "XDG_CONFIG_HOME"),
            Spot(".config/zed"),
        ),
        file=File(
            "jsonc",
            (
                Spot("Zed/settings.json", "APPDATA", "win32"),
                Spot(".config/zed/settings.json", platform="darwin"),
                Spot("zed/settings.json", "XDG_CONFIG_HOME"),
                Spot(".config/zed/settings.json"),
            ),
        ),
        server=Server(("context_servers",), _PLAIN),
        project=".zed/settings.json",
        restart="",
        seen="the settings of the agent show whet with a green dot",
        docs="https://zed.dev/docs/ai/mcp",
    ),
    Connection(
        name="amp",
        signs=(Spot(".config/amp"),),
        file=File("jsonc", (Spot(".config/amp/settings.json"),), ("settings.jsonc",)),
        server=Server(("amp.mcpServers",), _PLAIN),
        project=".amp/settings.json",
        restart="Start Amp again",
        seen="`amp mcp list` shows whet",
        docs="https://ampcode.com/manual",
    ),
    Connection(
        name="goose",
        signs=(
            Spot("Block/goose/config", "APPDATA", "win32"),
            Spot("goose", "XDG_CONFIG_HOME"),
            Spot(".config/goose"),
        ),
        file=File(
            "yaml",
            (
                Spot("Block/goose/config/config.yaml", "APPDATA", "win32"),
                Spot("goose/config.yaml", "XDG_CONFIG_HOME"),
                Spot(".config/goose/config.yaml"),
            ),
        ),
        server=Server(
            ("extensions",),
            {
                "enabled": True,
                "type": "stdio",
                "name": NAME,
                "description": "Skills",
                "cmd": "{command}",
                "args": "{arguments}",
                "envs": {},
                "timeout": 300,
            },
        ),
        project="",
        restart="Start Goose again",
        seen="its extensions include whet",
        docs="https://block.github.io/goose/docs/guides/config-files",
    ),
    Connection(
        name="kiro",
        signs=(Spot(".kiro"),),
        file=File("jsonc", (Spot(".kiro/settings/mcp.json"),)),
        server=Server(("mcpServers",), _PLAIN),
        project=".kiro/settings/mcp.json",
        restart="",
        seen="its MCP servers include whet",
        docs="https://kiro.dev/docs/mcp/configuration/",
    ),
)


def connection_named(name: str) -> Connection:
    """Return the connection of a client, in any spelling of its name. Raises NotFoundError."""
    rows = {row.name: row for row in CONNECTIONS}
    return rows[client_named(name, rows, "There is no client {!r} to connect.").name]
