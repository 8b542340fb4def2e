"""Tiers 2 and 3 as they are given out: the body rendered, hidden skills refused, what is loaded already as a stub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import RefusedError
from whet.library.disclosure import file_answer, stub, view_answer
from whet.library.visibility import PERSON, Caller, hidden
from whet.prompt.scene import render_skill, scene_of, shell_of

if TYPE_CHECKING:
    from whet.library.disclosure import Loaded
    from whet.library.lookout import Lookout
    from whet.library.readiness import Probe
    from whet.prompt.shell import Runner


def view(
    lookout: Lookout,
    name: str,
    file_path: str | None = None,
    page: int = 1,
    *,
    caller: Caller = PERSON,
    loaded: Loaded | None = None,
    session_id: str = "",
    probe: Probe | None = None,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """One skill's instructions; with `file_path`, one of its files as it lies on disk.

    Inline commands run only for a model, and only where the settings allow it: a person who looks is not asking for
    anything to happen. `probe` and `runner` are those of a session.
    """
    card, survey = lookout.find(name)
    reason = hidden(card, caller, survey.disabled, survey.probe)
    if reason and caller.model:
        raise RefusedError(reason.code, f"{card.full_name} is not available: {reason.message}", hint=reason.hint)
    if file_path is not None:
        answer = file_answer(card, file_path, page=page, bases=survey.bounds.bases)
        if loaded is not None and loaded.knows(card.path, file_path, page, answer["digest"]):
            return stub(card, file_path, page, answer["digest"])
    else:
        opened = lookout.open(card)
        if loaded is not None and loaded.knows(card.path, "", page, opened.digest):
            return stub(card, "", page, opened.digest)
        shell = shell_of(opened, lookout, survey, runner) if caller.model else None
        rendered = render_skill(opened, scene_of(opened, lookout, survey, session_id), shell=shell)
        answer = view_answer(opened, probe or survey.probe, page=page, body=rendered.text)
        answer["diagnostics"].extend(note.to_json() for note in rendered.notes)
        if reason:
            answer["hidden"] = reason._asdict()
    if loaded is not None:
        loaded.add(card.path, file_path or "", page, answer["digest"])
    return answer
