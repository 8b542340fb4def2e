"""Real clients, each on a machine of its own and pointed at a scripted model.

    client = ClaudeCode(top, programs, model)
    client.run_whet("connect", client.name, "--yes")
    model.play([Step(calls=(client.shell("ls"),)), Step("Done.")])
    client.prompt("List the files.")
    client.session()                        # the file that the client wrote of it

What a client needs in order to reach the model is in its own home. Nothing but loopback can be reached: everything else
would go through a proxy that is not there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, ClassVar

from journeys.machines import Machine

from real_clients.model import Call

if TYPE_CHECKING:
    from pathlib import Path

    from real_clients.model import ScriptedModel
    from real_clients.programs import Programs

_SECONDS = 180
_NOWHERE = "http://127.0.0.1:9"


class RealClient(Machine):
    """A client, its home and the directory it works in."""

    name: ClassVar[str]
    """What `whet connect` calls it."""
    program: ClassVar[str]
    arguments: tuple[str, ...]
    """How it is run for one prompt, which comes last."""
    files: ClassVar[dict[str, str]] = {}
    """What must be in its home; `<url>` stands for the model."""
    variables: ClassVar[dict[str, str]] = {}
    sessions: ClassVar[str]
    """Where it keeps sessions: a pattern below the home."""

    def __init__(self, top: Path, programs: Programs, model: ScriptedModel) -> None:
        super().__init__(top)
        self.model, self._program = model, programs.path(self.program)
        self.state = self.home / ".local" / "share" / "whet"
        del self.env["WHET_HOME"]  # clients do not hand it on to all that they start
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
        local = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        given = {name: value.replace("<url>", model.url) for name, value in self.variables.items()}
        self.env.update({**proxies, **local, **given, "NO_COLOR": "1", "SHELL": "/bin/bash", "USER": "tester"})
        for path, text in self.files.items():
            self.write(path, text.replace("<url>", model.url))
        subprocess.run(["git", "init", "--quiet", str(self.work)], env=self.env, check=True)

    def write(self, path: str, text: str) -> None:
        """Put a file into the home."""
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(text, encoding="utf-8")

    def skill(self, name: str, description: str, body: str = "Do it.\n", more: str = "") -> None:
        """Put a skill into the root that all clients read."""
        head = f"---\nname: {name}\ndescription: {description}\n{more}---\n"
        self.write(f".agents/skills/{name}/SKILL.md", f"{head}\n{body}")

    def prompt(self, text: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Run the client for one prompt, to its end."""
        command = [self._program, *self.arguments, *more, text]
        nothing = subprocess.DEVNULL
        return subprocess.run(
            command, env=self.env, cwd=self.work, stdin=nothing, capture_output=True, encoding="utf-8", timeout=_SECONDS
        )

    def wait_for_servers(self) -> None:
        """Ask the model only when Whet's server is up, however busy this machine is; where a client does not anyway."""

    def slash(self, skill: str, words: str) -> tuple[str, ...]:
        """What `prompt` takes to call a skill of Whet's server with these words."""
        return (f"/{skill} {words}",)

    def shell(self, command: str) -> Call:
        """A call of the tool that runs commands."""
        raise NotImplementedError

    def whet(self, tool: str, **given: Any) -> Call:
        """A call of a tool of Whet's server."""
        raise NotImplementedError

    def offered(self, tool: str) -> str:
        """What `Request.tools` calls a tool of Whet's server."""
        call = self.whet(tool)
        return f"{call.namespace}.{call.name}" if call.namespace else call.name

    def say(self, *words: str) -> str:
        """Run one of its other commands; gives what it prints."""
        done = subprocess.run(
            [self._program, *words], env=self.env, cwd=self.work, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout

    def install(self, market: Path, plugin: str) -> None:
        """Install a plugin of a marketplace that is a directory."""
        raise NotImplementedError

    def session(self) -> Path:
        """The file of the newest session."""
        return max(self.home.glob(self.sessions), key=lambda path: path.stat().st_mtime_ns)


class ClaudeCode(RealClient):
    """`claude`."""

    name = "claude-code"
    program = "claude"
    arguments: tuple[str, ...] = ("--allowedTools=Bash,Write,Edit,Read,Skill,mcp__whet", "-p")
    variables: ClassVar[dict[str, str]] = {
        "ANTHROPIC_BASE_URL": "<url>",
        "ANTHROPIC_API_KEY": "none",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    sessions = ".claude/projects/*/*.jsonl"

    def wait_for_servers(self) -> None:
        self.env |= {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000", "MCP_TIMEOUT": "60000"}

    def slash(self, skill: str, words: str) -> tuple[str, ...]:
        return (f"/mcp__whet__{skill} {words}",)

    def install(self, market: Path, plugin: str) -> None:
        self.say("plugin", "marketplace", "add", str(market))
        self.say("plugin", "install", f"{plugin}@{market.name}")

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run it"})

    def whet(self, tool: str, **given: Any) -> Call:
        return Call(f"mcp__whet__{tool}", given)


class Codex(RealClient):
    """`codex exec`."""

    name = "codex"
    program = "codex"
    arguments: tuple[str, ...] = (
        "exec",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
    )
    files: ClassVar[dict[str, str]] = {
        ".codex/config.toml": 'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n'
        'name = "scripted"\nbase_url = "<url>/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n'
    }
    variables: ClassVar[dict[str, str]] = {"SCRIPTED_KEY": "none"}
    sessions = ".codex/sessions/*/*/*/*.jsonl"

    def wait_for_servers(self) -> None:
        self.arguments = (*self.arguments, "-c", "mcp_servers.whet.required=true")

    def install(self, market: Path, plugin: str) -> None:
        self.say("plugin", "marketplace", "add", str(market))
        self.say("plugin", "add", f"{plugin}@{market.name}")

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def whet(self, tool: str, **given: Any) -> Call:
        return Call(tool, given, "mcp__whet")


class Gemini(RealClient):
    """`gemini`."""

    name = "gemini"
    program = "gemini"
    arguments: tuple[str, ...] = ("--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p")
    files: ClassVar[dict[str, str]] = {
        ".gemini/settings.json": json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                "privacy": {"usageStatisticsEnabled": False},
            },
            indent=2,
        )
    }
    variables: ClassVar[dict[str, str]] = {"GOOGLE_GEMINI_BASE_URL": "<url>", "GEMINI_API_KEY": "none"}
    sessions = ".gemini/tmp/*/chats/*"

    def install(self, market: Path, plugin: str) -> None:
        shutil.copytree(market / "plugins" / plugin, self.home / ".gemini" / "extensions" / plugin)  # it does no more

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command})

    def whet(self, tool: str, **given: Any) -> Call:
        return Call(f"mcp_whet_{tool}", given)


