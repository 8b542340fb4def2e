"""From a request to one message for the model: skills are found, rendered and fitted into a budget.

An `Invocation` has the message, the treatment of each skill, and the requested skills that are unavailable. For a skill
that runs in a separate agent (`context: fork`) the message has the report of its run, never its instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import RefusedError, UsageError, WhetError
from whet.library.card import main_file
from whet.library.readiness import missing
from whet.prompt.formats import clean
from whet.prompt.message import (
    ASKED,
    STRATEGIES,
    Block,
    Part,
    already_loaded,
    compose,
    fit,
    ladder,
    remarks,
    setting_lines,
    spoken,
    tagged,
)
from whet.prompt.rendering import expand
from whet.prompt.requests import Unavailable
from whet.prompt.tokens import tokenizer_for
from whet.prompt.views import render_skill, shell_of, variables_of
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.readiness import Missing, Probe
    from whet.library.workspace import Snapshot, Workspace
    from whet.notes import Note
    from whet.prompt.requests import Asked
    from whet.prompt.shell import Runner
    from whet.prompt.tokens import Tokenizer
    from whet.skill.model import Skill

    Fork = Callable[[str, str], str] | Literal["refuse", "rendered"]
    """Runs a skill, by its name and task, and returns the report for the model that asked."""

SHARED_TOKENS = 25_000
"""Tokens for several skills together, by default. A single one is included in full."""
_LONGEST_REASON = 200


class InvocationContext(NamedTuple):
    """The environment of one invocation."""

    workspace: Workspace
    config: ResolvedConfig
    probe: Probe
    settings: Mapping[str, Any]
    """Values of the settings that skills declare."""
    tokenizer: Tokenizer
    session_id: str = ""
    runner: Runner | None = None
    loaded: Callable[[Part], bool] = lambda _: False
    """Returns whether exactly this is already in the conversation."""
    fork: Fork = "refuse"
    """The treatment of a skill for a separate agent (`context: fork`): refuse it, run it with this function, or leave
    it `rendered` because its own agent asks.
    """


class InvokedSkill(NamedTuple):
    """One skill of an invocation: how much of it is in the message, and its requests."""

    name: str
    path: str
    digest: str
    strategy: str
    """`full`, an excerpt, `loaded` (it was already there), `omitted`, or `report` (of its run)."""
    tokens: int
    context: str
    """Where it runs: `fork`, in a separate agent, or `inline`, in the conversation."""
    agent: str
    model: str
    effort: str
    allowed_tools: tuple[str, ...]
    disallowed_tools: tuple[str, ...]
    ready: bool
    missing: tuple[Missing, ...]
    notes: tuple[Note, ...]


class Invocation(NamedTuple):
    """The request of a line, as one message for the model."""

    message: str
    """The text for the model."""
    tokens: int
    tokenizer: str
    request: str
    """The user's own words in it."""
    skills: tuple[InvokedSkill, ...]
    bundles: tuple[str, ...]
    missing: tuple[Unavailable, ...]
    """Requested skills that are not available."""
    budget: int | None
    blocks: tuple[Block, ...]
    """The parts of the message."""
    strategies: Mapping[str, int] | None = None
    """Tokens of each step from the full text to the description; None unless requested."""

    def with_strategies(self, tokenizer: Tokenizer) -> Invocation:
        """Return the same, with the cost of each step if there is only one skill."""
        if len(self.blocks) != 1:
            return self
        steps = ladder(self.blocks[0].part, tokenizer.count)
        return self._replace(strategies={strategy: tokens for strategy, (_, tokens) in steps.items()})

    def to_json(self) -> Json:
        """Return the invocation as JSON."""
        told = {"success": True, **fields_json(self._replace(blocks=(), strategies=None))}
        del told["blocks"], told["strategies"]
        return told if self.strategies is None else {**told, "strategies": dict(self.strategies)}


def new_context(
    workspace: Workspace, snapshot: Snapshot, tokenizer: Tokenizer | None = None, session_id: str = ""
) -> InvocationContext:
    """Return the context of an invocation without a session."""
    config = snapshot.config
    settings = dict(config.settings.skill_settings)
    return InvocationContext(
        workspace, config, config.probe, settings, tokenizer or tokenizer_for(config.settings), session_id
    )


def prepare(card: Card, arguments: str, context: InvocationContext) -> Part:
    """Read and render one skill; for a separate agent, the body is the report of its run."""
    opened = context.workspace.open(card)
    context.workspace.admit(opened, context.config)
    skill = opened.skill
    if is_apart(skill, context):
        if not callable(context.fork):
            message = f"{card.full_name} runs in a separate agent (`context: fork`), not in the conversation."
            raise RefusedError("runs-apart", message, hint=f"Run it with `whet run {card.full_name}`.")
        report = context.fork(card.location, arguments)
        return Part(card, skill, opened.digest, report, (), (), (), ())
    variables = variables_of(opened, context.config, context.session_id)
    shell = shell_of(opened, context.workspace, context.config, context.runner)
    rendered = render_skill(opened, variables, arguments=arguments, shell=shell)
    lacking = [f"{item.kind} {item.name}. {item.help}".strip() for item in missing(skill.gates, context.probe)]
    if lacking and skill.setup_help:
        lacking.append(skill.setup_help)
    parts = (file for file in opened.files if file.path != main_file(card))
    files = [(file.path, file.size) for file in parts if not file.path.startswith("evals/")]  # they measure the model
    settings = setting_lines(skill, context.settings)
    opens = {"opens": "Read(file_path)"} if context.fork == "rendered" else {}
    below = remarks(files, card.directory if card.kind == "skill" else "", lacking, settings, **opens)
    notes = tuple(f"[Note: {note.message}]" for note in rendered.notes if _tells_more(note))
    tools = tuple(expand(tool, variables) for tool in skill.allowed_tools)
    return Part(card, skill, opened.digest, rendered.text, rendered.notes, tools, settings, (*below, *notes))


