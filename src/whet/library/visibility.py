"""Whether a skill is *visible* to a caller, which is not the same as whether it exists or is ready.

Hidden skills are left out instead of being listed and then refused; the reason is always available.
"""

from __future__ import annotations

import os

from whet.errors import RefusedError
from whet.library.readiness import wrong_platform
from whet.library.settings import LISTING
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.gates import DRAFT, OPEN
from whet.skill.names import key as name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.library.bundles import Bundle
    from whet.library.card import Card
    from whet.library.readiness import Probe
    from whet.library.state import Blocked


class Caller(NamedTuple):
    """The caller: a person or a model, the surface, the product, and the files in play."""

    model: bool = False
    """True if a model chooses; False if a person does."""
    surface: str = ""
    """The surface, such as `cli` or `mcp`; several are separated by a slash: `mcp/codex`."""
    product: str = ""
    """The product that asks. Skills that are only for other products are hidden; "" hides none."""
    files: tuple[str, ...] | None = None
    """The paths being worked on, relative to the project; None if unknown."""


BY_COMMAND = "whet disable"
"""The source of a decision by command instead of a settings file."""
LISTED_BY_COMMAND = "whet list-as"
"""The source of a listing mode set by command instead of a settings file."""
PERSON = Caller()
"""A person, who sees the skills that a person may invoke and may view any skill."""
MODEL = Caller(model=True)
"""A model, which sees the skills that it may choose."""


class Listed(NamedTuple):
    """The way a skill is listed for a model."""

    mode: str = "normal"
    """One of `whet.library.settings.LISTING`."""
    source: str = ""
    """The settings file or command that set it."""


_NORMAL = Listed()