class OpenCode(RealClient):
    """`opencode run`."""

    name = "opencode"
    program = "opencode"
    arguments: tuple[str, ...] = ("run", "--auto", "-m", "scripted/scripted")
    files: ClassVar[dict[str, str]] = {
        ".config/opencode/opencode.json": json.dumps(
            {
                "$schema": "https://opencode.ai/config.json",
                "autoupdate": False,
                "share": "disabled",
                "provider": {
                    "scripted": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": "<url>/v1", "apiKey": "none"},
                        "models": {"scripted": {"name": "scripted"}},
                    }
                },
            },
            indent=2,
        )
    }
    sessions = ".local/share/opencode/session.json"

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run it"})

    def whet(self, tool: str, **given: Any) -> Call:
        return Call(f"whet_{tool}", given)

    def slash(self, skill: str, words: str) -> tuple[str, ...]:
        return words, "--command", f"whet:{skill}"

    def session(self) -> Path:
        """What `opencode export` says of the newest session."""
        listed = self.say("session", "list", "--format", "json")
        (self.work / "session.json").write_text(self.say("export", json.loads(listed)[0]["id"]), encoding="utf-8")
        return self.work / "session.json"


class Copilot(RealClient):
    """`copilot`."""

    name = "copilot"
    program = "copilot"
    arguments: tuple[str, ...] = ("--allow-all-tools", "--no-auto-update", "-p")
    variables: ClassVar[dict[str, str]] = {
        "COPILOT_PROVIDER_BASE_URL": "<url>/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
    }
    sessions = ".copilot/session-state/*/events.jsonl"

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run it"})

    def whet(self, tool: str, **given: Any) -> Call:
        return Call(f"whet-{tool}", given)


CLIENTS: tuple[type[RealClient], ...] = (ClaudeCode, Codex, Gemini, OpenCode, Copilot)
