"""Configurations for agents: MCP servers, hooks, permissions, and the frontmatter of a skill."""

from __future__ import annotations

import re
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.finding import Hit
from whet.guard.hosts import URL, host_of, is_unsafe
from whet.guard.manifests.parsers import runs_fetched, table, texts, walk
from whet.guard.tables import shape, words
from whet.guard.taint.network import judge_request
from whet.guard.taint.secret import secret_key
from whet.guard.taint.sources import judge_base

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.finding import Severity
    from whet.guard.manifests.parsers import Notes
    from whet.guard.taint.mark import Mark

_WIDE = shape("manifests", "wide", re.IGNORECASE, frame=r"^(?:{})$")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh"})
_RUNNERS = ("npx", "uvx", "pipx", "bunx", "deno")
_COMMAND = expression(r"\"command\"\s{0,9}:\s{0,9}\"((?:[^\"\\\n]|\\.){1,2000})\"")
_SENDING = expression(r"\b(?:curl|wget|nc|ncat|http|https|iwr|invoke-webrequest)\s")
_STDIN = expression(r"@-|@/dev/stdin|--post-file|\|\s{0,4}(?:nc|ncat|curl)\b|\$\(cat\)|\$CLAUDE_TOOL|tool_input")
_VARIABLE = expression(r"\$\{?(?:env:)?([A-Za-z_]\w{1,80})")
_SHOWN = words("manifests", "shown")


_PLACE = shape("manifests", "place", 0)
_PLACE_HINTS = (
    *(".claude", ".codex/", ".gemini/", ".qwen/", ".cursor/", ".continue/", ".cline/", ".windsurf/", ".roo/"),
    *("claude_desktop_config", "managed-settings"),
)
_WIDENING = shape("manifests", "widening", 0)
_WRITING = shape("manifests", "writing", 0)
_ADDED = expression(r"\b(?:claude|codex|gemini|qwen)\s{1,4}mcp\s{1,4}add(?:-json)?\s([^\n]{1,800})")
_NEAR = 1_000
"""Characters around a setting that must contain the file and the writing."""


def edits(notes: Notes) -> None:
    """Report commands and code, even in fences, that widen an agent's permissions or add an untrustworthy server."""
    text = notes.text
    if "mcp" in text:
        for found in _ADDED.finditer(text):
            worst = [severity for url in URL.findall(found[1]) if (severity := _odd(url))]
            if worst or runs_fetched(found[1]):
                severity = "critical" if "critical" in worst or runs_fetched(found[1]) else "warn"
                notes.hit("mcp-odd-server", found[0], severity)
    if not any(map(text.__contains__, _PLACE_HINTS)) or not _PLACE.search(text):
        return
    for piece in text.split("```")[1::2] if notes.kind in ("markdown", "text", "html") else [text]:
        for found in _WIDENING.finditer(piece):
            near = piece[max(0, found.start() - _NEAR) : found.end() + _NEAR]
            if _PLACE.search(near) and _WRITING.search(near):
                notes.hit("agent-permission-bypass", found[0], "critical")
                return


def servers(notes: Notes, data: Any) -> bool:
    """Check every MCP server of a configuration, and return whether there are any."""
    found = False
    for key, value, _ in walk(data):
        if key in ("mcpServers", "mcp_servers", "servers", "context_servers") and isinstance(value, dict):
            for name, server in list(value.items())[:100]:
                if isinstance(server, dict) and not server.keys().isdisjoint(
                    {"command", "url", "serverUrl", "httpUrl"}
                ):
                    found = True
                    _server(notes, str(name), table(server))
    return found


