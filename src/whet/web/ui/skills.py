"""The list of all skills, and the page of one: its text, files and origin, its permissions and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup

from whet.library.client_lists import judge_skills
from whet.library.listing import LIST_SCOPES, STATES
from whet.web.markdown import render_markdown
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_PAGE = 100
_TOOLS = {
    "Bash": "run commands",
    "Read": "read files",
    "Glob": "list files",
    "Grep": "search in files",
    "Write": "write files",
    "Edit": "change files",
    "WebFetch": "fetch web pages",
    "WebSearch": "search the web",
}


def show_skills(asked: Asked) -> Page:
    """Show the skills of all clients, filtered by the query."""
    found = asked.library.skills(
        category=asked.text("category") or None,
        query=asked.text("q") or None,
        limit=_PAGE,
        cursor=asked.text("cursor") or None,
        include_hidden=True,
        scope=asked.text("scope") or None,
        state=asked.text("state") or None,
        clients=True,
    )
    clients = list(dict.fromkeys(client for told in found.verdicts.values() for client, _ in told))
    filters = {"scope": LIST_SCOPES, "state": STATES}
    return Page("skills.html", found.to_json(), {"given": asked.given, "clients": clients, "filters": filters})


def show_skill(asked: Asked) -> Page:
    """Show one skill."""
    name = asked.text("name")
    library = asked.library
    view = library.read(name, count=False)
    card = view.card
    scan = library.guard.scan(card.location).to_json()
    told = view.to_json()
    answer = {
        **told,
        "full_name": card.full_name,
        "scan": scan["results"][0],
        "origin": library.sources.why(card.location).to_json(),
        "disabled": library.workspace.config().disabled.source(card, "") is not None,
        "permissions": [describe_tool(tool) for tool in told["allowed_tools"]],
        "clients": dict(judge_skills(library.clients(only=card))(card)),
    }
    base = f"/file?{urlencode({'name': card.full_name})}&file="
    return Page("skill.html", answer, {"html": Markup(render_markdown(view.content, base))})  # noqa: S704  cleaned by nh3


def describe_tool(rule: str) -> str:
    """Describe an entry of `allowed-tools`: `Bash(git:*)` is "run commands that begin with git"."""
    name, _, given = rule.partition("(")
    given = given.removesuffix(")")
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return f"use {tool or 'every tool'} of the MCP server {server}"
    words = _TOOLS.get(name, f"use {name}")
    if not given:
        return words
    return f"{words} that begin with {given[:-2]}" if given.endswith(":*") else f"{words}: {given}"


def show_file(asked: Asked) -> Page:
    """Show one file of a skill as it is on disk, with the findings beside their lines."""
    view = asked.library.read(
        asked.text("name"), asked.text("file") or "SKILL.md", asked.number("page", 1), count=False
    )
    answer = view.to_json()
    scan = asked.library.guard.scan(view.card.location).to_json()["results"][0]
    found = [
        finding for finding in scan["findings"] if finding["file"] == answer["file"] and answer.get("page", 1) == 1
    ]
    return Page("file.html", {**answer, "full_name": view.card.full_name, "findings": found})


def switch(asked: Asked) -> Moved:
    """Enable or disable a skill, for everything or for one client."""
    name, surface = asked.text("name"), asked.text("client")
    change = asked.library.settings.enable if asked.is_set("on") else asked.library.settings.disable
    called = asked.library.card(name).full_name
    done = change(name, surface)
    state = "enabled" if done.enabled else "disabled"
    message = " ".join(filter(None, (f"{called} is {state}.", *done.notes, done.hint)))
    undo = asked.library.history.undoable()[0][0].run if done.changed else ""
    return Moved(f"/skill?{urlencode({'name': name})}", message, undo)


ROUTES = (
    Route("GET", "/skills", show_skills),
    Route("GET", "/skill", show_skill),
    Route("GET", "/file", show_file),
    Route("POST", "/skill/switch", switch),
)
