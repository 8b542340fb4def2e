"""Configurations as people have them: other servers and hooks, comments, tabs, CRLF, keys nobody knows, secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LIVED_IN: dict[str, dict[str, str]] = {
    "claude-code": {
        ".claude.json": """{
  "numStartups": 41,
  "installMethod": "native",
  "userID": "0f3d",
  "oauthAccount": { "accountUuid": "77", "emailAddress": "someone@example.com" },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "docker",
      "args": ["run", "-i", "--rm", "ghcr.io/github/github-mcp-server"],
      "env": {
        "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_verysecret"
      }
    }
  },
  "projects": {
    "/home/someone/shop": { "allowedTools": [], "mcpServers": {}, "hasTrustDialogAccepted": true }
  },
  "unheardOf": [1, 2.50, "\\u00e9", null]
}
""",
        ".claude/settings.json": """{
\t"$schema": "https://json.schemastore.org/claude-code-settings.json",
\t"permissions": { "allow": ["Bash(git status)"], "deny": ["Read(./.env)"] },
\t"hooks": {
\t\t"UserPromptSubmit": [
\t\t\t{ "hooks": [ { "type": "command", "command": "git status --short" } ] }
\t\t],
\t\t"PostToolUse": [
\t\t\t{
\t\t\t\t"matcher": "Edit|Write",
\t\t\t\t"hooks": [{ "type": "command", "command": "prettier --write", "timeout": 30 }]
\t\t\t}
\t\t]
\t},
\t"statusLine": { "type": "command", "command": "~/.claude/line.sh" }
}
""",
    },
    "codex": {
        ".codex/config.toml": """# my Codex
model = "gpt-5.5"          # the good one
approval_policy = "on-request"

[features]
multi_agent = true

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env = { "CONTEXT7_API_KEY" = "ctx7sk-verysecret" }

[projects."/home/someone/shop"]
trust_level = "trusted"
""",
        ".codex/hooks.json": """{
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "notify-send done", "timeout": 5}]}
        ]
    }
}
""",
    },
    "cursor": {
        ".cursor/mcp.json": (
            '{\r\n  "mcpServers": {\r\n    "far": {\r\n      "url": "https://mcp.example.com"\r\n    }\r\n  }\r\n}\r\n'
        ),
        ".cursor/hooks.json": '{"version": 1, "hooks": {"afterFileEdit": [{"command": "./hooks/format.sh"}]}}',
    },
    "vscode": {
        ".config/Code/User/mcp.json": """{
\t// Servers for all workspaces
\t"servers": {
\t\t"playwright": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest",],
\t\t},
\t\t/* remote */ "docs": { "type": "http", "url": "https://learn.example.com/api/mcp" },
\t},
\t"inputs": [ { "id": "key", "type": "promptString", "password": true } ],
}
""",
    },
    "gemini": {
        ".gemini/settings.json": """{
    // what I changed
    "general": { "vimMode": true },
    "security": { "auth": { "selectedType": "oauth-personal" } },
    "mcpServers": {},
    "hooks": {
        "BeforeTool": [
            { "matcher": "run_shell_command", "hooks": [ { "type": "command", "command": "./check.sh" } ] }
        ]
    },
    "ui": { "theme": "GitHub" } // last
}
""",
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": """{
  "$schema": "https://opencode.ai/config.json",
  // "model": "anthropic/claude-opus",
  "autoupdate": "notify",
  "mcp": {
    "sentry": { "type": "remote", "url": "https://mcp.sentry.dev/mcp", "enabled": true, },
  },
}
""",
    },
    "hermes": {
        ".hermes/config.yaml": """# Hermes
model:
  default: "anthropic/claude-opus-4.7"   # set by setup
  provider: openrouter

mcp_servers:
  # one server
  time:
    command: uvx
    args: ["mcp-server-time"]

hooks:
  post_tool_call:
    - matcher: "write_file|patch"
      command: "~/.hermes/agent-hooks/format.sh"
hooks_auto_accept: false

display:
  skin: default
