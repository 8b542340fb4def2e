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
from whet.prompt.message import ASKED, Block, Part, already_loaded, compose, fit, remarks
from whet.prompt.rendering import expand
from whet.prompt.scene import render_skill, scene_of, shell_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.lookout import Lookout, Survey
    from whet.library.readiness import Probe
    from whet.prompt.asking import Asked
    from whet.prompt.shell import Runner
    from whet.prompt.tokens import Tokenizer

SHARED_TOKENS = 25_000
"""What several skills at once may take together, unless the caller says otherwise. One alone is given in full."""


class Stage(NamedTuple):
    """Everything around one invocation."""

    lookout: Lookout
    survey: Survey
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
    opened = stage.lookout.open(card)
    skill = opened.skill
    scene = scene_of(opened, stage.lookout, stage.survey, stage.session_id)
    shell = shell_of(opened, stage.lookout, stage.survey, stage.runner)
    rendered = render_skill(opened, scene, arguments=arguments, shell=shell)
    lacking = [f"{item.kind} {item.name}. {item.help}".strip() for item in missing(skill.gates, stage.probe)]
    if lacking and skill.setup_help:
        lacking.append(skill.setup_help)
    files = [(file.path, file.size) for file in opened.files if file.path != main_file(card)]
    values = [
        f"{setting.key} = {_shown(stage.settings.get(setting.key), setting.default)}"
        for setting in skill.gates.settings
    ]
    below = remarks(files, card.directory if card.kind == "skill" else "", lacking, values)
    notes = tuple(f"[Note: {note.message}]" for note in rendered.notes if note.severity != "info")
    tools = tuple(expand(tool, scene) for tool in skill.allowed_tools)
    return Part(card, skill, opened.digest, rendered.text, rendered.notes, tools, (*below, *notes))


def _shown(value: Any, default: Any) -> str:
    """A setting as the model reads it; one left blank has its default."""
    value = default if value is None or value == "" else value
    if value is None or value == "":
        return "(not set)"
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


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
    if asked.bundles:
        what = "bundle" if len(asked.bundles) == 1 else "bundles"
        titles = _list([bundle.name for bundle in asked.bundles])
        rows = [f"{ASKED}{what} {titles}: {_list(names) or 'nothing of it can be loaded'}."]
    elif len(blocks) == 1:
        rows = [f"{ASKED}skill {blocks[0].part.card.full_name}. Follow its instructions for this request."]
    else:
        listed = _list([item.part.card.full_name for item in blocks])
        rows = [f"{ASKED}skills {listed}. Follow their instructions for this request."]
    rows.extend(f"Not loaded: {item['name'] or 'more'}. {item['message']}" for item in asked.missing)
    if omitted:
        rows.append(f"No room for {_list(omitted)}; load with skill_view(name) what is needed.")
    rows.extend(f"Instruction: {bundle.instruction}" for bundle in asked.bundles if bundle.instruction)
    return rows


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


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
