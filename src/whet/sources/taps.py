"""Taps: named sources that `whet search` searches and `tap:skill` selects skills from.

Vendors publish skills at known addresses, which are default taps; users remove those they do not want and add their
own. Only the differences from the defaults are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import ConflictError, NotFoundError, UsageError
from whet.records import NamedTuple
from whet.skill.names import closest, is_ascii_name, key
from whet.skill.versions import is_range
from whet.sources.refs.parse import existing, read_ref, ref_text
from whet.sources.refs.parts import PREFIXES, OddError, bad_source, check_inner, check_ref, quoted
from whet.store.clock import iso, system_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.library.roots import Place
    from whet.sources.model import Ref
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

DEFAULTS = {
    "anthropic": "git:https://github.com/anthropics/skills",
    "openai": "git:https://github.com/openai/skills",
    "vercel": "git:https://github.com/vercel-labs/skills",
    "nvidia": "git:https://github.com/nvidia/skills",
    "huggingface": "git:https://github.com/huggingface/skills",
    "cloudflare": "git:https://github.com/cloudflare/skills",
    "clawhub": "clawhub:https://clawhub.ai",
}
"""Default taps: the vendors of `whet.guard.trust`, and the largest open registry."""

REGISTRIES = ("clawhub", "hub")
"""Kinds of sources with too many skills to list, which are asked for one by its name."""

_RESERVED = frozenset(
    (
        *PREFIXES,
        "project",
        "user",
        "org",
        "external",
        "plugin",
        "https",
        "http",
        "ssh",
        "file",
        "ftp",
        "data",
    )
)
"""Prefixes with another meaning."""


class Tap(NamedTuple):
    """A named source."""

    name: str
    source: str
    """Text of its reference (`whet.sources.refs.parse.ref_text`)."""
    default: bool = False
    """Whether it ships with Whet."""
    added: str = ""
    """Time when it was added; "" for taps that ship with Whet."""


class Taps:
    """The taps of one user."""

    __slots__ = ("_clock", "_state")

    def __init__(self, state: StateDatabase, clock: Clock = system_clock) -> None:
        self._state = state
        self._clock = clock

    def all(self) -> tuple[Tap, ...]:
        """Return the default taps in their order, then the others by name."""
        rows = self._state.read("SELECT name, source, added FROM taps")
        own = sorted(Tap(name, source, added=time) for name, source, time in rows)
        away = {*(tap.name for tap in own), *(name for (name,) in self._state.read("SELECT name FROM removed_taps"))}
        default = (Tap(name, source, default=True) for name, source in DEFAULTS.items() if name not in away)
        return (*default, *own)

    def add(self, name: str, ref: Ref) -> Tap:
        """Give a source a name. A removed default tap can be added again under its own name and source."""
        source = ref_text(ref)
        original = DEFAULTS.get(name) == source
        if not original:
            check_name(name)
        with self._state.write() as connection:
            if known := next((tap for tap in self.all() if tap.name == name), None):
                raise ConflictError(
                    "tap-exists",
                    f"{name} is already a tap: {known.source}.",
                    hint=f"Choose another name, or `whet sources remove {name}` first.",
                )
            tap = Tap(name, source, default=True) if original else Tap(name, source, added=iso(self._clock()))
            if original:
                connection.execute("DELETE FROM removed_taps WHERE name = ?", (name,))
            else:
                connection.execute("INSERT INTO taps (name, source, added) VALUES (?, ?, ?)", (name, source, tap.added))
        return tap

    def remove(self, name: str) -> Tap:
        """Remove a tap; a default tap, or one that replaced it, stays removed until it is added again."""
        with self._state.write() as connection:
            taps = {tap.name: tap for tap in self.all()}
            if name not in taps:
                near = closest(name, taps, 3)
                hint = f"Did you mean {near[0]}?" if near else "`whet sources list` shows them."
                raise NotFoundError("unknown-tap", f"There is no tap {name!r}.", hint=hint, suggestions=list(near))
            connection.execute("DELETE FROM taps WHERE name = ?", (name,))
            if name in DEFAULTS:
                connection.execute("INSERT OR IGNORE INTO removed_taps VALUES (?)", (name,))
        return taps[name]


def expand(text: str, taps: Sequence[Tap], place: Place) -> tuple[Ref, tuple[str, ...]] | None:
    """Resolve `tap:skill` to the tap's source and the names to choose from it; None if the text names no tap.

    An existing path takes precedence over taps. `tap:skill@ref` selects a revision or version, `tap:path/to/skill` or
    `tap:owner/skill` a path, and `tap` alone everything. `skill@tap` is the same as `tap:skill`, and so is `tap/skill`
    for taps that the user added; with the name of a default tap it is a repository on GitHub.
    """
    if here := existing(text, place):
        return here, ()
    plain = text.strip()
    above, slash, rest = plain.partition("/")
    if slash and any(key(tap.name) == key(above) for tap in taps if not tap.default):
        plain = f"{above}:{rest}"
    name, skill, ref = _split(plain)
    tap = next((tap for tap in taps if key(tap.name) == key(name)), None) if name else None
    if tap is None:
        near = closest(name, (tap.name for tap in taps), 3) if skill and name not in _RESERVED else ()
        if near and not is_range(name):
            message = f"{quoted(plain)} is neither a tap nor another source."
            hint = f"Did you mean {near[0]}:{skill}?"
            raise UsageError("unknown-source", message, hint=hint, suggestions=list(near))
        return None
    found = read_ref(tap.source, place)
    try:
        if ref:
            found = found._replace(ref=check_ref(ref))
        if "/" in skill or (skill and found.kind in REGISTRIES):
            return found._replace(path=check_inner(f"{found.path}/{skill}" if found.path else skill)), ()
    except OddError as odd:
        raise bad_source(plain, odd) from None
    return found, (skill,) if skill else ()


def _split(text: str) -> tuple[str, str, str]:
    """Split a text into tap, skill and revision; the tap is "" for other texts."""
    name, colon, rest = text.partition(":")
    if colon:
        skill, _, ref = rest.partition("@")
        written = is_ascii_name(name.lower()) and len(name) > 1 and skill and skill[0] != "/" and ":" not in rest
        return (name, skill, ref) if written and name.lower() not in PREFIXES else ("", "", "")
    skill, at, name = text.partition("@")
    if not at:
        skill, name = "", text
    return (name, skill, "") if is_ascii_name(name.lower()) and "/" not in skill and (skill or not at) else ("", "", "")


def check_name(name: str) -> None:
    """Raise UsageError for an invalid name of a tap."""
    if not is_ascii_name(name) or len(name) < 2 or name in _RESERVED:
        raise UsageError(
            "bad-tap-name",
            f"{name[:80]!r} cannot be the name of a tap." if name not in _RESERVED else f"{name} is reserved.",
            hint="Use 2 to 64 lowercase letters, digits and single hyphens, and not the name of a source kind.",
        )