class Disabled:
    """Disabled skills, everywhere or on one surface, with sources; blocked skills; other listing modes."""

    __slots__ = ("_blocked", "_blocked_names", "_by", "_listed", "_lowered", "_members", "in_use")

    def __init__(
        self,
        pairs: Iterable[tuple[str, str, str]],
        blocked: Mapping[str, Blocked | None] | None = None,
        listed: Iterable[tuple[str, str, str]] = (),
        lowered: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        """Commands name skills by ids, files by names; `blocked` has the skills that the guard blocks, by id.

        `listed` has a name, a mode and a source each, and the first of a name counts; of `lowered`, which comes from a
        project, only entries that list a skill less prominently.
        """
        self._listed = _by_name(listed)
        self._lowered = _by_name(lowered)
        self.in_use: Bundle | None = None
        """The bundle that the project uses: no other skills are offered."""
        self._members: frozenset[str] = frozenset()
        self._by = {
            (name if source == BY_COMMAND else name_key(name), surface): source for name, surface, source in pairs
        }
        self._blocked: Mapping[str, Blocked | None] = {}
        self._blocked_names: frozenset[str] = frozenset()
        self.keep_back(blocked or {})

    @property
    def keeps_back(self) -> bool:
        """Whether the guard blocks any skill, here or elsewhere."""
        return bool(self._blocked)

    def keep_back(self, blocked: Mapping[str, Blocked | None]) -> None:
        """Block these skills too, by id; None unblocks one."""
        if blocked:
            self._blocked = {**self._blocked, **blocked}
            self._blocked_names = frozenset(name for key in self._blocked for name in key.split("/")[-2:])

    def use(self, bundle: Bundle) -> None:
        """Offer only the skills of this bundle."""
        self.in_use, self._members = bundle, frozenset(map(name_key, bundle.skills))

    def unused(self, card: Card) -> str:
        """Return the bundle in use if it does not contain the skill; otherwise ""."""
        if self.in_use is None or not self._members.isdisjoint(card.known_as[1:]):
            return ""
        return self.in_use.slug

    @property
    def none(self) -> bool:
        """Whether no skill is disabled or blocked and all are listed as usual."""
        return not (self.in_use or self._by or self._blocked or self._listed or self._lowered)

    def listed(self, card: Card) -> Listed:
        """Return the way a skill is listed for a model."""
        if not (self._listed or self._lowered):
            return _NORMAL
        own, lowered = (
            next((found[name] for name in card.known_as if name in found), None)
            for found in (self._listed, self._lowered)
        )
        own = own or _NORMAL
        return max(own, lowered or own, key=lambda said: LISTING.index(said.mode))

    def kept_back(self, card: Card) -> Blocked | None:
        """Return why the guard blocks a skill; None if it does not."""
        if not self._blocked or self._is_named_otherwise(card):
            return None
        older = card.resolved.encode("utf-8", "backslashreplace").decode()
        return self._blocked.get(str(card.id)) or self._blocked.get(older)

    def _is_named_otherwise(self, card: Card) -> bool:
        """Return whether a skill is surely not blocked, by the name of its directory, which is faster than its id."""
        if card.kind != "skill" or card.real or card.directory == card.root.path:
            return False
        name = card.directory[card.directory.rfind(os.sep) + 1 :]
        return name not in self._blocked_names and name.isascii()

    def source(self, card: Card, surface: str) -> str | None:
        """Return where a skill is disabled for this surface; None if it is enabled."""
        if not self._by:
            return None
        return next((source for name in card.known_as if (source := self.by(name, surface))), None)

    def by(self, key: str, surface: str) -> str | None:
        """Return where the skill of this key is disabled for this surface."""
        found = (self._by.get((key, part)) for part in ("", *surface.split("/")))
        return next((source for source in found if source), None)


def _by_name(listed: Iterable[tuple[str, str, str]]) -> dict[str, Listed]:
    found: dict[str, Listed] = {}
    for name, mode, source in listed:
        known_as = name if source == LISTED_BY_COMMAND else name_key(name)
        found.setdefault(known_as, Listed(mode if mode in LISTING else LISTING[-1], source))
    return found


def refusal(card: Card, reason: Note) -> RefusedError:
    """Return the error for a skill that this caller may not use."""
    return RefusedError(reason.code, f"{card.full_name} is not available: {reason.message}", hint=reason.hint)


def is_marked(card: Card, reason: Note, caller: Caller) -> bool:
    """Return whether a person still sees this hidden skill in a list, with a mark.

    Blocked skills among your own must not just disappear: clients load them directly.
    """
    return reason.code == "guard-blocked" and card.scope != "project" and not caller.model


def guard_blocked(card: Card, reason: str) -> Note:
    """Return a note on why a blocked skill is not shown."""
    name = card.full_name
    allow = f"`whet guard policy override {name} --reason TEXT` allows it as it is now."
    remove = (
        f"`whet remove {name}` removes it, and `whet undo` brings it back; "
        if card.scope == "user" and not card.real
        else ""
    )
    hint = f"{remove}`whet guard policy explain {name}` shows what was found; {allow}"
    return Note("guard-blocked", "info", reason, hint)


def note_draft(name: str) -> Note:
    """Return a note about a draft."""
    hint = f"Finish it: `whet edit {name}`."
    return Note("draft", "info", "It is still a draft: parts marked TODO remain.", hint)


def hidden(card: Card, caller: Caller, disabled: Disabled, probe: Probe) -> Note | None:
    """Return why the skill is hidden from this caller; None if it is visible."""
    if blocked := disabled.kept_back(card):
        return guard_blocked(card, blocked.reason)
    if (source := disabled.source(card, caller.surface)) is not None:
        undo = f"Remove it from `disabled` in {source}"
        if source == BY_COMMAND:
            undo = f"Run `whet enable {card.full_name}`"
        return Note("disabled", "info", f"Disabled by {source}.", f"{undo} to enable it.")
    if bundle := disabled.unused(card):
        message = f"It is not in the bundle {bundle}, which this project uses."
        return Note("not-in-bundle", "info", message, "`whet use --none` offers every skill again.")
    if not card.description:
        return Note("description-missing", "info", "It has no description and no text.", "Add a description.")
    if caller.model and (listed := disabled.listed(card)).mode == "manual":
        undo = f"`whet list-as {card.full_name} normal` lists it again"
        if listed.source != LISTED_BY_COMMAND:
            undo = f"take it out of `listing` in {listed.source} to list it again"
        message = f"Only a person may invoke it, by {listed.source}."
        return Note("explicit-only", "info", message, f"Type /{card.full_name}; {undo}.")
    if card.gates is not OPEN and (reason := _gated(card, caller, probe)):
        return reason
    return note_draft(card.full_name) if caller.model and card.draft else None


def _gated(card: Card, caller: Caller, probe: Probe) -> Note | None:
    """Return why the frontmatter hides the skill from this caller; None if it does not."""
    gates = card.gates
    if wrong_platform(gates, probe):
        wanted = ", ".join(gates.platforms)
        return Note("wrong-platform", "info", f"It is for {wanted}; this is {probe.platform}.", "Use it there.")
    if gates.products and caller.product and caller.product not in gates.products:
        return Note("other-product", "info", f"It is for {', '.join(gates.products)}.", "Use it there.")
    if caller.model:
        return _hidden_from_model(card, caller, probe)
    if not gates.user_invocable:
        return Note("model-only", "info", "Only a model may invoke it.", "Let the agent use it.")
    return None


def can_be_hidden(card: Card) -> bool:
    """Return whether the skill could be hidden even if nothing is disabled, which is rare."""
    description = card.description
    return card.gates is not OPEN or not description or DRAFT in description or (bool(card.notes) and card.draft)


def hidden_cards(
    cards: Iterable[Card], caller: Caller, disabled: Disabled, probe: Probe
) -> Iterator[tuple[Card, Note]]:
    """Yield the skills that are hidden from this caller, each with the reason."""
    free = disabled.none
    for card in cards:
        if free and not can_be_hidden(card):
            continue  # nearly all skills
        if reason := hidden(card, caller, disabled, probe):
            yield card, reason


def _hidden_from_model(card: Card, caller: Caller, probe: Probe) -> Note | None:
    gates = card.gates
    if not gates.model_invocable:
        return Note("explicit-only", "info", "Only a person may invoke it.", f"Type /{card.full_name}.")
    if any(probe.has_tool(tool) is True for tool in gates.fallback_for):
        names = ", ".join(tool.name for tool in gates.fallback_for)
        return Note("fallback", "info", f"It replaces {names}, which is available.", "Use that one.")
    if gates.paths and caller.files is not None and not _touches(gates.paths, caller.files):
        return Note("paths", "info", f"It is for files matching {', '.join(gates.paths)}.", "Open a matching file.")
    return None


def _touches(globs: tuple[str, ...], files: tuple[str, ...]) -> bool:
    from whet.library.globs import matches

    return any(matches(glob, file) for glob in globs for file in files)