def _server(notes: Notes, name: str, server: Mapping[str, object]) -> None:
    command, args = server.get("command"), texts(server.get("args"))
    notes.hit("mcp-server", f'"{name}"' if f'"{name}"' in notes.text else name, None, name)
    headers = " ".join(texts([*table(server.get("headers")).values()]))
    for url in texts([server.get("url"), server.get("serverUrl"), server.get("httpUrl")]):
        if severity := _odd(url):
            notes.hit("mcp-odd-server", url, severity, host_of(url).name)
        notes.report(judge_request(url, _keys(url), _keys(headers)), url)
    if isinstance(command, str):
        line = " ".join([command, *args])
        base = re.split(r"[\\/]", command.strip())[-1].lower()
        shell = base in _SHELLS and bool(args)
        bad = notes.command(args[-1] if shell else " ".join([command, *map(quote, args)]))
        wanted = next((arg for arg in args if not arg.startswith("-")), "")
        started = re.sub(r"^(?:git\+|tarball\+)", "", wanted) if base in _RUNNERS else ""
        if (started and _odd(started)) or (shell and (bad or runs_fetched(line)) and "://" in line):
            notes.hit("mcp-odd-server", args[-1] if shell else wanted, None, name)
    for key in ("autoApprove", "alwaysAllow", "trust"):
        if "*" in texts(server.get(key)) or (key == "trust" and server.get(key) is True):
            notes.hit("agent-permission-bypass", key, None, name)


def _keys(text: str) -> frozenset[Mark]:
    """Return the secret environment variables that a setting names."""
    return frozenset(mark for name in _VARIABLE.findall(text) if (mark := secret_key(name)) is not None)


def _odd(url: str) -> Severity | None:
    if not URL.match(url):
        return None
    host = host_of(url)
    if host.near:
        return None
    if host.kind in ("paste", "drop", "shortener") or (host.kind == "address" and url.lower().startswith("http://")):
        return "critical"
    return "warn" if host.shady or url.lower().startswith("http://") else None


def _sent_away(command: str) -> Severity | None:
    """Return the severity of a hook that sends its input, which describes each step of the agent, elsewhere."""
    found = URL.search(command) if _SENDING.search(command) else None
    if found is None or host_of(found[0]).near:
        return None
    return "critical" if _STDIN.search(command) and host_of(found[0]).kind != "known" else "warn"


def hooks(notes: Notes, data: Any) -> None:
    """Check the commands of hooks, wherever they are nested."""
    for key, value, _ in walk(data):
        if key not in ("command", "cmd", "run", "commands") or not isinstance(value, str | list):
            continue
        for command in texts(value)[:50]:
            notes.hit("agent-hook", command, "critical" if runs_fetched(command) else _sent_away(command))
            notes.command(command)


def settings(notes: Notes, data: Any) -> None:
    """Check the settings of an agent that are shipped in the package."""
    values = table(data)
    before = len(notes.hits)
    hooks(notes, values.get("hooks"))
    permissions = table(values.get("permissions"))
    for grant in (
        *texts(permissions.get("allow")),
        *texts(values.get("allowedTools")),
        *texts(values.get("autoApprove")),
    ):
        if _WIDE.match(grant.strip()):
            notes.hit("agent-permission-bypass", grant)
    for mode in (permissions.get("defaultMode"), values.get("defaultMode"), values.get("permissionMode")):
        if mode in ("bypassPermissions", "dontAsk"):
            notes.hit("agent-permission-bypass", str(mode), "critical" if mode == "bypassPermissions" else None)
    for key in (
        "enableAllProjectMcpServers",
        "skipDangerousModePermissionPrompt",
        "chat.tools.autoApprove",
        "autoAccept",
    ):
        if values.get(key) is True:
            notes.hit("agent-permission-bypass", key)
    for key in ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper", "statusLine"):
        value = values.get(key)
        helper = table(value).get("command") if isinstance(value, dict) else value
        if isinstance(helper, str):
            notes.hit("agent-hook", helper, "critical" if runs_fetched(helper) else None)
            notes.command(helper)
    asks = all(hit.rule != "agent-permission-bypass" for hit in notes.hits[before:])
    _redirects(notes, table(values.get("env")), None if asks else "critical")


