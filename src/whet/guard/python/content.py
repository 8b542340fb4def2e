"""What a program writes into places that matter: start-up files, the agent's own files, system settings, scripts.

That something is written there is often honest, so it is the content that decides: fetched or hidden programs,
approvals switched off, servers at raw addresses. Content that is a script is read like any other script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.hosts import URL, host_of, is_unsafe
from whet.guard.places import Place, places
from whet.guard.python.values import Value, strings
from whet.guard.taint.mark import HOLE

if TYPE_CHECKING:
    import ast

    from whet.guard.python.reader import Reader

_RELAX = re.compile(
    r"bypass.?permissions|dangerously|auto.?approve|skip.{0,12}(?:permission|approval|confirm)|bash\(\*?\)|\"allow\"\s{0,4}:\s{0,4}\[\s{0,4}\"\*"
    r"|enableallprojectmcpservers|approval.?policy\W{1,4}never|yolo|defaultmode\W{1,6}(?:accept|bypass)",
    re.IGNORECASE,
)
_CONCEAL = re.compile(
    r"(?:do not|don't|never) (?:tell|mention|reveal|inform|show|ask)|without (?:telling|asking|informing)"
    r"|ignore (?:all|any|previous)|silently|\bsecretly\b|(?:curl|wget)\b[^\n]{0,80}\|"
    r"|(?:always|first|must) (?:run|execute|send|upload)\b",
    re.IGNORECASE,
)
_FETCHES = re.compile(r"\b(?:curl|wget|base64 -d|base64 --decode|bash -i|nc -e|/dev/tcp|iex|mshta)\b", re.IGNORECASE)
_HIDDEN_PROGRAM = re.compile(
    r"(?:\b(?:python[\d.]{0,4}|node|perl|ruby|nohup|exec|(?:ba|z)?sh)[\s\"',]{1,6}(?:-\w{1,9}[\s\"',]{1,6})?"
    r"|exec(?:start)?=|\*\s{1,4}|alias\s{1,4}[\w-]{1,20}=[\"']?|\[\s{0,4}\"|^)"
    r"(?:(?:/private)?/tmp/|/var/tmp/|/dev/shm/|(?:~|\$home|/users/[\w.-]{1,40}|/home/[\w.-]{1,40})/(?:[\w.-]{1,40}/){0,5}\.[\w.-]{1,60}(?=[\s\"';&)<]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_ALIAS = re.compile(
    r"^\s{0,8}alias\s{1,4}(?:sudo|su|ssh|passwd|doas)=|^\s{0,8}(?:function\s{1,4})?sudo\s{0,4}\(\)", re.MULTILINE
)
_HOOK = re.compile(r"hooks[\\/](?:pre|post|commit|prepare|update)[\w-]{0,20}$")
_PIPED = re.compile(
    r"\|\s{0,4}(?:curl|wget|nc|ncat)\b|(?:--data(?:-binary)?|-d|-T|-F)\s{1,4}[\"']?\S{0,30}@", re.IGNORECASE
)
_SCRIPT = re.compile(r"\.(?:sh|bash|zsh|command|py|pyw|pth)$", re.IGNORECASE)
_PACKAGES = re.compile(
    r"(?:[\\/]\.?pip[\\/]pip\.(?:conf|ini)|[\\/]pip\.conf|\.npmrc|\.yarnrc(?:\.yml)?|\.condarc|\.cargo[\\/]config(?:\.toml)?)$",
    re.IGNORECASE,
)
_MAPPED = re.compile(
    r"^\s{0,8}([\d.:a-f]{3,40})\s{1,8}\S{0,60}(?:pypi\.org|pythonhosted\.org|github\.com|npmjs\.org|googleapis\.com|anthropic\.com|openai\.com)",
    re.MULTILINE | re.IGNORECASE,
)


def judge(reader: Reader, path: str, content: Value, where: ast.AST, appends: bool) -> None:
    """Judge what is written to a path."""
    named = path.replace(HOLE, "x")
    text = said(content)
    for place in places("authorized_keys" if named.endswith("authorized_keys") else named):
        if place.kind == "start":
            _starts(reader, place, content, text, where, path)
        elif place.kind == "agent":
            _agent(reader, place, text, where, path, appends)
    if named.startswith("/etc/"):
        _system(reader, named, text, where)
    if _PACKAGES.search(named):
        _packages(reader, text, where)
    if _HOOK.search(named) and _PIPED.search(text) and _remote(text):
        reader.hit("writes-start-file", where, "critical", path, "It writes a hook that sends something away")
    if len(text) > 20 and (text.startswith("#!") or _SCRIPT.search(named)):
        inner(reader, where, text, named.endswith((".py", ".pyw", ".pth")) or "python" in text[:60])


def said(content: Value) -> str:
    """The constant text of a content, however it is nested."""
    return content.text() or "\n".join(strings(content.const, 200))


def inner(reader: Reader, where: ast.AST, text: str, python: bool) -> bool:
    """What a script inside the program does; true when that is more than info."""
    if reader.level >= 3:
        return False
    text = text[:100_000].replace(HOLE, "X")
    if python:
        return reader.adopt(reader.read_inner(text, reader.level + 1), where)
    from whet.guard.shell.checker import check

    return reader.adopt(check(text), where)


def _remote(text: str) -> bool:
    return any(not host_of(url).near for url in URL.findall(text)[:20])


def _starts(reader: Reader, place: Place, content: Value, text: str, where: ast.AST, path: str) -> None:
    reader.fact("write", place.what, where, path, grave=True)
    if place.what == "git hooks":
        reader.hit("writes-start-file", where, "info", path)
        return
    if place.what == "Python start-up" and path.endswith(".pth") and text and "import" not in text:
        reader.hit("writes-start-file", where, "info", path)
        return
    bad = any(mark.kind in ("fetched", "decoded") for mark in content.marks)
    bad = bad or _FETCHES.search(text) is not None
    bad = bad or (place.grave and "ssh-" in text) or "preload" in path
    bad = bad or (place.what == "Python start-up" and "import" in text and inner(reader, where, text, python=True))
    message = f"It writes to {place.what}" + (" something that is fetched, decoded or fixed in advance" if bad else "")
    if not bad and (_HIDDEN_PROGRAM.search(text) or _ALIAS.search(text) or "com.apple." in path):
        bad = True
        message = f"It writes to {place.what} a program that is hidden or takes the name of another"
    reader.hit("writes-start-file", where, "critical" if bad else "warn", path, message)


def _agent(reader: Reader, place: Place, text: str, where: ast.AST, path: str, appends: bool) -> None:
    reader.fact("write", place.what, where, path, grave=True)
    settings = place.what == "the agent's settings"
    if _RELAX.search(text) or (place.what != "other skills" and _CONCEAL.search(text)):
        reader.hit(
            "writes-agent-file", where, "critical", path, f"It changes {place.what} so that less is asked or shown"
        )
    elif settings and ((_FETCHES.search(text) and _remote(text)) or _shady(text)):
        reader.hit(
            "writes-agent-file", where, "critical", path, f"It puts into {place.what} a command or a server of its own"
        )
    elif (
        place.what == "other skills"
        or (place.what == "the agent's instructions" and not appends and "~" not in path)
        or (settings and not path.startswith(("~", "/", "$")))
    ):
        reader.hit("writes-agent-file", where, "info", path)
    else:
        reader.hit("writes-agent-file", where, "warn", path, f"It changes {place.what}")


def _shady(text: str) -> bool:
    """Does it name a server at a raw address, a tunnel or over plain HTTP?"""
    return any(map(is_unsafe, URL.findall(text)[:20]))


def _system(reader: Reader, path: str, text: str, where: ast.AST) -> None:
    if path.startswith("/etc/sudoers") and "NOPASSWD" in text:
        reader.hit("sudo-without-password", where, None, path)
    elif path == "/etc/hosts":
        for address in _MAPPED.findall(text)[:5]:
            if host_of(address).kind in ("address", "private"):
                reader.hit("redirects-downloads", where, "critical", path, f"It sends requests for others to {address}")


def _packages(reader: Reader, text: str, where: ast.AST) -> None:
    for url in URL.findall(text)[:5]:
        host = host_of(url)
        if host.kind not in ("known", "loopback", "private"):
            bad = host.shady or url.startswith("http:")
            reader.hit("redirects-downloads", where, "critical" if bad else "info", host.name)