""",
    },
    "copilot": {
        ".copilot/mcp-config.json": (
            '{\r\n  "mcpServers": {\r\n    "docs": { "type": "http", "url": "https://docs.example.com/mcp", '
            '"headers": {"Authorization": "Bearer verysecret"}, "tools": ["*"] }\r\n  }\r\n}\r\n'
        ),
        ".copilot/settings.json": """{
  // asked once
  "banner": "never",
  "hooks": {
    "preToolUse": [ { "type": "command", "bash": "./check.sh", "timeoutSec": 5 } ],
  },
  "unheardOf": { "a": 1.50 }
}
""",
    },
    "qwen": {
        ".qwen/settings.json": """{
\t"$version": 3,
\t"security": { "auth": { "selectedType": "qwen-oauth" } },
\t// one server
\t"mcpServers": { "time": { "command": "uvx", "args": ["mcp-server-time"], "trust": true } },
\t"hooks": {
\t\t"PostToolUse": [ { "matcher": "write_file", "hooks": [ { "type": "command", "command": "./fmt.sh" } ] } ]
\t}
}
""",
    },
    "cline": {
        ".cline/data/settings/cline_mcp_settings.json": """{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "@example/github-mcp"],
      "env": { "GITHUB_TOKEN": "ghp_verysecret" },
      "disabled": false,
      "autoApprove": []
    }
  }
}
""",
    },
    "windsurf": {
        ".codeium/windsurf/mcp_config.json": (
            '{"mcpServers": {"far": {"serverUrl": "https://mcp.example.com", "disabledTools": []}}, "x": null}'
        ),
    },
    "zed": {
        ".config/zed/settings.json": """// Zed settings
//
// To see all of Zed's default settings, run `zed: open default settings`.
{
  "theme": { "mode": "system", "light": "One Light", "dark": "One Dark" }, /* both */
  "context_servers": {
    "postgres-context-server": {
      "settings": { "database_url": "postgresql://someone:verysecret@localhost/shop" },
    },
  },
  "vim_mode": true,
}
""",
    },
    "amp": {
        ".config/amp/settings.json": """{
    "amp.showCosts": true,
    "amp.mcpServers": {
        "playwright": {"command": "npx", "args": ["-y", "@playwright/mcp@latest"]}
    },
    "amp.permissions": [{"tool": "Bash", "action": "ask"}],
    "mcpServers": {"elsewhere": {}}
}""",
    },
    "goose": {
        ".config/goose/config.yaml": """GOOSE_PROVIDER: anthropic   # chosen at setup
GOOSE_MODEL: claude-sonnet-4
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  # ours
  github:
    enabled: false
    type: stdio
    name: GitHub
    cmd: npx
    args: [-y, "@example/github-mcp"]
    env_keys:
      - GITHUB_TOKEN
GOOSE_MODE: smart_approve
""",
    },
    "kiro": {
        ".kiro/settings/mcp.json": (
            '{\r\n\t"mcpServers": {\r\n\t\t"fetch": {\r\n\t\t\t"command": "uvx",\r\n'
            '\t\t\t"args": ["mcp-server-fetch"],\r\n\t\t\t"disabled": true,\r\n\t\t\t"autoApprove": []\r\n'
            "\t\t}\r\n\t}\r\n}\r\n"
        ),
    },
}
"""By client, what lies below the home."""
BROKEN: dict[str, tuple[str, str]] = {
    "claude-code": (".claude.json", '{\n  "mcpServers": {\n    "a": {},\n'),
    "codex": (".codex/config.toml", 'model = "x"\n[mcp_servers\n'),
    "cursor": (".cursor/mcp.json", '{"mcpServers": [}\n'),
    "vscode": (".config/Code/User/mcp.json", '{\n\t"servers": {"a": }\n}\n'),
    "gemini": (".gemini/settings.json", "not json"),
    "opencode": (".config/opencode/opencode.json", '["a"]\n'),
    "hermes": (".hermes/config.yaml", "model: [\n  a: }\n"),
    "copilot": (".copilot/mcp-config.json", '{"mcpServers": {"a": {}}\n'),
    "qwen": (".qwen/settings.json", '{"a": tru}\n'),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "[\n"),
    "windsurf": (".codeium/windsurf/mcp_config.json", '"a"\n'),
    "zed": (".config/zed/settings.json", "{\n  // a\n  b: 1\n}\n"),
    "amp": (".config/amp/settings.json", '{"a": 1,, "b": 2}\n'),
    "goose": (".config/goose/config.yaml", "extensions:\n  a: 1\n b: 2\n"),
    "kiro": (".kiro/settings/mcp.json", '{"mcpServers": {"a": }}\n'),
}
"""By client, the file that a person broke."""


def write(home: Path, files: dict[str, str]) -> dict[str, bytes]:
    """Write the files below the home, exactly; what was written, by path."""
    for path, text in files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(text.encode())
    return contents(home)


def contents(top: Path) -> dict[str, bytes]:
    """Every file below the directory, by its path in it."""
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}
