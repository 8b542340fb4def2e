"""From a request to what the model reads: skills found, rendered, fitted into a budget, put into one message.

The answer is a plain JSON value. It carries the message, what each skill came to, and everything that was asked for and
is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError, WhetError
from whet.library.card import main_file
from whet.library.readiness import missing
from whet.prompt.asking import not_had
from whet.prompt.formats import clean
from whet.prompt.message import ASKED, Block, Part, already_loaded, compose, fit, remarks, setting_lines, spoken
from whet.prompt.rendering import expand
from whet.prompt.scene import render_skill, scene_of, shell_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.readiness import Probe
    from whet.library.workspace import ResolvedConfig, Workspace
    from whet.prompt.asking import Asked
    from whet.prompt.shell import Runner
    from whet.prompt.tokens import Tokenizer
    from whet.skill.diagnostics import Diagnostic

SHARED_TOKENS = 25_000
"""What several skills at once may take together, unless the caller says otherwise. One alone is given in full."""
_LONGEST_REASON = 200


class Stage(NamedTuple):
    """Everything around one invocation."""

    workspace: Workspace
    config: ResolvedConfig
    probe: Probe
    settings: Mapping[str, Any]
    """Values of the settings that skills declare."""
    tokenizer: Tokenizer
    session_id: str = ""
    runner: Runner | None = None
    loaded: Callable[[Part], bool] = lambda _: False
    """Is exactly this in the conversation already?"""


class Invocation(NamedTuple):
    """A message, and the blocks it is made of."""

    message: str
    blocks: tuple[Block, ...]
    answer: dict[str, Any]


def prepare(card: Card, arguments: str, stage: Stage) -> Part:
    """Read and render one skill."""
    opened = stage.workspace.open(card)
    stage.workspace.admit(opened, stage.config)
    skill = opened.skill
    scene = scene_of(opened, stage.workspace, stage.config, stage.session_id)
    shell = shell_of(opened, stage.workspace, stage.config, stage.runner)
    rendered = render_skill(opened, scene, arguments=arguments, shell=shell)
    lacking = [f"{item.kind} {item.name}. {item.help}".strip() for item in missing(skill.gates, stage.probe)]
    if lacking and skill.setup_help:
        lacking.append(skill.setup_help)
    files = [(file.path, file.size) for file in opened.files if file.path != main_file(card)]
    settings = setting_lines(skill, stage.settings)
    below = remarks(files, card.directory if card.kind == "skill" else "", lacking, settings)
    notes = tuple(f"[Note: {note.message}]" for note in rendered.notes if _tells_more(note))
    tools = tuple(expand(tool, scene) for tool in skill.allowed_tools)
    return Part(card, skill, opened.digest, rendered.text, rendered.notes, tools, settings, (*below, *notes))


def _tells_more(note: Diagnostic) -> bool:
    """Is a note worth the model's while: not a trifle, and not what stands in the body as a mark already?"""
    marked = note.code in ("inline-shell-failed", "inline-shell-timeout")
    return note.code == "inline-shell-off" or (note.severity != "info" and not marked)


def invoke(asked: Asked, stage: Stage, *, budget: int | None = None, note: str = "") -> Invocation:
    """Put what was asked for into one message; `budget` is in tokens, `note` is for the model.

    A skill that cannot be read is among the missing; where nothing is left, that is the error.
    """
    if budget is not None and budget < 1:
        raise UsageError("bad-budget", "A budget is a number above zero.", hint="Leave it out for the default.")
    parts: list[Part] = []
    failed: list[WhetError] = []
    for card in asked.cards:
        try:
            parts.append(prepare(card, asked.request, stage))
        except WhetError as error:
            failed.append(error)
            asked = asked._replace(missing=(*asked.missing, not_had(card.full_name, error)))
    if failed and not parts and not asked.bundles:
        raise failed[0]
    fresh = [part for part in parts if not stage.loaded(part)]
    if budget is None and len(fresh) > 1:
        budget = SHARED_TOKENS
    fitted = {item.part.card.path: item for item in fit(fresh, budget, stage.tokenizer.count)}
    blocks = tuple(fitted.get(part.card.path) or _loaded(part, stage) for part in parts)
    message = asked.request
    if parts or asked.bundles:
        head = [*_head(asked, blocks), *([f"Note: {note}"] if note else [])]
        message = compose(head, [item.text for item in blocks], asked.request)
    answer = {
        "success": True,
        "message": message,
        "tokens": stage.tokenizer.count(message),
        "tokenizer": stage.tokenizer.name,
        "request": asked.request,
        "skills": [_told(item, stage) for item in blocks],
        "bundles": [bundle.slug for bundle in asked.bundles],
        "missing": list(asked.missing),
        "budget": budget,
    }
    return Invocation(message, blocks, answer)


def _loaded(part: Part, stage: Stage) -> Block:
    text = already_loaded(part)
    return Block(part, "loaded", text, stage.tokenizer.count(text))


def _head(asked: Asked, blocks: Sequence[Block]) -> list[str]:
    names = [item.part.card.full_name for item in blocks if item.strategy != "omitted"]
    omitted = [item.part.card.full_name for item in blocks if item.strategy == "omitted"]
    follow = f" Follow {'its' if len(names) == 1 else 'their'} instructions for this request." if names else ""
    if asked.bundles:
        what = "bundle" if len(asked.bundles) == 1 else "bundles"
        titles = _list([bundle.name for bundle in asked.bundles])
        it = "it" if len(asked.bundles) == 1 else "them"
        given = f"Loaded for {it}: {_list(names)}.{follow}" if names else f"Nothing of {it} can be loaded."
        rows = [f"{ASKED}{what} {titles}. {given}"]
    else:
        what = "skill" if len(blocks) == 1 else "skills"
        rows = [f"{ASKED}{what} {_list([item.part.card.full_name for item in blocks])}.{follow}"]
    for item in asked.missing:
        rows.append(f"Not loaded: {spoken(item['name'] or 'more')}. {clean(item['message'])[:_LONGEST_REASON]}")
    if omitted:
        rows.append(f"No room for {_list(omitted)}; load with skill_view(name) what is needed.")
    rows.extend(f"Instruction: {bundle.instruction}" for bundle in asked.bundles if bundle.instruction)
    return rows


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(spoken, names))


def _told(item: Block, stage: Stage) -> dict[str, Any]:
    part = item.part
    execution = part.skill.execution
    lacking = missing(part.skill.gates, stage.probe)
    return {
        "name": part.card.full_name,
        "path": part.card.location,
        "digest": part.digest,
        "strategy": item.strategy,
        "tokens": item.tokens,
        "context": execution.context,
        "agent": execution.agent,
        "model": execution.model,
        "effort": execution.effort,
        "allowed_tools": list(part.allowed_tools),
        "disallowed_tools": list(part.skill.disallowed_tools),
        "ready": not lacking,
        "missing": [need.to_json() for need in lacking],
        "notes": [note.to_json() for note in part.notes],
    }
