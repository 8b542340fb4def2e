"""Edit a skill: its text, live validation, a preview, and saving."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup

from whet.errors import ConflictError
from whet.skill.frontmatter import read_document
from whet.skill.validate import ValidationInput, validate
from whet.web.markdown import render_markdown
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.authoring.editor import SkillText
    from whet.web.ui.requests import Asked


def show_editor(asked: Asked) -> Page:
    """Show a skill's main file in a form."""
    opened = asked.library.edit.open_text(asked.text("name"))
    return _editor(opened, opened.data.decode(), opened.digest)


def check_text(asked: Asked) -> Page:
    """Show the problems and the preview of unsaved text."""
    opened = asked.library.edit.open_text(asked.text("name"))
    return _editor(opened, asked.text("text"), asked.text("digest"))


def _editor(opened: SkillText, text: str, digest: str) -> Page:
    found = validate(ValidationInput("", text), "quality")
    answer = {
        "name": opened.name,
        "path": opened.path,
        "digest": digest,
        "text": text,
        "notes": [note.to_json() for note in found],
    }
    html = render_markdown(read_document(text).body)
    return Page("edit.html", answer, {"html": Markup(html)})  # noqa: S704  cleaned by nh3


def save_text(asked: Asked) -> Moved:
    """Save the text, unless the skill changed in the meantime."""
    name = asked.text("name")
    opened = asked.library.edit.open_text(name)
    if asked.text("digest") != opened.digest:
        message = f"{opened.name} was changed by another process while you were editing. Nothing was saved."
        raise ConflictError("skill-changed", message, hint="Keep a copy of your text, and open the skill again.")
    change = asked.library.edit.edit(name, asked.text("text"), opened=opened)
    told = f"Saved {change.skill} {change.version}." if change.digest != opened.digest else "The text is the same."
    undo = asked.library.history.undoable()[0][0].run if change.digest != opened.digest else ""
    return Moved(f"/skill?{urlencode({'name': opened.path})}", told, undo)


ROUTES = (
    Route("GET", "/edit", show_editor),
    Route("POST", "/edit/check", check_text),
    Route("POST", "/edit/save", save_text),
)
