"""What a library answers about prompts: the index, a rendered invocation, the commands, the bundles, the needs.

Each function takes a `Workspace`, looks at the disk once, and answers with a plain JSON value.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.library.visibility import MODEL, PERSON, Caller
from whet.prompt.tokens import ESTIMATE, Tokenizer, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.settings import Settings
    from whet.library.workspace import Snapshot, Workspace
    from whet.prompt.bundles import Bundle
    from whet.prompt.index import Budget, Options
    from whet.prompt.invocation import Stage
    from whet.prompt.ranking import Use
    from whet.store.locks import FileLock

_LOCK_SECONDS = 10.0


def index(
    workspace: Workspace,
    budget: Budget,
    options: Options,
    *,
    caller: Caller = MODEL,
    relevance: Callable[[Card], float] | None = None,
    used: Mapping[str, Use] | Callable[[], Mapping[str, Use]] | None = None,
    tokenizer: Tokenizer | None = None,
    fits: Callable[[Card], bool] | None = None,
) -> dict[str, Any]:
    """The index of the skills this caller may see. `used` may be a function; it is asked when not all can be listed."""
    from whet.prompt.asking import visible
    from whet.prompt.index import build

    snapshot = workspace.snapshot()
    cards = visible(snapshot, caller)
    scopes = [root.scope for root in snapshot.config.roots]
    counter = tokenizer or tokenizer_of(snapshot.config.settings)
    made = build(cards, budget, options, counter, scopes=scopes, relevance=relevance, used=used, fits=fits)
    gone = [root.path for root in snapshot.config.roots if not os.path.isdir(root.real)]
    return {"success": True, "text": made.text, "report": made.report(), **({"missing_roots": gone} if gone else {})}


def tokenizer_of(settings: Settings) -> Tokenizer:
    """What counts tokens: exactly, where that is installed and wanted."""
    return installed() if settings.exact_tokens else ESTIMATE


def stage_of(
    workspace: Workspace, snapshot: Snapshot, tokenizer: Tokenizer | None = None, session_id: str = ""
) -> Stage:
    """What an invocation needs around it, without a session."""
    from whet.prompt.invocation import Stage

    config = snapshot.config
    settings = dict(config.settings.skill_settings)
    return Stage(workspace, config, config.probe, settings, tokenizer or tokenizer_of(config.settings), session_id)


def invoke_line(
    workspace: Workspace,
    text: str,
    *,
    caller: Caller = PERSON,
    budget: int | None = None,
    note: str = "",
    reserved: Collection[str] | None = None,
) -> dict[str, Any]:
    """What a typed line asks for, as one message; a line that asks for no skill is its own message.

    `reserved` are the commands of the client itself.
    """
    from whet.prompt.asking import asked_for
    from whet.prompt.commands import RESERVED
    from whet.prompt.invocation import invoke

    snapshot = workspace.snapshot()
    asked = asked_for(text, workspace, snapshot, caller, RESERVED if reserved is None else reserved)
    return invoke(asked, stage_of(workspace, snapshot), budget=budget, note=note).answer


def render_named(
    workspace: Workspace, names: Sequence[str], arguments: str, *, caller: Caller = PERSON, budget: int | None = None
) -> dict[str, Any]:
    """The message for skills, or a bundle, asked for by name; with the cost of each strategy when it is one skill."""
    from whet.prompt.asking import asked_by_name
    from whet.prompt.invocation import invoke
    from whet.prompt.message import ladder

    snapshot = workspace.snapshot()
    stage = stage_of(workspace, snapshot)
    made = invoke(asked_by_name(names, arguments, workspace, snapshot, caller), stage, budget=budget)
    if len(made.blocks) == 1:
        steps = ladder(made.blocks[0].part, stage.tokenizer.count)
        made.answer["strategies"] = {strategy: tokens for strategy, (_, tokens) in steps.items()}
    return made.answer


def commands(
    workspace: Workspace, prefix: str, limit: int, *, caller: Caller = PERSON, reserved: Collection[str] | None = None
) -> dict[str, Any]:
    """What a client can offer while a command is typed, and which skills have none."""
    from whet.prompt.asking import menu_of
    from whet.prompt.commands import RESERVED, complete

    menu = menu_of(workspace, workspace.snapshot(), caller, RESERVED if reserved is None else reserved)
    found = complete(menu.commands, prefix, limit)
    return {"success": True, "commands": found, "report": [entry.to_json() for entry in menu.report]}


def needs(workspace: Workspace, names: Sequence[str], *, caller: Caller = PERSON) -> dict[str, Any]:
    """What the named skills, or all of them, still need; each thing once."""
    from whet.prompt.asking import visible
    from whet.prompt.needs import collect_needs

    snapshot = workspace.snapshot()
    cards = [workspace.find(name)[0] for name in names] or visible(snapshot, caller)
    found = collect_needs(cards, snapshot.config.probe)
    return {"success": True, "ready": not found, "needs": [need.to_json() for need in found]}


def list_bundles(workspace: Workspace) -> dict[str, Any]:
    """Every bundle, and what is wrong with their files."""
    bundles, report = _bundles(workspace)
    return {
        "success": True,
        "bundles": [bundle.to_json() for bundle in bundles],
        "report": [entry.to_json() for entry in report],
    }


def show_bundle(workspace: Workspace, name: str) -> dict[str, Any]:
    """One bundle, and which of its skills cannot be had."""
    from whet.prompt.bundles import find_bundle

    return _told(find_bundle(_bundles(workspace)[0], name), workspace)


def _told(bundle: Bundle, workspace: Workspace) -> dict[str, Any]:
    from whet.prompt.asking import lacking

    return {"success": True, **bundle.to_json(), "missing": list(lacking(bundle, workspace.snapshot(), PERSON))}


def save_bundle(workspace: Workspace, *, project: bool, overwrite: bool, **what: Any) -> dict[str, Any]:
    """Write a bundle, into the state directory or the project; what its name collides with is in the report."""
    from whet.prompt.asking import menu_of
    from whet.prompt.bundles import save_bundle as save

    directory = _bundle_directory(workspace, project=project)
    with _alone(workspace):
        bundle = save(directory, overwrite=overwrite, **what)
    report = [
        entry.to_json()
        for entry in menu_of(workspace, workspace.snapshot(), PERSON).report
        if entry.path == bundle.path or entry.message.startswith(f"/{bundle.slug} means the bundle ")
    ]
    return {**_told(bundle, workspace), "report": report}


def remove_bundle(workspace: Workspace, name: str, *, project: bool) -> dict[str, Any]:
    """Take a bundle of the user's, or of the project, out of use; its file is kept beside."""
    from whet.prompt.bundles import find_bundle, read_bundles
    from whet.prompt.bundles import remove_bundle as remove

    with _alone(workspace):
        bundle = find_bundle(read_bundles((_bundle_directory(workspace, project=project),))[0], name)
        kept = remove(bundle)
    return {"success": True, **bundle.to_json(), "kept": kept}


def _bundle_directory(workspace: Workspace, *, project: bool) -> str:
    from whet.prompt.asking import bundle_directories

    snapshot = workspace.snapshot()
    if project and (snapshot.config.repository is None or not snapshot.config.trusted):
        hint = "Run `whet trust` in the project first."
        raise UsageError("no-project", "There is no trusted project here for a bundle.", hint=hint)
    return bundle_directories(workspace, snapshot)[0 if project else -1]


def _bundles(workspace: Workspace) -> tuple[tuple[Bundle, ...], tuple[Any, ...]]:
    from whet.prompt.asking import bundle_directories
    from whet.prompt.bundles import read_bundles

    return read_bundles(bundle_directories(workspace, workspace.snapshot()))


def _alone(workspace: Workspace) -> FileLock:
    """One writer of bundles at a time."""
    from whet.store.locks import FileLock, lock_path

    return FileLock(lock_path(workspace.place.state, "bundles", "bundles"), timeout=_LOCK_SECONDS)
