"""The first look at a script: can anything come of reading it as a program?

Sending alone is no danger, nor is reading, removing or writing: it takes two that belong together, or one thing that
runs or hides something. Of a script that only talks to the network, the connections are noted for the other files of
the package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard import patterns
from whet.guard.expression import expression
from whet.guard.finding import Fact
from whet.guard.hosts import URL, host_of
from whet.guard.tables import api

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_RUNNING = api("javascript", "running")
_TALKING = api("javascript", "talking")
_TALKS_MARKS = (
    "fetch(", "baseURL", "baseUrl", "dsn", "axios", "WebSocket(", "XMLHttpRequest", "sendBeacon", "new Image", ".src =", ".src=", ".href =",
    ".href=",
)  # fmt: skip
_TALKS = expression(
    r"[\"'](?:node:)?(?:https?|http2|net|tls|dgram|dns(?:/promises)?|got|ky|undici|superagent|needle|request|ws"
    r"|phin|bent"
    r"|node-fetch|cross-fetch|nodemailer|aws-sdk|@aws-sdk/[\w-]{1,40}|@octokit/[\w-]{1,40}|form-data"
    r"|socket\.io-client|ssh2|ssh2-sftp-client|node-ssh|basic-ftp)[\"']"
)
_KEEPING = api("javascript", "keeping")
_KEEPS = expression(
    r"homedir|\bHOME\b|USERPROFILE|APPDATA|\.(?:ssh|aws|kube|npmrc|netrc|gnupg|docker|git-credentials)\b"
    r"|[Kk]eychain|wallet"
    r"|document\.cookie|(?:local|session)Storage|_history\b|\bkey(?:down|press|up)\b|KeyboardListener"
    r"|process\.env\b(?!\.)|\benv\s{0,4}[:}]|env\.\w{0,40}(?:KEY|TOKEN|SECRET|PASS|CRED|PAT|_UR[LI]|DSN|SEED|ID)|keystore|[Mm]nemonic|/etc/(?:passwd|shadow)"
    r"|\.env(?:\.\w{1,12})?[\"'`]|tdata|leveldb|type=[\"'\\]{0,2}password|screenshot|desktopCapturer|169\.254"
    r"|Login Data"
)
_TOUCHING = api("javascript", "touching")
_REMOVING = api("javascript", "removing")
_WALKING = frozenset(("readdir", "readdirsync", "opendir", "globsync", "fastglob"))
_DECODING = frozenset(("base64", "atob", "fromcharcode"))
_TOUCHES = expression(
    r"\b(?:readFile|createReadStream|readdir|writeFile|appendFile|createWriteStream|outputFile|outputJson|writeJson"
    r"|copyFile|rename|opendir)(?:Sync)?\b|\.(?:copy|copySync)\s{0,4}\("
)
_PLACES = expression(
    r"\.(?:ssh|aws|kube|npmrc|netrc|gnupg|docker|git-credentials|pypirc|bashrc|bash_profile|zshrc|zprofile|zshenv"
    r"|profile"
    r"|ethereum|electrum|bitcoin|solana|mozilla|claude|cursor|gemini|codex|openclaw|mcp|vscode)\b|LaunchAgents"
    r"|LaunchDaemons"
    r"|crontab|/etc/|systemd|autostart|Startup|authorized_keys|git[\\/]hooks|CLAUDE\.md|AGENTS\.md|MEMORY\.md|wallet"
    r"|Login Data|leveldb|Keychains|_history\b"
)
_REMOVES = expression(
    r"\b(?:rm|rmSync|rmdir|rmdirSync|rimraf|rimrafSync|removeSync|emptyDir|emptyDirSync"
    r"|deleteSync)\b[.\w]{0,8}\s{0,4}\("
    r"|\bfs\w{0,2}\.remove\s{0,4}\("
)
_HOMES = expression(r"homedir|\bHOME\b|USERPROFILE|[\"'`](?:/|~|[A-Z]:)[\\/\w]{0,20}[\"'`]|/(?:home|Users|root)\b")
_ODD_MARKS = (
    "_0x", "child_process", "KeyboardListener", "eval: true", "eval:true", "'vm'", '"vm"', "node:vm", "'zx", '"zx',
    "'bun'", '"bun"', "Deno.", "Bun.", "globalThis[", "window[", "global[", "process[", "self[", "from 'http",
    'from "http', "import 'http", 'import "http', "import('http", 'import("http', "import('data", 'import("data',
    "import(`", "getPrototypeOf(async", "getPrototypeOf(function",
)  # fmt: skip
"""Each of them is enough."""
_ODD = (
    ("\\x", expression(r"\\x[0-9a-f]{2}\\x[0-9a-f]{2}")),
    ("\\u00", expression(r"\\u00[0-9a-f]{2}\w{0,20}\s{0,9}[(\[]")),
    ("require", expression(r"require\s{0,9}\((?!\s{0,9}[\"'`][\w@./:${}-]{1,200}[\"'`]\s{0,9}[),])\s{0,9}[^)\s]")),
    ("import", expression(r"import\s{0,9}\((?!\s{0,9}[\"'`][\w@./:${}-]{1,200}[\"'`]\s{0,9}[),])\s{0,9}[^)\s]")),
    ("+", expression(r"\[\s{0,9}[\"'`][^\"'`\n\]]{0,40}[\"'`]\s{0,9}\+")),
    ("Function", expression(r"Function\s{0,9}\((?<![\w$]Function\()")),
    (".constructor", expression(r"\.constructor\s{0,4}\(\s{0,4}[\"'`]")),
)
"""A piece of text that must be there, and what it must look like."""
_CALLED = expression(
    r"(?:(?:fetch|axios|got|needle|superagent|ky|undici|https?)(?:\.(?:get|post|put|patch|request|fetch))?"
    r"|new\s{1,4}WebSocket|(?:xhr|req|request|ws|socket)\.(?:send|write|end))\s{0,4}\("
)
_FILLED = expression(r"\bbody\b|\bdata\b|\bjson\b|\$\{|\+|\b(?:post|put|patch|send|write|end)\b", re.IGNORECASE)
_MOST = 40


def worth(text: str, words: AbstractSet[str]) -> bool:
    """Can anything come of reading it as a program?"""
    if not words.isdisjoint(_RUNNING):
        return True
    if not words.isdisjoint(_KEEPING) and not words.isdisjoint(_TALKING) and _sends(text) and _KEEPS.search(text):
        return True
    if not words.isdisjoint(_TOUCHING) and _TOUCHES.search(text) and _PLACES.search(text):
        return True
    if not words.isdisjoint(_TOUCHING) and ("base64" in words or _gathers(text)):
        return True
    if not words.isdisjoint(_WALKING) and _sends(text):
        return True
    if not words.isdisjoint(_REMOVING) and _REMOVES.search(text) and _HOMES.search(text):
        return True
    if "console" in words and not words.isdisjoint(_DECODING):
        return True
    if any(mark in text for mark in _ODD_MARKS):
        return True
    return any(mark in text and shape.search(text) for mark, shape in _ODD)


def _gathers(text: str) -> bool:
    """Does it take several variables of the environment?"""
    return text.count("process.env") > 2 or text.count("env.") > 2


def _sends(text: str) -> bool:
    return any(mark in text for mark in _TALKS_MARKS) or _TALKS.search(text) is not None


def talks(text: str, words: AbstractSet[str]) -> list[Fact]:
    """The connections of a script that has nothing of others, for what other files may give it to send."""
    facts: list[Fact] = []
    if words.isdisjoint(_TALKING) or not _sends(text):
        return facts
    for found in _CALLED.finditer(text):
        if found.start() and (text[found.start() - 1].isalnum() or text[found.start() - 1] in "_$."):
            continue
        near = text[found.start() : found.start() + 200]
        url = URL.search(near)
        host = host_of(url[0]) if url else None
        if host is not None and host.near:
            continue
        line, name = patterns.line_of(text, found.start()), host.name if host else ""
        evidence, shady = patterns.shorten(near), host is not None and host.shady
        facts.append(Fact("fetch", "download", line, evidence, name, shady))
        if _FILLED.search(near):
            facts.append(Fact("sink", "network request", line, evidence, name, shady))
        if len(facts) > _MOST:
            break
    return facts