def _redirects(notes: Notes, environment: Mapping[str, object], severity: Severity | None = None) -> None:
    for name, url in environment.items():
        if isinstance(url, str):
            found = judge_base(name, url, shipped=True)
            notes.report((one._replace(severity=severity or one.severity) for one in found), url)


def codex(notes: Notes, data: Any) -> None:
    """Check the config.toml of Codex."""
    values = table(data)
    never = values.get("approval_policy") == "never"
    full = values.get("sandbox_mode") == "danger-full-access"
    if never or full:
        notes.hit(
            "agent-permission-bypass",
            "approval_policy" if never else "sandbox_mode",
            "critical" if never and full else None,
        )
    if isinstance(values.get("notify"), list):
        notes.hit("agent-hook", "notify")
        notes.command(join(texts(values["notify"])))
    for provider in table(values.get("model_providers")).values():
        _redirects(notes, {"OPENAI_BASE_URL": table(provider).get("base_url")})
    servers(notes, values)


def skill(notes: Notes, _path: str) -> None:
    """Check the frontmatter of a SKILL.md: tools, hooks, and the downloads in its metadata."""
    from whet.skill.coerce import split_tools
    from whet.skill.frontmatter import read_document

    document = read_document(notes.text[:400_000])
    values = document.values
    for key in ("allowed-tools", "allowed_tools", "tools"):
        wide = [tool for tool in split_tools(values.get(key)) if _WIDE.match(tool)] if key in values else []
        if wide:
            line = document.lines.get(key, 1)
            notes.hits.append(Hit("wide-tools", line, f"allowed-tools: {wide[0]}", None, wide[0]))
    hooks(notes, values.get("hooks"))
    _fields(notes, values)
    for owner in ("openclaw", "clawdbot", "moltbot", "clawdis"):
        steps = table(table(values.get("metadata")).get(owner)).get("install")
        for step in steps[:50] if isinstance(steps, list) else []:
            _download(notes, table(step))


def _fields(notes: Notes, values: Any) -> None:
    """Check commands and orders in fields of the frontmatter that are not shown to anyone."""
    from whet.guard.prose.orders import check_hidden

    for key, value, _ in walk({name: one for name, one in table(values).items() if name not in _SHOWN}):
        if not isinstance(value, str) or len(value) < 25 or key in ("install", "url", "homepage", "repository"):
            continue
        if runs_fetched(value):
            for quoted in re.findall(r"`([^`\n]{6,1500})`", value) or [value]:
                if notes.command(quoted):
                    notes.hit("metadata-command", value)
        line = notes.line(value)
        notes.hits += [hit._replace(line=line, steps=min(hit.steps, 0)) for hit in check_hidden(value).hits]


def _download(notes: Notes, step: Mapping[str, object]) -> None:
    for url in (*texts(step.get("url")), *texts(step.get("archive"))):
        host = host_of(url)
        if is_unsafe(url):
            notes.hit("odd-download", url, "critical")
        elif host.kind in ("free", "other") and step.get("kind") == "download" and not step.get("sha256"):
            notes.hit("odd-download", url, "warn" if host.kind == "free" else "info", host.name)
    for command in (*texts(step.get("command")), *texts(step.get("run")), *texts(step.get("script"))):
        notes.command(command)


def server_file(notes: Notes, data: Any) -> None:
    """Check a configuration of MCP servers; if it cannot be parsed, everything in it that looks like a command."""
    if data is None:
        hooks(notes, [{"command": found} for found in _COMMAND.findall(notes.text)[:50]])
    servers(notes, data)


def settings_file(notes: Notes, data: Any) -> None:
    """Check the settings of an agent, with its servers."""
    settings(notes, data)
    servers(notes, data)


def editor_settings(notes: Notes, data: Any) -> None:
    """Check the settings of an editor, which may start programs when a folder is opened."""
    settings(notes, data)
    for key, value, _ in walk(data):
        words = texts(value) if key == "args" else []
        if len(words) > 1 and words[-2] in ("-c", "-lc", "/c", "-Command") and notes.command(words[-1]):
            notes.hit("runs-on-open", words[-1])