def is_apart(skill: Skill, context: InvocationContext) -> bool:
    """Return whether the conversation gets a report of this skill instead of its instructions."""
    return skill.execution.context == "fork" and context.fork != "rendered"


def _tells_more(note: Note) -> bool:
    """Return whether a note is useful to the model: not trivial, and not already marked in the body."""
    marked = note.code in ("inline-shell-failed", "inline-shell-timeout")
    return note.code == "inline-shell-off" or (note.severity != "info" and not marked)


def invoke(
    asked: Asked, context: InvocationContext, *, budget: int | None = None, note: str = "", strategy: str = "full"
) -> Invocation:
    """Put the requested skills into one message; `budget` is in tokens, `note` is for the model.

    `strategy` is how much of each skill is included at most. An unreadable skill is among the missing ones; if nothing
    is left, its error is raised.
    """
    if budget is not None and budget < 1:
        raise UsageError("bad-budget", "The budget must be above zero.", hint="Leave it out for the default.")
    if strategy not in STRATEGIES:
        hint = f"Use {', '.join(STRATEGIES)}."
        raise UsageError("bad-strategy", f"There is no strategy {strategy!r}.", hint=hint)
    parts: list[Part] = []
    failed: list[WhetError] = []
    for card in asked.cards:
        try:
            parts.append(prepare(card, asked.request, context))
        except WhetError as error:
            failed.append(error)
            asked = asked._replace(missing=(*asked.missing, Unavailable.because(card.full_name, error)))
    if failed and not parts and not asked.bundles:
        raise failed[0]
    apart = {part.card.path: _report(part, context) for part in parts if is_apart(part.skill, context)}
    fresh = [part for part in parts if part.card.path not in apart and not context.loaded(part)]
    if budget is None and len(fresh) > 1:
        budget = SHARED_TOKENS
    fitted = apart | {item.part.card.path: item for item in fit(fresh, budget, context.tokenizer.count, strategy)}
    blocks = tuple(fitted.get(part.card.path) or _loaded(part, context) for part in parts)
    message = asked.request
    if parts or asked.bundles:
        head = [*_head(asked, blocks), *([f"Note: {note}"] if note else [])]
        message = compose(head, [item.text for item in blocks], asked.request)
    return Invocation(
        message,
        context.tokenizer.count(message),
        context.tokenizer.name,
        asked.request,
        tuple(_invoked(item, context) for item in blocks),
        tuple(bundle.slug for bundle in asked.bundles),
        asked.missing,
        budget,
        blocks,
    )


def _loaded(part: Part, context: InvocationContext) -> Block:
    text = already_loaded(part)
    return Block(part, "loaded", text, context.tokenizer.count(text))


def _report(part: Part, context: InvocationContext) -> Block:
    text = tagged(part.card.full_name, part.digest, part.body, "report")
    return Block(part, "report", text, context.tokenizer.count(text))


def _head(asked: Asked, blocks: Sequence[Block]) -> list[str]:
    names = [item.part.card.full_name for item in blocks if item.strategy not in ("omitted", "report")]
    ran = [item.part.card.full_name for item in blocks if item.strategy == "report"]
    omitted = [item.part.card.full_name for item in blocks if item.strategy == "omitted"]
    follow = f" Follow {'its' if len(names) == 1 else 'their'} instructions for this request." if names else ""
    if asked.bundles:
        what = "bundle" if len(asked.bundles) == 1 else "bundles"
        titles = _list([bundle.name for bundle in asked.bundles])
        it = "it" if len(asked.bundles) == 1 else "them"
        given = f"Loaded for {it}: {_list(names)}.{follow}" if names else f"No skill of {it} can be loaded."
        rows = [f"{ASKED}{what} {titles}. {given}"]
    else:
        what = "skill" if len(blocks) == 1 else "skills"
        rows = [f"{ASKED}{what} {_list([item.part.card.full_name for item in blocks])}.{follow}"]
    if ran:
        rows.append(
            f"{_list(ran)} ran in {'a separate agent' if len(ran) == 1 else 'separate agents'}; the report follows."
        )
    for item in asked.missing:
        rows.append(f"Not loaded: {spoken(item.name or 'more')}. {clean(item.message)[:_LONGEST_REASON]}")
    if omitted:
        rows.append(f"No room for {_list(omitted)}; load what you need with skill_view(name).")
    rows.extend(f"Instruction: {bundle.instruction}" for bundle in asked.bundles if bundle.instruction)
    return rows


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(spoken, names))


def _invoked(item: Block, context: InvocationContext) -> InvokedSkill:
    part = item.part
    execution = part.skill.execution
    lacking = missing(part.skill.gates, context.probe)
    return InvokedSkill(
        part.card.full_name,
        part.card.location,
        part.digest,
        item.strategy,
        item.tokens,
        execution.context,
        execution.agent,
        execution.model,
        execution.effort,
        part.allowed_tools,
        part.skill.disallowed_tools,
        not lacking,
        lacking,
        part.notes,
    )
